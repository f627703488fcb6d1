"""Structures away from rest, on surfaces that cost little: by kinds, each with what moves."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from ase import Atoms
from ase.build import add_adsorbate, bcc100, bcc110, bulk, fcc100, fcc111, fcc211, graphene, hcp0001, molecule, mx2
from ase.data.s22 import create_s22_system
from ase.spacegroup import crystal


@cache
def emt():
    from ase.calculators.emt import EMT

    return EMT()


@cache
def lennard_jones():
    from ase.calculators.lj import LennardJones

    return LennardJones(sigma=3.4, epsilon=0.0103, rc=10.0, smooth=True)


@cache
def gfn2():
    from tblite.ase import TBLite

    return TBLite(method="GFN2-xTB", verbosity=0, accuracy=0.05, cache_api=False)


@cache
def gfn1():
    from tblite.ase import TBLite

    return TBLite(method="GFN1-xTB", verbosity=0, accuracy=0.05, cache_api=False)


@cache
def chgnet():
    """Learnt from DFT of crystals; in double precision, so that line searches see no noise."""
    import chgnet.graph.converter
    import chgnet.model.model
    import torch
    from chgnet.model import CHGNet
    from chgnet.model.dynamics import CHGNetCalculator

    chgnet.graph.converter.TORCH_DTYPE = chgnet.model.model.TORCH_DTYPE = torch.float64
    torch.set_default_dtype(torch.float64)
    model = CHGNet.load(use_device="cpu", verbose=False).double()
    linear = model.composition_model.fc.forward
    model.composition_model.fc.forward = lambda counts: linear(counts.double())  # they come as single numbers
    return CHGNetCalculator(model, use_device="cpu")


def eigenwerk(**settings):
    """The density-functional calculation of this package; a new one for each optimiser."""

    def make():
        from eigenwerk.ase import Eigenwerk

        return Eigenwerk(**{"ediff": 1e-6, "ismear": 0, "sigma": 0.02, "threads": 1, **settings})

    return make


@dataclass(frozen=True)
class Case:
    """kind: of structure; make: the atoms; surface: makes the calculator; cell: whether it moves too (ISIF = 3)."""

    name: str
    kind: str
    make: Callable[[], Atoms]
    surface: Callable[[], object]
    cell: bool = False
    seed: int = field(default=0)

    def atoms(self) -> Atoms:
        return self.make()


CASES: dict[str, Case] = {}


def case(name, kind, surface, make, cell=False):
    CASES[name] = Case(name, kind, make, surface, cell)


def rattled(atoms, size=0.1, seed=1, strain=0.0, volume=1.0):
    """Each coordinate moved by a normal deviate, the cell strained at random and scaled to a multiple of its volume."""
    atoms = atoms.copy()
    random = np.random.default_rng(seed)
    if strain or volume != 1.0:
        change = random.uniform(-strain, strain, (3, 3))
        deform = (np.eye(3) + (change + change.T) / 2) * volume ** (1 / 3)
        atoms.set_cell(atoms.cell[:] @ deform, scale_atoms=True)
    atoms.positions += random.normal(scale=size, size=atoms.positions.shape)
    return atoms


def alkane(carbons):
    """A zigzag chain with bond lengths and angles by hand, twisted a little."""
    symbols, places = [], []
    for i in range(carbons):
        x, z = 1.28 * i, 0.42 * (-1) ** i
        symbols.append("C")
        places.append((x, 0, z))
        for side in (-1, 1):
            symbols.append("H")
            places.append((x, 0.9 * side, z + 0.6 * (-1) ** i))
    for x, z, way in ((0, 0.42, -1), (1.28 * (carbons - 1), 0.42 * (-1) ** (carbons - 1), 1)):
        symbols.append("H")
        places.append((x + 0.9 * way, 0, z - 0.6 * np.sign(z)))
    return Atoms(symbols, places)


def waters(count, spacing=2.9, seed=3):
    """Molecules turned at random on a cubic grid."""
    random = np.random.default_rng(seed)
    side = int(np.ceil(count ** (1 / 3)))
    found = Atoms()
    for place in list(np.ndindex(side, side, side))[:count]:
        one = molecule("H2O")
        one.rotate(random.uniform(0, 360), random.normal(size=3))
        one.translate(np.array(place) * spacing - one.positions[0])
        found += one
    return found


for _name in ("H2O", "NH3", "C6H6", "CH3COOH", "C2H4", "SO2", "C5H5N", "C3H6_D3h", "C4H4S", "HCOOH", "C2H2", "Si2H6"):
    case(f"{_name}", "stiff molecules", gfn2, lambda n=_name: rattled(molecule(n), 0.08))
for _name in ("CH3CH2OH", "trans-butane", "CH3CH2OCH3", "CH3CONH2", "bicyclobutane", "C3H7", "CH3COCH3", "H2CCHCl"):
    case(f"{_name}", "floppy molecules", gfn2, lambda n=_name: rattled(molecule(n), 0.12, 2))
for _length in (6, 10):
    case(f"alkane C{_length}", "floppy molecules", gfn2, lambda n=_length: rattled(alkane(n), 0.05, 3))
for _name in (
    "Water_dimer", "Ammonia_dimer", "Formic_acid_dimer", "Formamide_dimer", "Uracil_dimer_h-bonded", "Methane_dimer",
    "Adenine-thymine_Watson-Crick_complex", "Benzene-water_complex", "Phenol_dimer",
):  # fmt: skip
    case(_name.lower(), "hydrogen-bonded clusters", gfn2, lambda n=_name: rattled(create_s22_system(n), 0.06, 4))
for _count in (3, 6, 8):
    case(f"{_count} waters", "hydrogen-bonded clusters", gfn2, lambda n=_count: waters(n))

case("Cu 32", "rattled bulk", emt, lambda: rattled(bulk("Cu", cubic=True) * 2, 0.1))
case("Al 32 far", "rattled bulk", emt, lambda: rattled(bulk("Al", cubic=True) * 2, 0.3))
case("Cu3Au", "rattled bulk", emt, lambda: rattled(_ordered("Au", "Cu", 3.75) * 2, 0.1))
case("Si 8", "rattled bulk", chgnet, lambda: rattled(bulk("Si", cubic=True), 0.1))
case("MgO 8", "rattled bulk", chgnet, lambda: rattled(bulk("MgO", "rocksalt", 4.24, cubic=True), 0.12))
case("NaCl 8", "rattled bulk", chgnet, lambda: rattled(bulk("NaCl", "rocksalt", 5.65, cubic=True), 0.15))
case("Fe 16", "rattled bulk", chgnet, lambda: rattled(bulk("Fe", "bcc", 2.83, cubic=True) * 2, 0.1))
case("TiO2 rutile", "rattled bulk", chgnet, lambda: rattled(_rutile("Ti", 4.64, 2.97, 0.305), 0.1))
case("NiO", "rattled bulk", chgnet, lambda: rattled(bulk("NiO", "rocksalt", 4.2, cubic=True), 0.1))
case("ZnO", "rattled bulk", chgnet, lambda: rattled(bulk("ZnO", "wurtzite", 3.28, c=5.3) * (2, 2, 1), 0.1))
case("SrTiO3", "rattled bulk", chgnet, lambda: rattled(_perovskite("Sr", "Ti", 3.94), 0.1))

case("Cu 4 cell", "cells", emt, lambda: rattled(bulk("Cu", cubic=True), 0.05, 1, 0.06), True)
case("Au 16 cell", "cells", emt, lambda: rattled(bulk("Au", cubic=True) * (2, 2, 1), 0.1, 2, 0.05), True)
case("Al 4 compressed", "cells", emt, lambda: rattled(bulk("Al", cubic=True), 0.05, 3, 0.03, 0.8), True)
case("Si 2 cell", "cells", chgnet, lambda: rattled(bulk("Si"), 0.05, 4, 0.05), True)
case("Si 8 expanded", "cells", chgnet, lambda: rattled(bulk("Si", cubic=True), 0.05, 5, 0.03, 1.2), True)
case("MgO 8 cell", "cells", chgnet, lambda: rattled(bulk("MgO", "rocksalt", 4.24, cubic=True), 0.1, 6, 0.06), True)
case("NaCl 2 cell", "cells", chgnet, lambda: rattled(bulk("NaCl", "rocksalt", 5.2), 0.05, 7, 0.05), True)
case("Fe 2 cell", "cells", chgnet, lambda: rattled(bulk("Fe", "bcc", 2.9, cubic=True), 0.03, 8, 0.05), True)
case("TiO2 rutile cell", "cells", chgnet, lambda: rattled(_rutile("Ti", 4.64, 2.97, 0.305), 0.08, 9, 0.05), True)
case("TiO2 anatase cell", "cells", chgnet, lambda: rattled(_anatase(), 0.05, 10, 0.05), True)
case("SiO2 quartz cell", "cells", chgnet, lambda: rattled(_quartz(), 0.05, 11, 0.05), True)
case("BaTiO3 cell", "cells", chgnet, lambda: rattled(_perovskite("Ba", "Ti", 4.1), 0.1, 12, 0.04), True)
case("ZnO cell", "cells", chgnet, lambda: rattled(bulk("ZnO", "wurtzite", 3.28, c=5.3), 0.08, 13, 0.05), True)
case("Mg hcp cell", "cells", chgnet, lambda: rattled(bulk("Mg", "hcp", 3.3, c=5.0), 0.05, 14, 0.05), True)
case("Al2O3 cell", "cells", chgnet, lambda: rattled(_corundum(), 0.05, 15, 0.04), True)
case("GaAs 8 cell", "cells", chgnet, lambda: rattled(bulk("GaAs", "zincblende", 5.4, cubic=True), 0.1, 16, 0.04), True)

case("graphite", "layered crystals", chgnet, lambda: rattled(_graphite(2.5, 7.2), 0.03, 1, 0.03), True)
case("BN layers", "layered crystals", chgnet, lambda: rattled(_graphite(2.55, 6.9, "BN"), 0.03, 2, 0.03), True)
case("MoS2 layers", "layered crystals", chgnet, lambda: rattled(_mos2(), 0.05, 3, 0.03), True)
case("Mg(OH)2", "layered crystals", chgnet, lambda: rattled(_brucite(), 0.05, 4, 0.03), True)
case("black P", "layered crystals", chgnet, lambda: rattled(_black_phosphorus(), 0.05, 5, 0.03), True)
case("CdI2", "layered crystals", chgnet, lambda: rattled(_cdi2(), 0.05, 6, 0.03), True)

case("ice", "molecular crystals", chgnet, lambda: rattled(_ice(), 0.05, 1, 0.03), True)
case("dry ice", "molecular crystals", gfn1, lambda: rattled(_dry_ice(), 0.05, 2, 0.03), True)
case(
    "argon",
    "molecular crystals",
    lennard_jones,
    lambda: rattled(bulk("Ar", "fcc", 5.5, cubic=True), 0.1, 3, 0.05),
    True,
)
case("argon 13", "molecular crystals", lennard_jones, lambda: _argon(13))
case("argon 38", "molecular crystals", lennard_jones, lambda: _argon(38))


def _ordered(one, three, constant):
    return Atoms([one, *[three] * 3], scaled_positions=[(0, 0, 0), (0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.5, 0)],
                 cell=[constant] * 3, pbc=True)  # fmt: skip


def _rutile(metal, a, c, u):
    return crystal([metal, "O"], [(0, 0, 0), (u, u, 0)], spacegroup=136, cellpar=[a, a, c, 90, 90, 90])


def _anatase():
    return crystal(["Ti", "O"], [(0, 0, 0), (0, 0, 0.208)], spacegroup=141, cellpar=[3.8, 3.8, 9.6, 90, 90, 90])


def _quartz():
    return crystal(["Si", "O"], [(0.47, 0, 1 / 3), (0.413, 0.267, 0.786)], spacegroup=152,
                   cellpar=[4.95, 4.95, 5.45, 90, 90, 120])  # fmt: skip


def _perovskite(a, b, constant):
    places = [(0, 0, 0), (0.5, 0.5, 0.5), (0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5)]
    return Atoms([a, b, "O", "O", "O"], scaled_positions=places, cell=[constant] * 3, pbc=True)


def _corundum():
    return crystal(["Al", "O"], [(0, 0, 0.352), (0.306, 0, 0.25)], spacegroup=167,
                   cellpar=[4.8, 4.8, 13.1, 90, 90, 120], primitive_cell=True)  # fmt: skip


def _graphite(a, c, symbols="CC"):
    one, two = symbols
    places = [(0, 0, 0), (1 / 3, 2 / 3, 0), (0, 0, 0.5), (2 / 3, 1 / 3, 0.5)]
    cell = [[a, 0, 0], [-a / 2, a * np.sqrt(0.75), 0], [0, 0, c]]
    return Atoms([one, two, two if one != two else one, one], scaled_positions=places, cell=cell, pbc=True)


def _mos2():
    layer = mx2("MoS2", a=3.25, thickness=3.2, vacuum=0)
    layer.set_cell([*layer.cell[:2], [0, 0, 12.5]])
    layer.positions[:, 2] += 3.0
    other = layer.copy()
    other.positions = layer.positions @ np.diag([1, -1, 1]) + [0, 0, 6.25]
    both = layer + other
    both.pbc = True
    return both


def _brucite():
    return crystal(["Mg", "O", "H"], [(0, 0, 0), (1 / 3, 2 / 3, 0.22), (1 / 3, 2 / 3, 0.42)], spacegroup=164,
                   cellpar=[3.2, 3.2, 4.9, 90, 90, 120])  # fmt: skip


def _black_phosphorus():
    return crystal(
        ["P"], [(0, 0.102, 0.081)], spacegroup=64, cellpar=[3.35, 10.6, 4.4, 90, 90, 90], primitive_cell=True
    )


def _cdi2():
    return crystal(["Cd", "I"], [(0, 0, 0), (1 / 3, 2 / 3, 0.25)], spacegroup=164, cellpar=[4.3, 4.3, 6.9, 90, 90, 120])


def _ice():
    """Ice VIII-like order of four molecules on a body-centred lattice, dipoles in pairs against each other."""
    found = Atoms(cell=[4.7, 4.7, 5.4], pbc=True)
    for index, place in enumerate([(0, 0, 0), (0.5, 0.5, 0.25), (0.5, 0, 0.5), (0, 0.5, 0.75)]):
        one = molecule("H2O")
        one.translate(-one.positions[0])
        one.rotate(90 * (index % 2) + 45, "z")
        found += Atoms(one.symbols, one.positions + np.array(place) @ found.cell[:])
    found.cell, found.pbc = [4.7, 4.7, 5.4], True
    return found


def _dry_ice():
    return crystal(["C", "O"], [(0, 0, 0), (0.119, 0.119, 0.119)], spacegroup=205, cellpar=[5.6] * 3 + [90] * 3)


def _argon(count):
    random = np.random.default_rng(count)
    grid = 3.9 * np.array(sorted(np.ndindex(5, 5, 5), key=lambda p: sum((x - 2) ** 2 for x in p))[:count], float)
    return Atoms(f"Ar{count}", grid + random.normal(scale=0.15, size=grid.shape))


def fixed_below(atoms, share):
    """Atoms in the lowest part of the structure do not move."""
    from ase.constraints import FixAtoms

    heights = atoms.positions[:, 2]
    atoms.set_constraint(FixAtoms(mask=heights < heights.min() + share * np.ptp(heights)))
    return atoms


def slab(make, symbol, size, adsorbate, place="ontop", height=1.8, seed=1, **more):
    atoms = fixed_below(make(symbol, size, vacuum=6.0, **more), 0.45)
    if adsorbate:
        what = Atoms("CO", [(0, 0, 0), (0.1, 0, 1.15)]) if adsorbate == "CO" else Atoms(adsorbate)
        add_adsorbate(atoms, what, height, place)
    atoms.pbc = True
    return fixed_rattle(atoms, 0.05, seed)


def fixed_rattle(atoms, size, seed):
    moved = rattled(atoms, size, seed)
    for constraint in atoms.constraints:
        moved.positions[constraint.index] = atoms.positions[constraint.index]
    moved.set_constraint(atoms.constraints)
    return moved


case("O on Cu(111)", "slabs", emt, lambda: slab(fcc111, "Cu", (2, 2, 4), "O", "fcc", 1.6))
case("CO on Pt(111)", "slabs", emt, lambda: slab(fcc111, "Pt", (2, 2, 4), "CO", "ontop", 2.0))
case("N on Ni(100)", "slabs", emt, lambda: slab(fcc100, "Ni", (2, 2, 4), "N", "hollow", 1.3))
case("Au on Al(100)", "slabs", emt, lambda: slab(fcc100, "Al", (3, 3, 4), "Au", "bridge", 2.0))
case("Pd(211)", "slabs", emt, lambda: slab(lambda s, n, vacuum: fcc211(s, n, vacuum=vacuum), "Pd", (3, 2, 3), ""))
case("CO on Pt(111) DFT-like", "slabs", chgnet, lambda: slab(fcc111, "Pt", (2, 1, 4), "CO", "bridge", 1.7))
case("O on Fe(100)", "slabs", chgnet, lambda: slab(bcc100, "Fe", (2, 1, 4), "O", "hollow", 1.0))
case("H on W(110)", "slabs", chgnet, lambda: slab(bcc110, "W", (2, 1, 4), "H", "longbridge", 1.2))
case("N on Ru(0001)", "slabs", chgnet, lambda: slab(hcp0001, "Ru", (2, 1, 4), "N", "hcp", 1.3))
case("water on MgO", "slabs", chgnet, lambda: fixed_rattle(_water_on_mgo(), 0.03, 2))
case("CO on graphene", "slabs", chgnet, lambda: fixed_rattle(_on_graphene(), 0.03, 3))


def _water_on_mgo():
    atoms = bulk("MgO", "rocksalt", 4.24, cubic=True) * (1, 1, 2)
    atoms.set_cell([4.24, 4.24, 18.0])
    fixed_below(atoms, 0.3)
    top = atoms.positions[:, 2].max()
    one = molecule("H2O")
    one.rotate(90, "x")
    mg = max((a for a in atoms if a.symbol == "Mg"), key=lambda a: a.position[2])
    one.translate(mg.position - one.positions[0] + [0.2, 0.1, top - mg.position[2] + 2.1])
    constraints = atoms.constraints
    atoms = atoms + one
    atoms.set_constraint(constraints)
    atoms.pbc = True
    return atoms


def _on_graphene():
    atoms = graphene(size=(2, 2, 1), vacuum=6.0)
    atoms.pbc = True
    one = Atoms("CO", atoms.positions[4] + np.array([(0, 0, 2.8), (0.3, 0, 3.9)]))
    return atoms + one


def _without(atoms, *gone):
    del atoms[list(gone)]
    return atoms


def _with(atoms, symbol, scaled):
    return atoms + Atoms(symbol, [np.array(scaled) @ atoms.cell[:]])


case("Cu vacancy", "defects", emt, lambda: rattled(_without(bulk("Cu", cubic=True) * 3, 0), 0.02))
case("Al divacancy", "defects", emt, lambda: rattled(_without(bulk("Al", cubic=True) * 3, 0, 1), 0.05))
case(
    "Cu interstitial",
    "defects",
    emt,
    lambda: rattled(_with(bulk("Cu", cubic=True) * 2, "Cu", (0.25, 0.27, 0.24)), 0.02),
)
case("Ag in Cu", "defects", emt, lambda: rattled(_replaced(bulk("Cu", cubic=True) * 3, "Ag"), 0.02))
case("Si vacancy", "defects", chgnet, lambda: rattled(_without(bulk("Si", cubic=True) * (2, 2, 1), 0), 0.05))
case(
    "Si interstitial", "defects", chgnet, lambda: rattled(_with(bulk("Si", cubic=True), "Si", (0.5, 0.48, 0.52)), 0.03)
)
case(
    "MgO vacancy",
    "defects",
    chgnet,
    lambda: rattled(_without(bulk("MgO", "rocksalt", 4.24, cubic=True) * (2, 1, 1), 1), 0.05),
)
case(
    "Li in graphite",
    "defects",
    chgnet,
    lambda: rattled(_with(_graphite(2.46, 7.0) * (2, 1, 1), "Li", (0.18, 0.3, 0.24)), 0.03),
)
case(
    "C in Fe",
    "defects",
    chgnet,
    lambda: rattled(_with(bulk("Fe", "bcc", 2.83, cubic=True) * (2, 2, 1), "C", (0.25, 0.25, 0.02)), 0.03),
)


def _replaced(atoms, symbol):
    atoms.symbols[0] = symbol
    return atoms


case(
    "H2O by PBE",
    "this package's DFT",
    eigenwerk(encut=500, kpts=(1, 1, 1)),
    lambda: rattled(molecule("H2O", vacuum=3.0), 0.08, 3),
)
case(
    "CH3OH by PBE",
    "this package's DFT",
    eigenwerk(encut=500, kpts=(1, 1, 1)),
    lambda: rattled(molecule("CH3OH", vacuum=2.5), 0.08, 3),
)
case(
    "Si 8 by PBE",
    "this package's DFT",
    eigenwerk(encut=250, kpts=(1, 1, 1)),
    lambda: rattled(bulk("Si", cubic=True), 0.1, 5),
)
