"""Sums of squares of slopes without their matrix: products with vectors, and equations solved by conjugate gradients.

    A = Σ_x k_x (∂q_x/∂z)(∂q_x/∂z)ᵀ + diag(floor)

Each q_x is of a few atoms, so that a product takes a time that grows with the number of atoms, where a matrix takes its
square and equations its cube.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from eigenwerk.motion.relaxation.hessian.internal import Rows

Apply = Callable[[np.ndarray], np.ndarray]

MANY_ATOMS = 150
"""From here on no matrix is made."""

MOST_ITERATIONS = 1000


@dataclass(frozen=True, eq=False)
class HessianProducts:
    """A as products; rows with their weights k_x, one array for each; floor_z: positive."""

    rows: Sequence[Rows]
    weights: Sequence[np.ndarray]
    floor_z: np.ndarray

    @cached_property
    def _slopes(self) -> list[csr_array]:
        return [
            csr_array(
                (rows.value_xy.ravel(), rows.index_xy.ravel(), np.arange(len(rows.value_xy) + 1) * rows.width),
                shape=(len(rows.value_xy), len(self.floor_z)),
            )
            for rows in self.rows
        ]

    def __call__(self, v: np.ndarray) -> np.ndarray:
        """A v."""
        found = self.floor_z * v
        for slope_xz, weight_x in zip(self._slopes, self.weights, strict=True):
            found += slope_xz.T @ (weight_x * (slope_xz @ v))
        return found

    @cached_property
    def blocks(self) -> tuple[np.ndarray, np.ndarray]:
        """A near its diagonal: (a, 3, 3) of atoms and (6, 6) of strains; an atom's images do not see each other."""
        atoms = (len(self.floor_z) - 6) // 3
        block_avw = np.zeros((atoms, 3, 3))
        block_avw[:, (0, 1, 2), (0, 1, 2)] = self.floor_z[:-6].reshape(-1, 3)
        strain = np.diag(self.floor_z[-6:])
        for rows, weight_x in zip(self.rows, self.weights, strict=True):
            ions = (rows.width - 6) // 3
            slope_xtv = rows.value_xy[:, : 3 * ions].reshape(-1, ions, 3)
            atom_xt = rows.index_xy[:, : 3 * ions : 3] // 3
            square = slope_xtv[..., None] * (weight_x[:, None, None] * slope_xtv)[..., None, :]
            where = 9 * atom_xt[..., None] + np.arange(9)
            block_avw += np.bincount(where.ravel(), square.ravel(), minlength=9 * atoms).reshape(-1, 3, 3)
            last = rows.value_xy[:, -6:]
            strain += last.T @ (weight_x[:, None] * last)
        return block_avw, strain

    @property
    def diagonal(self) -> np.ndarray:
        """That of the blocks."""
        block_avw, strain = self.blocks
        return np.concatenate([np.einsum("avv->av", block_avw).ravel(), np.diagonal(strain)])

    def preconditioner(self, shift_z: np.ndarray | float = 0.0) -> Apply:
        """v -> (A + diag(shift))⁻¹ v, nearly: by the blocks; vectors (z,) or (z, r)."""
        atom_avw, strain = self.blocks
        shift = np.broadcast_to(shift_z, self.floor_z.shape)
        inverse_avw = np.linalg.inv(atom_avw + shift[:-6].reshape(-1, 3, 1) * np.eye(3))
        inverse = np.linalg.inv(strain + np.diag(shift[-6:]))

        def apply(v: np.ndarray) -> np.ndarray:
            ions = inverse_avw @ v[:-6].reshape(len(inverse_avw), 3, -1)
            return np.concatenate([ions.reshape(v[:-6].shape), inverse @ v[-6:]])

        return apply


def solved(apply: Apply, precondition: Apply, right: np.ndarray, project: Apply, tolerance: float) -> np.ndarray:
    """x of A x = right among the vectors that stay as they are under project, by preconditioned conjugate gradients.

    apply: A, positive definite there.  Ends where the residual in the norm of the preconditioner has fallen by
    tolerance.  Source: M. R. Hestenes and E. Stiefel, J. Res. Natl. Bur. Stand. 49, 409 (1952).
    """
    residual = project(right)
    found = np.zeros_like(residual)
    toward = project(precondition(residual))
    direction, square = toward, float(residual @ toward)
    goal = tolerance**2 * square
    for _ in range(MOST_ITERATIONS):
        if square <= goal or square == 0.0:
            break
        product = project(apply(direction))
        length = square / float(direction @ product)
        found = found + length * direction
        residual = residual - length * product
        toward = project(precondition(residual))
        before, square = square, float(residual @ toward)
        direction = toward + square / before * direction
    return found
