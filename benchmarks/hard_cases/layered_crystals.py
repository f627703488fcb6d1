"""Structures of the second set of hard cases (Å): layers, adsorbates, compounds of magnetic elements, molecules.

Layers have lattice constants and heights of PBE calculations or of their bulk (M. N. Gjerding et al., 2D Mater. 8,
044002 (2021); R. W. G. Wyckoff, Crystal Structures (1963)); rounded, because nothing here is relaxed.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np
from crystals import CENTRE, FCC, fcc_cube, hexagonal, in_a_row, made, molecule, rhombohedral, slab, with_atoms

from eigenwerk.dft.building.supercell import supercell, wrapped
from eigenwerk.io.vasp.input.poscar import Poscar

HOLLOWS = ((0.0, 0.0), (1 / 3, 2 / 3), (2 / 3, 1 / 3))
"""The places A, B, C of close-packed layers."""


def stacked(title: str, a: float, height: float, layers: Sequence[tuple[str, str, float]]) -> Poscar:
    """Close-packed layers in a hexagonal cell: (element, place A, B or C, distance from the layer below)."""
    z_l = [*accumulate(step for _, _, step in layers)]
    middle = 0.5 * (z_l[0] + z_l[-1])
    sites: dict[str, list] = {}
    for (symbol, place, _), z in zip(layers, z_l, strict=True):
        sites.setdefault(symbol, []).append((*HOLLOWS["ABC".index(place)], (z - middle) / height + 0.5))
    return made(title, hexagonal(a, height), sites)


def one_t(metal: str, other: str, a: float, half: float, height: float = 15.0) -> Poscar:
    """Monolayer of the CdI2 structure: octahedra; half: height of the anions above the metal."""
    return stacked(f"{metal}{other}2 1T", a, height, [(other, "B", 0.0), (metal, "A", half), (other, "C", half)])


def one_h(metal: str, other: str, a: float, half: float, height: float = 15.0) -> Poscar:
    """Monolayer of the MoS2 structure: trigonal prisms."""
    return stacked(f"{metal}{other}2 1H", a, height, [(other, "B", 0.0), (metal, "A", half), (other, "B", half)])


def honeycomb(first: str, second: str, a: float, buckling: float, height: float) -> Poscar:
    """Two atoms; buckling: their difference in height."""
    return stacked(f"{first}{second} layer", a, height, [(first, "B", 0.0), (second, "C", buckling)])


def carbide(metal: str, a: float, half: float) -> Poscar:
    """Monolayer M2C (MXene): metal at C and B around carbon at A."""
    return stacked(f"{metal}2C", a, 15.0, [(metal, "B", 0.0), ("C", "A", half), (metal, "C", half)])


def quintuple(metal: str, other: str, a: float, inner: float, outer: float, height: float) -> Poscar:
    """One quintuple layer X-M-X-M-X; inner and outer: distances of M from the inner and the outer X planes."""
    layers = [(other, "A", 0.0), (metal, "B", outer), (other, "C", inner), (metal, "A", inner), (other, "B", outer)]
    return stacked(f"{metal}2{other}3 layer", a, height, layers)


def septuple(metal: str, a: float, height: float) -> Poscar:
    """One septuple layer Te-Bi-Te-M-Te-Bi-Te of the MnBi2Te4 structure."""
    layers = [("Te", "A", 0.0), ("Bi", "B", 1.71), ("Te", "C", 2.10), (metal, "A", 1.58), ("Te", "B", 1.58),
              ("Bi", "C", 2.10), ("Te", "A", 1.71)]  # fmt: skip
    return stacked(f"{metal}Bi2Te4 layer", a, height, layers)


def tetradymite(metal: str, other: str, a: float, c: float, u: float, v: float) -> Poscar:
    """Rhombohedral bulk of quintuple layers, 5 atoms."""
    sites = {metal: [(u, u, u), (-u, -u, -u)], other: [(0, 0, 0), (v, v, v), (-v, -v, -v)]}
    return made(f"{metal}2{other}3", rhombohedral(a, c), sites)


def trihalide(metal: str, halogen: str, a: float, half: float, height: float = 15.0) -> Poscar:
    """Monolayer of the BiI3 structure, MX3 with two metal atoms on a honeycomb."""
    z, x = half / height, 0.35
    up = [(x, 0.0, 0.5 + z), (0.0, x, 0.5 + z), (-x, -x, 0.5 + z)]
    down = [(-x, 0.0, 0.5 - z), (0.0, -x, 0.5 - z), (x, x, 0.5 - z)]
    metals = [(1 / 3, 2 / 3, 0.5), (2 / 3, 1 / 3, 0.5)]
    return made(f"{metal}{halogen}3 layer", hexagonal(a, height), {metal: metals, halogen: up + down})


def phosphorene() -> Poscar:
    """Puckered layer of four atoms."""
    z = 1.055 / 15.0
    rows = [(0.162, 0.5, 0.5 + z), (-0.162, 0, 0.5 + z), (0.337, 0.5, 0.5 - z), (-0.337, 0, 0.5 - z)]
    return made("phosphorene", np.diag([4.57, 3.31, 15.0]), {"P": rows})


def borophene() -> Poscar:
    """Buckled triangular layer of two atoms."""
    return made("borophene", np.diag([1.613, 2.866, 14.0]), {"B": [(0, 0, 0.468), (0.5, 0.5, 0.532)]})


def iron_selenide() -> Poscar:
    """One layer of FeSe, tetragonal, two Fe."""
    z = 1.46 / 14.0
    sites = {"Fe": [(0, 0, 0.5), (0.5, 0.5, 0.5)], "Se": [(0.5, 0, 0.5 + z), (0, 0.5, 0.5 - z)]}
    return made("FeSe layer", np.diag([3.77, 3.77, 14.0]), sites)


def iron_germanium_telluride() -> Poscar:
    """One layer of Fe3GeTe2, a metallic ferromagnet."""
    layers = [("Te", "B", 0.0), ("Fe", "A", 1.31), ("Ge", "B", 1.29), ("Fe", "A", 1.29), ("Te", "B", 1.31)]
    layer = stacked("Fe3GeTe2 layer", 3.99, 16.0, layers)
    return with_atoms(layer, "Fe", [np.array([*HOLLOWS[2], 0.5]) @ layer.lattice_cv])


def graphene_hole() -> Poscar:
    """A vacancy in 3 x 3 graphene: a magnetic edge."""
    sheet = supercell(honeycomb("C", "C", 2.461, 0.0, 10.0), np.diag([3, 3, 1]))
    return replace(sheet, symbols=sheet.symbols[1:], scaled_ac=sheet.scaled_ac[1:], species_runs=())


def covered(
    clean: Poscar, symbols: Sequence[str], heights: Sequence[float], place: Sequence[float] = (0.0, 0.0)
) -> Poscar:
    """Atoms above the topmost atom, moved by `place` in units of the surface vectors, at heights above it."""
    top = clean.positions_av[np.argmax(clean.positions_av[:, 2])]
    foot = top + np.array([*place, 0.0]) @ clean.lattice_cv
    for symbol, height in zip(symbols, heights, strict=True):
        clean = with_atoms(clean, symbol, [foot + np.array([0.0, 0.0, height])])
    return clean


def doubled(clean: Poscar) -> Poscar:
    """The c(2 x 2) cell of a square surface."""
    return supercell(clean, np.array([[1, 1, 0], [-1, 1, 0], [0, 0, 1]]))


def water_on_magnesia(height: float = 2.2) -> Poscar:
    """H2O with its oxygen above Mg of two layers of MgO(100), c(2 x 2)."""
    clean = doubled(slab(made("MgO", 4.212 * np.eye(3), {"Mg": FCC, "O": (FCC + CENTRE) % 1}), (1, 0, 0), 2, 11.0))
    is_metal = np.array(clean.symbols) == "Mg"
    metal_av = clean.positions_av[is_metal]
    top = metal_av[np.argmax(metal_av[:, 2])] + np.array([0.0, 0.0, height])
    wet = with_atoms(clean, "O", [top])
    return with_atoms(wet, "H", [top + np.array([x, 0.0, 0.6]) for x in (0.76, -0.76)])


def iron_on_magnesia() -> Poscar:
    """Two layers of Fe on two of MgO(100), iron on top of oxygen."""
    a, height = 4.212 / 2**0.5, 16.0
    places = {
        "Fe": [(0, 0, 4.2), (0.5, 0.5, 5.5)],
        "Mg": [(0, 0, 0), (0.5, 0.5, 2.106)],
        "O": [(0.5, 0.5, 0), (0, 0, 2.106)],
    }
    scaled = {symbol: [(x, y, (z + 5.0) / height) for x, y, z in rows] for symbol, rows in places.items()}
    return made("Fe on MgO", np.diag([a, a, height]), scaled)


def polar_zinc_oxide(bilayers: int, height: float) -> Poscar:
    """ZnO(0001): zinc on one side, oxygen on the other."""
    places = ["AB"[bilayer % 2] for bilayer in range(bilayers)]
    layers = [row for place in places for row in (("Zn", place, 0.62), ("O", place, 1.99))]
    return stacked("ZnO(0001)", 3.25, height, layers)


def titanate_slab() -> Poscar:
    """SrTiO3(001) with SrO on one side and TiO2 on the other, 10 atoms."""
    a, height = 3.905, 18.0
    sites: dict[str, list] = {"Sr": [], "Ti": [], "O": []}
    for cell in range(2):
        low, high = (5.0 + cell * a) / height, (5.0 + (cell + 0.5) * a) / height
        sites["Sr"].append((0, 0, low))
        sites["Ti"].append((0.5, 0.5, high))
        sites["O"] += [(0.5, 0.5, low), (0.5, 0, high), (0, 0.5, high)]
    return made("SrTiO3 slab", np.diag([a, a, height]), sites)


def perovskite(large: str, small: str, a: float) -> Poscar:
    """Cubic ABO3."""
    sites = {large: [(0, 0, 0)], small: [CENTRE], "O": [(0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5)]}
    return made(f"{large}{small}O3", a * np.eye(3), sites)


def spinel(tetrahedral: str, octahedral: str, a: float, u: float) -> Poscar:
    """AB2O4, primitive cell of 14 atoms: first the two tetrahedral sites, then the four octahedral ones."""
    lattice_cv = 0.5 * a * (1 - np.eye(3))
    cube = {
        "A": [(0.125, 0.125, 0.125), (0.875, 0.875, 0.875)],
        "B": [(0.5, 0.5, 0.5), (0.5, 0.25, 0.25), (0.25, 0.5, 0.25), (0.25, 0.25, 0.5)],
        "O": [(u, u, u), (u, 0.25 - u, 0.25 - u), (0.25 - u, u, 0.25 - u), (0.25 - u, 0.25 - u, u),
              (-u, -u, -u), (-u, u - 0.25, u - 0.25), (u - 0.25, -u, u - 0.25), (u - 0.25, u - 0.25, -u)],
    }  # fmt: skip
    rows = {kind: [np.array(row) @ np.linalg.inv(0.5 * (1 - np.eye(3))) for row in sites]
            for kind, sites in cube.items()}  # fmt: skip
    metals = {tetrahedral: rows["A"]}
    metals[octahedral] = [*metals.get(octahedral, []), *rows["B"]]
    return made(f"{tetrahedral}{octahedral}2O4", lattice_cv, metals | {"O": rows["O"]})


def rutile(metal: str, other: str, a: float, c: float, u: float) -> Poscar:
    """MX2, 6 atoms."""
    anions = [(u, u, 0), (-u, -u, 0), (0.5 + u, 0.5 - u, 0.5), (0.5 - u, 0.5 + u, 0.5)]
    return made(f"{metal}{other}2", np.diag([a, a, c]), {metal: [(0, 0, 0), CENTRE], other: anions})


def nickel_arsenide(metal: str, other: str, a: float, c: float) -> Poscar:
    """MX, four atoms."""
    sites = {metal: [(0, 0, 0), (0, 0, 0.5)], other: [(1 / 3, 2 / 3, 0.25), (2 / 3, 1 / 3, 0.75)]}
    return made(metal + other, hexagonal(a, c), sites)


def heusler(first: str, second: str, third: str, a: float) -> Poscar:
    """X2YZ, four atoms; the D0_3 structure if X and Y are the same."""
    sites: dict[str, list] = {first: [(0.25, 0.25, 0.25), (0.75, 0.75, 0.75)]}
    sites[second] = [*sites.get(second, []), CENTRE]
    sites[third] = [(0, 0, 0)]
    return made(f"{first}2{second}{third}", 0.5 * a * (1 - np.eye(3)), sites)


def tetragonal_pair(first: str, second: str, a: float, c: float, doubled_cell: bool = False) -> Poscar:
    """The L1_0 structure, one atom of each (a: edge of the primitive cell); two of each, diagonal, for two spins."""
    pair = made(first + second, np.diag([a, a, c]), {first: [(0, 0, 0)], second: [CENTRE]})
    return doubled(pair) if doubled_cell else pair


def strained(poscar: Poscar, factor: float) -> Poscar:
    """All lengths times that factor."""
    return replace(poscar, lattice_cv=factor * poscar.lattice_cv)


def row_of_cubes(symbol: str, a: float, cells: int) -> Poscar:
    """Conventional cells of an fcc metal in a row, the first atom moved."""
    return in_a_row(fcc_cube(symbol, a), cells)


def diamond_row(symbol: str, a: float, cells: int) -> Poscar:
    """The tetragonal cell of diamond with four atoms, several times along z, the first atom moved."""
    edge = a / 2**0.5
    rows = [(0, 0, 0), (0.5, 0, 0.25), (0.5, 0.5, 0.5), (0, 0.5, 0.75)]
    return in_a_row(made(symbol, np.diag([edge, edge, a]), {symbol: rows}), cells)


def superlattice(first: str, second: str, anion: str, a: float, cells: int) -> Poscar:
    """Zinc blende along (001), half of the cells with each cation."""
    edge, total = a / 2**0.5, 2 * cells
    sites: dict[str, list] = {first: [], second: [], anion: []}
    for cell in range(total):
        cation = first if cell < cells else second
        for low, shift in ((0.0, (0, 0)), (0.5, (0.5, 0.5))):
            sites[cation].append((*shift, (cell + low) / total))
            x, y = (np.array(shift) + (0.5 if low == 0.0 else -0.5, 0.0)) % 1
            sites[anion].append((x, y, (cell + low + 0.25) / total))
    return made(f"{first}{anion}/{second}{anion}", np.diag([edge, edge, total * a]), sites)


def bent(centre: str, end: str, bond: float, degrees: float) -> Poscar:
    """A triatomic molecule in the yz plane."""
    half = np.radians(0.5 * degrees)
    y, z = bond * np.sin(half), bond * np.cos(half)
    return molecule([(centre, (0.0, 0.0, 0.0)), (end, (0.0, y, z)), (end, (0.0, -y, z))])


def ammonium() -> Poscar:
    """NH4+; N-H 1.03 Å."""
    corners = 1.03 / 3**0.5 * np.array([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)])
    return molecule([("N", (0, 0, 0)), *(("H", tuple(corner)) for corner in corners)])


def moved(poscar: Poscar, shift_v: Sequence[float]) -> Poscar:
    """The first atom moved by that much."""
    position_av = poscar.positions_av
    position_av[0] += shift_v
    return replace(poscar, scaled_ac=wrapped(position_av @ np.linalg.inv(poscar.lattice_cv)))
