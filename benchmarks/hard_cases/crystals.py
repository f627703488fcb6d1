"""Structures of the hard cases, from published lattice constants, bond lengths and coordinates (Å).

Lattice constants: R. W. G. Wyckoff, Crystal Structures (1963) where nothing else is said; bond lengths of molecules:
K. P. Huber, G. Herzberg, Constants of Diatomic Molecules (1979).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from eigenwerk.dft.building.sites import nearest_atom, remove_atoms
from eigenwerk.dft.building.slab import SlabCut, cut_slab
from eigenwerk.dft.building.supercell import supercell, wrapped
from eigenwerk.io.vasp.input.poscar import Poscar

FCC = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
BCC = np.array([[0, 0, 0], [0.5, 0.5, 0.5]])
CENTRE = np.array([0.5, 0.5, 0.5])

BOX = (6.5, 7.0, 7.5)
"""Edges of the boxes of atoms and molecules: unequal, so that no degeneracy of the free atom is kept by the cell."""

OXYGEN_HEIGHT = 0.85
"""Height of oxygen above the outermost layer in a hollow of Pd(100): 2.12 Å from four palladium atoms."""


ROW_SHIFT = 0.3
"""Displacement of one atom in a row of cells."""


def fcc(symbol: str, a: float) -> Poscar:
    """One atom, primitive cell."""
    return made(symbol, 0.5 * a * (1 - np.eye(3)), {symbol: [(0, 0, 0)]})


def fcc_cube(symbol: str, a: float) -> Poscar:
    """Four atoms."""
    return made(symbol, a * np.eye(3), {symbol: FCC})


def bcc(symbol: str, a: float) -> Poscar:
    """Two atoms, cubic cell."""
    return made(symbol, a * np.eye(3), {symbol: BCC})


def bcc_primitive(symbol: str, a: float) -> Poscar:
    """One atom."""
    return made(symbol, 0.5 * a * (1 - 2 * np.eye(3)), {symbol: [(0, 0, 0)]})


def hcp(symbol: str, a: float, c: float) -> Poscar:
    """Two atoms."""
    return made(symbol, hexagonal(a, c), {symbol: [(1 / 3, 2 / 3, 0.25), (2 / 3, 1 / 3, 0.75)]})


def face_centred_pair(symbol: str, a: float) -> Poscar:
    """Two fcc atoms in the tetragonal cell of half the volume of the cube: layers that may differ in spin."""
    edge = a / 2**0.5
    return made(symbol, np.diag([edge, edge, a]), {symbol: BCC})


def caesium_chloride(first: str, second: str, a: float) -> Poscar:
    """The B2 structure."""
    return made(first + second, a * np.eye(3), {first: BCC[:1], second: BCC[1:]})


def gold_copper_three(corner: str, face: str, a: float) -> Poscar:
    """The L1_2 structure: one atom at the corner, three on the faces."""
    return made(face + "3" + corner, a * np.eye(3), {face: FCC[1:], corner: FCC[:1]})


def rock_salt(metal: str, other: str, a: float) -> Poscar:
    """Two atoms, primitive cell."""
    return made(metal + other, 0.5 * a * (1 - np.eye(3)), {metal: [(0, 0, 0)], other: [CENTRE]})


def rock_salt_cube(metal: str, other: str, a: float) -> Poscar:
    """Eight atoms."""
    return made(metal + other, a * np.eye(3), {metal: FCC, other: (FCC + CENTRE) % 1})


def rock_salt_layers(metal: str, a: float) -> Poscar:
    """The rhombohedral cell of the monoxides with two metal atoms, in which (111) layers may alternate in spin."""
    lattice_cv = 0.5 * a * np.array([[2.0, 1, 1], [1, 2, 1], [1, 1, 2]])
    sites = {metal: [(0, 0, 0), CENTRE], "O": [(0.25, 0.25, 0.25), (0.75, 0.75, 0.75)]}
    return made(metal + "O", lattice_cv, sites)


def zinc_blende(first: str, second: str, a: float) -> Poscar:
    """Two atoms, primitive cell; the diamond structure if both are the same."""
    rows = [(0, 0, 0), (0.25, 0.25, 0.25)]
    sites = {first: rows} if first == second else {first: rows[:1], second: rows[1:]}
    return made(first + second, 0.5 * a * (1 - np.eye(3)), sites)


def fluorite(metal: str, a: float) -> Poscar:
    """Three atoms, primitive cell of an oxide MO2."""
    sites = {metal: [(0, 0, 0)], "O": [(0.25, 0.25, 0.25), (0.75, 0.75, 0.75)]}
    return made(metal + "O2", 0.5 * a * (1 - np.eye(3)), sites)


def haematite() -> Poscar:
    """Rhombohedral Fe2O3, 10 atoms; R. L. Blake et al., Am. Mineral. 51, 123 (1966)."""
    lattice_cv = rhombohedral(5.038, 13.772)
    z, x = 0.3553, 0.3059
    iron = [(z, z, z), (0.5 - z, 0.5 - z, 0.5 - z), (0.5 + z, 0.5 + z, 0.5 + z), (1 - z, 1 - z, 1 - z)]
    u, v = x + 0.25, 0.25 - x
    oxygen = [(u, v, 0.25), (v, 0.25, u), (0.25, u, v), (-u, -v, 0.75), (-v, 0.75, -u), (0.75, -u, -v)]
    return made("Fe2O3", lattice_cv, {"Fe": iron, "O": oxygen})


def arsenic_structure(symbol: str, a: float, c: float, z: float) -> Poscar:
    """The A7 structure of Sb and Bi, two atoms; D. Schiferl, C. S. Barrett, J. Appl. Crystallogr. 2, 30 (1969)."""
    return made(symbol, rhombohedral(a, c), {symbol: [(z, z, z), (-z, -z, -z)]})


def graphite() -> Poscar:
    """AB stacking, four atoms."""
    sites = [(0, 0, 0.25), (0, 0, 0.75), (1 / 3, 2 / 3, 0.25), (2 / 3, 1 / 3, 0.75)]
    return made("graphite", hexagonal(2.461, 6.708), {"C": sites})


def graphene(height: float) -> Poscar:
    """Two atoms in a cell of that height."""
    return made("graphene", hexagonal(2.461, height), {"C": [(1 / 3, 2 / 3, 0.5), (2 / 3, 1 / 3, 0.5)]})


def zigzag_ribbon(chains: int, width: float, height: float) -> Poscar:
    """A graphene ribbon along x with zigzag edges closed by hydrogen; C-C 1.42 Å, C-H 1.09 Å."""
    bond, step = 1.42, 1.42 * 3**0.5
    rows, y = [], 0.0
    for chain in range(chains):
        low, high = (0.0, 0.5) if chain % 2 == 0 else (0.5, 0.0)
        rows += [(low * step, y), (high * step, y + 0.5 * bond)]
        y += 1.5 * bond
    edge = rows[-1]
    hydrogen = [(rows[0][0], rows[0][1] - 1.09), (edge[0], edge[1] + 1.09)]
    middle, lattice_cv = 0.5 * edge[1], np.diag([step, width, height])
    scaled = {
        symbol: [(x / step, (y - middle) / width + 0.5, 0.5) for x, y in places]
        for symbol, places in (("C", rows), ("H", hydrogen))
    }
    return made("zigzag ribbon", lattice_cv, scaled)


def slab(bulk: Poscar, miller: tuple[int, int, int], layers: int, vacuum: float) -> Poscar:
    """A surface cut from the bulk, not relaxed."""
    return cut_slab(bulk, SlabCut(miller, layers, vacuum))


def oxygen_on_palladium() -> Poscar:
    """c(2 x 2)-O in a hollow on one face of four layers of Pd(100)."""
    clean = slab(fcc_cube("Pd", 3.8907), (1, 0, 0), 4, 10.0)
    large = supercell(clean, np.array([[1, 1, 0], [-1, 1, 0], [0, 0, 1]]))
    top = large.positions_av[np.argmax(large.positions_av[:, 2])]
    hollow = top + 0.5 * (clean.lattice_cv[0] + clean.lattice_cv[1]) + np.array([0, 0, OXYGEN_HEIGHT])
    return with_atoms(large, "O", [hollow])


def monoxide_on_copper() -> Poscar:
    """CO upright on an atom of four layers of Cu(100), c(2 x 2); Cu-C 1.85 Å, C-O 1.15 Å."""
    clean = slab(fcc_cube("Cu", 3.6149), (1, 0, 0), 3, 11.0)
    large = supercell(clean, np.array([[1, 1, 0], [-1, 1, 0], [0, 0, 1]]))
    top = large.positions_av[np.argmax(large.positions_av[:, 2])]
    carbon = with_atoms(large, "C", [top + np.array([0, 0, 1.85])])
    return with_atoms(carbon, "O", [top + np.array([0, 0, 3.0])])


def in_a_row(poscar: Poscar, cells: int) -> Poscar:
    """A supercell along z whose first atom is moved by ROW_SHIFT along z: else the short cell's translations remain."""
    row = supercell(poscar, np.diag([1, 1, cells]))
    position_av = row.positions_av
    position_av[0, 2] += ROW_SHIFT
    return replace(row, scaled_ac=wrapped(position_av @ np.linalg.inv(row.lattice_cv)))


def without_atom(poscar: Poscar, symbol: str) -> Poscar:
    """One atom of an element less: the one nearest to the middle of the cell."""
    others = [index for index, name in enumerate(poscar.symbols) if name == symbol]
    chosen = replace(poscar, symbols=(symbol,) * len(others), scaled_ac=poscar.scaled_ac[others], species_runs=())
    return remove_atoms(poscar, [others[nearest_atom(chosen, CENTRE)]])


def molecule(atoms: Sequence[tuple[str, tuple[float, float, float]]], box: Sequence[float] = BOX) -> Poscar:
    """Atoms at Cartesian places around the middle of a box."""
    sites: dict[str, list] = {}
    for symbol, place in atoms:
        sites.setdefault(symbol, []).append(np.array(place) / np.array(box) + CENTRE)
    return made("".join(symbol for symbol, _ in atoms), np.diag(box), sites)


def atom(symbol: str) -> Poscar:
    """One atom in the box."""
    return molecule([(symbol, (0.0, 0.0, 0.0))])


def dimer(first: str, second: str, bond: float) -> Poscar:
    """Two atoms along z."""
    return molecule([(first, (0.0, 0.0, -0.5 * bond)), (second, (0.0, 0.0, 0.5 * bond))])


def water(edge: float) -> Poscar:
    """H2O in a cube; O-H 0.968 Å, angle 104.1 degrees."""
    atoms = [("O", (0.0, 0.0, 0.0)), ("H", (0.0, 0.7632, 0.5956)), ("H", (0.0, -0.7632, 0.5956))]
    return molecule(atoms, (edge, edge, edge))


def methyl() -> Poscar:
    """Planar CH3; C-H 1.079 Å."""
    turns = np.radians([0, 120, 240])
    return molecule([("C", (0, 0, 0)), *(("H", (1.079 * np.cos(t), 1.079 * np.sin(t), 0)) for t in turns)])


def hexagonal(a: float, c: float) -> np.ndarray:
    """Rows of the hexagonal cell."""
    return np.array([[a, 0, 0], [-0.5 * a, 0.75**0.5 * a, 0], [0, 0, c]])


def rhombohedral(a: float, c: float) -> np.ndarray:
    """Primitive cell of the hexagonal one with lattice constants a and c."""
    return np.array([[a / 2, a / 12**0.5, c / 3], [-a / 2, a / 12**0.5, c / 3], [0, -a / 3**0.5, c / 3]])


def made(title: str, lattice_cv: np.ndarray, sites: dict) -> Poscar:
    """A crystal from direct coordinates by element."""
    symbols = tuple(symbol for symbol, rows in sites.items() for _ in rows)
    scaled_ac = np.array([site for rows in sites.values() for site in rows], dtype=float)
    return Poscar(title, np.asarray(lattice_cv, dtype=float), symbols, wrapped(scaled_ac))


def with_atoms(poscar: Poscar, symbol: str, position_av: Sequence[np.ndarray]) -> Poscar:
    """More atoms of one element, at Cartesian places, after all others."""
    scaled_ac = np.concatenate([poscar.scaled_ac, np.array(position_av) @ np.linalg.inv(poscar.lattice_cv)])
    return Poscar(poscar.title, poscar.lattice_cv, poscar.symbols + (symbol,) * len(position_av), wrapped(scaled_ac))
