"""From gradients of the spin densities to what functionals take, and back."""

import torch

from eigenwerk.functionals.functional import SIGMA


def ingredient(name: str, field: torch.Tensor, axis: int) -> torch.Tensor:
    """What a functional takes, of the field it is made of: for σ the gradient (`contract`), for others itself."""
    return contract(field, axis) if name == SIGMA else field


def contract(gradient_sxv: torch.Tensor, axis: int = -1) -> torch.Tensor:
    """σ: |∇n|² for one density; (uu, ud, dd) products for two.  (s, ..., v) -> (y, ...).

    axis: where v stands in the gradient of one spin.
    """
    if gradient_sxv.shape[0] == 1:
        return gradient_sxv[0].square().sum(axis)[None]
    up, down = gradient_sxv
    return torch.stack([(up * up).sum(axis), (up * down).sum(axis), (down * down).sum(axis)])


def flux(deds_yx: torch.Tensor, gradient_sxv: torch.Tensor, axis: int = -1) -> torch.Tensor:
    """∂e/∂(∇n_s): 2 ∂e/∂σ_ss ∇n_s + ∂e/∂σ_ud ∇n_s'.  (y, ...), (s, ..., v) -> (s, ..., v); axis as in `contract`."""
    if gradient_sxv.shape[0] == 1:
        return gradient_sxv * (2 * deds_yx[0]).unsqueeze(axis)
    up, down = gradient_sxv
    uu, ud, dd = (deds_x.unsqueeze(axis) for deds_x in deds_yx)
    return torch.stack([2 * uu * up + ud * down, 2 * dd * down + ud * up])
