"""A crystal cut into a slab of atomic layers between vacuum.

The Miller indices (hkl) refer to the cell of the file.  In-plane vectors are the shortest ones of the crystal's own
lattice (also when the file holds a larger cell), x along the first and z along the surface normal.
"""

from dataclasses import dataclass, replace
from math import gcd

import numpy as np

from eigenwerk.dft.building.supercell import supercell, wrapped
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.poscar import Poscar

SAME_PLACE = 1e-3
"""Å: atoms closer than this are the same atom of a repeated motif."""

LAYER = 0.3
"""Å: atoms whose heights differ by less, from one to the next, form one layer."""


@dataclass(frozen=True)
class SlabCut:
    """What to cut.

    miller: (h, k, l) of the given cell; layers: atomic layers to keep; vacuum: Å between the outermost atoms of
    neighbouring slabs; first: number of the lowest layer, from 1, which chooses the termination.
    """

    miller: tuple[int, int, int]
    layers: int
    vacuum: float
    first: int = 1


def cut_slab(poscar: Poscar, cut: SlabCut) -> Poscar:
    """The slab, its middle at half the height of the cell.  Raises InputError for impossible wishes."""
    _check(cut)
    oriented = _oriented(poscar, cut.miller)
    layers = layers_of(oriented)
    repeats = -(-(cut.first - 1 + cut.layers) // len(layers))
    stack = supercell(oriented, np.diag([1, 1, repeats]))
    chosen = layers_of(stack)[cut.first - 1 : cut.first - 1 + cut.layers]
    atoms = sorted(atom for layer in chosen for atom in layer)
    return _with_vacuum(stack, atoms, cut.vacuum)


def layers_of(poscar: Poscar) -> list[list[int]]:
    """Atoms of each layer along the third axis, lowest first; a layer never wraps through the cell boundary."""
    height_a, _ = _heights(poscar)
    order = np.argsort(height_a, kind="stable")
    edges = np.flatnonzero(np.diff(height_a[order]) > LAYER) + 1
    return [[int(atom) for atom in layer] for layer in np.split(order, edges)]


def primitive_vectors(poscar: Poscar) -> np.ndarray:
    """Rows: a basis of all translations of the crystal in the direct coordinates of its cell, (3, 3).

    Every such translation takes the first atom of the rarest element to another one of its kind.
    """
    rarest = min(dict.fromkeys(poscar.symbols), key=poscar.symbols.count)
    first, *others = (atom for atom, symbol in enumerate(poscar.symbols) if symbol == rarest)
    steps = [poscar.scaled_ac[atom] - poscar.scaled_ac[first] for atom in others]
    found = [step_c - np.round(step_c) for step_c in steps if _maps_onto_itself(poscar, step_c)]
    cells = len(found) + 1
    integer_xc = np.rint(np.array([*np.eye(3), *found]) * cells).astype(np.int64)
    return _integer_basis(integer_xc) / cells


def _maps_onto_itself(poscar: Poscar, step_c: np.ndarray) -> bool:
    symbols = np.array(poscar.symbols)
    for symbol in dict.fromkeys(poscar.symbols):
        scaled_ac = poscar.scaled_ac[symbols == symbol]
        offset_aac = scaled_ac[:, None] + step_c - scaled_ac
        distance_aa = np.linalg.norm((offset_aac - np.round(offset_aac)) @ poscar.lattice_cv, axis=2)
        if distance_aa.min(axis=1).max() > SAME_PLACE:
            return False
    return True


def _integer_basis(rows_xc: np.ndarray) -> np.ndarray:
    """Three rows that span the same lattice of integers, by Euclid's algorithm on the columns."""
    rows = [row.copy() for row in rows_xc]
    basis = []
    for c in range(3):
        while sum(bool(row[c]) for row in rows) > 1:
            pivot = min((row for row in rows if row[c]), key=lambda row, c=c: abs(row[c]))  # type: ignore[misc]
            rows = [row if row is pivot else row - row[c] // pivot[c] * pivot for row in rows]
        (pivot,) = (row for row in rows if row[c])
        basis.append(pivot)
        rows = [row for row in rows if row is not pivot and row.any()]
    return np.array(basis)


def _oriented(poscar: Poscar, miller: tuple[int, int, int]) -> Poscar:
    """The crystal in a cell whose first two vectors lie in the plane, x along the first, z along the normal."""
    basis_cc = primitive_vectors(poscar)
    vector_cv = basis_cc @ poscar.lattice_cv
    cell_cc = _plane_basis(_smallest_integers(basis_cc @ np.array(miller)), vector_cv)
    lattice_cv = cell_cc @ vector_cv
    turn_vv = _turn(lattice_cv)
    scaled_ac = wrapped(poscar.scaled_ac @ np.linalg.inv(cell_cc @ basis_cc))
    keep = _different(scaled_ac, lattice_cv, poscar.symbols)
    oriented = _chosen(poscar, keep, scaled_ac[keep], lattice_cv @ turn_vv)
    return replace(oriented, scaled_ac=_between_layers(oriented))


def _between_layers(poscar: Poscar) -> np.ndarray:
    """Coordinates moved along the third axis until the cell boundary lies in the middle of a gap between layers."""
    height_a, period = _heights(poscar)
    sorted_a = np.sort(height_a)
    gap_a = np.diff(np.concatenate([sorted_a[-1:] - period, sorted_a]))  # below each atom
    upper = int(np.argmax(gap_a > LAYER)) if (gap_a > LAYER).any() else int(np.argmax(gap_a))
    middle = sorted_a[upper] - 0.5 * gap_a[upper]
    return wrapped(poscar.scaled_ac - np.array([0.0, 0.0, middle / period]))


def _smallest_integers(index_c: np.ndarray) -> np.ndarray:
    """The smallest integers in the ratio of three rational numbers with small denominators."""
    for scale in range(1, 1000):
        integer_c = np.rint(index_c * scale).astype(np.int64)
        if np.abs(index_c * scale - integer_c).max() < 1e-6 * scale:
            return np.asarray(integer_c // gcd(*(int(index) for index in integer_c)))
    raise InputError(f"The plane {index_c.tolist()} has no small integer indices. Start from a smaller cell.")


def _plane_basis(index_c: np.ndarray, vector_cv: np.ndarray) -> np.ndarray:
    """Rows u, v (shortest vectors of the lattice with hkl · u = 0) and w with hkl · w = 1, |det| = 1."""
    first_c, second_c = _in_plane(index_c)
    first_c, second_c = _reduced(first_c, second_c, vector_cv)
    third_c = _crossing(index_c)
    plane_cv = np.array([first_c, second_c]) @ vector_cv
    part_c = np.linalg.lstsq(plane_cv.T, third_c @ vector_cv, rcond=None)[0]
    third_c = third_c - np.rint(part_c).astype(np.int64) @ np.array([first_c, second_c])
    cell_cc = np.array([first_c, second_c, third_c])
    if np.linalg.det(cell_cc @ vector_cv) < 0.0:
        cell_cc[1] *= -1
    return cell_cc


def _in_plane(index_c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A basis of the integer vectors orthogonal to (hkl): (0, l, -k) / gcd(k, l), and one that completes it."""
    h, k, l = (int(index) for index in index_c)
    if k == 0 and l == 0:
        return np.array([0, 1, 0]), np.array([0, 0, 1])
    divisor, p, q = _bezout(k, l)
    return np.array([0, l // divisor, -k // divisor]), np.array([divisor, -h * p, -h * q]) // gcd(divisor, h)


def _crossing(index_c: np.ndarray) -> np.ndarray:
    """An integer vector with hkl · w = 1, for hkl without a common divisor."""
    h, k, l = (int(index) for index in index_c)
    divisor, p, q = _bezout(k, l)
    _, r, s = _bezout(h, divisor)
    return np.array([r, s * p, s * q])


def _bezout(a: int, b: int) -> tuple[int, int, int]:
    """(g, p, q) with p a + q b = g = gcd(a, b) >= 0."""
    if b == 0:
        return abs(a), 1 if a >= 0 else -1, 0
    divisor, p, q = _bezout(b, a % b)
    return divisor, q, p - a // b * q


def _reduced(first_c: np.ndarray, second_c: np.ndarray, vector_cv: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two shortest vectors of a plane lattice (Lagrange, Gauss), at an angle of 60 to 90 degrees."""
    while True:
        first_v, second_v = first_c @ vector_cv, second_c @ vector_cv
        if second_v @ second_v < first_v @ first_v * (1.0 - 1e-9):
            first_c, second_c = second_c, first_c
            continue
        steps = int(np.rint(first_v @ second_v / (first_v @ first_v) * (1.0 - 1e-9)))
        if steps == 0:
            return first_c, second_c
        second_c = second_c - steps * first_c


def _turn(lattice_cv: np.ndarray) -> np.ndarray:
    """The rotation after which the first vector is along x and the second in the xy plane: columns x, y, z."""
    x_v = lattice_cv[0] / np.linalg.norm(lattice_cv[0])
    normal_v = np.cross(lattice_cv[0], lattice_cv[1])
    z_v = normal_v / np.linalg.norm(normal_v)
    return np.array([x_v, np.cross(z_v, x_v), z_v]).T


def _different(scaled_ac: np.ndarray, lattice_cv: np.ndarray, symbols: tuple[str, ...]) -> list[int]:
    """The atoms that are not images of an earlier one in the (possibly smaller) cell."""
    keep: list[int] = []
    for atom in range(len(symbols)):
        offset_ac = scaled_ac[keep] - scaled_ac[atom]
        distance_a = np.linalg.norm((offset_ac - np.round(offset_ac)) @ lattice_cv, axis=1)
        if not (distance_a < 2.0 * SAME_PLACE).any():
            keep.append(atom)
    return keep


def _chosen(poscar: Poscar, atoms: list[int], scaled_xc: np.ndarray, lattice_cv: np.ndarray) -> Poscar:
    """Some atoms at new coordinates in a new cell; suffixes of names and flags of selective dynamics are left out."""
    symbols = tuple(poscar.symbols[atom] for atom in atoms)
    return Poscar(poscar.title, lattice_cv, symbols, scaled_xc, file=poscar.file)


def _heights(poscar: Poscar) -> tuple[np.ndarray, float]:
    """Height of each atom above the lower face of the cell, and that of the cell, in Å."""
    normal_v = np.cross(poscar.lattice_cv[0], poscar.lattice_cv[1])
    period = float(poscar.lattice_cv[2] @ normal_v / np.linalg.norm(normal_v))
    return wrapped(poscar.scaled_ac)[:, 2] * period, period


def _with_vacuum(stack: Poscar, atoms: list[int], vacuum: float) -> Poscar:
    """The chosen atoms in a cell whose third vector is the normal; the slab in the middle."""
    height_a, _ = _heights(stack)
    height_a = height_a[atoms]
    thickness = float(height_a.max() - height_a.min())
    tall = thickness + vacuum
    lattice_cv = stack.lattice_cv.copy()
    position_av = wrapped(stack.scaled_ac[atoms]) @ lattice_cv
    position_av[:, 2] += 0.5 * (tall - height_a.max() - height_a.min())
    lattice_cv[2] = [0.0, 0.0, tall]
    return _chosen(stack, atoms, wrapped(position_av @ np.linalg.inv(lattice_cv)), lattice_cv)


def _check(cut: SlabCut) -> None:
    if not any(cut.miller):
        raise InputError("The Miller indices 0 0 0 name no plane. Give for example --slab 1 1 1.")
    if cut.layers < 1 or cut.first < 1:
        raise InputError(f"{cut.layers} layers from layer {cut.first} make no slab. Both numbers start at 1.")
    if not 0.0 <= cut.vacuum < 1000.0:
        raise InputError(f"A vacuum of {cut.vacuum:g} Å makes no slab. Give a thickness such as 15.")
