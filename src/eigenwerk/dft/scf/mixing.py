"""The next input density from the last ones: Kerker-preconditioned Pulay mixing.

Equations, units and measured choices: docs/equations/mixing.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from eigenwerk.errors import InputError
from eigenwerk.units import BOHR_ANGSTROM

Reduce = Callable[[torch.Tensor], torch.Tensor]
"""Sum over the ranks that share the plane waves g."""


@dataclass(frozen=True)
class MixSettings:
    """How densities are mixed.

    kind: 'pulay' (VASP's IMIX = 4) or 'kerker' (IMIX = 1: no history, no safety net).
    amix, amix_mag: linear factor of the total density, of the magnetisation.
    bmix, bmix_mag: Kerker wave vectors in 1/bohr; bmix = None fits it to the measured response.
    amin: smallest factor of any g (never above the linear factor).
    history: how many earlier steps take part.
    joint_spin: one set of Pulay coefficients for density and magnetisation, or one for each.
    occupancy_weight: weight of squared PAW occupancies beside the squared density in the metric, 1/bohr^3.
    collinearity: directions of the normalised history below this share are ignored.
    """

    kind: str = "pulay"
    amix: float = 0.4
    bmix: float | None = 1.0 * BOHR_ANGSTROM
    amix_mag: float = 1.6
    bmix_mag: float = 1.0 * BOHR_ANGSTROM
    amin: float = 0.1
    history: int = 12
    joint_spin: bool = True
    occupancy_weight: float = 0.01
    collinearity: float = 1e-12

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


@dataclass(frozen=True)
class Mixed:
    """A density and what travels with it: density_xg complex, occupancy_xm real; x: total, magnetisation."""

    density_xg: torch.Tensor
    occupancy_xm: torch.Tensor

    def plus(self, other: Mixed, factor: float = 1.0) -> Mixed:
        """self + factor * other."""
        return Mixed(
            self.density_xg + factor * other.density_xg,
            self.occupancy_xm + factor * other.occupancy_xm,
        )

    def times(self, factor: float) -> Mixed:
        """factor * self."""
        return Mixed(factor * self.density_xg, factor * self.occupancy_xm)

    def scaled(self, factor_x: torch.Tensor) -> Mixed:
        """Each channel times its own factor."""
        return Mixed(self.density_xg * factor_x[:, None], self.occupancy_xm * factor_x[:, None])


@dataclass(frozen=True)
class Step:
    """A change of the input and the change of the residual it caused."""

    input: Mixed
    residual: Mixed


@dataclass(frozen=True)
class Metric:
    """Inner products of residuals, channel by channel, and norms in electrons.

    <a|b>_x = Omega sum_g w_g f_g Re a*_xg b_xg + c sum_m a_xm b_xm, with w the half-sphere weight, c the
    occupancy weight and f_g = (g^2 + q^2) / g^2, q^2 = 19 g_min^2: twenty at the shortest g, one at long ones.
    Source of f: G. Kresse and J. Furthmueller, Comput. Mater. Sci. 6, 15 (1996), section 3.2.
    """

    weight_g: torch.Tensor
    factor_g: torch.Tensor
    volume: float
    occupancy_weight: float
    reduce: Reduce

    @staticmethod
    def make(
        norm2_g: torch.Tensor, weight_g: torch.Tensor, volume: float, smallest: float, settings: MixSettings,
        reduce: Reduce,
    ) -> Metric:  # fmt: skip
        factor_g = torch.where(norm2_g > 0, 1 + 19 * smallest / norm2_g.clamp_min(smallest), 20.0)
        return Metric(weight_g, factor_g, volume, settings.occupancy_weight, reduce)

    def inner_xj(self, several: list[Mixed], one: Mixed) -> torch.Tensor:
        """(x, j) real: the products of each of several residuals with one; one reduction for all."""
        weight_g = self.volume * self.weight_g * self.factor_g
        density_xj = torch.stack([_real_inner(a.density_xg, one.density_xg, weight_g) for a in several], -1)
        occupancy_xj = torch.stack([(a.occupancy_xm * one.occupancy_xm).sum(-1) for a in several], -1)
        return self.reduce(density_xj) + self.occupancy_weight * occupancy_xj

    def length(self, residual: Mixed) -> float:
        """The norm over all channels, bohr^(-3/2)."""
        return math.sqrt(float(self.inner_xj([residual], residual).sum()))

    def electrons(self, residual: Mixed) -> float:
        """Omega sqrt(sum_xg w_g |R_xg|^2) = sqrt(Omega int R^2): at least int |R|, the electrons in the wrong place."""
        square_x = self.reduce(_real_inner(residual.density_xg, residual.density_xg, self.weight_g))
        return self.volume * math.sqrt(float(square_x.sum()))


@dataclass
class History:
    """The last changes of input and residual, at residual changes of length one, with their inner products."""

    metric: Metric
    longest: int
    steps: list[Step] = field(default_factory=list)
    gram_xjj: torch.Tensor | None = None

    def add(self, change: Step) -> None:
        """Take a change in, and let go of the oldest if there are too many."""
        length = self.metric.length(change.residual)
        if length == 0 or self.longest == 0:
            return
        change = Step(change.input.times(1 / length), change.residual.times(1 / length))
        first = max(0, len(self.steps) + 1 - self.longest)
        self.steps = [*self.steps[first:], change]
        row_xj = self.metric.inner_xj([step.residual for step in self.steps], change.residual)
        if self.gram_xjj is None or len(self.steps) == 1:
            self.gram_xjj = row_xj[:, :, None]
        else:
            upper_xjj = torch.cat([self.gram_xjj[:, first:, first:], row_xj[:, :-1, None]], -1)
            self.gram_xjj = torch.cat([upper_xjj, row_xj[:, None, :]], -2)

    def coefficients(self, residual: Mixed, joint: bool, cut: float) -> torch.Tensor:
        """gamma_xj that make |R - sum_j gamma_j dR_j| smallest, over both channels jointly or in each."""
        right_xj = self.metric.inner_xj([step.residual for step in self.steps], residual)
        gram_xjj = self.gram_xjj if self.gram_xjj is not None else right_xj.new_zeros((len(right_xj), 0, 0))
        if joint:
            gram_xjj, right_xj = (t.sum(0, keepdim=True).expand(t.shape) for t in (gram_xjj, right_xj))
        return least_squares(gram_xjj, right_xj, cut)


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
            self.norm2_g, self.weight_g, self.volume, self.smallest_norm2, self.settings, self.sum
        )
        self._history = History(self._metric, self.settings.history)
        self._last: Step | None = None
        self._guard = Guard()
        self._bmix = 1.0 * BOHR_ANGSTROM if self.settings.bmix is None else self.settings.bmix
        self._count = 0

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
        electrons (`Metric.electrons`).  The g = 0 component of the total density stays that of the input.
        Raises InputError if numbers are not finite.
        """
        here = Mixed(density_in_xg, occupancy_in_xm)
        residual = self._without_charge(Mixed(density_out_xg, occupancy_out_xm).plus(here, -1.0))
        electrons = self._metric.electrons(residual)
        if not math.isfinite(electrons):
            raise InputError("the density residual is not finite: the output density holds NaN or infinity.")
        self._count += 1
        if self.settings.kind == "kerker":
            following = here.plus(self._preconditioned(residual))
        else:
            here, residual = self._guarded(here, residual)
            self._remember(here, residual)
            following = self._pulay(here, residual)
        return following.density_xg, following.occupancy_xm, electrons

    @property
    def bmix(self) -> float:
        """The Kerker wave vector in use, 1/bohr."""
        return self._bmix

    @property
    def scale(self) -> float:
        """What the guard has made of the linear factors: 1, or less after trouble."""
        return self._guard.scale

    def state(self) -> dict[str, Any]:
        """Everything the next step depends on: tensors, numbers and words, for a file."""
        stored: dict[str, Any] = {
            "count": self._count, "bmix": self._bmix, "events": list(self.events), **self._guard.state(),
        }  # fmt: skip
        kept = {"step": self._history.steps, "last": [self._last] if self._last else [], "best": self._guard.kept()}
        for name, steps in kept.items():
            for part in ("input", "residual"):
                for array in ("density_xg", "occupancy_xm"):
                    stored[f"{name}_{part}_{array}"] = [getattr(getattr(step, part), array) for step in steps]
        return stored

    def restore(self, stored: dict[str, Any]) -> None:
        """Continue where a mixer with the same settings and plane waves stood when `state` was taken."""
        self._count, self._bmix, self.events = int(stored["count"]), float(stored["bmix"]), list(stored["events"])
        self._history = History(self._metric, self.settings.history)
        for step in _steps_of(stored, "step"):
            self._history.add(step)
        self._last = next(iter(_steps_of(stored, "last")), None)
        self._guard = Guard.of(stored, _steps_of(stored, "best"))

    def _without_charge(self, residual: Mixed) -> Mixed:
        """The residual with the g = 0 component of the total density removed: charge is conserved."""
        density_xg = residual.density_xg.clone()
        density_xg[0] = torch.where(self.norm2_g > 0, density_xg[0], 0)
        return Mixed(density_xg, residual.occupancy_xm)

    def _preconditioned(self, residual: Mixed) -> Mixed:
        """K(g) R with K = max(A g^2 / (g^2 + B^2), AMIN); A for occupancies and for the magnetisation at g = 0.

        Source: G. P. Kerker, Phys. Rev. B 23, 3082 (1981).
        """
        channels = len(residual.density_xg)
        linear = [self.settings.amix, self.settings.amix_mag][:channels]
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

    def _guarded(self, here: Mixed, residual: Mixed) -> tuple[Mixed, Mixed]:
        """Let the guard look at the residual; after trouble start over from where it says."""
        verdict = self._guard.look(self._metric.length(residual), Step(here, residual))
        if verdict is None:
            return here, residual
        self._history, self._last = History(self._metric, self.settings.history), None
        self.events.append(f"step {self._count}: {verdict.words}")
        return verdict.start.input, verdict.start.residual

    def _remember(self, here: Mixed, residual: Mixed) -> None:
        """Add the last change to the history."""
        if self._last is not None:
            self._history.add(Step(here.plus(self._last.input, -1.0), residual.plus(self._last.residual, -1.0)))
        self._last = Step(here, residual)
        if self.settings.bmix is None and self._history.steps:
            self._bmix = self._fitted_wave_vector()

    def _pulay(self, here: Mixed, residual: Mixed) -> Mixed:
        """here - sum_j gamma_j dU_j + K (R - sum_j gamma_j dR_j), gamma the least-squares fit of R by the dR_j.

        P. Pulay, Chem. Phys. Lett. 73, 393 (1980); D. G. Anderson, J. ACM 12, 547 (1965).
        """
        if self._history.steps:
            gamma_xj = self._history.coefficients(residual, self.settings.joint_spin, self.settings.collinearity)
            for j, step in enumerate(self._history.steps):
                here = here.plus(step.input.scaled(-gamma_xj[:, j]))
                residual = residual.plus(step.residual.scaled(-gamma_xj[:, j]))
        return here.plus(self._preconditioned(residual))

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
                _real_inner(change_g, response_g - change_g, weight_g)[0],
                _real_inner(change_g, change_g, weight_g * inverse_g)[0],
            ])  # fmt: skip
            top_, bottom_ = self.sum(sums).tolist()
            top, bottom = top + top_, bottom + bottom_
        return math.sqrt(min(max(top / bottom, 0.0), LARGEST_BMIX**2)) if bottom > 0 else self._bmix


LARGEST_BMIX = 1.5
"""Upper end of fitted Kerker wave vectors, 1/bohr: the Thomas-Fermi value of 0.3 electrons per bohr^3 is 1.6."""


@dataclass(frozen=True)
class Verdict:
    """Why and from where to start over."""

    words: str
    start: Step


@dataclass
class Guard:
    """Watches the residual: growth or stagnation restart the history with smaller linear factors.

    growth: times the best residual since the last restart.  jump: the same within one step, which also
    goes back to the best density.  patience: steps without a gain of `gain`.
    """

    scale: float = 1.0
    best: float = math.inf
    previous: float = math.inf
    since: int = 0
    better: int = 0
    best_step: Step | None = None

    GROWTH = 30.0
    JUMP = 10.0
    PATIENCE = 12
    GAIN = 0.9
    SMALLEST_SCALE = 0.1
    RECOVERY = 8

    def look(self, norm: float, step: Step) -> Verdict | None:
        """Take note of a residual; a Verdict if it is time to start over."""
        previous, self.previous = self.previous, norm
        if norm < self.GAIN * self.best:
            self.best, self.best_step, self.since = norm, step, 0
            self._recover()
            return None
        self.since, self.better = self.since + 1, 0
        jumped = norm > self.JUMP * self.best and norm > self.JUMP * previous
        if not (jumped or norm > self.GROWTH * self.best or self.since >= self.PATIENCE):
            return None
        start = self.best_step if jumped and self.best_step is not None else step
        words = self._words(norm, jumped)
        self.scale = max(self.SMALLEST_SCALE, 0.5 * self.scale)
        self.best, self.best_step, self.since = (self.best if jumped else norm), start, 0
        return Verdict(f"{words}; history dropped, linear factors times {self.scale:g}", start)

    def _recover(self) -> None:
        self.better += 1
        if self.scale < 1 and self.better >= self.RECOVERY:
            self.scale, self.better = min(1.0, 2 * self.scale), 0

    def _words(self, norm: float, jumped: bool) -> str:
        if jumped:
            return f"the residual jumped to {norm / self.best:.0f} times its best; back to the best density"
        if norm > self.GROWTH * self.best:
            return f"the residual grew to {norm / self.best:.0f} times its best"
        return f"no better residual for {self.since} steps"

    def kept(self) -> list[Step]:
        """The best step as a list of none or one."""
        return [] if self.best_step is None else [self.best_step]

    def state(self) -> dict[str, Any]:
        """The numbers, without the best step."""
        return {name: getattr(self, name) for name in ("scale", "best", "previous", "since", "better")}

    @staticmethod
    def of(stored: dict[str, Any], kept: list[Step]) -> Guard:
        """The guard that gave this state."""
        best_step = kept[0] if kept else None
        return Guard(
            float(stored["scale"]), float(stored["best"]), float(stored["previous"]), int(stored["since"]),
            int(stored["better"]), best_step,
        )  # fmt: skip


def _steps_of(stored: dict[str, Any], name: str) -> list[Step]:
    columns = [stored[f"{name}_{p}_{a}"] for p in ("input", "residual") for a in ("density_xg", "occupancy_xm")]
    return [Step(Mixed(a, b), Mixed(c, d)) for a, b, c, d in zip(*columns, strict=True)]


def _real_inner(a_xg: torch.Tensor, b_xg: torch.Tensor, weight_g: torch.Tensor) -> torch.Tensor:
    """sum_g w_g Re a*_xg b_xg, (x,)."""
    return ((a_xg.real * b_xg.real + a_xg.imag * b_xg.imag) * weight_g).sum(-1)


def least_squares(gram_xjj: torch.Tensor, right_xj: torch.Tensor, cut: float) -> torch.Tensor:
    """Solutions of G gamma = r with directions of eigenvalue below cut times the largest left out.

    The Gram matrix is scaled to unit diagonal first, so that old, long changes do not hide new, short ones.
    """
    diagonal_xj = gram_xjj.diagonal(dim1=-2, dim2=-1)
    scale_xj = torch.where(diagonal_xj > 0, diagonal_xj.clamp_min(1e-300).rsqrt(), 0)
    eig_xj, u_xjj = torch.linalg.eigh(scale_xj[:, :, None] * gram_xjj * scale_xj[:, None, :])
    inverse_xj = torch.where(eig_xj > cut * eig_xj.amax(-1, keepdim=True), 1 / eig_xj.clamp_min(1e-300), 0)
    projected_xj = (u_xjj.mT @ (scale_xj * right_xj)[..., None])[..., 0]
    return scale_xj * (u_xjj @ (inverse_xj * projected_xj)[..., None])[..., 0]
