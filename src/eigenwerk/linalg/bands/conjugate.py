"""All bands by conjugate gradients: each band seeks its own lowest energy outside the others.

Equations and choices: docs/equations/band_by_band.md.
"""

from __future__ import annotations

import torch

from eigenwerk.linalg.bands.band_search import search
from eigenwerk.linalg.bands.energy_search import EnergySearch
from eigenwerk.linalg.dense import DenseEigh, dense_eigh, generalised_eigh
from eigenwerk.linalg.operator import EigenResult, Operator

SMALLEST_SHARE = 1e-3
"""A band's own coefficient in its new place is taken as at least this: the step is limited anyway."""


def conjugate(
    operator: Operator,
    start_knx: torch.Tensor,
    *,
    steps: int = 2,
    tolerance: float | torch.Tensor = 0.0,
    wanted_weight_kn: torch.Tensor | None = None,
    final_residual: bool = True,
    eigh: DenseEigh = dense_eigh,
    usual_steps: int | None = None,
    proj_kni: torch.Tensor | None = None,
) -> EigenResult:
    """The lowest n pairs of H x = e S x, from n start vectors per problem, without dense problems larger than n.

    Rayleigh-Ritz in the start vectors X; then, for all bands at once and `steps` times at most: the residual,
    preconditioned and made S-orthogonal to X, becomes one more direction D of its band, and the band the
    x + sum_i b_i D_i of lowest <x|H|x> / <x|S|x>: conjugate gradients with exact line search, locally optimal; at last
    Rayleigh-Ritz in all bands.  H is applied once per start vector and direction.
    Sources: M. C. Payne, M. P. Teter, D. C. Allan, T. A. Arias and J. D. Joannopoulos, Rev. Mod. Phys. 64, 1045
    (1992), section V; projected in a block as by E. Vecharynski, C. Yang and J. E. Pask, J. Comput. Phys. 290, 73
    (2015).

    usual_steps: bands whose residuals have fallen to half after so many stop there; the others get up to `steps`.
    Other arguments, result and errors: as for `rmm_diis`.
    """
    return search(
        LowestEnergy, operator, start_knx, steps=steps, tolerance=tolerance, wanted_weight_kn=wanted_weight_kn,
        final_residual=final_residual, eigh=eigh, usual_steps=usual_steps, proj_kni=proj_kni,
    )  # fmt: skip


class LowestEnergy(EnergySearch):
    """Steps b of lowest energy in the span of a band and its directions."""

    def choose(self, operator: Operator, eigh: DenseEigh) -> torch.Tensor:
        """The lowest pair of the small pencil."""
        energy_knbb, overlap_knbb = self.tables
        c_qb = generalised_eigh(energy_knbb.flatten(0, 1), overlap_knbb.flatten(0, 1), eigh=eigh)[1][..., 0]
        own_q1, others_qd = c_qb[:, :1], c_qb[:, 1:]
        own_q1 = torch.where(own_q1.abs() < SMALLEST_SHARE, SMALLEST_SHARE, own_q1)
        return self.placed(operator, (others_qd / own_q1).view_as(self.step_knd))
