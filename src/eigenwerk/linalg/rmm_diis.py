"""Residual minimisation band by band: RMM-DIIS, all bands of all problems at once.

Equations and choices: docs/equations/band_by_band.md.
"""

from __future__ import annotations

import torch

from eigenwerk.linalg.band_search import BandSearch, search
from eigenwerk.linalg.dense import DenseEigh, dense_eigh
from eigenwerk.linalg.operator import EigenResult, Operator
from eigenwerk.linalg.subspace import Images

RIDGE = 1e-12
"""Added to the unit diagonal of the small least-squares problems: directions that repeat others get no weight."""


def rmm_diis(
    operator: Operator,
    start_knx: torch.Tensor,
    *,
    steps: int = 2,
    tolerance: float | torch.Tensor = 0.0,
    wanted_weight_kn: torch.Tensor | None = None,
    final_residual: bool = True,
    eigh: DenseEigh = dense_eigh,
) -> EigenResult:
    """Pairs of H x = e S x near n start vectors per problem, without dense problems larger than n.

    Rayleigh-Ritz in the start vectors; then, each band by itself and `steps` times at most: its residual,
    preconditioned, becomes one more direction D of the band, and the band the x + sum_i b_i D_i of least
    |(H - e S) x|, e its Ritz value; at last Rayleigh-Ritz in all bands.  H is applied once per start vector and
    direction.
    Sources: G. Kresse and J. Furthmueller, Phys. Rev. B 54, 11169 (1996), section IV D; D. M. Wood and A. Zunger,
    J. Phys. A 18, 1343 (1985).

    It finds the eigenvectors nearest to the start vectors, which must already span the lowest ones roughly.
    start_knx, tolerance, eigh: as for `davidson`.  wanted_weight_kn: (k, n); bands of weight 0 get one direction and
    decide nothing.  final_residual: False saves two matrix products; residuals are then those of the bands before
    the last rotation.
    Returns EigenResult; iterations counts the steps in which a band got a direction.  Raises ConvergenceError if the
    operator returns numbers that are not finite.
    """
    return search(
        LeastResidual, operator, start_knx, steps=steps, tolerance=tolerance, wanted_weight_kn=wanted_weight_kn,
        final_residual=final_residual, eigh=eigh,
    )  # fmt: skip


class LeastResidual(BandSearch):
    """Steps b of least |r + sum_i b_i r_i|.

    tables: G = <r_i|r_j> (k, n, d, d), one and zero where there is no direction yet; g = <r_i|r> (k, n, d).
    """

    def __init__(self, bands: Images, eig_kn: torch.Tensor, residual_kn: torch.Tensor, steps: int):
        super().__init__(bands, eig_kn, residual_kn, steps)
        self.tables = [torch.diag_embed(torch.ones_like(self.step_knd)), torch.zeros_like(self.step_knd)]

    def _outside(self, operator: Operator, d_knx: torch.Tensor) -> torch.Tensor:
        along_kn = operator.sum(torch.linalg.vecdot(self.bands.sx_knx, d_knx))
        return torch.addcmul(d_knx, along_kn.unsqueeze(-1), self.bands.x_knx, value=-1)

    def _extend(self, operator: Operator, new: Images) -> None:
        gram_kndd, side_knd = self.tables
        place = len(self.directions) - 1
        products = [torch.linalg.vecdot(new.hx_knx, other.hx_knx) for other in (self.bands, *self.directions)]
        product_knb = operator.sum(torch.stack(products, -1))
        side_knd[..., place] = product_knb[..., 0]
        gram_kndd[..., place, : place + 1] = product_knb[..., 1:]
        gram_kndd[..., : place + 1, place] = product_knb[..., 1:].conj()

    def choose(self, operator: Operator, eigh: DenseEigh) -> torch.Tensor:
        """(G + ridge) b = -g in units in which G has a unit diagonal."""
        gram_kndd, side_knd = self.tables
        length_knd = gram_kndd.diagonal(dim1=-2, dim2=-1).real.sqrt()
        scale_knd = length_knd.reciprocal().masked_fill(length_knd == 0, 0)
        scaled_kndd = scale_knd.unsqueeze(-1) * gram_kndd * scale_knd.unsqueeze(-2)
        scaled_kndd.diagonal(dim1=-2, dim2=-1).fill_(1 + max(RIDGE, 10 * torch.finfo(scaled_kndd.dtype).eps))
        self.step_knd = self.limited(torch.linalg.solve(scaled_kndd, -scale_knd * side_knd) * scale_knd)
        self.now_knx = None
        change_knd = (gram_kndd @ self.step_knd.unsqueeze(-1)).squeeze(-1) + 2 * side_knd
        change_kn = torch.linalg.vecdot(self.step_knd, change_knd).real
        return (self.residual_kn.square() + change_kn).clamp_min(0).sqrt()
