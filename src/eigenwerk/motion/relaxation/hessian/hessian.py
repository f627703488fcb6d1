"""The matrix of a quasi-Newton step: the model of second derivatives, updated by what was seen (BFGS).

Of some hundred atoms it is a matrix.  Of more it is kept as products: those of the model, which is sparse, and two
vectors for each update,

    H s = B s + Σ_i y_i (y_i s) / (y_i s_i) - p_i (p_i s) / (p_i s_i),   p_i = H_{i-1} s_i
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from eigenwerk.motion.relaxation.chart import Chart
from eigenwerk.motion.relaxation.hessian.model import ModelHessian, confined, model_hessian
from eigenwerk.motion.relaxation.hessian.products import MANY_ATOMS, Apply, HessianProducts, solved
from eigenwerk.motion.relaxation.secant import Secant, updates
from eigenwerk.motion.relaxation.trust import bounded_step, searched_step

STEP_TOLERANCE = 1e-7
"""Of the equations of a step."""


class Hessian(Protocol):
    """Positive definite on what may change."""

    def times(self, v: np.ndarray) -> np.ndarray:
        """H v of a vector that may change."""

    @property
    def diagonal(self) -> np.ndarray:
        """Of H; positive."""

    def solve(self, v: np.ndarray) -> np.ndarray:
        """H⁻¹ v of a vector that may change."""

    def step(
        self, gradient: np.ndarray, metric_z: np.ndarray, size: Callable[[np.ndarray], float], most: float
    ) -> np.ndarray:
        """-(H + λM)⁻¹ g with the smallest λ ≥ 0 for which size(step) ≤ most."""


class DenseHessian:
    """As a matrix."""

    def __init__(self, model: ModelHessian, factor_k: np.ndarray, secants: list[Secant], chart: Chart):
        self._matrix = confined(model.matrix(factor_k), model.floor_z, chart)
        for change_z, seen, product_z, expected in updates(lambda v: self._matrix @ v, secants, chart.project):
            self._matrix += np.outer(change_z, change_z) / seen - np.outer(product_z, product_z) / expected

    def times(self, v: np.ndarray) -> np.ndarray:
        return self._matrix @ v

    @property
    def diagonal(self) -> np.ndarray:
        return np.diagonal(self._matrix)

    def solve(self, v: np.ndarray) -> np.ndarray:
        return np.linalg.solve(self._matrix, v)

    def step(
        self, gradient: np.ndarray, metric_z: np.ndarray, size: Callable[[np.ndarray], float], most: float
    ) -> np.ndarray:
        return bounded_step(self._matrix, gradient, metric_z, size, most)


class SparseHessian:
    """As products with vectors."""

    def __init__(self, model: ModelHessian, factor_k: np.ndarray, secants: list[Secant], chart: Chart):
        self._model: HessianProducts = model.products_with(factor_k)
        self._project: Apply = chart.project
        self._plus_xz = self._minus_xz = np.zeros((0, len(model.floor_z)))
        for change_z, seen, product_z, expected in updates(self.times, secants, chart.project):
            self._plus_xz = np.vstack([self._plus_xz, change_z / np.sqrt(seen)])
            self._minus_xz = np.vstack([self._minus_xz, product_z / np.sqrt(expected)])

    def times(self, v: np.ndarray) -> np.ndarray:
        updated = self._plus_xz.T @ (self._plus_xz @ v) - self._minus_xz.T @ (self._minus_xz @ v)
        return self._project(self._model(v)) + updated

    @property
    def diagonal(self) -> np.ndarray:
        updated = (self._plus_xz**2).sum(axis=0) - (self._minus_xz**2).sum(axis=0)
        return self._model.diagonal + updated

    def solve(self, v: np.ndarray) -> np.ndarray:
        return solved(self.times, self._model.preconditioner(), v, self._project, STEP_TOLERANCE)

    def step(
        self, gradient: np.ndarray, metric_z: np.ndarray, size: Callable[[np.ndarray], float], most: float
    ) -> np.ndarray:
        def shifted(shift: float) -> np.ndarray:
            near = self._model.preconditioner(shift * metric_z)
            return solved(
                lambda v: self.times(v) + shift * metric_z * v, near, -gradient, self._project, STEP_TOLERANCE
            )

        return searched_step(shifted, size, most)


def model_at(chart: Chart, z: np.ndarray, scaled_ac: np.ndarray, symbols: tuple[str, ...]) -> Hessian:
    """The model by rule of thumb at z, before anything was seen."""
    model = model_hessian(chart, z, scaled_ac, symbols)
    return hessian(model, np.ones(len(model.kinds) + 1), [], chart)


def hessian(model: ModelHessian, factor_k: np.ndarray, secants: list[Secant], chart: Chart) -> Hessian:
    """The model with these factors, updated by secants one after the other."""
    if chart.atoms < MANY_ATOMS:
        return DenseHessian(model, factor_k, secants, chart)
    return SparseHessian(model, factor_k, secants, chart)
