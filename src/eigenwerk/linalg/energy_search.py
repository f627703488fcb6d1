"""Bands that move by themselves outside the space of all bands, with the energies that their steps lead to.

Equations and choices: docs/equations/band_by_band.md.
"""

from __future__ import annotations

import torch
from torch.nn.functional import pad

from eigenwerk.linalg.band_search import BandSearch
from eigenwerk.linalg.operator import Operator, which_of
from eigenwerk.linalg.subspace import Images, combine, inner, norms


class EnergySearch(BandSearch):
    """Bands whose directions lie outside all bands, and what their energy is after any step.

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
        energy_knbb, overlap_knbb = self.tables[:2]
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

    def placed(self, operator: Operator, step_knd: torch.Tensor) -> torch.Tensor:
        """Take these steps; returns the norms of the residuals there, at the energies there."""
        energy_knbb, overlap_knbb = self.tables[:2]
        self.step_knd = self.limited(step_knd)
        y_knb1 = pad(self.step_knd, (1, 0), value=1.0).unsqueeze(-1)
        square_kn, energy_kn = ((y_knb1.mH @ (table @ y_knb1))[..., 0, 0].real for table in (overlap_knbb, energy_knbb))
        gain_kn1 = (energy_kn / square_kn).unsqueeze(-1).to(y_knb1.dtype)
        self.now_knx = torch.addcmul(self.moved(1), gain_kn1, self.moved(2), value=-1)
        return norms(self.now_knx, operator.sum) / square_kn.sqrt()
