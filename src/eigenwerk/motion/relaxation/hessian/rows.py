"""Slopes of coordinates of a few atoms each, and what is summed up from them."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Rows:
    """∂q_x/∂z of coordinates with the same number of atoms: index_xy: entries of z, value_xy, stiffness_x, kind_x."""

    index_xy: np.ndarray
    value_xy: np.ndarray
    stiffness_x: np.ndarray
    kind_x: np.ndarray

    @property
    def width(self) -> int:
        """How many entries of z a coordinate depends on."""
        return self.index_xy.shape[1]

    def squares(self, size: int, weight_x: np.ndarray | None = None) -> np.ndarray:
        """Σ_x k_x w_x (∂q_x/∂z)(∂q_x/∂z)ᵀ, (size, size); w: 1 unless given."""
        weight = self.stiffness_x if weight_x is None else self.stiffness_x * weight_x
        value = self.value_xy[:, :, None] * (self.value_xy * weight[:, None])[:, None, :]
        where = self.index_xy[:, :, None] * size + self.index_xy[:, None, :]
        return np.bincount(where.ravel(), value.ravel(), minlength=size * size).reshape(size, size)

    def transposed(self, along_x: np.ndarray, size: int) -> np.ndarray:
        """Σ_x a_x ∂q_x/∂z."""
        return np.bincount(self.index_xy.ravel(), (self.value_xy * along_x[:, None]).ravel(), minlength=size)
