"""Which eigensolver each step of self-consistency uses, and when another takes over.

docs/equations/solver_choice.md.
"""

from collections.abc import Mapping
from typing import Any

import torch

from eigenwerk.dft.scf.bands import Bands
from eigenwerk.dft.scf.solvers import BandSolver, SolverJob, davidson_method
from eigenwerk.eigensolvers import AUTOMATIC, SEQUENCES, sequence_for
from eigenwerk.units import HARTREE_EV

STALL = 0.7
"""A step that leaves more than this share of the largest residual of occupied bands is no progress."""

BEHIND = 20.0
"""Residuals up to this multiple of what a step was asked for come from the change of the potential: no stall."""

PATIENCE = 2
"""So many steps without progress, one after the other, and blocked Davidson takes over."""

GAP = 0.3
"""What a band lacks is taken to lie so much higher (hartree): its energy is too high by residual² / GAP."""


def method_of(job: SolverJob, step: int) -> BandSolver:
    """The method of a step, from 1 on, if nothing stalls."""
    sequence = SEQUENCES[sequence_for(job.solver, job.bands, job.real)]
    return BandSolver.of(sequence.begins if step <= sequence.steps else sequence.follows, job, first=step == 1)


class SolverChoice:
    """Names the method of the next step, and watches what became of it."""

    def __init__(self, job: SolverJob, done: int = 0):
        """done: steps that are behind the orbitals where it begins."""
        self.job, self.done, self.method = job, done, method_of(job, max(done, 1))
        self._residual, self._without_progress, self._taken_over = float("inf"), 0, False
        self._energy_left = 0.0

    def state(self) -> dict[str, Any]:
        """What the next method depends on, besides the job and the number of steps."""
        return {
            "residual": self._residual, "without_progress": self._without_progress, "taken_over": self._taken_over,
            "energy_left": self._energy_left,
        }  # fmt: skip

    def restore(self, stored: Mapping[str, Any]) -> None:
        """Continue where the choice for the same job stood; nothing of another one."""
        self._residual = stored.get("residual", self._residual)
        self._without_progress = stored.get("without_progress", 0)
        self._taken_over = stored.get("taken_over", False)
        self._energy_left = stored.get("energy_left", 0.0)

    def take_over(self) -> None:
        """Blocked Davidson from the next step on, with more expansions: the run does not converge as it is."""
        self._taken_over = True

    @property
    def settled(self) -> bool:
        """Whether the orbitals are good enough for the energy."""
        return self._energy_left < self.job.energy_tolerance

    def next(self, step: int) -> tuple[BandSolver, tuple[str, ...]]:
        """The method of a step, from 1 on, and what is to be said about it."""
        usual = method_of(self.job, self.done + step)
        before, self.method = self.method, davidson_method() if self._taken_over else usual
        changed = self.job.solver == AUTOMATIC and self.method.solver != before.solver and not self._taken_over
        return self.method, (f"{self.method.solver.title} from here on ({self.job.bands} bands)",) if changed else ()

    def observe(self, bands: Bands, filling_skn: torch.Tensor, tolerance: float) -> tuple[str, ...]:
        """After a step: what became of the residuals of occupied bands; returns events in words.

        tolerance: residuals that the step was asked for.
        """
        filled_skn = filling_skn.abs()
        self._energy_left = float((filled_skn * bands.residual_skn.square()).sum()) / GAP
        residual = float((bands.residual_skn * (filled_skn > 1e-6 * filled_skn.amax())).max())
        before, self._residual = self._residual, residual
        if not self.method.solver.watched:
            self._without_progress = 0
            return ()
        progress = residual < max(STALL * before, BEHIND * tolerance) or self._energy_left < self.job.energy_tolerance
        self._without_progress = 0 if progress else self._without_progress + 1
        if self._without_progress < PATIENCE:
            return ()
        self._taken_over = True
        title = self.method.solver.title
        return (
            f"{title} stalled: the largest residual of occupied bands is {residual * HARTREE_EV:.1e} eV "
            f"after {before * HARTREE_EV:.1e} eV, {self._energy_left * HARTREE_EV:.1e} eV of energy are left; "
            "blocked Davidson from here on",
        )
