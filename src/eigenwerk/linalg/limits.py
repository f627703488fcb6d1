"""When a pair, and when a problem, is good enough."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from eigenwerk.linalg.operator import ALL, Which

ROUNDING = 50
"""Residuals below this many machine epsilons times the largest |e| are rounding errors: no direction to search in."""


@dataclass(frozen=True)
class Limits:
    """What a solver is asked for.

    tolerance_kn: on the 2-norm of the residual.  wanted_kn: pairs that decide when a problem is finished.
    active: whether there is a tolerance at all.
    """

    tolerance_kn: torch.Tensor
    wanted_kn: torch.Tensor
    active: bool

    @staticmethod
    def of(tolerance: float | torch.Tensor, weight_kn: torch.Tensor | None, eig_kn: torch.Tensor) -> Limits:
        """From a solver's arguments; eig_kn gives shape, type and device."""
        active = isinstance(tolerance, torch.Tensor) or tolerance > 0
        tolerance_kn = torch.as_tensor(tolerance, dtype=eig_kn.dtype, device=eig_kn.device).expand(eig_kn.shape)
        wanted_kn = torch.ones_like(eig_kn, dtype=torch.bool) if weight_kn is None else weight_kn > 0
        return Limits(tolerance_kn, wanted_kn, active)

    def open(
        self, residual_kn: torch.Tensor, eig_kn: torch.Tensor, missing_kn: torch.Tensor, k: Which = ALL
    ) -> torch.Tensor:
        """(k, n) pairs of the problems k worth a new direction: not converged, and residual above rounding."""
        floor_k1 = ROUNDING * torch.finfo(eig_kn.dtype).eps * eig_kn.abs().amax(-1, keepdim=True)
        if self.active:
            floor_k1 = torch.maximum(floor_k1, self.tolerance_kn[k])
        return (residual_kn > floor_k1) & ~missing_kn

    def done(self, open_kn: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """(k,) of the problems k: no wanted pair is open."""
        return ~(open_kn & self.wanted_kn[k]).any(-1)
