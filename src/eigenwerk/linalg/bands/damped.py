"""All bands by damped motion: they roll down their preconditioned residuals with friction.

Equations and choices: docs/equations/band_by_band.md.
"""

from __future__ import annotations

from functools import partial

import torch

from eigenwerk.linalg.bands.band_search import search
from eigenwerk.linalg.bands.energy_search import EnergySearch
from eigenwerk.linalg.dense import DenseEigh, dense_eigh
from eigenwerk.linalg.images import Images
from eigenwerk.linalg.operator import EigenResult, Operator

FRICTION = 0.3
"""Share of the velocity that is lost in a step."""


def damped(
    operator: Operator,
    start_knx: torch.Tensor,
    *,
    time: float,
    steps: int = 4,
    tolerance: float | torch.Tensor = 0.0,
    wanted_weight_kn: torch.Tensor | None = None,
    final_residual: bool = True,
    eigh: DenseEigh = dense_eigh,
    proj_kni: torch.Tensor | None = None,
) -> EigenResult:
    """The lowest n pairs of H x = e S x, from n start vectors per problem, by a second-order equation of motion.

    Rayleigh-Ritz in the start vectors X; then `steps` times, from rest:  v <- (1 - FRICTION) v - t d,  x <- x + v,
    d the preconditioned residual outside X; at last Rayleigh-Ritz.  t is `time`, or for a band less if the lowest
    energy along its first d lies nearer: longer steps would overshoot more and more.
    Source: F. Tassone, F. Mauri and R. Car, Phys. Rev. B 50, 10561 (1994).

    time: in the inverse of the operator's unit.  Other arguments, result and errors: as for `rmm_diis`.
    """
    return search(
        partial(DampedMotion, time=time), operator, start_knx, steps=steps, tolerance=tolerance,
        wanted_weight_kn=wanted_weight_kn, final_residual=final_residual, eigh=eigh, proj_kni=proj_kni,
    )  # fmt: skip


class DampedMotion(EnergySearch):
    """x' = x - t sum_i w_i l_i D_i,  w_i = 1 + q + ... + q^(m - i), q = 1 - FRICTION, after m steps.

    tables: those of `EnergySearch`; the lengths l_i of the directions before they were normalised (k, n, d); t (k, n).
    """

    def __init__(
        self, bands: Images, eig_kn: torch.Tensor, residual_knx: torch.Tensor, residual_kn: torch.Tensor, steps: int,
        time: float,
    ):  # fmt: skip
        super().__init__(bands, eig_kn, residual_knx, residual_kn, steps)
        self.tables += [torch.zeros_like(self.step_knd.real), torch.full_like(eig_kn, time)]

    def choose(self, operator: Operator, eigh: DenseEigh) -> torch.Tensor:
        """The place after one more step of the motion."""
        length_knd, count = self.tables[2], len(self.directions)
        length_knd[..., count - 1] = self.length_kn
        if count == 1:
            self.tables[3] = torch.minimum(self.tables[3], self._time_to_lowest())
        age_d = count - torch.arange(length_knd.shape[-1], dtype=length_knd.dtype, device=length_knd.device)
        weight_d = (1 - (1 - FRICTION) ** age_d.clamp_min(0)) / FRICTION
        step_knd = -self.tables[3].unsqueeze(-1) * weight_d * length_knd
        return self.placed(operator, step_knd.to(self.step_knd.dtype))

    def _time_to_lowest(self) -> torch.Tensor:
        """The t at which the energy along the first direction is lowest, infinite where it falls for ever; (k, n)."""
        slope_kn, bend_kn = self.tables[0][..., 0, 1].abs(), self.tables[0][..., 1, 1].real
        time_kn = slope_kn / (bend_kn * self.length_kn)
        return time_kn.masked_fill(~(bend_kn * self.length_kn > 0), float("inf"))
