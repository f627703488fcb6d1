"""Whether a step of mixing goes towards a minimum, or away from it as near a saddle point."""

import math
from dataclasses import dataclass

import numpy as np
import torch

from eigenwerk.dft.scf.mixing.mixing_history import Metric

UPHILL_SHARE = 0.2
"""A channel with this share of the squared residual must not be moved against it."""


@dataclass(frozen=True)
class Along:
    """Products of R with the shift by the history and with the preconditioned residual."""

    shift: np.ndarray
    step: np.ndarray

    def whole(self, scale: float) -> np.ndarray:
        """The product with the whole change."""
        return self.shift + scale * self.step


def judged(
    metric: Metric, residual_xy: torch.Tensor, shift_xy: torch.Tensor, step_xy: torch.Tensor, fitted_xy: torch.Tensor
) -> tuple[float, Along, Along]:
    """|R - sum_j gamma_j dR_j| and the products of a step's two parts with R, by channel and with f = 1 in all."""
    weight_ky = torch.stack([metric.weight_y, metric.flat_y, metric.weight_y])
    column_xky = weight_ky * torch.stack([residual_xy, residual_xy, fitted_xy], 1)
    row_xjy = torch.stack([shift_xy, step_xy, fitted_xy], 1)
    product_xjk = metric.products(row_xjy, column_xky).cpu().numpy()
    along, flat = product_xjk[:, :2, 0], product_xjk[:, :2, 1].sum(0)
    return math.sqrt(product_xjk[:, 2, 2].sum()), Along(*along.T), Along(*flat)


def uphill(along_x: np.ndarray, flat: float, square_x: np.ndarray) -> bool:
    """Whether a step dU goes against the residual in a channel that holds much of it.

    Near a stable solution U* the residual is -J (U - U*) with J positive, so a right step has <dU|R> > 0.
    The smallest |R| may lie elsewhere, at an unstable solution or at none (magnets on their way to
    another moment); a least-squares fit would go there, against R, and stay.
    One channel may well go against its own residual where it follows the other (long ferromagnets), so the sum of
    both, each g with the same weight, must say so, too: chi is nearly local, and chi^-1 J is symmetric.

    along_x = <dU|R>_x; flat: the same with f = 1 over both channels; square_x = <R|R>_x.
    """
    against = bool(((along_x < 0) & (square_x > UPHILL_SHARE * square_x.sum())).any())
    return against and flat < 0
