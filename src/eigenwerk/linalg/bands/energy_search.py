"""Bands that move by themselves outside the space of all bands, with the energies that their steps lead to.

Equations and choices: docs/equations/band_by_band.md.
"""

from __future__ import annotations

import torch
from torch.nn.functional import pad

from eigenwerk.linalg.bands.band_search import BandSearch
from eigenwerk.linalg.images import Images
from eigenwerk.linalg.operator import Operator
from eigenwerk.linalg.products import combine, norms


class EnergySearch(BandSearch):
    """Bands whose directions lie outside all bands, and what their energy is after any step.

    tables: H - e S and S between x, D_1, ... (k, n, 1 + d, 1 + d); rows are zero where there is no direction yet.
    """

    def __init__(
        self, bands: Images, eig_kn: torch.Tensor, residual_knx: torch.Tensor, residual_kn: torch.Tensor, steps: int
    ):
        super().__init__(bands, eig_kn, residual_knx, residual_kn, steps)
        energy_knbb = bands.x_knx.new_zeros((*eig_kn.shape, steps + 1, steps + 1))
        overlap_knbb = energy_knbb.clone()
        overlap_knbb[..., 0, 0] = 1
        self.tables = [energy_knbb, overlap_knbb]

    def _outside(
        self, operator: Operator, d_knx: torch.Tensor, proj_kni: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        everything = self.everything.problems(self.which)
        x_kmx, _, own_kmi = everything.parts
        share_kmn = operator.sum(everything.overlaps(d_knx, proj_kni))
        d_knx = d_knx - combine(share_kmn, x_kmx)
        return d_knx, None if proj_kni is None else proj_kni - combine(share_kmn, own_kmi)

    def _residuals(self, operator: Operator) -> torch.Tensor:
        return self._residuals_at(self.eig_kn)

    def _residuals_at(self, eig_kn: torch.Tensor) -> torch.Tensor:
        """H x' - e S x' where the bands are now."""
        moved = self.bands.of([self.moved(part) for part in range(3)])
        return moved.residual(eig_kn, self.which)

    def _extend(self, operator: Operator, new: Images) -> None:
        energy_knbb, overlap_knbb = self.tables[:2]
        place = len(self.directions)
        pencil, metric = new.pencil(self.eig_kn), new.metric()
        products = [pencil.dots(other) for other in (self.bands, *self.directions)]
        products += [metric.dots(other) for other in self.directions]
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
        self.now_knx = self._residuals_at(self.eig_kn + energy_kn / square_kn)
        return norms(self.now_knx, operator.sum) / square_kn.sqrt()
