"""The next input density from the last ones: Kerker-preconditioned Pulay mixing.

Equations, units and measured choices: docs/equations/mixing.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch

from eigenwerk.dft.density.fields import Fields
from eigenwerk.dft.scf.mixing.mixing_guard import Guard, judged, uphill
from eigenwerk.dft.scf.mixing.mixing_history import (
    History,
    Measured,
    Metric,
    MixingStep,
    Parts,
    Reduce,
    fitted_charge_factor,
    fitted_magnetic_factor,
    fitted_wave_vector,
)
from eigenwerk.dft.scf.mixing.screening import Screening
from eigenwerk.errors import InputError
from eigenwerk.units import BOHR_ANGSTROM

SomeFields = TypeVar("SomeFields", bound=Fields)

Memory = Callable[[], Mapping[str, Any] | None]
"""What a mixer remembers, for a file; None if it is no longer there."""

MOST_TURNS = 20
"""So often a step against the residual is not taken; then it is, lest the way from there lead back here in circles."""

SHORTER = 0.3
"""Share of a refused step that is tried in its place."""

TURNED, FEW_CHANGES = 0.3, 2
"""Share of the linear step that is taken where the history has just been dropped; the whole one if it held no more than
so few changes: then mixing is on its way through a valley of |R| that is no solution, and must not stop in it."""


@dataclass(frozen=True)
class MixSettings:
    """How densities are mixed.

    kind: 'pulay' (VASP's IMIX = 4) or 'kerker' (IMIX = 1: no history, no safety net).
    amix, amix_mag: linear factor of the total density, of the magnetisation.
    fit_charge: fit the factor of the total density to the measured response, amix being the smallest, and the first.
    fit_mag: fit the factor of the magnetisation to the measured response, amix_mag being the largest: from the first
    step on, or from step fit_mag_from on, with amix_mag before.
    bmix, bmix_mag: Kerker wave vectors in 1/bohr; 0 is plain linear mixing; bmix = None fits it to the measured
    response.  The magnetisation has no long-range response to damp; measured, 0 serves it best.
    amin: smallest factor at any g (never above the linear factor); amin_charge: the same for the total density alone,
    if it is larger (`settings.mixing`).
    history: how many earlier changes take part.
    occupancy_weight: weight of squared PAW occupancies beside the squared density in the metric, 1/bohr^3.
    collinearity: directions of the normalised history below this share of the largest are ignored.
    near: residual in electrons below which the end is so near that no step is taken for one away from the minimum: what
    is soft there, the orientation of a free atom, costs less energy than is asked for.
    """

    kind: str = "pulay"
    amix: float = 0.4
    bmix: float | None = 1.0 * BOHR_ANGSTROM
    fit_charge: bool = False
    amix_mag: float = 1.6
    fit_mag: bool = False
    fit_mag_from: int = 0
    bmix_mag: float = 0.0
    amin: float = 0.1
    amin_charge: float = 0.0
    history: int = 20
    occupancy_weight: float = 0.01
    collinearity: float = 1e-8
    near: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in ("pulay", "kerker"):
            raise InputError(f"mixing kind '{self.kind}' does not exist. Use 'pulay' or 'kerker'.")
        for name in ("amix", "amix_mag"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise InputError(f"{name} = {getattr(self, name)} must be a positive number.")
        for name in ("bmix", "bmix_mag", "amin", "amin_charge", "history"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise InputError(f"{name} = {value} must not be negative.")


@dataclass
class PulayMixer:
    """Mixes densities step by step and remembers the way; `events` tells in words what it had to do.

    norm2_g: (g,) squared wave vectors in bohr^-2.  weight_g: (g,) 1 or 2, how many plane waves each stands for.
    volume: of the cell, bohr^3.  sum: over ranks that share g.  smallest_norm2: the smallest norm2 > 0 over all
    ranks (default: of norm2_g).
    """

    settings: MixSettings
    norm2_g: torch.Tensor
    weight_g: torch.Tensor
    volume: float
    sum: Reduce = lambda tensor: tensor
    smallest_norm2: float | None = None
    events: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.smallest_norm2 is None:
            self.smallest_norm2 = float(self.norm2_g[self.norm2_g > 0].amin())
        self._history: History | None = None
        self._parts: Parts = ()
        self._last: MixingStep | None = None
        self._guard = Guard()
        self._bmix = 1.0 * BOHR_ANGSTROM if self.settings.bmix is None else self.settings.bmix
        self._amix = self.settings.amix
        self._amix_mag = self.settings.amix_mag
        if self.settings.fit_mag and self.settings.fit_mag_from == 0:
            self._amix_mag = min(self.settings.amix, self.settings.amix_mag)
        self._told_amix_mag = self._amix_mag
        self._count = self._turns = 0
        self._screening: Screening | None = None
        self._shaped: tuple[float, torch.Tensor] | None = None
        self._factor: tuple[tuple[float, float, float], torch.Tensor] | None = None

    def mix(
        self, density: SomeFields, output: SomeFields, screening: Screening | None = None, doubt: str = ""
    ) -> tuple[SomeFields, float]:
        """The next input from this input and the output it gave, and the residual in electrons (`Metric.electrons_y`).

        Both as total and magnetisation, x = 1 or 2.  The number of electrons is conserved: the smooth density at g = 0
        and the occupancies, which only together hold it, take the same factor.
        screening: takes the place of the Kerker factor; doubt: why the step that led here is not to be taken, in words.
        Raises InputError if numbers are not finite.
        """
        self._screening = screening
        input_xy = density.packed()
        here = MixingStep(input_xy, output.packed() - input_xy)
        history = self._started(density.parts)
        pulay = self.settings.kind == "pulay"
        measured = history.add(here, self._last if pulay else None)
        if not math.isfinite(measured.electrons):
            raise InputError("the density residual is not finite: the output density holds NaN or infinity.")
        self._count += 1
        if pulay:
            following_xy = self._pulay(history, here, measured, doubt)
        else:
            following_xy = self._linear(here)
        return density.unpacked(following_xy), measured.electrons

    def memory(self) -> Memory:
        """Gives everything that the next step depends on as it is now; None when it is asked for too late."""
        history, last, best = self._history, self._last, self._guard.best_step
        changes = None if history is None else history.changes()
        numbers = {
            "count": self._count, "turns": self._turns, "bmix": self._bmix, "amix": self._amix,
            "amix_mag": self._amix_mag, "told_amix_mag": self._told_amix_mag, "best_is_last": best is last,
            "guard": self._guard.state(), "history": None if history is None else history.numbers(),
        }  # fmt: skip

        def state() -> dict[str, Any] | None:
            change_ixjy = None if changes is None else changes()
            if changes is not None and change_ixjy is None:
                return None
            others = {"last_ixy": _joined(last), "best_ixy": None if best is last else _joined(best)}
            return {**numbers, **others, "change_ixjy": None if change_ixjy is None else change_ixjy.numpy()}

        return state

    def restore(self, stored: Mapping[str, Any], parts: Parts) -> None:
        """Continue where a mixer with the same settings, plane waves and fields (parts) stood."""
        self._count, self._turns, self._bmix = int(stored["count"]), int(stored["turns"]), float(stored["bmix"])
        self._amix, self._amix_mag = float(stored["amix"]), float(stored["amix_mag"])
        self._told_amix_mag = float(stored["told_amix_mag"])
        self._last, best = (self._step(stored[name]) for name in ("last_ixy", "best_ixy"))
        self._guard = Guard.of(stored["guard"], self._last if stored["best_is_last"] else best)
        self._history = None
        if stored["history"] is not None:
            self._started(parts).restore(stored["history"], self._tensor(stored["change_ixjy"]))

    def learn(self, stored: Mapping[str, Any], parts: Parts) -> None:
        """Begin with the changes, and the factors fitted to them, of a mixer for the same fields of a like system."""
        fresh = {"last_ixy": None, "best_ixy": None, "best_is_last": True, "guard": self._guard.state(), "turns": 0}
        self.restore({**stored, **fresh}, parts)

    def renewed(self) -> None:
        """The next step is one of a like problem: what changes make of each other holds on, where the way stood not."""
        self._last, self._guard, self._turns = None, Guard(), 0

    def _tensor(self, array: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(array).to(self.norm2_g)

    def _step(self, step_ixy: np.ndarray | None) -> MixingStep | None:
        return None if step_ixy is None else MixingStep(*self._tensor(step_ixy))

    @property
    def _gentle(self) -> float:
        """The factor of the magnetisation where nothing is known of its response."""
        return min(self.settings.amix, self.settings.amix_mag) if self.settings.fit_mag else self.settings.amix_mag

    def _started(self, parts: Parts) -> History:
        """The history; made when the fields are known."""
        if self._history is None:
            self._parts = parts
            metric = Metric.make(
                self.norm2_g, self.weight_g, self.volume, self.smallest_norm2 or 1.0, self.settings.occupancy_weight,
                parts, self.sum,
            )  # fmt: skip
            self._history = History(metric, self.settings.history)
        if self.settings.fit_charge:
            self._history.shape_y = self._shape()
        return self._history

    def _preconditioned(self, residual_xy: torch.Tensor) -> torch.Tensor:
        """K(g) R with K = max(A g^2 / (g^2 + B^2), AMIN); A for occupancies and at g = 0.  Without the guard's factor.

        Source: G. P. Kerker, Phys. Rev. B 23, 3082 (1981).
        With a `Screening` K = A for the total density, the charge that is screened being what it makes of it, and AMIX
        the smallest factor of the magnetisation.
        """
        if self._screening is not None:
            return self._unscreened(residual_xy, self._screening)
        wanted = self._bmix, self._amix, self._amix_mag
        if self._factor is None or self._factor[0] != wanted:
            total = self._amix, self._bmix, max(self.settings.amin, self.settings.amin_charge)
            moment = self._amix_mag, self.settings.bmix_mag, self.settings.amin
            rows = [total, *[moment] * (len(residual_xy) - 1)]
            self._factor = wanted, torch.stack([self._kerker(*row) for row in rows])
        return self._factor[1] * residual_xy

    def _unscreened(self, residual_xy: torch.Tensor, screening: Screening) -> torch.Tensor:
        step_xy = residual_xy.clone()
        for (kind, _), part_y in zip(self._parts, step_xy[0].split([size for _, size in self._parts]), strict=True):
            if kind.screened:
                waves_g = torch.view_as_complex(part_y.view(-1, 2))
                waves_g.copy_(screening.unscreened(waves_g))
        step_xy[0] *= self._amix
        step_xy[1:] *= self._kerker(self._amix_mag, self.settings.bmix_mag, self.settings.amix)
        return step_xy

    def _kerker(self, linear: float, wave_vector: float, smallest: float) -> torch.Tensor:
        """K of one channel, (y,)."""
        damped_g = linear * self.norm2_g / (self.norm2_g + wave_vector**2).clamp_min(1e-30)
        damped_g = damped_g.clamp_min(min(smallest, linear))
        damped_g = torch.where(self.norm2_g > 0, damped_g, linear)
        return torch.cat([
            damped_g.repeat_interleave(2) if kind.screened else damped_g.new_full((size,), linear)
            for kind, size in self._parts
        ])  # fmt: skip

    def _shape(self) -> torch.Tensor:
        """K/A of the total density, (y,), for A = AMIX."""
        if self._shaped is None or self._shaped[0] != self._bmix:
            settings = self.settings
            smallest = max(settings.amin, settings.amin_charge) / settings.amix
            self._shaped = self._bmix, self._kerker(1.0, self._bmix, smallest)
        return self._shaped[1]

    def _linear(self, here: MixingStep) -> torch.Tensor:
        """here + K R."""
        return torch.add(here.input_xy, self._preconditioned(here.residual_xy), alpha=self._guard.scale)

    def _fit(self, history: History, channels: int) -> None:
        """What the preconditioner takes from the measured response."""
        if self.settings.bmix is None and len(history):
            self._bmix = fitted_wave_vector(history, self._bmix)
        if self.settings.fit_charge and self._screening is None:
            amix = self.settings.amix
            self._amix = fitted_charge_factor(history, amix) if len(history) else amix
        fitting = self.settings.fit_mag and (self._count > self.settings.fit_mag_from or self.tries > 1)
        if fitting and len(history) and channels > 1:
            self._take_factor(fitted_magnetic_factor(history, self._gentle, self.settings.amix_mag))

    def _pulay(self, history: History, here: MixingStep, measured: Measured, doubt: str) -> torch.Tensor:
        """here - sum_j gamma_j dU_j + K (R - sum_j gamma_j dR_j), gamma the least-squares fit of R by the dR_j.

        P. Pulay, Chem. Phys. Lett. 73, 393 (1980); D. G. Anderson, J. ACM 12, 547 (1965).
        """
        norm = math.sqrt(measured.square_x.sum())
        last, refusal = self._last, self._guard.refuses(norm, doubt)
        if refusal and last is not None:
            history.forget_newest()
            self.events.append(f"{refusal}: the step is refused, {SHORTER:g} of it is tried")
            return torch.lerp(last.input_xy, here.input_xy, SHORTER)
        self._last = here
        self._fit(history, len(here.input_xy))
        if doubt and last is not None:
            return self._restarted(history, here, doubt)
        if not doubt:
            self._guard.visit(norm, here)
        if not len(history):
            trouble = self._guard.stuck(norm, norm)
            return self._restarted(history, here, trouble) if trouble else self._linear(here)
        settings = self.settings
        gamma_xj = history.coefficients(measured.right_xj, settings.collinearity)
        shift_xy, fitted_xy = history.combined(gamma_xj)
        fitted_xy = fitted_xy + here.residual_xy
        step_xy = self._preconditioned(fitted_xy)
        fitted, along, flat = judged(history.metric, here.residual_xy, shift_xy, step_xy, fitted_xy)
        trouble = self._guard.stuck(norm, fitted)
        if trouble:
            return self._restarted(history, here, trouble)
        scale = self._guard.scale  # just now it may have changed
        may_turn = self._turns < MOST_TURNS and measured.electrons > settings.near
        if may_turn and uphill(along.whole(scale), float(flat.whole(scale)), measured.square_x):
            share = TURNED if len(history) > FEW_CHANGES else 1.0
            self._turned(history)
            return torch.lerp(here.input_xy, self._linear(here), share)
        return torch.add(here.input_xy + shift_xy, step_xy, alpha=scale)

    @property
    def tries(self) -> int:
        """How often mixing has begun, with smaller steps each time."""
        return self._guard.tries

    def _restarted(self, history: History, here: MixingStep, trouble: str) -> torch.Tensor:
        """The step from the best density, without history."""
        start = self._guard.restart(here)
        history.clear()
        self._last = start
        self._amix, self._amix_mag = self.settings.amix, self._gentle
        self.events.append(
            f"{trouble}; try {self._guard.tries}: back to the best density without history, linear factors times "
            f"{self._guard.scale:g}"
        )
        return self._linear(start)

    def _turned(self, history: History) -> None:
        """Nothing that led here counts any more."""
        self._turns += 1
        self.events.append(
            f"the history of {len(history)} changes led away from the minimum, as near a saddle point: "
            "mixing goes on without it"
        )
        history.clear()
        self._guard.forget()

    def _take_factor(self, factor: float) -> None:
        """Mix the magnetisation with this factor from now on; told where it is twice or half of what was told last."""
        if not 0.5 < factor / self._told_amix_mag < 2:
            self.events.append(
                f"linear factor of the magnetisation {factor:.2g} (it was {self._told_amix_mag:.2g}), "
                "from its response so far"
            )
            self._told_amix_mag = factor
        self._amix_mag = factor


def _joined(step: MixingStep | None) -> np.ndarray | None:
    """Input and residual in host memory, (i, x, y)."""
    return None if step is None else torch.stack([step.input_xy, step.residual_xy]).cpu().numpy()
