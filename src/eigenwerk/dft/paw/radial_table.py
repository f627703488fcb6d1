"""Radial functions as tables on the device: cubic splines with equal steps, differentiable by their argument.

Between the knots m h and (m+1) h, with t = q - m h,

    f(q) = ((c_0 t + c_1) t + c_2) t + c_3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy.interpolate import CubicSpline

from eigenwerk.dft.paw.radial import equal_step_transform
from eigenwerk.io.paw.radial_grid import RadialGrid
from eigenwerk.parallel.runtime import Runtime

TABLE_STEP = 0.02
"""Spacing of the radial Fourier tables, bohr⁻¹; cubic splines are then good to 1e-9 of the maximum."""


@dataclass(frozen=True)
class RadialTable:
    """Some functions x with knots 0, step, 2 step, ...; beyond the last one the last piece goes on.

    coeff_mpx: c_p of the functions between the knots m and m + 1.
    """

    step: float
    coeff_mpx: torch.Tensor

    @staticmethod
    def of(step: float, coeff_pmx: np.ndarray, runtime: Runtime) -> "RadialTable":
        """From the coefficients as `CubicSpline.c` has them."""
        return RadialTable(step, runtime.tensor(np.stack(list(coeff_pmx), 1)))

    def __call__(self, q_y: torch.Tensor) -> torch.Tensor:
        """f_x(q), a differentiable function of q >= 0; (..., y) -> (x, ..., y)."""
        place_y = (q_y.detach() / self.step).floor_().clamp_(max=len(self.coeff_mpx) - 1)
        rest_y = (q_y - place_y * self.step).flatten()
        first_xy, *more_pxy = self.coeff_mpx.index_select(0, place_y.to(torch.int64).flatten()).permute(1, 2, 0)
        value_xy = first_xy
        for coeff_xy in more_pxy:
            value_xy = torch.addcmul(coeff_xy, value_xy, rest_y)
        return value_xy.unflatten(1, q_y.shape)

    @cached_property
    def slope(self) -> "RadialTable":
        """df/dq."""
        degree_p = torch.arange(self.coeff_mpx.shape[1] - 1, 0, -1, device=self.coeff_mpx.device)
        return RadialTable(self.step, self.coeff_mpx[:, :-1] * degree_p[:, None])


def fourier_table(grid: RadialGrid, f_xg: np.ndarray, l_x: Sequence[int], qmax: float, runtime: Runtime) -> RadialTable:
    """F_x(q) = ∫ r² j_l(q r) f_x(r) dr on 0..qmax, l that of each function."""
    q_Q = np.arange(0.0, qmax + 4 * TABLE_STEP, TABLE_STEP)
    value_Qx = np.empty((len(q_Q), len(f_xg)))
    for l in set(l_x):
        of_l = np.equal(l_x, l)
        value_Qx[:, of_l] = equal_step_transform(grid, f_xg[of_l], l, TABLE_STEP, len(q_Q)).T
    return RadialTable.of(TABLE_STEP, CubicSpline(q_Q, value_Qx).c, runtime)
