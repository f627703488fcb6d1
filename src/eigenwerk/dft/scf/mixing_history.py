"""What a mixer remembers: changes of density and residual, their metric, and the least-squares fit with them.

Equations, units and measured choices: docs/equations/mixing.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

Reduce = Callable[[torch.Tensor], torch.Tensor]
"""Sum over the ranks that share the plane waves g."""


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

    def subtract_(self, factor_x: list[float], other: Mixed) -> None:
        """self -= factor_x * other, in place."""
        for x, factor in enumerate(factor_x):
            self.density_xg[x].sub_(other.density_xg[x], alpha=factor)
            self.occupancy_xm[x].sub_(other.occupancy_xm[x], alpha=factor)


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
        norm2_g: torch.Tensor, weight_g: torch.Tensor, volume: float, smallest: float, occupancy_weight: float,
        reduce: Reduce,
    ) -> Metric:  # fmt: skip
        factor_g = torch.where(norm2_g > 0, 1 + 19 * smallest / norm2_g.clamp_min(smallest), 20.0)
        return Metric(weight_g, factor_g, volume, occupancy_weight, reduce)

    def inner_xj(self, several: list[Mixed], one: Mixed) -> torch.Tensor:
        """(x, j) real: the products of each of several residuals with one; one reduction for all."""
        weight_g = self.volume * self.weight_g * self.factor_g
        density_xj = torch.stack([real_inner(a.density_xg, one.density_xg, weight_g) for a in several], -1)
        occupancy_xj = torch.stack([(a.occupancy_xm * one.occupancy_xm).sum(-1) for a in several], -1)
        return self.reduce(density_xj) + self.occupancy_weight * occupancy_xj

    def length(self, residual: Mixed) -> float:
        """The norm over all channels, bohr^(-3/2)."""
        return math.sqrt(float(self.inner_xj([residual], residual).sum()))

    def electrons(self, residual: Mixed) -> float:
        """Omega sqrt(sum_xg w_g |R_xg|^2) = sqrt(Omega int R^2): at least int |R|, the electrons in the wrong place."""
        square_x = self.reduce(real_inner(residual.density_xg, residual.density_xg, self.weight_g))
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
        self.append(Step(change.input.times(1 / length), change.residual.times(1 / length)))

    def append(self, change: Step) -> None:
        """Take in a change whose residual change has length one."""
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


def real_inner(a_xg: torch.Tensor, b_xg: torch.Tensor, weight_g: torch.Tensor) -> torch.Tensor:
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
