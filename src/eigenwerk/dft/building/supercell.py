"""Larger cells of the same crystal.

Works on `Poscar` in the units of the file (Å), as the rest of `building`: what comes in and goes out are files.
"""

from dataclasses import replace

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.poscar import Poscar

MOST_ATOMS = 100_000
"""A larger structure is taken for a mistake."""

LARGEST_ENTRY = 10_000
"""Of a matrix: products of three are exact."""


def supercell(poscar: Poscar, matrix_cc: np.ndarray) -> Poscar:
    """The crystal in the cell A' = M A.

    An atom at s (direct coordinates) gets the |det M| images s' = (s + n) M^-1, n integer, inside the new cell; images
    of one atom stand together, so the order of species stays.  Velocities are left out.

    matrix_cc: (3, 3) integers; rows say what the new lattice vectors are in terms of the old ones.
    Raises InputError if M is not of integers, has no volume, or makes more than `MOST_ATOMS` atoms.
    """
    matrix_cc = _checked(matrix_cc, len(poscar.symbols))
    inverse_cc = np.linalg.inv(matrix_cc)
    shift_xc = lattice_points_in(matrix_cc) @ inverse_cc
    count = len(shift_xc)
    scaled_axc = (poscar.scaled_ac @ inverse_cc)[:, None] + shift_xc
    return replace(
        without_motion(poscar),
        lattice_cv=matrix_cc @ poscar.lattice_cv,
        symbols=tuple(symbol for symbol in poscar.symbols for _ in range(count)),
        scaled_ac=wrapped(scaled_axc).reshape(-1, 3),
        species_runs=tuple((symbol, number * count) for symbol, number in poscar.species_runs),
        selective_ac=None if poscar.selective_ac is None else np.repeat(poscar.selective_ac, count, axis=0),
    )


def lattice_points_in(matrix_cc: np.ndarray) -> np.ndarray:
    """The |det M| integer vectors n with n M^-1 in [0, 1)³, (x, 3), last axis fastest, in exact arithmetic.

    n M^-1 = n adj(M) / det M, and adj(M) is a matrix of integers.
    """
    matrix_cc = np.asarray(matrix_cc, dtype=np.int64)
    adjugate_cc = np.stack([np.cross(matrix_cc[c - 2], matrix_cc[c - 1]) for c in range(3)], axis=1)
    determinant = int(matrix_cc[0] @ adjugate_cc[:, 0])
    # one point of each coset of the new lattice in the old one, moved into the new cell
    point_xc = np.array(list(np.ndindex(*np.diag(_triangle(matrix_cc)))), dtype=np.int64)
    cell_xc = np.floor_divide(point_xc @ adjugate_cc * np.sign(determinant), abs(determinant))
    point_xc = point_xc - cell_xc @ matrix_cc
    return point_xc[np.lexsort(point_xc.T[::-1])]


def _triangle(matrix_cc: np.ndarray) -> np.ndarray:
    """Rows that span the same lattice, zero below a diagonal that is positive: the Hermite normal form, by Euclid."""
    rows_cc = np.array(matrix_cc, dtype=object)
    for c in range(3):
        for row in range(c + 1, 3):
            while rows_cc[row, c]:
                rows_cc[c] -= rows_cc[c, c] // rows_cc[row, c] * rows_cc[row]
                rows_cc[[c, row]] = rows_cc[[row, c]]
        rows_cc[c] *= -1 if rows_cc[c, c] < 0 else 1
        for row in range(c):
            rows_cc[row] -= rows_cc[row, c] // rows_cc[c, c] * rows_cc[c]
    return rows_cc.astype(np.int64)


def wrapped(scaled_xc: np.ndarray) -> np.ndarray:
    """Direct coordinates moved into [0, 1); what is just below 1 by rounding counts as 0."""
    moved_xc = scaled_xc - np.floor(scaled_xc)
    return np.where(moved_xc > 1.0 - 1e-12, 0.0, moved_xc)


def without_motion(poscar: Poscar) -> Poscar:
    """Without velocities and the other blocks of a molecular-dynamics run, which belong to the old structure."""
    return replace(poscar, velocities_av=None, velocities_cartesian=True, lattice_velocity_cv=None, predictor="")


def _checked(matrix_cc: np.ndarray, atoms: int) -> np.ndarray:
    """M as integers, within reason."""
    given_cc = np.asarray(matrix_cc, dtype=np.float64)
    integer_cc = np.rint(given_cc).astype(np.int64)
    if given_cc.shape != (3, 3) or np.abs(given_cc - integer_cc).max() > 0.0:
        raise InputError(f"The supercell matrix {given_cc.tolist()} must be 3 x 3 whole numbers.")
    if np.abs(integer_cc).max() > LARGEST_ENTRY:
        raise InputError(f"The supercell matrix {integer_cc.tolist()} has entries above {LARGEST_ENTRY}.")
    cells = abs(int(integer_cc[0] @ np.cross(integer_cc[1], integer_cc[2])))
    if cells == 0:
        raise InputError(f"The supercell matrix {integer_cc.tolist()} has determinant 0: the new cell has no volume.")
    if cells * atoms > MOST_ATOMS:
        raise InputError(f"{cells} cells of {atoms} atoms are {cells * atoms} atoms; the limit is {MOST_ATOMS}.")
    return integer_cc
