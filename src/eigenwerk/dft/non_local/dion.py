"""Dion's kernel phi(d1, d2), d = q r, from its double integral.

    phi(d1, d2) = 2/pi² int int a² b² W(a, b) T(nu(a), nu(b), nu'(a), nu'(b)) da db,    a, b from 0 on
    W = 2 [(3 - a²) b cos b sin a + (3 - b²) a cos a sin b + (a² + b² - 3) sin a sin b - 3 a b cos a cos b] / (a³ b³)
    T(w, x, y, z) = 1/2 [1/(w + x) + 1/(y + z)] [1/((w + y)(x + z)) + 1/((w + z)(y + x))]
    nu = a² / 2h(a/d1),  nu' = a² / 2h(a/d2),  h(t) = 1 - exp(-4 pi t²/9)

a² b² W grows and oscillates, T is smooth: the integral exists in the sense of Abel.  It is cut by ½ erfc((a - A)/σ),
whose own waves are below exp(-σ²/4); the smooth rest beyond A adds nothing.  Ten digits at any distance follow, of the
asymptote -12 (4 pi/9)³ / (d1² d2² (d1² + d2²)) too, where a mesh without such an end loses all.
Source: M. Dion et al., Phys. Rev. Lett. 92, 246401 (2004), erratum 95, 109902 (2005), equations 14 to 16.
"""

from functools import cached_property
from math import ceil, log, pi

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray
from scipy.interpolate import RectBivariateSpline
from scipy.special import erfc

Array = NDArray[np.float64]

END, WIDTH = 45.0, 8.0
"""A and σ; 55 and 10 change phi by 1e-8 of itself at distance 20, by 1e-6 at 40."""

FINEST, OUTER, ORDER = 0.002, 8.0, 10
"""Length of the first interval of the quadrature, of those at the end, and points in each; they double between."""

SMALLEST, LARGEST, NODES = 2e-3, 100.0, 80
"""Distances of the table, and their number, equal in the logarithm."""

_GAMMA = 4 * pi / 9


class DoubleIntegral:
    """The integral over a and b for any pair of distances."""

    def __init__(self, a_x: Array, weight_x: Array):
        """Of the points of a quadrature and their weights."""
        self.a_x, weight_x = a_x, weight_x / a_x
        sin_x, cos_x = np.sin(a_x), np.cos(a_x)
        first_xx = ((3 - a_x**2) * sin_x)[:, None] * (a_x * cos_x)
        square_xx = (a_x**2)[:, None] + a_x**2 - 3
        product_xx = a_x[:, None] * cos_x[:, None] * (a_x * cos_x)
        oscillating_xx = first_xx + first_xx.T + square_xx * (sin_x[:, None] * sin_x) - 3 * product_xx
        # a² b² W times weights; half of T's factor and 2/pi² are in it
        self.oscillating_xx = (2 / pi**2) * oscillating_xx * (weight_x[:, None] * weight_x)

    @staticmethod
    def with_end(end: float = END, width: float = WIDTH) -> "DoubleIntegral":
        """On the mesh that ends as erfc."""
        a_x, weight_x = quadrature(FINEST, OUTER, end + 5 * width, ORDER)
        return DoubleIntegral(a_x, weight_x * 0.5 * erfc((a_x - end) / width))

    def frequency(self, distance: float) -> Array:
        """nu(a)."""
        a_x = self.a_x
        return a_x**2 / (-2 * np.expm1(-_GAMMA * (a_x / distance) ** 2))

    def __call__(self, nu_x: Array, other_x: Array) -> float:
        """phi, from nu of both distances: T with one denominator."""
        sum_x = nu_x + other_x
        mixed_xx = nu_x[:, None] + other_x
        mixed_xx = mixed_xx * mixed_xx.T
        below_xx = (nu_x[:, None] + nu_x) * (other_x[:, None] + other_x) * mixed_xx
        mixed_xx *= 1 / sum_x
        mixed_xx *= (1 / sum_x)[:, None]
        mixed_xx += 1
        mixed_xx *= sum_x[:, None] + sum_x
        mixed_xx /= below_xx
        return float(np.vdot(mixed_xx, self.oscillating_xx))


def quadrature(first: float, longest: float, end: float, order: int) -> tuple[Array, Array]:
    """Gauss-Legendre points and weights on intervals from 0 to the end that double up to the longest."""
    edges = [0.0, first]
    while edges[-1] < longest:
        edges.append(min(2 * edges[-1], longest))
    rest = ceil((end - edges[-1]) / longest)
    edge_x = np.concatenate([edges, np.linspace(edges[-1], end, rest + 1)[1:]])
    point_x, weight_x = leggauss(order)
    half_x, middle_x = 0.5 * np.diff(edge_x)[:, None], 0.5 * (edge_x[1:] + edge_x[:-1])[:, None]
    return (middle_x + half_x * point_x).ravel(), (half_x * weight_x).ravel()


class DionTable:
    """phi at any distances by splines of fifth order in their logarithms.

    What is interpolated is phi (1 + d1²)(1 + d2²)(2 + d1² + d2²), which has a limit at large distances.
    """

    def __init__(self, integral: DoubleIntegral | None = None, nodes: int = NODES):
        integral = integral or DoubleIntegral.with_end()
        self.log_x = np.linspace(log(SMALLEST), log(LARGEST), nodes)
        nu_list = [integral.frequency(distance) for distance in np.exp(self.log_x)]
        self.phi_xx = np.zeros((nodes, nodes))
        for x, nu_x in enumerate(nu_list):
            for y in range(x + 1):
                self.phi_xx[x, y] = self.phi_xx[y, x] = integral(nu_x, nu_list[y])

    @cached_property
    def _spline(self) -> RectBivariateSpline:
        distance_x = np.exp(self.log_x)
        values_xx = self.phi_xx * _flattening(distance_x[:, None], distance_x)
        return RectBivariateSpline(self.log_x, self.log_x, values_xx, kx=5, ky=5)

    @cached_property
    def _slope(self) -> float:
        """d phi / d ln d where both distances are small: phi goes with their logarithm."""
        return float((self.phi_xx[1, 1] - self.phi_xx[0, 0]) / (self.log_x[1] - self.log_x[0]))

    def __call__(self, first_x: Array, second_x: Array) -> Array:
        """phi(d1, d2); beyond the table by its limits."""
        scale_x = np.minimum(np.maximum(first_x, second_x) / SMALLEST, 1.0)
        one_x, other_x = (np.maximum(distance_x / scale_x, SMALLEST) for distance_x in (first_x, second_x))
        logs = (np.log(np.minimum(distance_x, LARGEST)) for distance_x in (one_x, other_x))
        return self._spline.ev(*logs) / _flattening(one_x, other_x) + self._slope * np.log(scale_x)


def _flattening(first_x: Array, second_x: Array) -> Array:
    one_x, other_x = first_x**2, second_x**2
    return (1 + one_x) * (1 + other_x) * (2 + one_x + other_x)
