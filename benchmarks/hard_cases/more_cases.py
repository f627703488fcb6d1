"""The second set of hard cases: layers in vacuum, adsorbates, magnetic compounds, f metals, radicals, ions, long cells.

All are small, with low cutoffs and few k-points, so that ten ways to self-consistency can be tried for each
(`strategies.py`).
"""

from functools import partial

import crystals as c
import layered_crystals as d
from cases import COLD, INSULATOR, METAL, NARROW, Case, insulator, magnet, metal

FERMI = {"ISMEAR": "-1", "SIGMA": "0.1"}

_layer_magnet = partial(magnet, 300, smearing=INSULATOR)
_oxide = partial(magnet, 350, smearing=INSULATOR)
_radical = partial(magnet, 350, smearing=FERMI)
_tight_radical = partial(magnet, 500, smearing=FERMI, EDIFF="1E-8")


def _row(symbol: str, a: float, layers: int, vacuum: float, miller: tuple[int, int, int] = (1, 0, 0)):
    return c.slab(c.fcc_cube(symbol, a), miller, layers, vacuum)


LAYERS = (
    Case("h_bn", "insulating layer, 15 Å", lambda: d.honeycomb("B", "N", 2.51, 0.0, 15.0), insulator(350), (4, 4, 1)),
    Case("mos2", "semiconducting layer, 18 Å", lambda: d.one_h("Mo", "S", 3.18, 1.56, 18.0), insulator(300),
         (4, 4, 1)),
    Case("mos2_spin", "starting moments of the default on atoms that carry none",
         lambda: d.one_h("Mo", "S", 3.18, 1.56, 15.0), {"ISPIN": "2", **insulator(300)}, (3, 3, 1)),
    Case("phosphorene", "puckered layer", d.phosphorene, insulator(300), (3, 4, 1)),
    Case("silicene", "degenerate levels at the Fermi level", lambda: d.honeycomb("Si", "Si", 3.87, 0.45, 16.0),
         insulator(240), (6, 6, 1)),
    Case("borophene", "anisotropic metal", d.borophene, metal(350), (8, 5, 1)),
    Case("nbse2", "metallic layer", lambda: d.one_h("Nb", "Se", 3.47, 1.68), metal(300), (4, 4, 1)),
    Case("tise2", "gap closed by the functional", lambda: d.one_t("Ti", "Se", 3.54, 1.55, 20.0), insulator(300),
         (4, 4, 1)),
    Case("vs2", "weak ferromagnet, metal", lambda: d.one_t("V", "S", 3.18, 1.46), _layer_magnet("2*0 1.5"), (4, 4, 1)),
    Case("vs2_default", "the same, starting moments of the default", lambda: d.one_t("V", "S", 3.18, 1.46),
         {"ISPIN": "2", **insulator(300)}, (4, 4, 1)),
    Case("mnvs2", "manganese on VS2: one polar face",
         lambda: d.covered(d.one_t("V", "S", 3.18, 1.46, 18.0), ["Mn"], [1.6], (1 / 3, 2 / 3)),
         _layer_magnet("2*0 1 4"), (4, 4, 1)),
    Case("mns2", "d3 magnet", lambda: d.one_t("Mn", "S", 3.35, 1.40), _layer_magnet("2*0 3"), (4, 4, 1)),
    Case("crte2", "metallic magnet", lambda: d.one_t("Cr", "Te", 3.70, 1.70), _layer_magnet("2*0 3"), (4, 4, 1)),
    Case("vi2", "d3 magnet", lambda: d.one_t("V", "I", 4.08, 1.58), _layer_magnet("2*0 3"), (3, 3, 1)),
    Case("fecl2", "degenerate d shell", lambda: d.one_t("Fe", "Cl", 3.47, 1.38), _layer_magnet("2*0 4"), (4, 4, 1)),
    Case("fecl2_wrong_atom", "starting moment on an atom that carries none",
         lambda: d.one_t("Fe", "Cl", 3.47, 1.38), _layer_magnet("4 2*0"), (4, 4, 1)),
    Case("mns2_wrong_atom", "starting moment on an atom that carries none",
         lambda: d.one_t("Mn", "S", 3.35, 1.40), _layer_magnet("3 2*0"), (4, 4, 1)),
    Case("nii2", "d8 magnet", lambda: d.one_t("Ni", "I", 3.93, 1.50), _layer_magnet("2*0 2"), (3, 3, 1)),
    Case("coi2", "degenerate d shell", lambda: d.one_t("Co", "I", 3.95, 1.50), _layer_magnet("2*0 3"), (3, 3, 1)),
    Case("cri3", "honeycomb of magnetic atoms", lambda: d.trihalide("Cr", "I", 7.0, 1.58), _layer_magnet("2*3 6*0"),
         (2, 2, 1)),
    Case("cri3_afm", "the same, antiferromagnetic", lambda: d.trihalide("Cr", "I", 7.0, 1.58),
         _layer_magnet("3 -3 6*0"), (2, 2, 1)),
    Case("ti2c", "magnetic surface states on both sides", lambda: d.carbide("Ti", 3.04, 1.15), _layer_magnet("2*1 0"),
         (4, 4, 1)),
    Case("cr2c", "half-metal", lambda: d.carbide("Cr", 3.14, 1.10), _layer_magnet("2*4 0"), (4, 4, 1)),
    Case("fese_afm", "antiferromagnetic metal", d.iron_selenide, _layer_magnet("2 -2 2*0"), (4, 4, 1)),
    Case("fe3gete2", "metallic magnet of two kinds of iron", d.iron_germanium_telluride,
         _layer_magnet("2*0 2*2.5 0 1.5"), (3, 3, 1)),
    Case("graphene_hole", "magnetic vacancy", d.graphene_hole, _oxide("17*0.2"), (2, 2, 1)),
    Case("ribbon_fm", "edges of equal spin", lambda: c.zigzag_ribbon(3, 12.0, 8.0), _oxide("1 4*0 1 2*0"), (6, 1, 1)),
    # quintuple layers and their like; in layers anions come first
    Case("bi2te3_layer", "five atoms in 29 Å", lambda: d.quintuple("Bi", "Te", 4.39, 2.03, 1.74, 29.0),
         insulator(240), (3, 3, 1)),
    Case("sb2te3_layer", "five atoms in 29 Å", lambda: d.quintuple("Sb", "Te", 4.27, 2.01, 1.72, 29.0),
         insulator(240), (3, 3, 1)),
    Case("bi2se3_layer", "five atoms in 22 Å", lambda: d.quintuple("Bi", "Se", 4.14, 1.93, 1.58, 22.0),
         insulator(240), (3, 3, 1)),
    Case("bi2te3_spin", "starting moments of the default on atoms that carry none",
         lambda: d.quintuple("Bi", "Te", 4.39, 2.03, 1.74, 22.0), {"ISPIN": "2", **insulator(240)}, (2, 2, 1)),
    Case("bi2te3", "bulk", lambda: d.tetradymite("Bi", "Te", 4.395, 30.44, 0.400, 0.2095), insulator(240), (3, 3, 3)),
    Case("sb2te3", "bulk", lambda: d.tetradymite("Sb", "Te", 4.264, 30.46, 0.399, 0.211), insulator(240), (3, 3, 3)),
    Case("mnbi2te4", "magnetic layer in a septuple", lambda: d.septuple("Mn", 4.33, 26.0),
         _layer_magnet("6*0 5"), (2, 2, 1)),
    Case("mnbi2te4_default", "the same, starting moments of the default on all atoms",
         lambda: d.septuple("Mn", 4.33, 26.0), {"ISPIN": "2", **insulator(300)}, (2, 2, 1)),
)  # fmt: skip

SURFACES = (
    Case("cu111_co", "CO on every atom of three layers",
         lambda: d.covered(_row("Cu", 3.6149, 3, 13.0, (1, 1, 1)), ["C", "O"], [1.85, 3.0]), metal(350), (4, 4, 1)),
    Case("pt111_o", "oxygen in the hollows of one face",
         lambda: d.covered(_row("Pt", 3.9239, 4, 12.0, (1, 1, 1)), ["O"], [1.2], (1 / 3, 2 / 3)), metal(350),
         (4, 4, 1)),
    Case("ni111_h", "hydrogen on a magnet",
         lambda: d.covered(_row("Ni", 3.5238, 4, 12.0, (1, 1, 1)), ["H"], [0.9], (1 / 3, 2 / 3)),
         magnet(320, "4*1 0", METAL), (4, 4, 1)),
    Case("ni111_co", "CO on a magnet",
         lambda: d.covered(_row("Ni", 3.5238, 3, 13.0, (1, 1, 1)), ["C", "O"], [1.8, 2.95]),
         magnet(350, "3*1 2*0", METAL), (4, 4, 1)),
    Case("fe100_o", "oxygen in the hollows of a magnet",
         lambda: d.covered(c.slab(c.bcc("Fe", 2.87), (1, 0, 0), 4, 12.0), ["O"], [0.5], (0.5, 0.5)),
         magnet(350, "4*2.5 0"), (4, 4, 1)),
    Case("al100_na", "alkali metal on one face",
         lambda: d.covered(d.doubled(_row("Al", 4.05, 4, 14.0)), ["Na"], [2.5], (0.5, 0.0)), metal(240), (3, 3, 1)),
    Case("mgo_water", "a molecule on an insulator", d.water_on_magnesia, insulator(350), (2, 2, 1)),
    Case("fe_mgo", "two layers of iron on an oxide", d.iron_on_magnesia, magnet(350, "2*2.5 4*0"), (4, 4, 1)),
    Case("zno_polar", "charge moves from face to face", lambda: d.polar_zinc_oxide(4, 22.0), insulator(350),
         (4, 4, 1)),
    Case("srtio3_slab", "different faces", d.titanate_slab, insulator(350), (2, 2, 1)),
    Case("si111", "half-filled dangling bonds on both faces",
         lambda: c.slab(c.zinc_blende("Si", "Si", 5.43), (1, 1, 1), 6, 14.0), magnet(240, "6*0.3", INSULATOR),
         (4, 4, 1)),
    Case("si100", "two dangling bonds on each surface atom",
         lambda: c.slab(c.zinc_blende("Si", "Si", 5.43), (1, 0, 0), 7, 14.0), insulator(240), (4, 4, 1)),
    Case("fe_slab", "magnetic slab", lambda: c.slab(c.bcc("Fe", 2.87), (1, 0, 0), 5, 12.0), magnet(300, "5*2.5"),
         (4, 4, 1)),
    Case("cr_slab", "antiferromagnetic layers, large moments at the faces",
         lambda: c.slab(c.bcc("Cr", 2.884), (1, 0, 0), 5, 12.0), magnet(300, "2 -1 1 -1 2"), (4, 4, 1)),
    Case("co_slab", "magnetic slab", lambda: c.slab(c.hcp("Co", 2.507, 4.069), (0, 0, 1), 4, 12.0),
         magnet(320, "4*2"), (4, 4, 1)),
)  # fmt: skip

MAGNETS = (
    # rock salt and other oxides and halides
    Case("mno_fm", "ferromagnetic order", lambda: c.rock_salt("Mn", "O", 4.445), _oxide("5 0"), (4, 4, 4)),
    Case("mno_fm_stretched", "the same, stretched by 8 %", lambda: c.rock_salt("Mn", "O", 4.80), _oxide("5 0"),
         (4, 4, 4)),
    Case("mno_fm_compressed", "the same, compressed by 10 %: high and low spin compete",
         lambda: c.rock_salt("Mn", "O", 4.0), _oxide("5 0"), (4, 4, 4)),
    Case("mno_fm_default", "ferromagnetic order from the starting moments of the default, stretched",
         lambda: c.rock_salt("Mn", "O", 4.60), {"ISPIN": "2", **insulator(350)}, (4, 4, 4)),
    Case("feo_fm", "partly filled degenerate shell", lambda: c.rock_salt("Fe", "O", 4.334), _oxide("4 0"), (4, 4, 4)),
    Case("feo_fm_stretched", "the same, stretched", lambda: c.rock_salt("Fe", "O", 4.70), _oxide("4 0"), (4, 4, 4)),
    Case("coo_fm", "partly filled degenerate shell", lambda: c.rock_salt("Co", "O", 4.26), _oxide("3 0"), (4, 4, 4)),
    Case("nio_fm", "ferromagnetic order", lambda: c.rock_salt("Ni", "O", 4.177), _oxide("2 0"), (4, 4, 4)),
    Case("mno_afm_stretched", "antiferromagnet", lambda: d.strained(c.rock_salt_layers("Mn", 4.445), 1.07),
         _oxide("5 -5 2*0"), (2, 2, 2)),
    Case("feo_afm_compressed", "antiferromagnet, high and low spin compete",
         lambda: d.strained(c.rock_salt_layers("Fe", 4.334), 0.93), _oxide("4 -4 2*0"), (2, 2, 2)),
    Case("coo_afm_stretched", "antiferromagnet", lambda: d.strained(c.rock_salt_layers("Co", 4.26), 1.06),
         _oxide("3 -3 2*0"), (2, 2, 2)),
    Case("nio_afm_compressed", "antiferromagnet", lambda: d.strained(c.rock_salt_layers("Ni", 4.177), 0.94),
         _oxide("2 -2 2*0"), (2, 2, 2)),
    Case("mno_moved", "ferromagnetic order, an atom off its place",
         lambda: d.moved(d.strained(c.rock_salt_layers("Mn", 4.445), 1.05), (0.1, 0.0, 0.2)), _oxide("2*5 2*0"),
         (2, 2, 2)),
    Case("vo_fm", "metal", lambda: c.rock_salt("V", "O", 4.19), _oxide("3 0"), (4, 4, 4)),
    Case("mnf2", "antiferromagnetic insulator", lambda: d.rutile("Mn", "F", 4.873, 3.310, 0.305), _oxide("5 -5 4*0"),
         (2, 2, 3)),
    Case("cro2", "half-metal", lambda: d.rutile("Cr", "O", 4.421, 2.916, 0.301), _oxide("2*2 4*0"), (2, 2, 3)),
    Case("fe3o4", "ferrimagnetic spinel", lambda: d.spinel("Fe", "Fe", 8.396, 0.2549), _oxide("2*-4 4*4 8*0"),
         (2, 2, 2)),
    Case("co3o4", "antiferromagnetic spinel", lambda: d.spinel("Co", "Co", 8.083, 0.2631), _oxide("3 -3 4*0 8*0"),
         (1, 1, 1)),
    Case("mn3o4", "cubic spinel of two kinds of manganese", lambda: d.spinel("Mn", "Mn", 8.42, 0.263),
         _oxide("2*5 4*4 8*0"), (1, 1, 1)),
    Case("srruo3", "weak metallic magnet", lambda: d.perovskite("Sr", "Ru", 3.95), _oxide("0 2 3*0"), (3, 3, 3)),
    Case("lamno3", "half-filled degenerate level", lambda: d.perovskite("La", "Mn", 3.88), _oxide("0 4 3*0"),
         (3, 3, 3)),
    Case("srcoo3", "several spin states", lambda: d.perovskite("Sr", "Co", 3.84), _oxide("0 3 3*0"), (3, 3, 3)),
    # metals and alloys
    Case("fe3al", "two kinds of iron", lambda: d.heusler("Fe", "Fe", "Al", 5.79), magnet(300, "3*2.5 0"), (4, 4, 4)),
    Case("co2mnsi", "half-metal", lambda: d.heusler("Co", "Mn", "Si", 5.65), magnet(300, "2*1 3 0"), (4, 4, 4)),
    Case("ni2mnga", "magnet", lambda: d.heusler("Ni", "Mn", "Ga", 5.82), magnet(300, "2*0.5 4 0"), (4, 4, 4)),
    Case("feal_large_moment", "weak magnet, large starting moments", lambda: c.caesium_chloride("Fe", "Al", 2.93),
         magnet(300, "4 1"), (5, 5, 5)),
    Case("ni3al_stretched", "weak magnet, stretched by 3 %", lambda: c.gold_copper_three("Al", "Ni", 3.68),
         magnet(300, "3*1 0"), (4, 4, 4)),
    Case("ni3al_default", "starting moments of the default", lambda: c.gold_copper_three("Al", "Ni", 3.572),
         {"ENCUT": "300", "ISPIN": "2", **NARROW}, (4, 4, 4)),
    Case("fept", "ferromagnet of layers", lambda: d.tetragonal_pair("Fe", "Pt", 2.72, 3.74), magnet(300, "3 0.5"),
         (5, 5, 4)),
    Case("mnpt_afm", "antiferromagnet", lambda: d.tetragonal_pair("Mn", "Pt", 2.83, 3.67, True),
         magnet(300, "4 -4 2*0"), (3, 3, 3)),
    Case("ferh_fm", "ferro- and antiferromagnetic order compete", lambda: c.caesium_chloride("Fe", "Rh", 2.99),
         magnet(300, "3 1"), (5, 5, 5)),
    Case("mnas", "ferromagnetic metal", lambda: d.nickel_arsenide("Mn", "As", 3.73, 5.70), magnet(300, "2*3 2*0"),
         (4, 4, 3)),
    Case("fe_fcc_large", "expanded fcc iron: high spin", lambda: c.fcc("Fe", 3.70), magnet(300, "3"), (6, 6, 6)),
    Case("fe_fcc_small", "fcc iron where low and high spin compete", lambda: c.fcc("Fe", 3.55), magnet(300, "3"),
         (6, 6, 6)),
    Case("co_fcc_zero", "small starting moment", lambda: c.fcc("Co", 3.54), magnet(300, "0.2"), (6, 6, 6)),
    Case("mn_bcc", "stretched bcc manganese", lambda: c.bcc_primitive("Mn", 3.05), magnet(300, "3"), (6, 6, 6)),
    # f metals and a compound
    Case("ce_fcc", "one f electron, magnetic or not", lambda: c.fcc("Ce", 5.16), magnet(300, "1"), (4, 4, 4)),
    Case("pr_fcc", "two f electrons", lambda: c.fcc("Pr", 5.15), magnet(300, "2"), (4, 4, 4)),
    Case("nd_fcc", "three f electrons", lambda: c.fcc("Nd", 5.13), magnet(300, "3"), (4, 4, 4)),
    Case("eu_bcc", "seven f electrons", lambda: c.bcc_primitive("Eu", 4.58), magnet(300, "7"), (4, 4, 4)),
    Case("tb_hcp", "eight f electrons", lambda: c.hcp("Tb", 3.60, 5.70), magnet(300, "2*6"), (3, 3, 2)),
    Case("yb_fcc", "filled f shell near the Fermi level", lambda: c.fcc("Yb", 5.48), metal(300), (4, 4, 4)),
    Case("gdn", "half-filled f shell, narrow gap", lambda: c.rock_salt("Gd", "N", 4.99), _oxide("7 0"), (4, 4, 4)),
)  # fmt: skip

MOLECULES = (
    Case("oh_fermi", "radical with Fermi smearing", lambda: c.dimer("O", "H", 0.970), _tight_radical("1 0")),
    Case("no_fermi", "radical with Fermi smearing", lambda: c.dimer("N", "O", 1.151), _tight_radical("1 0")),
    Case("no_default", "the same, starting moments of the default", lambda: c.dimer("N", "O", 1.151),
         {"ENCUT": "350", "ISPIN": "2", **FERMI}),
    Case("ch3_fermi", "radical with Fermi smearing", c.methyl, _radical("1 3*0")),
    Case("no2_fermi", "bent radical with Fermi smearing", lambda: d.bent("N", "O", 1.197, 134.0), _radical("1 2*0")),
    Case("o2_fermi", "triplet with Fermi smearing", lambda: c.dimer("O", "O", 1.208), _radical("2*1")),
    Case("feo_molecule", "quintet", lambda: c.dimer("Fe", "O", 1.616), _radical("4 0")),
    Case("mn2", "large moments, long bond", lambda: c.dimer("Mn", "Mn", 2.60), _radical("2*5")),
    Case("co_atom", "s and d levels compete", lambda: c.atom("Co"), magnet(350, "3", INSULATOR)),
    Case("b_atom", "one electron in a degenerate level", lambda: c.atom("B"), magnet(300, "1", INSULATOR)),
    Case("no_plus", "cation", lambda: c.dimer("N", "O", 1.063), insulator(350, NELECT="10")),
    Case("o2_minus", "anion, degenerate level", lambda: c.dimer("O", "O", 1.35),
         magnet(350, "2*0.5", INSULATOR, NELECT="13")),
    Case("nh4_plus", "cation", d.ammonium, insulator(350, NELECT="8")),
    Case("cn_minus", "anion", lambda: c.dimer("C", "N", 1.18), insulator(350, NELECT="10")),
)  # fmt: skip

LONG = (
    Case("al_row_8", "16 atoms, 32 Å, SIGMA = 0.01", lambda: c.in_a_row(c.face_centred_pair("Al", 4.05), 8),
         {"ENCUT": "240", **COLD}, (3, 3, 1)),
    Case("al_row_12", "24 atoms, 49 Å", lambda: c.in_a_row(c.face_centred_pair("Al", 4.05), 12), metal(200),
         (3, 3, 1)),
    Case("na_row_10", "20 atoms, 43 Å", lambda: c.in_a_row(c.bcc("Na", 4.2906), 10), metal(200), (3, 3, 1)),
    Case("si_row_8", "32 atoms, 43 Å", lambda: d.diamond_row("Si", 5.43, 8), insulator(200), (2, 2, 1)),
    Case("cu_row_8", "16 atoms, 29 Å", lambda: c.in_a_row(c.face_centred_pair("Cu", 3.6149), 8), metal(300),
         (2, 2, 1)),
    Case("alas_gaas", "superlattice, 34 Å", lambda: d.superlattice("Al", "Ga", "As", 5.66, 3), insulator(240),
         (2, 2, 1)),
    Case("mg_row_6", "12 atoms, 31 Å", lambda: c.in_a_row(c.hcp("Mg", 3.21, 5.21), 6), metal(240), (3, 3, 1)),
    Case("fe_row_8", "16 atoms of a magnet, 23 Å", lambda: c.in_a_row(c.bcc("Fe", 2.87), 8), magnet(300, "16*2.5"),
         (2, 2, 1)),
)  # fmt: skip

MORE_CASES = LAYERS + SURFACES + MAGNETS + MOLECULES + LONG
