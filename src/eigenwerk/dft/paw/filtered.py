"""Projectors that can be used on a coarse grid: smooth, and confined to a sphere.

A projector p(r) Y_L has Fourier components p(q) at all q.  Orbitals have plane waves up to G, and the grid on which
they are multiplied mixes plane waves that differ by one of its own reciprocal vectors, of length K at least: components
beyond K - G would be taken for some below G.  So χ(q) = p(q) for q <= G; χ(q) = 0 for q >= γ = K - G; and between them
no orbital sees it, so there it is chosen so that little of χ(r) is left outside the sphere:

    ∫ (1 - m(r))² χ(r)² r² dr = least,   m = 1 inside, falling to 0 at r0 over the last part of the radius,

    (π/2) χ(q) = ∫_0^γ A(q, q') χ(q') q'² dq',  A(q, q') = ∫ (1 - (1 - m)²) j_l(qr) j_l(q'r) r² dr,   G < q < γ.

What is used is m(r) χ(r).  Source: King-Smith, Payne, Lin, Phys. Rev. B 44, 13063 (1991); the smooth end m is ours, so
that energies have a derivative when points of the grid enter the sphere of a moving atom.
"""

from dataclasses import dataclass
from math import pi, prod

import numpy as np
from scipy.interpolate import CubicSpline

from eigenwerk.dft.basis.grids import WaveLimits
from eigenwerk.dft.paw.radial import Array, spherical_bessel, spherical_bessel_transform
from eigenwerk.errors import InputError
from eigenwerk.io.paw.dataset import PawDataset

FALL = 0.1
"""Part of the radius over which m falls."""

SMALLEST, LARGEST, STEP = 1.0, 3.5, 0.05
"""Radii that are tried, in matching radii of the data set."""

RIDGE = 1e-11
"""Added to the unit matrix: components that lie wholly inside the sphere cost nothing, and are kept small by this."""

KNOT_STEP = 0.01
"""Spacing of the splines of χ(r), bohr."""


@dataclass(frozen=True)
class FilteredProjectors:
    """The projectors of one data set inside a sphere.

    radius: r0 in bohr; error: the largest |χ(q) - p(q)| below G, or |χ(q)| beyond γ, over the largest |p(q)| of the
    same channel; radial_j: m(r) χ_j(r) / r^l on 0..r0.
    """

    radius: float
    error: float
    radial_j: tuple[CubicSpline, ...]


def filtered_projectors(dataset: PawDataset, limits: WaveLimits, accuracy: float) -> FilteredProjectors:
    """The smallest sphere in which all channels have an error of at most `accuracy`.

    Raises InputError if the largest radius that is tried does not suffice.
    """
    unit = max(state.rc or 0.0 for state in dataset.states)
    channels = [
        _Channel(dataset, j, limits, LARGEST * unit) for j in range(len(dataset.states))
    ]  # fmt: skip
    best = float("inf")
    for factor in np.arange(SMALLEST, LARGEST + STEP / 2, STEP):
        spheres = [channel.inside(factor * unit) for channel in channels]
        error = max(sphere.error for sphere in spheres)
        best = min(best, error)
        if error <= accuracy:
            return FilteredProjectors(factor * unit, error, tuple(sphere.spline() for sphere in spheres))
    raise InputError(
        f"LREAL: in real space the projectors of {dataset.symbol} reach an accuracy of {best:.1e} within "
        f"{LARGEST * unit:.2f} bohr, not the {accuracy:.1e} of ROPT. Set LREAL = .FALSE., raise ROPT, or set "
        "PREC = Accurate, whose finer grid needs smaller spheres."
    )


class _Channel:
    """One projector in reciprocal space, at the points of the quadratures."""

    def __init__(self, dataset: PawDataset, j: int, limits: WaveLimits, largest: float):
        self.l = dataset.states[j].l
        self.fixed_Q, fixed_w = _gauss(0, limits.orbital, largest)
        self.free_Q, free_w = _gauss(limits.orbital, limits.alias, largest)
        low_Q = np.linspace(0, limits.orbital, 150)
        high_Q = np.linspace(limits.alias, 3 * limits.alias, 300)
        every_Q = np.concatenate([self.fixed_Q, low_Q])
        value_Q = spherical_bessel_transform(dataset.grid, dataset.projector_jg[j], self.l, every_Q)
        count = len(self.fixed_Q)
        self.fixed_value_Q = value_Q[:count] * self.fixed_Q**2 * fixed_w
        self.free_weight_Q = self.free_Q**2 * free_w
        self.check_Q, self.wanted_Q = np.concatenate([low_Q, high_Q]), np.concatenate([value_Q[count:], 0 * high_Q])

    def inside(self, radius: float) -> "_Sphere":
        """The best χ for a sphere."""
        r_x, weight_x = _gauss(0, radius, 2 * self.free_Q[-1])
        weight_x = weight_x * r_x**2
        keep_x = weight_x * (1 - (1 - _end(r_x, radius)) ** 2)
        free_Qx, fixed_Qx = (spherical_bessel(self.l, np.multiply.outer(q, r_x)) for q in (self.free_Q, self.fixed_Q))
        # symmetric in the unknowns χ(q) times the root of the weights
        root_Q = np.sqrt(self.free_weight_Q)
        matrix_QQ = (
            pi / 2 * (1 + RIDGE) * np.eye(len(root_Q)) - root_Q[:, None] * ((free_Qx * keep_x) @ free_Qx.T) * root_Q
        )
        side_Q = root_Q * ((free_Qx * keep_x) @ (self.fixed_value_Q @ fixed_Qx))
        free_value_Q = root_Q * np.linalg.solve(matrix_QQ, side_Q)
        sphere = _Sphere(self, radius, free_value_Q)
        value_x = 2 / pi * (self.fixed_value_Q @ fixed_Qx + free_value_Q @ free_Qx) * _end(r_x, radius)
        found_Q = spherical_bessel(self.l, np.multiply.outer(self.check_Q, r_x)) @ (value_x * weight_x)
        sphere.error = float(np.abs(found_Q - self.wanted_Q).max() / np.abs(self.wanted_Q).max())
        return sphere


class _Sphere:
    """m(r) χ(r) of one channel and radius; free_value_Q: χ(q) q² dq between G and γ."""

    error = float("inf")

    def __init__(self, channel: _Channel, radius: float, free_value_Q: Array):
        self.channel, self.radius, self.free_value_Q = channel, radius, free_value_Q

    def spline(self) -> CubicSpline:
        """m(r) χ(r) / r^l, smooth at r = 0."""
        channel, l = self.channel, self.channel.l
        r_x = np.linspace(0, self.radius, max(8, round(self.radius / KNOT_STEP)))
        q_Q = np.concatenate([channel.fixed_Q, channel.free_Q])
        value_Q = np.concatenate([channel.fixed_value_Q, self.free_value_Q])
        value_x = np.empty_like(r_x)
        value_x[1:] = value_Q @ spherical_bessel(l, np.multiply.outer(q_Q, r_x[1:])) / r_x[1:] ** l
        value_x[0] = value_Q @ q_Q**l / prod(range(1, 2 * l + 2, 2))
        return CubicSpline(r_x, 2 / pi * value_x * _end(r_x, self.radius))


def _end(r_x: Array, radius: float) -> Array:
    """m(r): 1, then half a period of a cosine, 0 at the radius."""
    return np.asarray(0.5 + 0.5 * np.cos(pi * np.clip((r_x / radius - 1) / FALL + 1, 0, 1)))


def _gauss(start: float, stop: float, bandwidth: float) -> tuple[Array, Array]:
    """Points and weights of Gauss and Legendre, enough for functions that turn with exp(i bandwidth x)."""
    node_x, weight_x = np.polynomial.legendre.leggauss(int(20 + (stop - start) * bandwidth / 2))
    half = (stop - start) / 2
    return start + half * (1 + node_x), half * weight_x
