"""All bands by conjugate gradients: each band seeks its own lowest energy outside the others.

Equations and choices: docs/equations/band_by_band.md.
"""

from __future__ import annotations

import torch
from torch.nn.functional import pad

from eigenwerk.linalg.band_search import BandSearch, search
from eigenwerk.linalg.dense import DenseEigh, dense_eigh, generalised_eigh
from eigenwerk.linalg.operator import EigenResult, Operator, which_of
from eigenwerk.linalg.subspace import Images, combine, inner, norms

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
) -> EigenResult:
    """The lowest n pairs of H x = e S x, from n start vectors per problem, without dense problems larger than n.

    Rayleigh-Ritz in the start vectors X; then, for all bands at once and `steps` times at most: the residual,
    preconditioned and made S-orthogonal to X, becomes one more direction D of its band, and the band the
    x + sum_i b_i D_i of lowest <x|H|x> / <x|S|x>: conjugate gradients with exact line search, locally optimal; at last
    Rayleigh-Ritz in all bands.  H is applied once per start vector and direction.
    Sources: M. C. Payne, M. P. Teter, D. C. Allan, T. A. Arias and J. D. Joannopoulos, Rev. Mod. Phys. 64, 1045
    (1992), section V; projected in a block as by E. Vecharynski, C. Yang and J. E. Pask, J. Comput. Phys. 290, 73
    (2015).

    Arguments, result and errors: as for `rmm_diis`.
    """
    return search(
        LowestEnergy, operator, start_knx, steps=steps, tolerance=tolerance, wanted_weight_kn=wanted_weight_kn,
        final_residual=final_residual, eigh=eigh,
    )  # fmt: skip


class LowestEnergy(BandSearch):
    """Steps b of lowest energy in the span of a band and its directions.

    tables: H - e S and S between x, D_1, ... (k, n, 1 + d, 1 + d); rows are zero where there is no direction yet.
    """

    def __init__(self, bands: Images, eig_kn: torch.Tensor, residual_kn: torch.Tensor, steps: int):
        super().__init__(bands, eig_kn, residual_kn, steps)
        energy_knbb = bands.x_knx.new_zeros((*eig_kn.shape, steps + 1, steps + 1))
        overlap_knbb = energy_knbb.clone()
        overlap_knbb[..., 0, 0] = 1
        self.tables = [energy_knbb, overlap_knbb]

    def _outside(self, operator: Operator, d_knx: torch.Tensor) -> torch.Tensor:
        which = which_of(self.index_k)
        x_kmx, sx_kmx = self.everything.x_knx[which], self.everything.sx_knx[which]
        return d_knx - combine(operator.sum(inner(sx_kmx, d_knx)), x_kmx)

    def _extend(self, operator: Operator, new: Images) -> None:
        energy_knbb, overlap_knbb = self.tables
        place = len(self.directions)
        others = (self.bands, *self.directions)
        products = [torch.linalg.vecdot(other.x_knx, new.hx_knx) for other in others]
        products += [torch.linalg.vecdot(other.x_knx, new.sx_knx) for other in self.directions]
        product_knb = operator.sum(torch.stack(products, -1))
        for table_knbb, row, column_knb in (
            (energy_knbb, 0, product_knb[..., : place + 1]),
            (overlap_knbb, 1, product_knb[..., place + 1 :]),
        ):
            table_knbb[..., row : place + 1, place] = column_knb
            table_knbb[..., place, row : place + 1] = column_knb.conj()

    def choose(self, operator: Operator, eigh: DenseEigh) -> torch.Tensor:
        """The lowest pair of the small pencil; the residual there, at the new e'."""
        energy_knbb, overlap_knbb = self.tables
        c_qb = generalised_eigh(energy_knbb.flatten(0, 1), overlap_knbb.flatten(0, 1), eigh=eigh)[1][..., 0]
        own_q1, others_qd = c_qb[:, :1], c_qb[:, 1:]
        own_q1 = torch.where(own_q1.abs() < SMALLEST_SHARE, SMALLEST_SHARE, own_q1)
        self.step_knd = self.limited((others_qd / own_q1).view_as(self.step_knd))
        y_knb1 = pad(self.step_knd, (1, 0), value=1.0).unsqueeze(-1)
        square_kn, energy_kn = ((y_knb1.mH @ (table @ y_knb1))[..., 0, 0].real for table in (overlap_knbb, energy_knbb))
        gain_kn1 = (energy_kn / square_kn).unsqueeze(-1).to(y_knb1.dtype)
        self.now_knx = torch.addcmul(self.moved(1), gain_kn1, self.moved(2), value=-1)
        return norms(self.now_knx, operator.sum) / square_kn.sqrt()
