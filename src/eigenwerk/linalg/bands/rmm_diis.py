"""Residual minimisation band by band: RMM-DIIS, all bands of all problems at once.

Equations and choices: docs/equations/band_by_band.md.
"""

from __future__ import annotations

import torch

from eigenwerk.linalg.bands.band_search import BandSearch, search
from eigenwerk.linalg.dense import DenseEigh, dense_eigh
from eigenwerk.linalg.images import Images
from eigenwerk.linalg.operator import EigenResult, Operator, Which

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
    proj_kni: torch.Tensor | None = None,
) -> EigenResult:
    """Pairs of H x = e S x near n start vectors per problem, without dense problems larger than n.

    Rayleigh-Ritz in the start vectors; then, each band by itself and `steps` times at most: its residual,
    preconditioned, becomes one more direction D of the band, and the band the x + sum_i b_i D_i of least
    |(H - e S) x|, e its Ritz value; at last Rayleigh-Ritz in all bands.  H is applied once per start vector and
    direction.
    Sources: G. Kresse and J. Furthmueller, Phys. Rev. B 54, 11169 (1996), section IV D; D. M. Wood and A. Zunger,
    J. Phys. A 18, 1343 (1985).

    It finds the eigenvectors nearest to the start vectors, which must already span the lowest ones roughly.
    start_knx, tolerance, eigh, proj_kni: as for `davidson`.  wanted_weight_kn: (k, n); bands of weight 0 get one
    direction and decide nothing.  final_residual: False saves two matrix products; residuals are then those of the
    bands before the last rotation.
    Returns EigenResult; iterations counts the steps in which a band got a direction.  Raises ConvergenceError if the
    operator returns numbers that are not finite.
    """
    return search(
        LeastResidual, operator, start_knx, steps=steps, tolerance=tolerance, wanted_weight_kn=wanted_weight_kn,
        final_residual=final_residual, eigh=eigh, proj_kni=proj_kni,
    )  # fmt: skip


class LeastResidual(BandSearch):
    """Steps b of least |r + sum_i b_i r_i|; images are kept with residuals r in place of H x.

    tables: G = <r_i|r_j> (k, n, d, d), one and zero where there is no direction yet; g = <r_i|r> (k, n, d).
    """

    def __init__(
        self, bands: Images, eig_kn: torch.Tensor, residual_knx: torch.Tensor, residual_kn: torch.Tensor, steps: int
    ):
        super().__init__(bands.with_residual(residual_knx), eig_kn, residual_knx, residual_kn, steps)
        self.tables = [torch.diag_embed(torch.ones_like(self.step_knd)), torch.zeros_like(self.step_knd)]

    def _outside(
        self, operator: Operator, d_knx: torch.Tensor, proj_kni: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        x_knx, _, own_kni = self.bands.parts
        along_kn1 = operator.sum(self.bands.own_overlaps(d_knx, proj_kni)).unsqueeze(-1)
        d_knx = torch.addcmul(d_knx, along_kn1, x_knx, value=-1)
        return d_knx, None if proj_kni is None else torch.addcmul(proj_kni, along_kn1, own_kni, value=-1)

    def _prepared(self, new: Images, k: Which) -> Images:
        return new.with_residual(new.residual(self.eig_kn, k))

    def _residuals(self, operator: Operator) -> torch.Tensor:
        return self.moved(1)

    def finished(self, eig_kn: torch.Tensor) -> Images:
        return super().finished(eig_kn).without_residual(eig_kn)

    def _extend(self, operator: Operator, new: Images) -> None:
        gram_kndd, side_knd = self.tables
        place = len(self.directions) - 1
        own_knx = new.parts[1]
        products = [torch.linalg.vecdot(own_knx, other.parts[1]) for other in (self.bands, *self.directions)]
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
