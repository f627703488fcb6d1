"""Motion with friction, and motion that is stopped when it goes uphill (FIRE).

In displacements scaled by the diagonal D of a model of second derivatives, so that atoms of all kinds move at one pace:

    s = -D⁻¹ g;   v ← ((1 - μ/2) v + 2α s) / (1 + μ/2);   z ← z + v           SMASS = μ ≥ 0, α = POTIM

which is steepest descent for μ = 2.  With a negative SMASS, the fast inertial relaxation engine, its first time step
POTIM: E. Bitzek et al., Phys. Rev. Lett. 97, 170201 (2006).
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from eigenwerk.motion.relaxation.chart import Chart
from eigenwerk.motion.relaxation.hessian.hessian import Hessian, model_at
from eigenwerk.motion.relaxation.hessian.products import Apply
from eigenwerk.motion.relaxation.method import TrialPoint, capped
from eigenwerk.motion.relaxation.relaxation_settings import RelaxationSettings

FIRST_MIXING, MIXING_FALL, GROWTH, FALL, PATIENCE = 0.1, 0.99, 1.1, 0.5, 5
"""The constants of the source."""

LONGEST_TIME = 1.0
"""Of a step, where the square of the highest frequency is about FASTEST."""

FASTEST = 1.5
"""Largest eigenvalue of D^(-1/2) H D^(-1/2) to which D is scaled."""

DIVERGED = 4.0
"""Growth of the forces over the smallest so far, from which steps with friction are made shorter."""


class Damped:
    """The Method of IBRION = 3."""

    def __init__(
        self,
        settings: RelaxationSettings,
        chart: Chart,
        symbols: tuple[str, ...],
        scaled: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        self._chart, self._symbols, self._scaled = chart, symbols, scaled
        self._friction = settings.smass if settings.smass is not None and settings.smass >= 0 else None
        self._potim, self._longest = settings.potim, settings.longest_radius
        self._time, self._mixing, self._downhill = settings.potim, FIRST_MIXING, 0
        self._velocity = np.zeros(3 * chart.atoms + 6)
        self._smallest = np.inf
        self._last: TrialPoint | None = None
        self._diagonal: np.ndarray | None = None

    @property
    def best(self) -> TrialPoint | None:
        return self._last

    def take(self, trial: TrialPoint) -> tuple[bool, str]:
        if self._diagonal is None:
            model = model_at(self._chart, trial.z, self._scaled(trial.z), self._symbols)
            self._diagonal = model.diagonal * _largest(model, self._chart.project) / FASTEST
        self._last = trial
        push = -trial.gradient / self._diagonal
        if self._friction is not None:
            half = self._friction / 2
            size = float(np.linalg.norm(trial.gradient))
            if size > DIVERGED * self._smallest:
                self._potim, self._velocity, self._smallest = self._potim / 2, np.zeros_like(push), size
                return True, f"the forces have grown: at rest, and on with POTIM = {self._potim:g}"
            self._smallest = min(self._smallest, size)
            self._velocity = ((1 - half) * self._velocity + 2 * self._potim * push) / (1 + half)
            return True, ""
        remark = ""
        power = float(-trial.gradient @ self._velocity)
        if power < 0:
            self._velocity = np.zeros_like(push)
            self._time, self._mixing, self._downhill = FALL * self._time, FIRST_MIXING, 0
            remark = "uphill: the motion starts anew"
        elif power > 0:
            weight = np.sqrt(self._diagonal)
            speed, force = np.linalg.norm(weight * self._velocity), np.linalg.norm(weight * push)
            self._velocity = (1 - self._mixing) * self._velocity + self._mixing * speed / force * push
            self._downhill += 1
            if self._downhill > PATIENCE:
                self._time = min(GROWTH * self._time, LONGEST_TIME)
                self._mixing *= MIXING_FALL
        self._velocity = self._velocity + self._time * push
        return True, remark

    def propose(self) -> np.ndarray:
        assert self._last is not None
        time = 1.0 if self._friction is not None else self._time
        return self._last.z + self._chart.project(capped(time * self._velocity, self._longest))

    def shorten(self, share: float = 0.5) -> bool:
        self._velocity = share * self._velocity
        return bool(np.abs(self._velocity).max() > 1e-6)

    def state(self) -> dict[str, Any]:
        return {
            "last": None if self._last is None else self._last.state(),
            "diagonal": self._diagonal,
            "velocity": self._velocity,
            "pace": np.array([self._time, self._mixing, self._potim, self._smallest]),
            "downhill": self._downhill,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._last = None if state["last"] is None else TrialPoint.of(state["last"])
        self._diagonal = None if state["diagonal"] is None else np.array(state["diagonal"])
        self._velocity = np.array(state["velocity"])
        self._time, self._mixing, self._potim, self._smallest = (float(x) for x in state["pace"])
        self._downhill = int(state["downhill"])


def _largest(hessian: Hessian, project: Apply) -> float:
    """The largest eigenvalue of a matrix scaled to a diagonal of 1, of what may change, by the power method."""
    scale = 1 / np.sqrt(hessian.diagonal)
    vector = np.random.default_rng(0).normal(size=len(scale))
    for _ in range(50):
        vector = scale * hessian.times(project(scale * vector)) / np.linalg.norm(vector)
    return float(np.linalg.norm(vector))
