"""Compensation charges of pair densities: soft, and zero beyond a radius.

    g_l(r) = C_l r^l x² I_2(α_l x),   x = √(1 - r²/R²) for r < R,   C_l such that ∫ r^(l+2) g_l dr = 1

("Kaiser-Bessel") has the transform, with z² = α² - k²R² and ν = l + 7/2,

    ∫ g_l(r) Y_L exp(-ik·r) = 4π (-i)^l k^l Y_L(k) / (2l+1)!! · f_l(k),
    f_l(k) = (I_ν(z)/z^ν) / (I_ν(α)/α^ν),   f_l(0) = 1,

J_ν and |z| in place of I_ν and z for kR > α.  With α a bit below K R next to nothing is left beyond the sphere of waves
K that pair densities are kept on, so that the charges can be given at points of a grid; Gaussians of the data sets
reach far beyond it.  What the shape does to pair densities is undone by the one-centre part (one_centre.py), which has
the same shape, as far as charges do not reach into other spheres and partial waves are complete.
Source: R. M. Lewitt, J. Opt. Soc. Am. A 7, 1834 (1990).
"""

from dataclasses import dataclass
from math import gamma

import numpy as np
from scipy.special import ive, jv

from eigenwerk.dft.paw.setup import Setup, matching_radius

ORDER = 2
"""Of the Bessel function in r: g_l has a continuous derivative at R."""

LESS = 0.8
"""α_l = K R - LESS (l+1) leaves the least energy outside of K, within a third, for K R from 5 to 20."""

LEAST = 1.0

REACH = 13.0
"""K R: 1e-5 of a charge is seen otherwise at points of a grid that just holds the sphere."""

BEYOND = 1.3
"""R over the matching radius, at most; at the matching radius less than 1 % of g_0(0) is left then."""


@dataclass(frozen=True)
class PairShape:
    """g_l of one species; radius R, bohr; wave K, bohr⁻¹."""

    radius: float
    wave: float

    @staticmethod
    def of(setup: Setup, wave: float) -> "PairShape":
        """For pair densities on a sphere of waves."""
        return PairShape(min(BEYOND * matching_radius(setup.dataset), REACH / wave), wave)

    def steepness(self, l: int) -> float:
        """α_l."""
        return max(LEAST, self.wave * self.radius - LESS * (l + 1))

    def radial(self, l: int, r_x: np.ndarray) -> np.ndarray:
        """g_l(r)/r^l, bohr^(-2l-3)."""
        return self._depth(r_x) ** ORDER * self._bessel(ORDER, l, r_x)

    def slope(self, l: int, r_x: np.ndarray) -> np.ndarray:
        """The derivative of g_l(r)/r^l, divided by r: -α/R² x I_1(α x) in place of x² I_2(α x)."""
        depth_x = self._depth(r_x) ** (ORDER - 1)
        return -self.steepness(l) / self.radius**2 * depth_x * self._bessel(ORDER - 1, l, r_x)

    def _depth(self, r_x: np.ndarray) -> np.ndarray:
        """x."""
        return np.asarray(np.sqrt(np.clip(1 - (r_x / self.radius) ** 2, 0.0, None)))

    def _bessel(self, order: int, l: int, r_x: np.ndarray) -> np.ndarray:
        """C_l I(α x), by the integral over the ball of 2l+3 dimensions."""
        alpha, nu, x_x = self.steepness(l), l + 1.5, self._depth(r_x)
        whole = 2 ** (nu - 1) * gamma(nu) * self.radius ** (2 * nu) * ive(nu + ORDER, alpha) / alpha**nu
        return np.asarray(ive(order, alpha * x_x) * np.exp(alpha * (x_x - 1)) / whole)

    def transform(self, l: int, k_x: np.ndarray) -> np.ndarray:
        """f_l(k)."""
        alpha, nu = self.steepness(l), l + 1.5 + ORDER
        z2_x = alpha**2 - (k_x * self.radius) ** 2
        z_x = np.maximum(np.sqrt(np.abs(z2_x)), 1e-8)
        inside_x = ive(nu, z_x) * np.exp(z_x - alpha) / z_x**nu
        value_x = np.where(z2_x > 0, inside_x, np.exp(-alpha) * jv(nu, z_x) / z_x**nu)
        return np.asarray(value_x * alpha**nu / ive(nu, alpha))
