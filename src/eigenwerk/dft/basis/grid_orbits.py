"""Points of an FFT grid that symmetry makes equal: what a local function of the density is there, is computed once."""

from dataclasses import dataclass

import numpy as np
import torch

from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.parallel.runtime import Runtime

MOST_OPERATIONS = 96
"""Beyond so many operations (supercells) only those without translation are used: each costs a pass over the grid."""


@dataclass(frozen=True)
class GridOrbits:
    """Sets of points that the operations take into each other; numbered by u, points by x (flat).

    first_u: one point of each; orbit_x: the set of each point; size_u: number of points, real.
    """

    first_u: torch.Tensor
    orbit_x: torch.Tensor
    size_u: torch.Tensor

    def reduced(self, value_sx: torch.Tensor) -> torch.Tensor:
        """One value for each set, (..., x) -> (..., u)."""
        return _picked(value_sx, self.first_u)

    def expanded(self, value_su: torch.Tensor) -> torch.Tensor:
        """Values of all points, (..., u) -> (..., x)."""
        return _picked(value_su, self.orbit_x)


def _picked(value_sx: torch.Tensor, index_x: torch.Tensor) -> torch.Tensor:
    """Row by row, for which PyTorch has a path that is three times faster."""
    found_sx = value_sx.new_empty((*value_sx.shape[:-1], len(index_x)))
    for row_x, out_x in zip(value_sx.flatten(0, -2), found_sx.view(-1, len(index_x)), strict=True):
        torch.index_select(row_x, 0, index_x, out=out_x)
    return found_sx


def grid_orbits(symmetry: Symmetry, size_c: tuple[int, int, int], runtime: Runtime) -> GridOrbits | None:
    """The sets of a grid under the operations that keep the spins and take the grid into itself.

    A point j of the grid is at x = j / N, so the operation x -> W x + t takes it to N (W (j / N) + t).  These
    operations form a group.  None where there is only the identity.
    """
    matrix_occ, shift_oc = _on_grid(symmetry, size_c)
    if len(matrix_occ) == 1:
        return None
    points = int(np.prod(size_c))
    lowest_R = np.arange(points, dtype=np.int32 if points < 2**31 else np.int64).reshape(size_c)
    spare_2R = np.empty((2, *size_c), dtype=lowest_R.dtype)  # memory that is used again need not be fetched again
    for matrix_cc, shift_c in zip(matrix_occ, shift_oc, strict=True):
        np.minimum(lowest_R, _images(matrix_cc, shift_c, spare_2R), out=lowest_R)
    lowest_x = lowest_R.ravel()
    first_u = np.flatnonzero(lowest_x == np.arange(points, dtype=lowest_x.dtype))
    number_x = np.empty_like(lowest_x)
    number_x[first_u] = np.arange(len(first_u))
    orbit_x = number_x[lowest_x]
    return GridOrbits(runtime.index(first_u), runtime.index(orbit_x), runtime.tensor(np.bincount(orbit_x)))


def _images(matrix_cc: np.ndarray, shift_c: np.ndarray, spare_2R: np.ndarray) -> np.ndarray:
    """Numbers of the points to which an operation takes those of a grid, in the first half of spare_2R.

    Remainders are taken in planes: of the first two axes, and of what these give and the third axis.  Rows of the
    second plane are copied to the whole grid.
    """
    image_R, part_R = spare_2R
    size_c = image_R.shape
    first, second, third = (np.arange(n) for n in size_c)
    image_R.fill(0)
    for row_c, shift, n, stride in zip(matrix_cc, shift_c, size_c, (size_c[1] * size_c[2], size_c[2], 1), strict=True):
        reached = (row_c[0] * first[:, None] + row_c[1] * second + shift) % n
        number = (np.arange(n)[:, None] + row_c[2] * third) % n * stride
        # all are in range; mode "clip" writes without a copy in between
        image_R += number.astype(image_R.dtype).take(reached, axis=0, out=part_R, mode="clip")
    return image_R


def _on_grid(symmetry: Symmetry, size_c: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """(o, 3, 3) and (o, 3) integers that take grid points to grid points."""
    size = np.array(size_c, dtype=float)
    matrix_occ = symmetry.rotation_occ * size[:, None] / size
    shift_oc = symmetry.translation_oc * size
    kept_o = ~symmetry.spin_flip_o
    for value in (matrix_occ.reshape(len(kept_o), -1), shift_oc):
        kept_o &= (np.abs(value - np.rint(value)) < 1e-6).all(1)
    if symmetry.order > MOST_OPERATIONS:
        kept_o &= np.abs(shift_oc).max(1) < 1e-6
    return np.rint(matrix_occ[kept_o]).astype(np.int64), np.rint(shift_oc[kept_o]).astype(np.int64)
