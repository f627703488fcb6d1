"""Real spherical harmonics on the unit sphere and how they turn under rotations and reflections.

Convention: index L = l^2 + l + m with m = -l ... l, no Condon-Shortley sign, m > 0 ~ cos(m phi), m < 0 ~ sin(|m| phi),
so Y_1 = sqrt(3/4pi) (y, z, x).  Normalised: the integral of Y_L Y_L' over the sphere is delta_LL'.
"""

from collections.abc import Callable
from functools import cache
from math import factorial, pi, sqrt

import numpy as np

Harmonics = Callable[[int, np.ndarray], np.ndarray]


def real_harmonics(lmax: int, vector_xv: np.ndarray) -> np.ndarray:
    """Real spherical harmonics Y_lm of the directions of some vectors.

    Y_lm = N_l|m| P_l^|m|(cos theta) {sqrt2 sin(|m| phi), 1, sqrt2 cos(m phi)},  N_lm = sqrt((2l+1)/4pi (l-m)!/(l+m)!),
    where P_l^m / sin^m theta follows from (l-m) P_l = (2l-1) cos(theta) P_{l-1} - (l+m-1) P_{l-2}.
    Source: M. Abramowitz, I. Stegun, Handbook of Mathematical Functions, 8.5.3, without the sign (-1)^m.

    vector_xv: (x, 3), any length; a zero vector gives zero for l > 0.  Returns (x, (lmax+1)^2).
    """
    vector_xv = np.asarray(vector_xv, dtype=np.float64)
    length_x = np.linalg.norm(vector_xv, axis=1)
    unit_xv = vector_xv / np.where(length_x > 0.0, length_x, 1.0)[:, None]
    planar_x = unit_xv[:, 0] + 1j * unit_xv[:, 1]
    harmonics_xL = np.zeros((len(vector_xv), (lmax + 1) ** 2))
    for m in range(lmax + 1):
        power_x = planar_x**m
        for degree, legendre_x in enumerate(_legendre(lmax, m, unit_xv[:, 2]), start=m):
            scaled_x = _norm(degree, m) * legendre_x
            center = degree**2 + degree
            harmonics_xL[:, center + m] = scaled_x * power_x.real
            if m > 0:
                harmonics_xL[:, center - m] = scaled_x * power_x.imag
    harmonics_xL[length_x == 0.0, 1:] = 0.0
    return harmonics_xL


def axial(rotation_ovv: np.ndarray) -> np.ndarray:
    """What operations do to axial vectors, such as moments: det(R) R; (o, 3, 3)."""
    return rotation_ovv * np.linalg.det(rotation_ovv)[:, None, None].round()


def real_harmonics_rotation(l: int, rotation_vv: np.ndarray, harmonics: Harmonics = real_harmonics) -> np.ndarray:
    """The matrix D with Y_lm(R r) = sum_m' D[m, m'] Y_lm'(r), for proper and improper R.

    D[m, m'] = integral of Y_lm(R r) Y_lm'(r) over the sphere, done exactly by a product rule: Gauss-Legendre in
    cos(theta) and equal steps in phi, exact for polynomials of degree 2l.

    rotation_vv: (..., 3, 3) orthogonal, acting on column vectors.  harmonics: function (lmax, vector_xv) ->
    (x, (lmax+1)^2) with orthonormal Y, ours by default.  Returns (..., 2l+1, 2l+1), orthogonal; D(R S) = D(R) D(S).
    """
    point_xv, weight_x = _sphere_rule(2 * l)
    block = slice(l * l, (l + 1) ** 2)
    here_xm = harmonics(l, point_xv)[:, block]
    turned_xv = point_xv @ np.asarray(rotation_vv, dtype=np.float64).swapaxes(-1, -2)
    there_xm = harmonics(l, turned_xv.reshape(-1, 3))[:, block].reshape(*turned_xv.shape[:-1], 2 * l + 1)
    return there_xm.swapaxes(-1, -2) @ (weight_x[:, None] * here_xm)


def _legendre(lmax: int, m: int, cosine_x: np.ndarray) -> list[np.ndarray]:
    """P_l^m / sin^m theta for l = m ... lmax, without the Condon-Shortley sign."""
    start = float(np.prod(np.arange(1, 2 * m, 2)))
    values = [np.full_like(cosine_x, start)]
    before_x = np.zeros_like(cosine_x)
    for degree in range(m + 1, lmax + 1):
        next_x = ((2 * degree - 1) * cosine_x * values[-1] - (degree + m - 1) * before_x) / (degree - m)
        before_x = values[-1]
        values.append(next_x)
    return values


def _norm(degree: int, m: int) -> float:
    norm = sqrt((2 * degree + 1) / (4.0 * pi) * factorial(degree - m) / factorial(degree + m))
    return norm if m == 0 else sqrt(2.0) * norm


@cache
def _sphere_rule(degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (x, 3) and weights (x,) that integrate polynomials up to `degree` over the unit sphere."""
    cosine_x, weight_x = np.polynomial.legendre.leggauss(degree // 2 + 1)
    phi_x = 2.0 * pi * np.arange(degree + 1) / (degree + 1)
    sine_x = np.sqrt(1.0 - cosine_x**2)
    point_xxv = np.stack(
        [
            sine_x[:, None] * np.cos(phi_x),
            sine_x[:, None] * np.sin(phi_x),
            np.broadcast_to(cosine_x[:, None], (len(cosine_x), len(phi_x))),
        ],
        axis=-1,
    )
    weight_xx = np.repeat(weight_x[:, None] * 2.0 * pi / len(phi_x), len(phi_x), axis=1)
    return point_xxv.reshape(-1, 3), weight_xx.reshape(-1)
