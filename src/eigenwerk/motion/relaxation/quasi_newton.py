"""Quasi-Newton steps on a model of second derivatives, within a trust radius, with an eye on the noise of forces."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from eigenwerk.motion.relaxation.chart import Chart
from eigenwerk.motion.relaxation.curved import Skeleton, skeleton
from eigenwerk.motion.relaxation.hessian.hessian import Hessian, hessian
from eigenwerk.motion.relaxation.hessian.model import model_hessian
from eigenwerk.motion.relaxation.method import STRAIN_LENGTH, TrialPoint, size
from eigenwerk.motion.relaxation.relaxation_settings import RelaxationSettings
from eigenwerk.motion.relaxation.secant import Secant, learnt_factors

STEEP = 1e-5
"""eV, a rise of the energy that is never minded."""

MOST_SECANTS = 40

LEAST_RADIUS = 2e-3
"""Å."""


def turned(z: np.ndarray, turn_avw: np.ndarray) -> np.ndarray:
    """Vectors of the atoms turned, each its own way; the strain as it is."""
    return np.concatenate([np.einsum("av,avw->aw", z[:-6].reshape(-1, 3), turn_avw).ravel(), z[-6:]])


class QuasiNewton:
    """The Method of IBRION = 2.

    The matrix of a step is the model at the best point, with factors learnt from all changes of the gradient that are
    kept, updated by these changes (BFGS).  A step is accepted unless the energy rises by more than the noise of
    the forces explains; a refused one teaches its change of the gradient all the same.
    """

    def __init__(
        self,
        settings: RelaxationSettings,
        chart: Chart,
        symbols: tuple[str, ...],
        scaled: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        self._chart, self._symbols, self._scaled = chart, symbols, scaled
        self._longest, self._radius = settings.longest_radius, settings.first_radius
        self._best: TrialPoint | None = None
        self._secants: list[Secant] = []
        self._hessian: Hessian | None = None
        self._skeleton: tuple[np.ndarray, Skeleton] | None = None
        self._predicted = self._proposed = 0.0
        self._step = np.zeros(0)
        atoms = chart.atoms
        self._metric = np.concatenate([np.ones(3 * atoms), np.full(6, STRAIN_LENGTH**2 * max(atoms, 1) / 4)])

    @property
    def best(self) -> TrialPoint | None:
        return self._best

    def take(self, trial: TrialPoint) -> tuple[bool, str]:
        """Whether the point is the best now, and a remark."""
        if self._best is None:
            self._best = trial
            return True, ""
        best = self._best
        turns = self._frame(best.z).turns(best.z, trial.z)
        step = self._step
        there = self._chart.project(turned(trial.gradient, turns.transpose(0, 2, 1)))
        self._secants.append(Secant(step, there - best.gradient, trial.error + best.error))
        self._secants = self._secants[-MOST_SECANTS:]
        self._hessian = None
        rise = trial.energy - best.energy
        noise = 2 * max(trial.error, best.error) * float(np.linalg.norm(step)) + STEEP
        length = size(step)
        unseen = abs(self._predicted) < noise and abs(rise) < 2 * noise
        ratio = rise / self._predicted if self._predicted else 1.0
        if unseen or ratio > 0.75:
            if length > 0.8 * self._radius:
                self._radius = min(2 * self._radius, self._longest)
        elif ratio < 0.25:
            self._radius = max(min(0.5 * length, self._radius), LEAST_RADIUS)
        if rise > noise and not unseen:
            return False, f"the energy rose by {rise:.2e} eV: the step is taken back"
        project = self._chart.project
        self._secants = [
            Secant(project(turned(x.step_z, turns)), project(turned(x.change_z, turns)), x.error) for x in self._secants
        ]
        self._best = trial
        return True, ""

    def propose(self) -> np.ndarray:
        """Where to look next."""
        best = self._best
        assert best is not None
        if self._hessian is None:
            model = model_hessian(self._chart, best.z, self._scaled(best.z), self._symbols)
            factors = learnt_factors(model, self._secants, self._chart.project)
            self._hessian = hessian(model, factors, self._secants, self._chart)
        step = self._chart.project(self._hessian.step(best.gradient, self._metric, size, self._radius))
        self._proposed = size(step)
        self._predicted = float(best.gradient @ step + step @ self._hessian.times(step) / 2)
        self._step = step
        return self._frame(best.z).bent(best.z, step)

    def _frame(self, z: np.ndarray) -> Skeleton:
        """That of the best point; made once."""
        if self._skeleton is None or self._skeleton[0] is not z:
            self._skeleton = z, skeleton(self._chart, z, self._scaled(z), self._symbols)
        return self._skeleton[1]

    def shorten(self, share: float = 0.5) -> bool:
        """The last proposal was of no use: the next ones go less far.  False if they can hardly be shorter."""
        self._radius = share * min(self._radius, self._proposed)
        return self._radius > LEAST_RADIUS / 10

    def state(self) -> dict[str, Any]:
        return {
            "radius": self._radius,
            "predicted": self._predicted,
            "proposed": self._proposed,
            "step": self._step,
            "best": None if self._best is None else self._best.state(),
            "secant_steps": np.array([secant.step_z for secant in self._secants]),
            "secant_changes": np.array([secant.change_z for secant in self._secants]),
            "secant_errors": np.array([secant.error for secant in self._secants]),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._radius, self._predicted, self._proposed = (float(state[x]) for x in ("radius", "predicted", "proposed"))
        self._step = np.array(state["step"])
        self._best = None if state["best"] is None else TrialPoint.of(state["best"])
        self._secants = [
            Secant(np.array(step), np.array(change), float(error))
            for step, change, error in zip(
                state["secant_steps"], state["secant_changes"], state["secant_errors"], strict=True
            )
        ]
        self._hessian = None
