"""Compensation charges of a data set as functions: g_l(r) and its Fourier transform.

    g_l(r) = 2 r^l exp(-(r/rc)²) / (rc^(2l+3) Γ(l+3/2)),   ∫ r^(l+2) g_l dr = 1
    ∫ g_l(r) Y_L exp(-ig·r) d³r = 4π (-i)^l g^l Y_L(g) / (2l+1)!! · f(g),   f(g) = exp(-g² rc²/4) for every l
"""

from math import gamma

import numpy as np
import torch

from eigenwerk.errors import InputError
from eigenwerk.io.paw.dataset import CompensationShape, PawHeader


def require_known(header: PawHeader) -> None:
    """Raise InputError for compensation charges other than Gaussians."""
    if header.shape.kind != "gauss":
        raise InputError(
            f"{header.file}: the compensation charges of this data set have the shape '{header.shape.kind}'; "
            "eigenwerk knows Gaussians only. Use a data set of gpaw-data."
        )


def radial(shape: CompensationShape, l: int, r_g: np.ndarray) -> np.ndarray:
    """g_l(r), bohr^(-l-3)."""
    return 2 / (shape.rc ** (2 * l + 3) * gamma(l + 1.5)) * r_g**l * np.exp(-((r_g / shape.rc) ** 2))


def form_factor(shape: CompensationShape, norm2_g: torch.Tensor) -> torch.Tensor:
    """f(g) by g²."""
    return torch.exp(-0.25 * shape.rc**2 * norm2_g)


def degrees(lmax: int) -> list[int]:
    """l of every (l, m) up to the largest l."""
    return [l for l in range(lmax + 1) for _ in range(2 * l + 1)]
