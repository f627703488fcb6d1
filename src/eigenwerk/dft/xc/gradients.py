"""From gradients of the spin densities to what functionals take, and back."""

import torch


def contract(gradient_sxv: torch.Tensor) -> torch.Tensor:
    """σ: |∇n|² for one density; (uu, ud, dd) products for two.  (s, ..., v) -> (y, ...)."""
    if gradient_sxv.shape[0] == 1:
        return (gradient_sxv**2).sum(-1)
    up, down = gradient_sxv
    return torch.stack([(up * up).sum(-1), (up * down).sum(-1), (down * down).sum(-1)])


def flux(deds_yx: torch.Tensor | None, gradient_sxv: torch.Tensor) -> torch.Tensor:
    """∂e/∂(∇n_s): 2 ∂e/∂σ_ss ∇n_s + ∂e/∂σ_ud ∇n_s'.  (y, ...), (s, ..., v) -> (s, ..., v)."""
    if deds_yx is None:
        raise ValueError("a functional without gradients has no gradient flux")
    if gradient_sxv.shape[0] == 1:
        return 2 * deds_yx[..., None] * gradient_sxv
    up, down = gradient_sxv
    uu, ud, dd = deds_yx[..., None]
    return torch.stack([2 * uu * up + ud * down, 2 * dd * down + ud * up])
