"""When a pair, and when a problem, is good enough."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from eigenwerk.linalg.operator import ALL, Which

ROUNDING = 50
"""Residuals below this many machine epsilons times the largest |e| are rounding errors: no direction to search in."""


def relative_bound(tolerance: float | torch.Tensor, eig_kn: torch.Tensor) -> torch.Tensor:
    """tolerance * max(1, |e|)."""
    return tolerance * eig_kn.abs().clamp_min(1)


@dataclass(frozen=True)
class Limits:
    """What a solver is asked for.

    tolerance_kn: on the 2-norm of the residual, or with `relative` on that over max(1, |e|).  wanted_kn: pairs that
    decide when a problem is finished.  active: whether there is a tolerance at all.
    """

    tolerance_kn: torch.Tensor
    wanted_kn: torch.Tensor
    active: bool
    relative: bool = False

    @staticmethod
    def of(
        tolerance: float | torch.Tensor, weight_kn: torch.Tensor | None, eig_kn: torch.Tensor, relative: bool = False
    ) -> Limits:
        """From a solver's arguments; eig_kn gives shape, type and device."""
        active = isinstance(tolerance, torch.Tensor) or tolerance > 0
        tolerance_kn = torch.as_tensor(tolerance, dtype=eig_kn.dtype, device=eig_kn.device).expand(eig_kn.shape)
        wanted_kn = (torch.ones_like(eig_kn) if weight_kn is None else weight_kn > 0).expand_as(eig_kn).bool()
        return Limits(tolerance_kn, wanted_kn, active, relative)

    def bound(self, eig_kn: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """What the residuals of the problems k must not exceed."""
        return relative_bound(self.tolerance_kn[k], eig_kn) if self.relative else self.tolerance_kn[k]

    def open(
        self, residual_kn: torch.Tensor, eig_kn: torch.Tensor, missing_kn: torch.Tensor, k: Which = ALL
    ) -> torch.Tensor:
        """(k, n) pairs of the problems k worth a new direction: not converged, and residual above rounding."""
        floor_k1 = ROUNDING * torch.finfo(eig_kn.dtype).eps * eig_kn.abs().amax(-1, keepdim=True)
        if self.active:
            floor_k1 = torch.maximum(floor_k1, self.bound(eig_kn, k))
        return (residual_kn > floor_k1) & ~missing_kn

    def done(self, open_kn: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """(k,) of the problems k: no wanted pair is open."""
        return ~(open_kn & self.wanted_kn[k]).any(-1)
