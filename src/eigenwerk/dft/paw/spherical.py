"""Real solid harmonics, their gradients, Gaunt coefficients and quadrature on the sphere.

Axis L = l² + l + m, m = -l..l.  Y_lm ~ sin(|m|φ) for m < 0 and cos(mφ) for m > 0, without the
Condon-Shortley sign, so that Y_1 = sqrt(3/4π) (y, z, x).
"""

from functools import lru_cache
from math import factorial, pi, sqrt

import numpy as np
import torch
from scipy.integrate import lebedev_rule


def solid_harmonics(lmax: int, vector_xv: torch.Tensor) -> torch.Tensor:
    """Real solid harmonics r^l Y_L(r̂) of vectors, all L up to lmax.

    r^l Y_lm = N_lm Π_lm(z, r²) Re or Im (x + iy)^|m|, with the Legendre recursion in z and r².
    Source: Helgaker, Jørgensen, Olsen, Molecular Electronic-Structure Theory, section 6.4 (2000).

    vector_xv: (..., 3).  Returns (..., (lmax+1)²), in units of vector^l; polynomial, so smooth at 0.
    """
    x, y, z = vector_xv.unbind(-1)
    r2 = x * x + y * y + z * z
    cos_m, sin_m = [torch.ones_like(x)], [torch.zeros_like(x)]
    for _ in range(lmax):
        cos_m.append(x * cos_m[-1] - y * sin_m[-1])
        sin_m.append(x * sin_m[-1] + y * cos_m[-2])
    harmonic_L: list[torch.Tensor] = [torch.empty(0)] * (lmax + 1) ** 2
    for m in range(lmax + 1):
        legendre_l = _scaled_legendre(lmax, m, z, r2)
        for l in range(m, lmax + 1):
            scaled = _normalisation(l, m) * legendre_l[l - m]
            harmonic_L[l * l + l + m] = scaled * cos_m[m]
            if m:
                harmonic_L[l * l + l - m] = scaled * sin_m[m]
    return torch.stack(harmonic_L, dim=-1)


def _scaled_legendre(lmax: int, m: int, z: torch.Tensor, r2: torch.Tensor) -> list[torch.Tensor]:
    """Π_lm for l = m..lmax: (l - m) Π_l = (2l - 1) z Π_{l-1} - (l + m - 1) r² Π_{l-2}."""
    double_factorial = float(np.prod(np.arange(2 * m - 1, 0, -2))) if m else 1.0
    legendre_l = [torch.full_like(z, double_factorial)]
    for l in range(m + 1, lmax + 1):
        value = (2 * l - 1) * z * legendre_l[-1]
        if l > m + 1:
            value = value - (l + m - 1) * r2 * legendre_l[-2]
        legendre_l.append(value / (l - m))
    return legendre_l


def _normalisation(l: int, m: int) -> float:
    norm = sqrt((2 * l + 1) / (4 * pi) * factorial(l - m) / factorial(l + m))
    return norm * sqrt(2) if m else norm


def solid_harmonics_gradient(lmax: int, vector_xv: torch.Tensor) -> torch.Tensor:
    """∇(r^l Y_L), of solid harmonics of degree l - 1.

    ∂_v (r^l Y_L) = (2l+1) sqrt(4π/3) Σ_M G_LMv r^(l-1) Y_M over the M of degree l - 1, with the Gaunt coefficients of
    Y_L, Y_M and Y_1v: of the terms of ∇ those of degree l + 1 cancel, as r^l Y_L is harmonic.
    Source: the gradient formula, Edmonds, Angular Momentum in Quantum Mechanics, section 5.7 (1957).

    vector_xv: (x, 3).  Returns (x, L, 3).
    """
    if lmax == 0:
        return vector_xv.new_zeros((len(vector_xv), 1, 3))
    lower_xM = solid_harmonics(lmax - 1, vector_xv)
    matrix_MLv = torch.from_numpy(_gradient_matrix(lmax)).to(lower_xM)
    return (lower_xM @ matrix_MLv.flatten(1)).unflatten(1, matrix_MLv.shape[1:])


@lru_cache
def _gradient_matrix(lmax: int) -> np.ndarray:
    """(2l+1) sqrt(4π/3) G_LMv with M one degree below L, zero elsewhere; (M, L, v)."""
    l_L = np.array([l for l in range(lmax + 1) for _ in range(2 * l + 1)])
    factor_LM = (2 * l_L[:, None] + 1) * sqrt(4 * pi / 3) * (l_L[:, None] == l_L[: lmax**2] + 1)
    xyz_v = [3, 1, 2]  # the places of Y_1x, Y_1y and Y_1z
    coupled_LMv = factor_LM[:, :, None] * gaunt(lmax, 1)[:, : lmax**2, xyz_v]
    return np.ascontiguousarray(coupled_LMv.transpose(1, 0, 2))


@lru_cache
def sphere_quadrature(degree: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Lebedev points on the unit sphere, exact for polynomials up to `degree`.

    Returns (point_xv, weight_x) with weights that sum to 4π.
    Source: Lebedev and Laikov, Dokl. Math. 59, 477 (1999), through scipy.
    """
    point_vx, weight_x = lebedev_rule(degree)
    return torch.from_numpy(np.ascontiguousarray(point_vx.T)), torch.from_numpy(weight_x)


@lru_cache
def gaunt(lmax_ij: int, lmax: int) -> np.ndarray:
    """Gaunt coefficients ∫ Y_L1 Y_L2 Y_L dΩ, shape (L1, L2, L), with l1, l2 <= lmax_ij and l <= lmax.

    Computed by a quadrature that is exact for the product, so the error is rounding.
    """
    degree = next(d for d in (3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31) if d >= 2 * lmax_ij + lmax)
    point_xv, weight_x = sphere_quadrature(degree)
    y_xL = solid_harmonics(max(lmax_ij, lmax), point_xv).numpy()
    pair = y_xL[:, : (lmax_ij + 1) ** 2]
    return np.einsum("x,xa,xb,xc->abc", weight_x.numpy(), pair, pair, y_xL[:, : (lmax + 1) ** 2], optimize=True)
