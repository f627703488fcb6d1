"""The first set of hard cases: structures, the few INCAR lines a user would write, what makes each one difficult."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import crystals as c

from eigenwerk.io.vasp.input.poscar import Poscar


@dataclass(frozen=True)
class Case:
    """One folder.

    name: of the folder; why: what makes it hard; structure: makes the POSCAR; tags: of the INCAR beyond COMMON;
    mesh: Gamma-centred.
    """

    name: str
    why: str
    structure: Callable[[], Poscar]
    tags: dict[str, str]
    mesh: tuple[int, int, int] = (1, 1, 1)


COMMON = {"GGA": "PE", "EDIFF": "1E-5", "LWAVE": ".FALSE."}
"""Nothing here or below tunes the way to self-consistency: no ALGO, no mixing, no NELMDL."""

METAL = {"ISMEAR": "1", "SIGMA": "0.2"}
NARROW = {"ISMEAR": "1", "SIGMA": "0.1"}
COLD = {"ISMEAR": "-1", "SIGMA": "0.01"}
INSULATOR = {"ISMEAR": "0", "SIGMA": "0.05"}


def metal(cutoff: int, **tags: str) -> dict[str, str]:
    """A metal with usual smearing."""
    return {"ENCUT": str(cutoff), **METAL, **tags}


def magnet(cutoff: int, moments: str, smearing: dict[str, str] = NARROW, **tags: str) -> dict[str, str]:
    """Collinear spin, starting moments as MAGMOM says them."""
    return {"ENCUT": str(cutoff), **smearing, "ISPIN": "2", "MAGMOM": moments, **tags}


def insulator(cutoff: int, **tags: str) -> dict[str, str]:
    """Little Gaussian smearing."""
    return {"ENCUT": str(cutoff), **INSULATOR, **tags}


_radical = partial(magnet, 350, smearing=INSULATOR)


FIRST_CASES = (
    # metal slabs: long cells, charge between the faces
    Case("al_slab", "9 layers, 20 Å of vacuum", lambda: c.slab(c.fcc_cube("Al", 4.05), (1, 0, 0), 9, 20.0),
         metal(240), (6, 6, 1)),
    Case("cu_slab", "d metal, 6 layers", lambda: c.slab(c.fcc_cube("Cu", 3.6149), (1, 1, 1), 6, 15.0),
         metal(350), (4, 4, 1)),
    Case("pd_slab", "high density of states at the Fermi level",
         lambda: c.slab(c.fcc_cube("Pd", 3.8907), (1, 0, 0), 5, 15.0), metal(320), (4, 4, 1)),
    Case("pt_slab", "high density of states, 14 Å of vacuum",
         lambda: c.slab(c.fcc_cube("Pt", 3.9239), (1, 1, 1), 5, 14.0), metal(320), (4, 4, 1)),
    Case("ni_slab", "magnetic slab", lambda: c.slab(c.fcc_cube("Ni", 3.5238), (1, 0, 0), 5, 12.0),
         magnet(320, "5*1.0", METAL), (4, 4, 1)),
    Case("pd_slab_o", "oxygen on one face: a dipole, levels at the Fermi level", c.oxygen_on_palladium,
         metal(320), (2, 2, 1)),
    Case("cu_slab_co", "a molecule on a metal: 5σ and 2π* at the Fermi level", c.monoxide_on_copper,
         metal(350), (2, 2, 1)),
    # elongated cells
    Case("al_long", "16 atoms in a row, 32 Å: charge sloshing", lambda: c.in_a_row(c.face_centred_pair("Al", 4.05), 8),
         metal(240), (6, 6, 1)),
    Case("fe_long", "magnet, 14 Å", lambda: c.in_a_row(c.bcc("Fe", 2.87), 5),
         magnet(300, "10*2.5"), (3, 3, 1)),
    Case("na_long", "low density, 26 Å", lambda: c.in_a_row(c.bcc("Na", 4.2906), 6), metal(300), (3, 3, 1)),
    Case("graphene_ribbon", "magnetic edges, vacuum on four sides", lambda: c.zigzag_ribbon(4, 15.0, 8.0),
         magnet(350, "1 0 0 0 0 0 0 -1 0 0", INSULATOR), (5, 1, 1)),
    # magnets and antiferromagnets
    Case("nio_afm", "antiferromagnet, small gap without U", lambda: c.rock_salt_layers("Ni", 4.177),
         magnet(400, "2 -2 0 0", INSULATOR), (3, 3, 3)),
    Case("mno_afm", "antiferromagnet, d5", lambda: c.rock_salt_layers("Mn", 4.445),
         magnet(400, "5 -5 0 0", INSULATOR), (3, 3, 3)),
    Case("feo_afm", "antiferromagnet, metal without U, degenerate d shell", lambda: c.rock_salt_layers("Fe", 4.334),
         magnet(400, "4 -4 0 0", INSULATOR), (3, 3, 3)),
    Case("coo_afm", "antiferromagnet, degenerate d shell", lambda: c.rock_salt_layers("Co", 4.26),
         magnet(400, "3 -3 0 0", INSULATOR), (3, 3, 3)),
    Case("fe2o3", "antiferromagnetic oxide of 10 atoms", c.haematite,
         magnet(350, "4 -4 -4 4 6*0", INSULATOR), (2, 2, 2)),
    Case("cr_afm", "weak antiferromagnet near its transition", lambda: c.bcc("Cr", 2.884),
         magnet(350, "1.5 -1.5"), (6, 6, 6)),
    Case("mn_fcc_afm", "antiferromagnet, many magnetic states", lambda: c.face_centred_pair("Mn", 3.55),
         magnet(320, "2 -2"), (6, 6, 4)),
    Case("fe_fcc_afm", "antiferromagnet, many magnetic states", lambda: c.face_centred_pair("Fe", 3.45),
         magnet(320, "2 -2"), (6, 6, 4)),
    Case("co_hcp", "ferromagnet", lambda: c.hcp("Co", 2.507, 4.069), magnet(320, "2*2"), (6, 6, 4)),
    Case("gd_hcp", "4f shell half filled, beside a metal", lambda: c.hcp("Gd", 3.636, 5.783),
         magnet(320, "2*7.5"), (4, 4, 2)),
    Case("feal", "weak magnet", lambda: c.caesium_chloride("Fe", "Al", 2.909), magnet(320, "2 0"), (6, 6, 6)),
    Case("ni3al", "very weak magnet", lambda: c.gold_copper_three("Al", "Ni", 3.572), magnet(320, "3*1 0"), (4, 4, 4)),
    Case("pd_spin", "almost a magnet: the moment has to vanish", lambda: c.fcc("Pd", 3.8907),
         magnet(320, "1"), (8, 8, 8)),
    # wrong starting moments
    Case("fe_moment_zero", "almost no starting moment", lambda: c.bcc_primitive("Fe", 2.87),
         magnet(350, "0.1"), (8, 8, 8)),
    Case("fe_moment_five", "starting moment far too large", lambda: c.bcc_primitive("Fe", 2.87),
         magnet(350, "5"), (8, 8, 8)),
    Case("ni_moment_minus_three", "wrong size and sign", lambda: c.fcc("Ni", 3.5238), magnet(350, "-3"), (8, 8, 8)),
    # 4f oxides
    Case("ceo2", "empty 4f bands above the gap", lambda: c.fluorite("Ce", 5.411), insulator(400), (3, 3, 3)),
    Case("euo", "4f shell in the valence", lambda: c.rock_salt("Eu", "O", 5.144),
         magnet(400, "7 0", INSULATOR), (4, 4, 4)),
    # atoms and open-shell molecules in a box
    Case("o_atom", "open shell", lambda: c.atom("O"), _radical("2")),
    Case("c_atom", "open shell", lambda: c.atom("C"), _radical("2")),
    Case("n_atom", "half-filled shell", lambda: c.atom("N"), _radical("3")),
    Case("fe_atom", "s and d levels compete", lambda: c.atom("Fe"), _radical("4")),
    Case("cr_atom", "s1 d5", lambda: c.atom("Cr"), _radical("6")),
    Case("ni_atom", "s and d levels compete", lambda: c.atom("Ni"), _radical("2")),
    Case("o2", "triplet", lambda: c.dimer("O", "O", 1.208), _radical("2*1")),
    Case("no", "one electron in a degenerate level", lambda: c.dimer("N", "O", 1.151), _radical("1 0")),
    Case("oh", "hole in a degenerate level", lambda: c.dimer("O", "H", 0.970), _radical("1 0")),
    Case("ch3", "radical", c.methyl, _radical("1 3*0")),
    Case("cr2", "antiferromagnetic coupling in a multiple bond", lambda: c.dimer("Cr", "Cr", 1.679), _radical("3 -3")),
    # charge
    Case("oh_minus", "anion in a box", lambda: c.dimer("O", "H", 0.964), insulator(350, NELECT="8")),
    Case("mgo_vacancy_plus", "charged vacancy with one electron in it",
         lambda: c.without_atom(c.rock_salt_cube("Mg", "O", 4.212), "O"),
         magnet(350, "7*0.1", INSULATOR, NELECT="57"), (2, 2, 2)),
    # semimetals and small gaps
    Case("graphite", "semimetal", c.graphite, insulator(400), (6, 6, 2)),
    Case("graphene", "point of degeneracy at the Fermi level, 18 Å of vacuum", lambda: c.graphene(18.0),
         insulator(400), (6, 6, 1)),
    Case("bi", "semimetal", lambda: c.arsenic_structure("Bi", 4.546, 11.862, 0.2339), insulator(320), (4, 4, 4)),
    Case("sb", "semimetal", lambda: c.arsenic_structure("Sb", 4.307, 11.273, 0.2335), insulator(320), (4, 4, 4)),
    Case("insb", "gap closed by the functional", lambda: c.zinc_blende("In", "Sb", 6.479), insulator(320), (4, 4, 4)),
    Case("sn_grey", "gap closed by the functional", lambda: c.zinc_blende("Sn", "Sn", 6.489),
         insulator(320), (4, 4, 4)),
    # little smearing, wide vacuum
    Case("cu_cold", "metal with SIGMA = 0.01", lambda: c.fcc("Cu", 3.6149), {"ENCUT": "350", **COLD}, (6, 6, 6)),
    Case("al_cold", "metal with SIGMA = 0.01", lambda: c.fcc_cube("Al", 4.05), {"ENCUT": "240", **COLD}, (4, 4, 4)),
    Case("h2o_wide", "12 Å of vacuum", lambda: c.water(12.0), insulator(350)),
)  # fmt: skip
