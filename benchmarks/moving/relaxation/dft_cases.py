"""Small structures away from rest, for relaxations on this package's own density functionals: by kinds, with tags."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from ase import Atoms
from ase.build import add_adsorbate, bulk, fcc100, fcc111, graphene, hcp0001, molecule
from ase.data.s22 import create_s22_system
from ase.spacegroup import crystal
from cases import fixed_below, fixed_rattle, rattled

Mesh = tuple[int, int, int]
GAMMA = (1, 1, 1)


@dataclass(frozen=True)
class DftCase:
    """kind: of structure; make: the atoms; mesh: of k-points; tags: of INCAR, as keywords; cell: whether it moves."""

    name: str
    kind: str
    make: Callable[[], Atoms]
    mesh: Mesh
    tags: Mapping[str, Any] = field(default_factory=dict)
    cell: bool = False

    def atoms(self) -> Atoms:
        atoms = self.make()
        atoms.pbc = True
        return atoms


DFT_CASES: dict[str, DftCase] = {}


def _case(kind: str, name: str, make: Callable[[], Atoms], mesh: Mesh, encut: float, **tags: Any) -> None:
    cell = kind in CELLS
    DFT_CASES[name] = DftCase(name, kind, make, mesh, {"encut": encut, "isif": 3 if cell else 2} | tags, cell)


CELLS = ("cells", "layered", "magnets' cells", "far from rest")
"""Kinds whose cell moves."""

METAL = {"ismear": 1, "sigma": 0.2}
SPIN = {"ispin": 2}


# molecules: bond lengths and angles off by some hundredths of an ångström, in boxes whose images are 5 Å and more apart


def _boxed(atoms: Atoms, size: float = 0.06, seed: int = 1, room: float = 4.8) -> Atoms:
    """In a cube, whose images turn no dipole to first order."""
    atoms = rattled(atoms, size, seed)
    atoms.set_cell(np.eye(3) * max(6.0, np.ptp(atoms.positions, axis=0).max() + room))
    atoms.center()
    return atoms


def _molecule(name: str, encut: float, size: float = 0.06, seed: int = 1, kind: str = "molecules", **tags: Any) -> None:
    make = functools.partial(lambda n: _boxed(molecule(n), size, seed), name)
    _case(kind, name, make, GAMMA, encut, prec="Accurate", **tags)


for _name, _cut in {
    "H2O": 450,
    "NH3": 400,
    "HCN": 400,
    "C2H4": 350,
    "SO2": 400,
    "SiH4": 250,
    "PH3": 300,
    "CH3Cl": 350,
}.items():
    _molecule(_name, _cut)
for _name, _cut in {"CH3OH": 400, "H2O2": 450, "C2H6": 350, "Si2H6": 250, "CH3SH": 350}.items():
    _molecule(_name, _cut, 0.1, 2, "flexible molecules")
_case("flexible molecules", "eclipsed N2H4", lambda: _boxed(_hydrazine(), 0.05, 3), GAMMA, 400, prec="Accurate")
for _name, _cut in {"CH3": 400, "NO2": 400, "O2": 450, "CH3O": 400}.items():
    _molecule(_name, _cut, 0.06, 4, "radicals", ismear=0, sigma=0.05, **SPIN)
for _name, _cut in {"Water_dimer": 400, "Ammonia_dimer": 350, "Methane_dimer": 350}.items():
    # P. Jurecka et al., Phys. Chem. Chem. Phys. 8, 1985 (2006), as ASE has them
    _case(
        "dimers",
        _name,
        functools.partial(lambda n: _boxed(create_s22_system(n), 0.06, 4, 4.0), _name),
        GAMMA,
        _cut,
        prec="Accurate",
    )
_case("dimers", "2 LiF", lambda: _boxed(_ionic_ring("Li", "F", 1.9), 0.1, 5), GAMMA, 400, prec="Accurate")


def _hydrazine() -> Atoms:
    """Both ends turned to the same side, which is a saddle of the torsion but for the rattling."""
    places = [(0, 0, 0.72), (0, 0, -0.72)]
    places += [(0.94 * np.cos(t), 0.94 * np.sin(t), s * 1.0) for s in (1, -1) for t in (0.95, -0.95)]
    return Atoms("N2H4", places)


def _ionic_ring(one: str, other: str, side: float) -> Atoms:
    return Atoms([one, other, one, other], [(0, 0, 0), (side, 0, 0), (side, side, 0), (0, side, 0)])


# crystals at lattice constants near those of PBE: P. Haas, F. Tran, P. Blaha, Phys. Rev. B 79, 085104 (2009)

_case("bulk", "Si 8", lambda: rattled(bulk("Si", "diamond", 5.47, cubic=True), 0.1, 1), (2, 2, 2), 200)
_case("bulk", "Si 2", lambda: rattled(bulk("Si", "diamond", 5.47), 0.15, 2), (3, 3, 3), 200)
_case("bulk", "C 2", lambda: rattled(bulk("C", "diamond", 3.57), 0.08, 3), (3, 3, 3), 350)
_case("bulk", "Al 4", lambda: rattled(bulk("Al", "fcc", 4.04, cubic=True), 0.15, 1), (3, 3, 3), 240, **METAL)
_case("bulk", "Cu 4", lambda: rattled(bulk("Cu", "fcc", 3.63, cubic=True), 0.1, 1), (2, 2, 2), 300, **METAL)
_case("bulk", "Na 4", lambda: rattled(bulk("Na", "bcc", 4.2, cubic=True) * (2, 1, 1), 0.2, 1), (2, 3, 3), 200, **METAL)
_case("bulk", "MgO 8", lambda: rattled(bulk("MgO", "rocksalt", 4.26, cubic=True), 0.1, 1), GAMMA, 350)
_case("bulk", "NaCl 8", lambda: rattled(bulk("NaCl", "rocksalt", 5.7, cubic=True), 0.15, 1), GAMMA, 260)
_case("bulk", "LiF 8", lambda: rattled(bulk("LiF", "rocksalt", 4.07, cubic=True), 0.1, 1), GAMMA, 400)
_case("bulk", "GaAs 2", lambda: rattled(bulk("GaAs", "zincblende", 5.75), 0.15, 2), (2, 2, 2), 250)
_case("bulk", "AlN 4", lambda: rattled(bulk("AlN", "wurtzite", 3.13, c=5.02), 0.08, 1), (2, 2, 2), 350)
_case("bulk", "TiO2 6", lambda: rattled(_rutile("Ti", 4.65, 2.97, 0.305), 0.08, 1), (1, 1, 2), 350)
_case("bulk", "SrTiO3 5", lambda: rattled(_perovskite("Sr", "Ti", 3.94), 0.08, 1), (2, 2, 2), 350)
_case("bulk", "Cu3Au", lambda: rattled(_ordered("Au", "Cu", 3.8), 0.1, 1), (2, 2, 2), 280, **METAL)

_case("cells", "Si 2 compressed", lambda: rattled(bulk("Si", "diamond", 5.47), 0.05, 4, 0.03, 0.85), (2, 2, 2), 220)
_case("cells", "C 2 sheared", lambda: rattled(bulk("C", "diamond", 3.57), 0.04, 5, 0.08), (2, 2, 2), 380)
_case(
    "cells",
    "Al 4 cell",
    lambda: rattled(bulk("Al", "fcc", 4.04, cubic=True), 0.05, 3, 0.05, 0.9),
    (2, 2, 2),
    240,
    **METAL,
)
_case("cells", "NaCl 2 sheared", lambda: rattled(bulk("NaCl", "rocksalt", 5.7), 0.05, 7, 0.07), (2, 2, 2), 260)
_case("cells", "MgO 2 expanded", lambda: rattled(bulk("MgO", "rocksalt", 4.26), 0.05, 8, 0.03, 1.15), (2, 2, 2), 380)
_case("cells", "GaAs 2 cell", lambda: rattled(bulk("GaAs", "zincblende", 5.75), 0.08, 9, 0.05), (2, 2, 2), 250)
_case("cells", "Mg 2 cell", lambda: rattled(bulk("Mg", "hcp", 3.19, c=5.2), 0.05, 14, 0.05), (3, 3, 2), 240, **METAL)
_case("cells", "AlN 4 cell", lambda: rattled(bulk("AlN", "wurtzite", 3.13, c=5.02), 0.06, 2, 0.04), (2, 2, 1), 350)
_case("cells", "TiO2 6 cell", lambda: rattled(_rutile("Ti", 4.65, 2.97, 0.305), 0.06, 9, 0.04), (1, 1, 2), 350)
_case("cells", "SiO2 quartz", lambda: rattled(_quartz(), 0.04, 11, 0.03), GAMMA, 380)
_case("cells", "BaTiO3 5", lambda: rattled(_perovskite("Ba", "Ti", 4.05), 0.08, 12, 0.03), (2, 2, 2), 350)
_case("cells", "LiH 2 cell", lambda: rattled(bulk("LiH", "rocksalt", 4.0), 0.06, 13, 0.06), (3, 3, 3), 300)

_case("layered", "graphite", lambda: rattled(_two_layers(2.47, 6.9, "CC"), 0.03, 1, 0.02), (3, 3, 1), 350, **METAL)
_case("layered", "BN", lambda: rattled(_two_layers(2.51, 6.8, "BN"), 0.03, 2, 0.02), (2, 2, 1), 350)
_case("layered", "TiS2", lambda: rattled(_cdi2("Ti", "S", 3.4, 5.9), 0.05, 3, 0.03), (3, 3, 2), 280, **METAL)
_case("layered", "Mg(OH)2", lambda: rattled(_brucite(), 0.04, 4, 0.02), (2, 2, 1), 380)
_case("layered", "MgCl2", lambda: rattled(_cdi2("Mg", "Cl", 3.65, 6.2), 0.06, 6, 0.03), (2, 2, 1), 280)

_case("far from rest", "Si 4 at random", lambda: _at_random("Si4", 84.0, 21, 2.1), (2, 2, 2), 200, **METAL)
_case("far from rest", "NaCl 4 far", lambda: _at_random("Na2Cl2", 95.0, 22, 2.3), (2, 2, 2), 260)
_case(
    "far from rest",
    "Na 2 at 0.6 V",
    lambda: rattled(bulk("Na", "bcc", 4.2, cubic=True), 0.1, 3, 0.05, 0.6),
    (3, 3, 3),
    200,
    **METAL,
)
_case(
    "far from rest",
    "Al 4 at 1.4 V",
    lambda: rattled(bulk("Al", "fcc", 4.04, cubic=True), 0.2, 5, 0.05, 1.4),
    (2, 2, 2),
    240,
    **METAL,
)
_case("far from rest", "dry ice 12", lambda: rattled(_dry_ice(), 0.05, 2, 0.03), GAMMA, 400)
_case("far from rest", "ice 12", lambda: rattled(_ice(), 0.05, 1, 0.03), GAMMA, 400)


def _rutile(metal: str, a: float, c: float, u: float) -> Atoms:
    return crystal([metal, "O"], [(0, 0, 0), (u, u, 0)], spacegroup=136, cellpar=[a, a, c, 90, 90, 90])


def _quartz() -> Atoms:
    return crystal(["Si", "O"], [(0.47, 0, 1 / 3), (0.413, 0.267, 0.786)], spacegroup=152,
                   cellpar=[5.0, 5.0, 5.5, 90, 90, 120])  # fmt: skip


def _perovskite(a: str, b: str, constant: float) -> Atoms:
    places = [(0, 0, 0), (0.5, 0.5, 0.5), (0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5)]
    return Atoms([a, b, "O", "O", "O"], scaled_positions=places, cell=[constant] * 3)


def _ordered(one: str, three: str, constant: float) -> Atoms:
    places = [(0, 0, 0), (0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.5, 0)]
    return Atoms([one, *[three] * 3], scaled_positions=places, cell=[constant] * 3)


def _two_layers(a: float, c: float, symbols: str) -> Atoms:
    one, two = symbols
    places = [(0, 0, 0), (1 / 3, 2 / 3, 0), (0, 0, 0.5), (2 / 3, 1 / 3, 0.5)]
    cell = [[a, 0, 0], [-a / 2, a * np.sqrt(0.75), 0], [0, 0, c]]
    return Atoms([one, two, two if one != two else one, one], scaled_positions=places, cell=cell)


def _cdi2(metal: str, anion: str, a: float, c: float) -> Atoms:
    places = [(0, 0, 0), (1 / 3, 2 / 3, 0.25)]
    return crystal([metal, anion], places, spacegroup=164, cellpar=[a, a, c, 90, 90, 120])


def _brucite() -> Atoms:
    return crystal(["Mg", "O", "H"], [(0, 0, 0), (1 / 3, 2 / 3, 0.22), (1 / 3, 2 / 3, 0.42)], spacegroup=164,
                   cellpar=[3.17, 3.17, 4.8, 90, 90, 120])  # fmt: skip


def _at_random(formula: str, volume: float, seed: int, nearest: float) -> Atoms:
    """Atoms dropped into a cell that is nearly a cube, none nearer to another than so many Å."""
    random = np.random.default_rng(seed)
    cell = volume ** (1 / 3) * (np.eye(3) + random.uniform(-0.08, 0.08, (3, 3)))
    found = Atoms(cell=cell, pbc=True)
    for symbol in Atoms(formula).symbols:
        for _ in range(10_000):
            one = found + Atoms(symbol, [random.uniform(size=3) @ cell])
            if len(one) == 1 or one.get_distances(-1, range(len(one) - 1), mic=True).min() > nearest:
                found = one
                break
    assert len(found) == len(Atoms(formula)), "there is no room for the atoms"
    return found


def _dry_ice() -> Atoms:
    return crystal(["C", "O"], [(0, 0, 0), (0.119, 0.119, 0.119)], spacegroup=205, cellpar=[5.6] * 3 + [90] * 3)


def _ice() -> Atoms:
    """Four molecules on a body-centred lattice, dipoles in pairs against each other, as in ice VIII."""
    found, cell = Atoms(), np.diag([4.7, 4.7, 5.4])
    for index, place in enumerate([(0, 0, 0), (0.5, 0.5, 0.25), (0.5, 0, 0.5), (0, 0.5, 0.75)]):
        one = molecule("H2O")
        one.translate(-one.positions[0])
        one.rotate(90 * (index % 2) + 45, "z")
        found += Atoms(one.symbols, one.positions + np.array(place) @ cell)
    found.set_cell(cell)
    return found


# slabs: the lower half stays


def _slab(
    make: Callable[..., Atoms], symbol: str, size: Mesh, what: str, place: str, height: float, **more: Any
) -> Atoms:
    atoms = fixed_below(make(symbol, size, vacuum=4.0, **more), 0.45)
    one = Atoms("CO", [(0, 0, 0), (0.1, 0, 1.15)]) if what == "CO" else Atoms(what)
    add_adsorbate(atoms, one, height, place)
    atoms.cell[2, 2] += 1.0
    return fixed_rattle(atoms, 0.05, 1)


_case("slabs", "H on Al(111)", lambda: _slab(fcc111, "Al", (1, 1, 4), "H", "fcc", 1.0, a=4.04), (4, 4, 1), 240, **METAL)
_case(
    "slabs", "O on Al(100)", lambda: _slab(fcc100, "Al", (1, 1, 4), "O", "hollow", 0.8, a=4.04), (4, 4, 1), 350, **METAL
)
_case(
    "slabs",
    "Na on Al(100)",
    lambda: _slab(fcc100, "Al", (2, 1, 3), "Na", "bridge", 2.7, a=4.04),
    (2, 4, 1),
    240,
    **METAL,
)
_case(
    "slabs",
    "H on Mg(0001)",
    lambda: _slab(hcp0001, "Mg", (1, 1, 4), "H", "fcc", 1.1, a=3.19, c=5.2),
    (4, 4, 1),
    240,
    **METAL,
)
_case(
    "slabs",
    "CO on Cu(100)",
    lambda: _slab(fcc100, "Cu", (2, 1, 2), "CO", "ontop", 1.8, a=3.63),
    (1, 2, 1),
    350,
    **METAL,
)
_case("slabs", "Li on graphene", lambda: fixed_rattle(_on_graphene(), 0.05, 3), (2, 2, 1), 300, **METAL)


def _on_graphene() -> Atoms:
    atoms = graphene(size=(2, 2, 1), vacuum=3.5)
    return atoms + Atoms("Li", [atoms.positions[4] + np.array((0.3, 0.2, 2.2))])


# defects


def _without(atoms: Atoms, *gone: int) -> Atoms:
    del atoms[list(gone)]
    return atoms


def _with(atoms: Atoms, symbol: str, scaled: tuple[float, float, float]) -> Atoms:
    return atoms + Atoms(symbol, [np.array(scaled) @ atoms.cell[:]])


def _si8() -> Atoms:
    return bulk("Si", "diamond", 5.47, cubic=True)


_case("defects", "vacancy in Si 8", lambda: rattled(_without(_si8(), 0), 0.05, 1), (2, 2, 2), 200, **METAL)
_case(
    "defects",
    "Si interstitial",
    lambda: rattled(_with(_si8(), "Si", (0.5, 0.46, 0.53)), 0.03, 2),
    (2, 2, 2),
    200,
    **METAL,
)
_case(
    "defects", "Li in Si 8", lambda: rattled(_with(_si8(), "Li", (0.52, 0.46, 0.53)), 0.03, 3), (2, 2, 2), 220, **METAL
)
_case(
    "defects",
    "vacancy in Al 8",
    lambda: rattled(_without(bulk("Al", "fcc", 4.04, cubic=True) * (2, 1, 1), 0), 0.05, 4),
    (2, 3, 3),
    240,
    **METAL,
)
_case(
    "defects",
    "H in Al 4",
    lambda: rattled(_with(bulk("Al", "fcc", 4.04, cubic=True), "H", (0.27, 0.22, 0.24)), 0.03, 5),
    (2, 2, 2),
    240,
    **METAL,
)
_case(
    "defects",
    "Mg vacancy in MgO 8",
    lambda: rattled(_without(bulk("MgO", "rocksalt", 4.26, cubic=True), 0), 0.04, 6),
    GAMMA,
    350,
    **METAL,
)


# magnets


def _with_moments(atoms: Atoms, *moments: float) -> Atoms:
    atoms.set_initial_magnetic_moments(list(moments))
    return atoms


def _antiferromagnet(metal: str, constant: float, moment: float) -> Atoms:
    """Planes (111) of one moment each: the rhombohedral cell with two metal atoms."""
    half = constant / 2
    cell = np.array([(2, 1, 1), (1, 2, 1), (1, 1, 2)]) * half
    places = [(0, 0, 0), (0.5, 0.5, 0.5), (0.25, 0.25, 0.25), (0.75, 0.75, 0.75)]
    atoms = Atoms([metal, metal, "O", "O"], scaled_positions=places, cell=cell)
    return _with_moments(atoms, moment, -moment, 0, 0)


def _iron(size: float, seed: int, strain: float = 0.0, volume: float = 1.0) -> Atoms:
    return _with_moments(rattled(bulk("Fe", "bcc", 2.83, cubic=True), size, seed, strain, volume), 2.5, 2.5)


_case("magnets", "Fe 2", lambda: _iron(0.1, 1), (3, 3, 3), 300, **METAL, **SPIN)
_case(
    "magnets",
    "Co 2",
    lambda: _with_moments(rattled(bulk("Co", "hcp", 2.5, c=4.03), 0.1, 2), 1.7, 1.7),
    (3, 3, 2),
    300,
    **METAL,
    **SPIN,
)
_case(
    "magnets",
    "NiO afm",
    lambda: rattled(_antiferromagnet("Ni", 4.19, 1.5), 0.06, 3),
    (2, 2, 2),
    350,
    ismear=0,
    sigma=0.05,
    **SPIN,
)
_case(
    "magnets",
    "MnO afm",
    lambda: rattled(_antiferromagnet("Mn", 4.44, 4.5), 0.06, 4),
    (2, 2, 2),
    350,
    ismear=0,
    sigma=0.05,
    **SPIN,
)
_case("magnets' cells", "Fe 2 cell", lambda: _iron(0.05, 5, 0.04, 1.05), (3, 3, 3), 300, **METAL, **SPIN)
_case(
    "magnets' cells",
    "MnO afm cell",
    lambda: rattled(_antiferromagnet("Mn", 4.44, 4.5), 0.04, 6, 0.03),
    (2, 2, 2),
    350,
    ismear=0,
    sigma=0.05,
    **SPIN,
)
