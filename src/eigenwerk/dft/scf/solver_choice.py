"""Which eigensolver each step of self-consistency uses, and when another takes over.

docs/equations/solver_choice.md.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from eigenwerk.dft.scf.bands import Bands
from eigenwerk.dft.scf.solvers import (
    FIRST_DEGREE,
    FIRST_DIRECTIONS,
    FIRST_EXPANSIONS,
    Method,
    chebyshev_method,
    conjugate_method,
    damped_method,
    davidson_method,
    exact_method,
    rmm_method,
)
from eigenwerk.units import HARTREE_EV

AUTOMATIC = "automatic"

MANY_BANDS_REAL, MANY_BANDS_COMPLEX = 160, 128
"""From so many bands on, bands that move by themselves save more (overlaps, dense problems of 3 n) than they lose."""

DAVIDSON_STEPS = 2
"""Steps of blocked Davidson before bands move by themselves."""

STALL = 0.7
"""A step that leaves more than this share of the largest residual of occupied bands is no progress."""

BEHIND = 20.0
"""Residuals up to this multiple of what a step was asked for come from the change of the potential: no stall."""

PATIENCE = 2
"""So many steps without progress, one after the other, and blocked Davidson takes over."""

GAP = 0.3
"""What a band lacks is taken to lie so much higher (hartree): its energy is too high by residual² / GAP."""


@dataclass(frozen=True)
class SolverJob:
    """What the choice depends on.  solver: "automatic" or a word of `SEQUENCES`; bands: NBANDS; real: number type;
    energy_tolerance: EDIFF (hartree); motion_time: TIME (hartree⁻¹) of damped motion."""

    solver: str
    bands: int
    real: bool
    energy_tolerance: float
    motion_time: float = 0.4


def sequence_of(job: SolverJob) -> str:
    """The word of `SEQUENCES` that serves a job."""
    if job.solver != AUTOMATIC:
        return job.solver
    many = MANY_BANDS_REAL if job.real else MANY_BANDS_COMPLEX
    return "davidson, conjugate" if job.bands >= many else "davidson"


METHODS: dict[str, Callable[[SolverJob], tuple[Method, Method]]] = {
    "davidson": lambda job: (davidson_method(FIRST_EXPANSIONS), davidson_method()),
    "rmm": lambda job: (rmm_method(FIRST_DIRECTIONS), rmm_method()),
    "conjugate": lambda job: (conjugate_method(FIRST_DIRECTIONS, FIRST_DIRECTIONS), conjugate_method()),
    "damped": lambda job: (damped_method(job.motion_time), damped_method(job.motion_time)),
    "chebyshev": lambda job: (chebyshev_method(FIRST_DEGREE), chebyshev_method()),
    "exact": lambda job: (exact_method(), exact_method()),
}
"""Solver -> what it does in the first step of all, and in any other."""

SEQUENCES = {
    "davidson": ("davidson", 0, "davidson"),
    "davidson, rmm": ("davidson", DAVIDSON_STEPS, "rmm"),
    "davidson, conjugate": ("davidson", DAVIDSON_STEPS, "conjugate"),
    "rmm": ("rmm", 0, "rmm"),
    "conjugate": ("conjugate", 0, "conjugate"),
    "damped": ("damped", 0, "damped"),
    "chebyshev": ("chebyshev", 0, "chebyshev"),
    "exact": ("exact", 0, "exact"),
}
"""Word -> solver that begins, for how many steps, solver that follows."""


def method_of(job: SolverJob, step: int) -> Method:
    """The method of a step, from 1 on, if nothing stalls."""
    beginning, steps, following = SEQUENCES[sequence_of(job)]
    first, later = METHODS[beginning if step <= steps else following](job)
    return first if step == 1 else later


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

    @property
    def settled(self) -> bool:
        """Whether the orbitals are good enough for the energy."""
        return self._energy_left < self.job.energy_tolerance

    def next(self, step: int) -> tuple[Method, tuple[str, ...]]:
        """The method of a step, from 1 on, and what is to be said about it."""
        usual = method_of(self.job, self.done + step)
        before, self.method = self.method, davidson_method() if self._taken_over else usual
        changed = self.job.solver == AUTOMATIC and self.method.short != before.short and not self._taken_over
        return self.method, (f"{self.method.words} from here on ({self.job.bands} bands)",) if changed else ()

    def observe(self, bands: Bands, filling_skn: torch.Tensor, tolerance: float) -> tuple[str, ...]:
        """After a step: what became of the residuals of occupied bands; returns events in words.

        tolerance: residuals that the step was asked for.
        """
        filled_skn = filling_skn.abs()
        self._energy_left = float((filled_skn * bands.residual_skn.square()).sum()) / GAP
        residual = float((bands.residual_skn * (filled_skn > 1e-6 * filled_skn.amax())).max())
        before, self._residual = self._residual, residual
        if not self.method.watched:
            self._without_progress = 0
            return ()
        progress = residual < max(STALL * before, BEHIND * tolerance) or self._energy_left < self.job.energy_tolerance
        self._without_progress = 0 if progress else self._without_progress + 1
        if self._without_progress < PATIENCE:
            return ()
        self._taken_over = True
        return (
            f"{self.method.words} stalled: the largest residual of occupied bands is {residual * HARTREE_EV:.1e} eV "
            f"after {before * HARTREE_EV:.1e} eV, {self._energy_left * HARTREE_EV:.1e} eV of energy are left; "
            "blocked Davidson from here on",
        )
