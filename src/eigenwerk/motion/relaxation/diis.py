"""Residual minimisation by direct inversion in the subspace of earlier points (RMM-DIIS).

The combination Σ c_i z_i, Σ c_i = 1, of the last points whose combined residual |P⁻¹ Σ c_i g_i| is smallest, and from
there a step -α P⁻¹ Σ c_i g_i.  P is the model of second derivatives; energies are not looked at.
Source: P. Pulay, Chem. Phys. Lett. 73, 393 (1980); for structures P. Császár and P. Pulay, J. Mol. Struct. 114, 31
(1984).
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from eigenwerk.motion.relaxation.chart import Chart
from eigenwerk.motion.relaxation.hessian.hessian import Hessian, model_at
from eigenwerk.motion.relaxation.method import TrialPoint, capped
from eigenwerk.motion.relaxation.relaxation_settings import RelaxationSettings

MOST_KEPT = 8
"""Points that are kept where NFREE does not say it."""

LARGEST_SHARE = 8.0
"""Of one point in the combination; beyond, points depend on each other, and the oldest is forgotten."""

DIVERGED = 3.0
"""Growth of the residual over the smallest one, from which only that point is kept."""


class Diis:
    """The Method of IBRION = 1."""

    def __init__(
        self,
        settings: RelaxationSettings,
        chart: Chart,
        symbols: tuple[str, ...],
        scaled: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        self._chart, self._symbols, self._scaled = chart, symbols, scaled
        self._share = 2 * settings.potim
        self._kept = settings.nfree or MOST_KEPT
        self._longest = settings.longest_radius
        self._points: list[TrialPoint] = []
        self._model: Hessian | None = None
        self._origin: np.ndarray | None = None
        self._shortened = 1.0

    @property
    def best(self) -> TrialPoint | None:
        return self._points[-1] if self._points else None

    def _residual(self, trial: TrialPoint) -> np.ndarray:
        assert self._model is not None
        return self._model.solve(trial.gradient)

    def _begin(self, z: np.ndarray) -> None:
        """The model is that of the first point."""
        self._origin, self._model = z, model_at(self._chart, z, self._scaled(z), self._symbols)

    def take(self, trial: TrialPoint) -> tuple[bool, str]:
        if self._model is None:
            self._begin(trial.z)
        self._shortened = 1.0
        sizes = [float(np.linalg.norm(point.gradient)) for point in self._points]
        if sizes and np.linalg.norm(trial.gradient) > DIVERGED * min(sizes):
            self._points = [self._points[int(np.argmin(sizes))]]
            self._shortened = 0.5
            return False, "the forces have grown: back to the point with the smallest, and less far"
        self._points = [*self._points, trial][-self._kept :]
        return True, ""

    def propose(self) -> np.ndarray:
        points = self._points
        residuals = np.array([self._residual(point) for point in points])
        while True:
            shares = combination(residuals)
            if len(points) == 1 or np.abs(shares).max() < LARGEST_SHARE:
                break
            points, residuals = points[1:], residuals[1:]
        z = sum(share * point.z for share, point in zip(shares, points, strict=True))
        last = self._points[-1].z
        step = z - self._share * (shares @ residuals) - last
        return last + capped(self._chart.project(step), self._longest) * self._shortened

    def shorten(self, share: float = 0.5) -> bool:
        self._shortened *= share
        return self._shortened > 1e-3

    def state(self) -> dict[str, Any]:
        return {
            "points": {str(number): point.state() for number, point in enumerate(self._points)},
            "origin": self._origin,
            "shortened": self._shortened,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        points = state.get("points") or {}  # a file keeps no empty group
        self._points = [TrialPoint.of(points[str(number)]) for number in range(len(points))]
        self._model = self._origin = None
        if state["origin"] is not None:
            self._begin(np.array(state["origin"]))
        self._shortened = float(state["shortened"])


def combination(residual_xz: np.ndarray) -> np.ndarray:
    """c with Σ c = 1 and the smallest |Σ c_x residual_x|."""
    overlaps = residual_xz @ residual_xz.T
    scale = np.sqrt(np.maximum(np.diagonal(overlaps), 1e-300))
    matrix = overlaps / scale / scale[:, None] + 1e-10 * np.eye(len(scale))
    shares = np.linalg.solve(matrix, 1 / scale) / scale
    return shares / shares.sum()
