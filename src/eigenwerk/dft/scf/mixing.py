"""The next input density from the last ones: Kerker-preconditioned Pulay mixing.

Equations, units and measured choices: docs/equations/mixing.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from eigenwerk.dft.scf.mixing_history import History, Metric, Mixed, Reduce, Step, real_inner
from eigenwerk.errors import InputError
from eigenwerk.units import BOHR_ANGSTROM

GAIN, PATIENCE, GROWTH = 0.9, 15, 1e3
"""Progress is a least-squares residual below GAIN times the lowest; PATIENCE steps without it, or a measured
residual GROWTH times the best one, restart the history."""

UPHILL_SHARE = 0.2
"""A channel with this share of the squared residual must not be moved against it."""

SMALLEST_SCALE, RECOVERY = 0.1, 8
"""The linear factors never shrink below this share, and double again after so many steps of progress."""

FITTED_STEPS = 5
"""Newest changes that take part in that fit."""

MOST_TURNS = 20
"""So often a step against the residual is not taken; then it is, lest the way from there lead back here in circles."""

LARGEST_BMIX = 1.5
"""Upper end of fitted Kerker wave vectors, 1/bohr: the Thomas-Fermi value of 0.3 electrons per bohr^3 is 1.6."""


@dataclass(frozen=True)
class MixSettings:
    """How densities are mixed.

    kind: 'pulay' (VASP's IMIX = 4) or 'kerker' (IMIX = 1: no history, no safety net).
    amix, amix_mag: linear factor of the total density, of the magnetisation.
    fit_mag: fit the factor of the magnetisation to the measured response, amix_mag being the largest: from the first
    step on, or from step fit_mag_from on, with amix_mag before.
    bmix, bmix_mag: Kerker wave vectors in 1/bohr; 0 is plain linear mixing; bmix = None fits it to the measured
    response.  The magnetisation has no long-range response to damp; measured, 0 serves it best.
    amin: smallest factor at any g (never above the linear factor).
    history: how many earlier changes take part.
    joint_spin: one set of Pulay coefficients for density and magnetisation (needed where the two respond to each
    other, as in every ferromagnet), or one for each.
    occupancy_weight: weight of squared PAW occupancies beside the squared density in the metric, 1/bohr^3.
    collinearity: directions of the normalised history below this share of the largest are ignored.
    """

    kind: str = "pulay"
    amix: float = 0.4
    bmix: float | None = 1.0 * BOHR_ANGSTROM
    amix_mag: float = 1.6
    fit_mag: bool = False
    fit_mag_from: int = 0
    bmix_mag: float = 0.0
    amin: float = 0.1
    history: int = 20
    joint_spin: bool = True
    occupancy_weight: float = 0.01
    collinearity: float = 1e-8

    def __post_init__(self) -> None:
        if self.kind not in ("pulay", "kerker"):
            raise InputError(f"mixing kind '{self.kind}' does not exist. Use 'pulay' or 'kerker'.")
        for name in ("amix", "amix_mag"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise InputError(f"{name} = {getattr(self, name)} must be a positive number.")
        for name in ("bmix", "bmix_mag", "amin", "history"):
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
        self._metric = Metric.make(
            self.norm2_g, self.weight_g, self.volume, self.smallest_norm2, self.settings.occupancy_weight, self.sum
        )
        self._flat = replace(self._metric, factor_g=torch.ones_like(self._metric.factor_g))
        self._history = History(self._metric, self.settings.history)
        self._last: Step | None = None
        self._guard = Guard()
        self._bmix = 1.0 * BOHR_ANGSTROM if self.settings.bmix is None else self.settings.bmix
        self._amix_mag = self.settings.amix_mag
        if self.settings.fit_mag and self.settings.fit_mag_from == 0:
            self._amix_mag = min(self.settings.amix, self.settings.amix_mag)
        self._told_amix_mag = self._amix_mag
        self._count = self._turns = 0

    def mix(
        self,
        density_in_xg: torch.Tensor,
        occupancy_in_xm: torch.Tensor,
        density_out_xg: torch.Tensor,
        occupancy_out_xm: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor, float]:
        """The next input from this input and the output it gave.

        density: (x, g) complex coefficients, electrons per bohr^3, x = 1 or 2 (total, magnetisation).
        occupancy: (x, m) real PAW occupancies, electrons.  Returns (density, occupancy, residual), the residual in
        electrons (`Metric.electrons`).  The number of electrons is conserved: the smooth density at g = 0 and the
        occupancies, which only together hold it, take the same factor.
        The mixer keeps the tensors it is given: do not change them in place.
        Raises InputError if numbers are not finite.
        """
        here = Mixed(density_in_xg, occupancy_in_xm)
        residual = Mixed(density_out_xg, occupancy_out_xm).plus(here, -1.0)
        electrons = self._metric.electrons(residual)
        if not math.isfinite(electrons):
            raise InputError("the density residual is not finite: the output density holds NaN or infinity.")
        self._count += 1
        if self.settings.kind == "kerker":
            following = here.plus(self._preconditioned(residual))
        else:
            self._remember(here, residual)
            following = self._pulay(here, residual)
        return following.density_xg, following.occupancy_xm, electrons

    @property
    def bmix(self) -> float:
        """The Kerker wave vector in use, 1/bohr."""
        return self._bmix

    @property
    def amix_mag(self) -> float:
        """The linear factor of the magnetisation in use."""
        return self._amix_mag

    @property
    def scale(self) -> float:
        """What the guard has made of the linear factors: 1, or less after trouble."""
        return self._guard.scale

    def state(self) -> dict[str, Any]:
        """Everything the next step depends on: tensors, numbers and words, for a file."""
        stored: dict[str, Any] = {
            "count": self._count, "turns": self._turns, "bmix": self._bmix, "amix_mag": self._amix_mag,
            "told_amix_mag": self._told_amix_mag, "events": list(self.events), **self._guard.state(),
        }  # fmt: skip
        kept = {"step": self._history.steps, "last": [self._last] if self._last else [], "best": self._guard.kept()}
        for name, steps in kept.items():
            for part in ("input", "residual"):
                for array in ("density_xg", "occupancy_xm"):
                    stored[f"{name}_{part}_{array}"] = [getattr(getattr(step, part), array) for step in steps]
        return stored

    def restore(self, stored: dict[str, Any]) -> None:
        """Continue where a mixer with the same settings and plane waves stood when `state` was taken."""
        self._count, self._turns, self._bmix = int(stored["count"]), int(stored["turns"]), float(stored["bmix"])
        self.events = list(stored["events"])
        self._amix_mag, self._told_amix_mag = float(stored["amix_mag"]), float(stored["told_amix_mag"])
        self._history = History(self._metric, self.settings.history)
        for step in _steps_of(stored, "step"):
            self._history.append(step)
        self._last = next(iter(_steps_of(stored, "last")), None)
        self._guard = Guard.of(stored, _steps_of(stored, "best"))

    def _preconditioned(self, residual: Mixed) -> Mixed:
        """K(g) R with K = max(A g^2 / (g^2 + B^2), AMIN); A for occupancies and at g = 0.

        Source: G. P. Kerker, Phys. Rev. B 23, 3082 (1981).
        """
        channels = len(residual.density_xg)
        linear = [self.settings.amix, self._amix_mag][:channels]
        wave_vectors = [self._bmix, self.settings.bmix_mag][:channels]
        factor_xg = torch.stack([self._kerker(a, b) for a, b in zip(linear, wave_vectors, strict=True)])
        linear_x = residual.occupancy_xm.new_tensor(linear)
        scale = self._guard.scale
        return Mixed(
            scale * factor_xg * residual.density_xg,
            scale * linear_x[:, None] * residual.occupancy_xm,
        )

    def _kerker(self, linear: float, wave_vector: float) -> torch.Tensor:
        damped_g = linear * self.norm2_g / (self.norm2_g + wave_vector**2).clamp_min(1e-30)
        damped_g = damped_g.clamp_min(min(self.settings.amin, linear))
        return torch.where(self.norm2_g > 0, damped_g, linear)

    def _remember(self, here: Mixed, residual: Mixed) -> None:
        """Add the last change to the history; a residual that changed at a frozen density teaches nothing."""
        if self._last is not None:
            change = Step(here.plus(self._last.input, -1.0), residual.plus(self._last.residual, -1.0))
            if self._metric.length(change.input) > 0:
                self._history.add(change)
        self._last = Step(here, residual)
        if self.settings.bmix is None and self._history.steps:
            self._bmix = self._fitted_wave_vector()
        fitting = self.settings.fit_mag and self._count > self.settings.fit_mag_from
        if fitting and self._history.steps and len(here.density_xg) == 2:
            self._take_factor(self._fitted_factor())

    def _pulay(self, here: Mixed, residual: Mixed) -> Mixed:
        """here - sum_j gamma_j dU_j + K (R - sum_j gamma_j dR_j), gamma the least-squares fit of R by the dR_j.

        P. Pulay, Chem. Phys. Lett. 73, 393 (1980); D. G. Anderson, J. ACM 12, 547 (1965).
        """
        norm, step = self._metric.length(residual), Step(here, residual)
        self._guard.visit(norm, step)
        best, fitted = self._optimum(here, residual)
        trouble = self._guard.stuck(norm, self._metric.length(fitted))
        if trouble:
            start = self._guard.restart(step)
            best, fitted = start.input, start.residual
            self._history, self._last = History(self._metric, self.settings.history), start
            self.events.append(
                f"{trouble}; back to the best density without history, "
                f"linear factors times {self._guard.scale:g}"
            )
        following = best.plus(self._preconditioned(fitted))
        if not trouble and self._turns < MOST_TURNS and self._uphill(following.plus(here, -1.0), residual):
            self._turns += 1
            self.events.append(
                f"the history of {len(self._history.steps)} changes led away from the minimum, as near a saddle point: "
                "mixing goes on without it"
            )
            self._history = History(self._metric, self.settings.history)
            self._guard.forget()
            return here.plus(self._preconditioned(residual))
        return following

    def _uphill(self, change: Mixed, residual: Mixed) -> bool:
        """Whether the step goes against the residual in a channel that holds much of it.

        Near a stable solution U* the residual is -J (U - U*) with J positive, so a right step has <dU|R> > 0.
        The smallest |R| may lie elsewhere, at an unstable solution or at none (magnets on their way to
        another moment); a least-squares fit would go there, against R, and stay.
        One channel may well go against its own residual where it follows the other (long ferromagnets), so the sum of
        both, each g with the same weight, must say so, too: chi is nearly local, and chi^-1 J is symmetric.
        """
        if not self._history.steps:
            return False
        along_x = self._metric.inner_xj([change], residual)[:, 0]
        square_x = self._metric.inner_xj([residual], residual)[:, 0]
        against = bool(((along_x < 0) & (square_x > UPHILL_SHARE * square_x.sum())).any())
        return against and float(self._flat.inner_xj([change], residual).sum()) < 0

    def _optimum(self, here: Mixed, residual: Mixed) -> tuple[Mixed, Mixed]:
        """Input and residual after the least-squares fit."""
        if self._history.steps:
            gamma_xj = self._history.coefficients(residual, self.settings.joint_spin, self.settings.collinearity)
            here, residual = here.times(1.0), residual.times(1.0)
            for gamma_x, step in zip(gamma_xj.T.tolist(), self._history.steps, strict=True):
                here.subtract_(gamma_x, step.input)
                residual.subtract_(gamma_x, step.residual)
        return here, residual

    def _take_factor(self, factor: float) -> None:
        """Mix the magnetisation with this factor from now on; told where it is twice or half of what was told last."""
        if not 0.5 < factor / self._told_amix_mag < 2:
            self.events.append(
                f"linear factor of the magnetisation {factor:.2g} (it was {self._told_amix_mag:.2g}), "
                "from its response so far"
            )
            self._told_amix_mag = factor
        self._amix_mag = factor

    def _fitted_factor(self) -> float:
        """a of -dR a = dU for the magnetisation, by least squares over the last changes.

        That is the second step length of J. Barzilai and J. M. Borwein, IMA J. Numer. Anal. 8, 141 (1988).  A magnet
        answers a change of its magnetisation by less than that change, so a > 1; the levels of an atom, which empty and
        fill at once, by more.  a lies between AMIX, what serves atoms best, and AMIX_MAG, which is also taken where the
        residual grows with the change (a moment on its way to be found).
        """
        top, bottom = 0.0, 0.0
        for step in self._history.steps[-FITTED_STEPS:]:
            products_xj = self._metric.inner_xj([step.input, step.residual], step.residual)
            top, bottom = top - float(products_xj[1, 0]), bottom + float(products_xj[1, 1])
        if top <= 0:
            return self.settings.amix_mag
        return min(max(top / bottom, min(self.settings.amix, self.settings.amix_mag)), self.settings.amix_mag)

    def _fitted_wave_vector(self) -> float:
        """B of the response -dR = (1 + B^2 / g^2) dU that fits the history of the total density best, 1/bohr.

        That is the dielectric function of a metal at small g; in an insulator B comes out small.
        """
        inverse_g = torch.where(self.norm2_g > 0, 1 / self.norm2_g.clamp_min(self.smallest_norm2 or 1.0), 0)
        top, bottom = 0.0, 0.0
        for step in self._history.steps:
            change_g, response_g = step.input.density_xg[:1], -step.residual.density_xg[:1]
            weight_g = self.weight_g * inverse_g
            sums = torch.stack([
                real_inner(change_g, response_g - change_g, weight_g)[0],
                real_inner(change_g, change_g, weight_g * inverse_g)[0],
            ])  # fmt: skip
            top_, bottom_ = self.sum(sums).tolist()
            top, bottom = top + top_, bottom + bottom_
        return math.sqrt(min(max(top / bottom, 0.0), LARGEST_BMIX**2)) if bottom > 0 else self._bmix


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
    best_step: Step | None = None

    def visit(self, norm: float, step: Step) -> None:
        """Remember the density of the smallest measured residual."""
        if norm < self.best:
            self.best, self.best_step = norm, step

    def stuck(self, norm: float, fitted: float) -> str:
        """Words if the least-squares residual says that it is time to start over, else ''."""
        if fitted < GAIN * self.lowest:
            self.lowest, self.since = fitted, 0
            self._recover()
            return ""
        self.since, self.better = self.since + 1, 0
        if norm > GROWTH * self.best:
            return f"the residual is {norm / self.best:.0f} times its best"
        return f"no progress for {self.since} steps" if self.since >= PATIENCE else ""

    def restart(self, here: Step) -> Step:
        """Smaller steps from now on; returns the best density so far and its residual, to go on from."""
        self.scale = max(SMALLEST_SCALE, 0.5 * self.scale)
        self.lowest, self.since = self.best, 0
        return self.best_step or here

    def forget(self) -> None:
        """Start counting anew: what was best was on the wrong side."""
        self.lowest = self.best = math.inf
        self.since, self.best_step = 0, None

    def _recover(self) -> None:
        self.better += 1
        if self.scale < 1 and self.better >= RECOVERY:
            self.scale, self.better = min(1.0, 2 * self.scale), 0

    def kept(self) -> list[Step]:
        """The best step as a list of none or one."""
        return [] if self.best_step is None else [self.best_step]

    def state(self) -> dict[str, Any]:
        """The numbers, without the best step."""
        return {name: getattr(self, name) for name in ("scale", "lowest", "best", "since", "better")}

    @staticmethod
    def of(stored: dict[str, Any], kept: list[Step]) -> Guard:
        """The guard that gave this state."""
        best_step = kept[0] if kept else None
        return Guard(
            float(stored["scale"]), float(stored["lowest"]), float(stored["best"]), int(stored["since"]),
            int(stored["better"]), best_step,
        )  # fmt: skip


def _steps_of(stored: dict[str, Any], name: str) -> list[Step]:
    columns = [stored[f"{name}_{p}_{a}"] for p in ("input", "residual") for a in ("density_xg", "occupancy_xm")]
    return [Step(Mixed(a, b), Mixed(c, d)) for a, b, c, d in zip(*columns, strict=True)]
