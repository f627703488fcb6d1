"""What notices that mixing makes no progress and answers with smaller steps, or that a step goes uphill, as near a
saddle point.

Measured choices: docs/equations/mixing.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from eigenwerk.dft.scf.mixing.mixing_history import Metric, MixingStep

GAIN, PATIENCE, GROWTH = 0.9, 15, 1e3
"""Progress is a least-squares residual below GAIN times the lowest; PATIENCE steps without it, or a measured
residual GROWTH times the best one, restart the history."""

SMALLEST_SCALE, RECOVERY = 0.1, 8
"""The linear factors never shrink below this share, and double again after so many steps of progress."""

EXPLOSION, MOST_REFUSALS = 20.0, 3
"""A step that makes the measured residual so many times the last one is refused (in ordinary runs it grows up to six
times, while the history learns); no more than so many, one after the other."""

UPHILL_SHARE = 0.2
"""A channel with this share of the squared residual must not be moved against it."""

ROUNDING = 1e-12
"""A least-squares residual below this share of the measured one is rounding error, and its changes no progress."""


NUMBERS = ("scale", "lowest", "best", "since", "better", "accepted", "refusals", "tries")


@dataclass
class Guard:
    """Watches the progress of Pulay mixing: stagnation restarts it from the best density with smaller steps.

    The measure is the least-squares residual |R - sum_j gamma_j dR_j|: the measured residual may well rise while
    the history learns a new direction, this one never rises, unless the history has been cut short.
    """

    scale: float = 1.0
    lowest: float = math.inf
    best: float = math.inf
    since: int = 0
    better: int = 0
    accepted: float = math.inf
    refusals: int = 0
    tries: int = 1
    best_step: MixingStep | None = None

    def refuses(self, norm: float, doubt: str) -> str:
        """Why the step to a density with this residual is not taken, in words; '' if it is, as the first always.

        doubt: reasons from outside.
        """
        growth, first = norm / self.accepted, self.accepted == math.inf
        if first or self.refusals >= MOST_REFUSALS or not (doubt or growth > EXPLOSION):
            self.accepted, self.refusals = norm, 0
            return ""
        self.refusals += 1
        return doubt or f"the residual is {growth:.0f} times that of the step before"

    def visit(self, norm: float, step: MixingStep) -> None:
        """Remember the density of the smallest measured residual."""
        if norm < self.best:
            self.best, self.best_step = norm, step

    def stuck(self, norm: float, fitted: float) -> str:
        """Words if the least-squares residual says that it is time to start over, else ''."""
        fitted = max(fitted, ROUNDING * norm)
        if fitted < GAIN * self.lowest:
            self.lowest, self.since = fitted, 0
            self._recover()
            return ""
        self.since, self.better = self.since + 1, 0
        if norm > GROWTH * self.best:
            return f"the residual is {norm / self.best:.0f} times its best"
        return f"no progress for {self.since} steps" if self.since >= PATIENCE else ""

    def restart(self, here: MixingStep) -> MixingStep:
        """Smaller steps from now on; returns the best density so far and its residual, to go on from."""
        self.tries += 1
        self.scale = max(SMALLEST_SCALE, 0.5 * self.scale)
        self.lowest, self.since, self.accepted = self.best, 0, self.best
        return self.best_step or here

    def forget(self) -> None:
        """Start counting anew: what was best was on the wrong side."""
        self.lowest = self.best = math.inf
        self.since, self.best_step = 0, None

    def _recover(self) -> None:
        self.better += 1
        if self.scale < 1 and self.better >= RECOVERY:
            self.scale, self.better = min(1.0, 2 * self.scale), 0

    def state(self) -> dict[str, Any]:
        """The numbers, without the best step."""
        return {name: getattr(self, name) for name in NUMBERS}

    @staticmethod
    def of(stored: Mapping[str, Any], best_step: MixingStep | None) -> Guard:
        """The guard that gave this state."""
        return Guard(**{name: stored[name] for name in NUMBERS if name in stored}, best_step=best_step)


@dataclass(frozen=True)
class Along:
    """Products of R with the shift by the history and with the preconditioned residual."""

    shift: np.ndarray
    step: np.ndarray

    def whole(self, scale: float) -> np.ndarray:
        """The product with the whole change."""
        return self.shift + scale * self.step


def judged(
    metric: Metric, residual_xy: torch.Tensor, shift_xy: torch.Tensor, step_xy: torch.Tensor, fitted_xy: torch.Tensor
) -> tuple[float, Along, Along]:
    """|R - sum_j gamma_j dR_j| and the products of a step's two parts with R, by channel and with f = 1 in all."""
    weight_ky = torch.stack([metric.weight_y, metric.flat_y, metric.weight_y])
    column_xky = weight_ky * torch.stack([residual_xy, residual_xy, fitted_xy], 1)
    row_xjy = torch.stack([shift_xy, step_xy, fitted_xy], 1)
    product_xjk = metric.products(row_xjy, column_xky).cpu().numpy()
    along, flat = product_xjk[:, :2, 0], product_xjk[:, :2, 1].sum(0)
    return math.sqrt(product_xjk[:, 2, 2].sum()), Along(*along.T), Along(*flat)


def uphill(along_x: np.ndarray, flat: float, square_x: np.ndarray) -> bool:
    """Whether a step dU goes against the residual in a channel that holds much of it.

    Near a stable solution U* the residual is -J (U - U*) with J positive, so a right step has <dU|R> > 0.
    The smallest |R| may lie elsewhere, at an unstable solution or at none (magnets on their way to
    another moment); a least-squares fit would go there, against R, and stay.
    One channel may well go against its own residual where it follows the other (long ferromagnets), so the sum of
    both, each g with the same weight, must say so, too: chi is nearly local, and chi^-1 J is symmetric.

    along_x = <dU|R>_x; flat: the same with f = 1 over both channels; square_x = <R|R>_x.
    """
    against = bool(((along_x < 0) & (square_x > UPHILL_SHARE * square_x.sum())).any())
    return against and flat < 0
