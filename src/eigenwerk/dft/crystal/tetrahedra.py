"""Tetrahedra that fill the Brillouin zone, with corners on the k-points.

Every cell of a regular mesh is cut into six tetrahedra of equal volume around its shortest main diagonal; corners go to
the irreducible points, and equal tetrahedra are counted once with their multiplicity.
Source: P. E. Blöchl, O. Jepsen, O. K. Andersen, Phys. Rev. B 49, 16223 (1994), section III and appendix A.
Equations: docs/equations/occupations.md.
"""

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

TETRAHEDRA = {-4: (False, False), -5: (True, False), -14: (False, True), -15: (True, True)}
"""ISMEAR of the tetrahedron methods: whether with Blöchl's correction, and whether with a Fermi-Dirac step of SIGMA."""

CORRECTED = tuple(ismear for ismear, (corrected, _) in TETRAHEDRA.items() if corrected)
"""ISMEAR of those with Blöchl's correction."""

FEWEST_POINTS = 4
"""Points of the full mesh that span a tetrahedron."""

SAME_LENGTH = 1e-6
"""Diagonals whose lengths differ by this share are equal, and the first is taken: rounding must not choose."""


@dataclass(frozen=True, eq=False)
class Tetrahedra:
    """Tetrahedra of k-points.

    corner_Tc: (T, 4) index of the irreducible k-point at each corner; weight_T: (T,), the part of the Brillouin zone
    that each stands for, with sum 1.  flip_Tc: (T, 4), whether the operation that leads to a corner exchanges the
    spins, so that one channel has there the energies of the other at the irreducible point; None if none does.
    """

    corner_Tc: np.ndarray
    weight_T: np.ndarray
    flip_Tc: np.ndarray | None = None

    def weight_of_points(self, points: int) -> np.ndarray:
        """Part of the zone that belongs to each k-point, a quarter of every tetrahedron at it; (k,)."""
        quarter_Tc = np.repeat(self.weight_T / 4, 4)
        return np.bincount(self.corner_Tc.reshape(-1), quarter_Tc, minlength=points)


def tetrahedra_of_mesh(
    cells_cc: np.ndarray,
    reciprocal_cv: np.ndarray,
    irreducible_of_full: np.ndarray,
    flip_of_full: np.ndarray | None = None,
) -> Tetrahedra:
    """The tetrahedra of a full mesh on its irreducible points.

    cells_cc: (3, 3) integers: rows of its inverse are the steps of the mesh in reciprocal lattice vectors; diagonal for
    regular meshes.  reciprocal_cv: reciprocal lattice vectors in any unit.  irreducible_of_full: (full,) irreducible
    point of each full one, in the order of `monkhorst_pack` and `generated_mesh`; flip_of_full: (full,), see
    `Tetrahedra`.
    """
    rows_cc = row_echelon(cells_cc)
    rows_cc *= np.sign(np.diag(rows_cc))[:, None]
    size_c = np.diag(rows_cc)
    third, second, first = np.meshgrid(*(np.arange(size) for size in size_c[::-1]), indexing="ij")
    place_kc = np.stack([first, second, third], axis=-1).reshape(-1, 3)
    step_cv = np.linalg.inv(cells_cc) @ reciprocal_cv
    shapes_xcc = _six_tetrahedra(step_cv)
    full_x = _index((place_kc[:, None, None] + shapes_xcc).reshape(-1, 3), rows_cc)
    corner_x = 2 * irreducible_of_full[full_x]
    if flip_of_full is not None:
        corner_x += flip_of_full[full_x]
    corner_Tc, count_T = np.unique(np.sort(corner_x.reshape(-1, 4), axis=1), axis=0, return_counts=True)
    flip_Tc = None if flip_of_full is None else corner_Tc % 2 == 1
    return Tetrahedra(corner_Tc // 2, count_T / count_T.sum(), flip_Tc)


def row_echelon(matrix_cc: np.ndarray) -> np.ndarray:
    """Upper triangular integer rows that span the same lattice (Euclid on the columns).

    Each class of integer rows n modulo that lattice has one member with 0 <= n_c < |diagonal_c|.
    """
    rows = matrix_cc.astype(np.int64).copy()
    for c in range(3):
        while np.count_nonzero(rows[c:, c]) > 1 or rows[c, c] == 0:
            candidates = np.flatnonzero(rows[c:, c]) + c
            pivot = candidates[np.argmin(np.abs(rows[candidates, c]))]
            rows[[c, pivot]] = rows[[pivot, c]]
            rows[c + 1 :] -= (rows[c + 1 :, c] // rows[c, c])[:, None] * rows[c]
    return rows


def _six_tetrahedra(step_cv: np.ndarray) -> np.ndarray:
    """Corners of the six tetrahedra of one cell, (6, 4, 3) numbers 0 and 1: paths along edges between the two ends of
    the shortest diagonal, one for each order of the axes."""
    starts_xc = np.array([(0, second, third) for second, third in product((0, 1), repeat=2)])
    length_x = np.linalg.norm((1 - 2 * starts_xc) @ step_cv, axis=1)
    start_c = starts_xc[np.flatnonzero(length_x <= length_x.min() * (1 + SAME_LENGTH))[0]]
    paths = []
    for order in permutations(range(3)):
        path = [start_c]
        for axis in order:
            following_c = path[-1].copy()
            following_c[axis] = 1 - following_c[axis]
            path.append(following_c)
        paths.append(path)
    return np.array(paths)


def _index(place_xc: np.ndarray, rows_cc: np.ndarray) -> np.ndarray:
    """Number of each place of the mesh, which repeats with the rows; the first axis runs fastest."""
    place_xc = place_xc.copy()
    for c in range(3):
        place_xc -= (place_xc[:, c] // rows_cc[c, c])[:, None] * rows_cc[c]
    size_c = np.diag(rows_cc)
    index_x: np.ndarray = place_xc[:, 0] + size_c[0] * (place_xc[:, 1] + size_c[1] * place_xc[:, 2])
    return index_x
