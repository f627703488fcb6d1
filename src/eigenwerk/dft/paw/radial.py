"""Calculus of radial functions on the grids of PAW data: integrals, derivatives, potentials, transforms.

A radial function f(r) stands for f(r) Y_lm; arrays have the grid as last axis, any axes before it.
Grids map an index i to r(i); sums over points with weight dr/di are integrals over r.
"""

from math import factorial, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from eigenwerk.io.paw.radial_grid import RadialGrid

Array = NDArray[np.float64]

SERIES_REACH, SERIES_TERMS = 1.0, 9
"""Spherical Bessel functions: power series up to x = SERIES_REACH + l, with SERIES_TERMS + 2 l terms."""

Q_TOGETHER = 32
"""Values of q whose spherical Bessel functions are made together."""

Q_BLOCK = 16
"""Values of q in a block of the transform at equal steps: the first block is dear, many blocks are too."""

NEAR = 0.7
"""j_l(x) as a sum of sines and cosines over powers of x, where x >= NEAR l: its largest term is 2 there."""

LONG_REACH, LONG_POINTS, LONG_RADIANS = 6.5, 48, 40.0
"""Long-ranged interactions: where the Gaussian is below 1e-18; points of the quadrature of a piece, and radians of kr
that it may have."""

STEP_INTERVALS = 24
"""Intervals before the end of a function that are integrated one by one: the bends of a cubic spline at a step fall
by a factor of 3.7 per interval, so below 1e-13 within these."""


def integrate(grid: RadialGrid, f_g: Array, power: int = 0) -> Array:
    """∫ f(r) r^(2+power) dr by the trapezoidal rule in the grid index: Σ_i f_i r_i^(2+power) dr_i.

    The plain sum over points (the last with full weight: f must vanish there) is the quadrature with which the
    data sets of gpaw-data were made: their waves are normalised and dual to the projectors to 1e-12 with it.
    A grid that starts at r > 0 gets the piece below from constant f; power must exceed -3.

    f_g: (..., g).  Returns (...), in units of f times bohr^(3+power).
    """
    r_g, exponent = grid.r_g, 2 + power
    # f at r = 0 matters for exponent 0 only, with the half weight of an end point.
    weight_g = np.zeros_like(r_g)
    weight_g[1:] = r_g[1:] ** exponent * grid.dr_g[1:]
    if r_g[0] > 0:
        weight_g[0] = 0.5 * r_g[0] ** exponent * grid.dr_g[0] + r_g[0] ** (exponent + 1) / (exponent + 1)
    elif exponent == 0:
        weight_g[0] = 0.5 * grid.dr_g[0]
    return np.asarray(f_g @ weight_g)


def long_ranged(grid: RadialGrid, f_qg: Array, l: int, omega: float) -> Array:
    """A_qx with Σ_x A_qx A_px = (q|p), the Coulomb integral of erf(ωr)/r between f_q Y_lm and f_p Y_lm.

        (q|p) = 8 ∫ exp(-k²/4ω²) F_q(k) F_p(k) dk,   F(k) = ∫ r² j_l(kr) f(r) dr

    by Gauss-Legendre up to k = 2 ω LONG_REACH, in as many pieces as waves take where f_q is not negligible.

    f_qg: (q, g); omega: bohr⁻¹.  Returns (q, x).
    """
    stop = _support(f_qg) + 1
    top = 2 * omega * LONG_REACH
    pieces = 1 + int(top * grid.r_g[stop - 1] / LONG_RADIANS)
    node_x, weight_x = np.polynomial.legendre.leggauss(LONG_POINTS)
    k_x = 0.5 * top / pieces * (1 + node_x + 2 * np.arange(pieces)[:, None]).ravel()
    weight_x = np.sqrt(4 * top / pieces * np.tile(weight_x, pieces)) * np.exp(-(k_x**2) / (8 * omega**2))
    part = RadialGrid(grid.r_g[:stop], grid.dr_g[:stop], grid.eq)
    transform_xq = [integrate(part, f_qg[:, :stop] * j_g) for j_g in spherical_bessel(l, np.outer(k_x, part.r_g))]
    return np.asarray(np.stack(transform_xq, -1) * weight_x)


def derivative(grid: RadialGrid, f_g: Array) -> Array:
    """df/dr by differences in the grid index over dr/di.

    Central differences, one-sided of first order at both ends; the customary scheme of the atomic programs that make
    such data, so that its errors cancel against their reference energies.

    f_g: (..., g).  Returns (..., g), in units of f per bohr.
    """
    return np.asarray(np.gradient(f_g, axis=-1)) / grid.dr_g


def interpolate(grid: RadialGrid, f_g: Array, r_x: Array) -> Array:
    """Values at any radii by a cubic spline (not-a-knot) in r; zero beyond the end of the grid.

    f_g: (..., g), r_x: (x,) in bohr.  Returns (..., x).
    """
    value_x = np.asarray(CubicSpline(grid.r_g, f_g, axis=-1)(r_x))
    value_x[..., np.asarray(r_x) > grid.r_g[-1]] = 0.0
    return value_x


def spherical_bessel_transform(grid: RadialGrid, f_g: Array, l: int, q_Q: Array) -> Array:
    """F(q) = ∫ r² j_l(qr) f(r) dr, so that ∫ f(r) Y_lm e^{-iq·r} d³r = 4π (-i)^l F(q) Y_lm(q/|q|).

    f is the cubic spline through its grid points; each piece of the grid is integrated by Gauss-Legendre with
    enough points for the largest q, so that wide spacings at large r do no harm.  What remains is the error of the
    spline: for exp(-r²) 1e-9 (2000 points, v3 sets), 3e-8 (450 points, Si), 3e-6 (150 points, H).

    f_g: (..., g), q_Q: (Q,) in 1/bohr, any order, 0 allowed.  Returns (..., Q), in units of f times bohr³.
    """
    r_x, integrand_x = _integrand(grid, f_g, float(np.max(q_Q, initial=0.0)))
    # a few q at a time: the passes of the recursion stay in cache, which halves the time
    parts = [q_Q[start : start + Q_TOGETHER] for start in range(0, len(q_Q), Q_TOGETHER)]
    return np.concatenate([integrand_x @ spherical_bessel(l, np.multiply.outer(r_x, q_x)) for q_x in parts], axis=-1)


def equal_step_transform(grid: RadialGrid, f_g: Array, l: int, step: float, count: int) -> Array:
    """`spherical_bessel_transform` at q = 0, step, 2 step, ..., seven times faster; (..., count).

    The q are cut into blocks u of places w, q_uw = q_u0 + q_0w.  Where q_u0 r >= NEAR l, with x = q r and

        j_l(x) = Re Σ_k i^(k-l-1) a_k x^(-k-1) e^{ix},   a_k = (l+k)! / (2^k k! (l-k)!),   k = 0..l,

    e^{iqr} = e^{iq_u0 r} e^{iq_0w r} makes the sum over the points r a product of two small matrices for each k; for
    smaller r, where the terms cancel, the power series needs the moments of f up to there.  The first block, whose r
    know no bound, is transformed as any q are.
    Source: NIST Digital Library of Mathematical Functions, 10.49.1, 10.49.6 and 10.53.1.
    """
    blocks = -(-count // Q_BLOCK)
    q_uw: Array = np.multiply(step, np.arange(blocks * Q_BLOCK)).reshape(blocks, Q_BLOCK)
    r_x, integrand_x = _integrand(grid, f_g, step * (count - 1))
    first_w = integrand_x @ spherical_bessel(l, np.multiply.outer(r_x, q_uw[0]))
    q_uw = q_uw[1:]
    far_ux = q_uw[:, :1] * r_x >= NEAR * l
    turn_wx = _powers(np.exp(1j * step * r_x), Q_BLOCK + 1)
    turn_ux = _powers(turn_wx[-1], len(q_uw) + 1)[1:] * far_ux
    value_uw = np.zeros((*f_g.shape[:-1], *q_uw.shape))
    for k in range(l + 1):
        factor = 1j ** (k - l - 1) * factorial(l + k) / (2**k * factorial(k) * factorial(l - k))
        wave_uw = (turn_ux * (integrand_x * r_x ** -(k + 1.0))[..., None, :]) @ turn_wx[:-1].T
        value_uw += (factor * wave_uw).real / q_uw ** (k + 1)
    if l:
        value_uw += _near_series(l, q_uw, r_x, np.where(far_ux, 0.0, integrand_x[..., None, :]))
    return np.concatenate([first_w, value_uw.reshape(*f_g.shape[:-1], -1)], axis=-1)[..., :count]


def _near_series(l: int, q_uw: Array, r_x: Array, integrand_ux: Array) -> Array:
    """Σ_x f_ux j_l(q_uw r_x) by the power series; q r must be below 2 NEAR l where f_ux is not 0.  (..., u, w)."""
    moment_uk = (integrand_ux * r_x**l) @ _powers(r_x**2, SERIES_TERMS + 3 * l).T
    half_uw, sum_uw = -0.5 * q_uw**2, np.zeros(1)
    for k in range(moment_uk.shape[-1] - 1, -1, -1):
        sum_uw = moment_uk[..., k, None] + sum_uw * half_uw / ((k + 1) * (2 * l + 2 * k + 3))
    return np.asarray(q_uw**l / prod(range(1, 2 * l + 2, 2)) * sum_uw)


def _powers(z_x: NDArray[Any], count: int) -> NDArray[Any]:
    """z^0, z^1, ... (count of them) as rows."""
    return np.multiply.accumulate(np.stack([np.ones_like(z_x), *[z_x] * (count - 1)]))


def _integrand(grid: RadialGrid, f_g: Array, q_max: float) -> tuple[Array, Array]:
    """Points of the quadrature, and f r² times their weights; (x,) and (..., x)."""
    r_x, weight_x = _quadrature(grid, _support(f_g), q_max)
    return r_x, interpolate(grid, f_g, r_x) * (r_x**2 * weight_x)


def spherical_bessel(l: int, x_x: Array) -> Array:
    """j_l(x) of nonnegative x, to 1e-14.

    Upward recursion from j_0 and j_1, which is stable for x > l; below, the power series.  A library's j_l takes three
    times as long, for most of the time that reading a data set took.
    Source: NIST Digital Library of Mathematical Functions, 10.49, 10.51.1 and 10.53.1.
    """
    small_x = x_x < SERIES_REACH + l
    safe_x = np.where(small_x, SERIES_REACH + l, x_x)
    below_x, value_x = np.cos(safe_x) / safe_x, np.sin(safe_x) / safe_x
    for order in range(l):
        below_x, value_x = value_x, (2 * order + 1) / safe_x * value_x - below_x
    value_x[small_x] = _bessel_series(l, x_x[small_x])
    return value_x


def _bessel_series(l: int, x_x: Array) -> Array:
    """x^l / (2l+1)!! Σ_k (-x²/2)^k / (k! (2l+3)(2l+5)...(2l+2k+1))."""
    half_x, sum_x = -0.5 * x_x**2, np.ones_like(x_x)
    for k in range(SERIES_TERMS + 2 * l, 0, -1):
        sum_x = 1 + sum_x * half_x / (k * (2 * l + 2 * k + 1))
    return x_x**l / prod(range(1, 2 * l + 2, 2)) * sum_x


def _support(f_g: Array) -> int:
    """Index of the last point where f is not negligible (below 1e-14 of its largest value)."""
    size_g = np.abs(np.atleast_2d(f_g).reshape(-1, f_g.shape[-1])).max(axis=0)
    large = np.flatnonzero(size_g > 1e-14 * size_g.max())
    return min(int(large[-1]) + 1, f_g.shape[-1] - 1) if large.size else 3


def _quadrature(grid: RadialGrid, end: int, q_max: float) -> tuple[Array, Array]:
    """Points and weights on [0, r_end]: pieces of some grid steps each, split to at most 4 radians of q_max r."""
    stride = max(4, end // 64)
    # Some projectors and zero potentials end with a step, where the spline bends within single intervals.
    last = slice(max(0, end - STEP_INTERVALS), end + 1)
    edge_x = np.unique(np.concatenate([[0.0], grid.r_g[:end:stride], grid.r_g[last]]))
    split_x = np.maximum(1, np.ceil(q_max * np.diff(edge_x) / 4.0)).astype(int)
    half_x = np.repeat(np.diff(edge_x) / (2 * split_x), split_x)
    part_x = np.arange(len(half_x)) - np.repeat(np.cumsum(split_x) - split_x, split_x)
    middle_x = np.repeat(edge_x[:-1], split_x) + (2 * part_x + 1) * half_x
    node_x, gauss_x = np.polynomial.legendre.leggauss(8)
    return (middle_x[:, None] + half_x[:, None] * node_x).ravel(), (half_x[:, None] * gauss_x).ravel()
