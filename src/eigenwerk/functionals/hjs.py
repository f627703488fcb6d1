"""Short-range exchange of PBEsol: the interaction erfc(omega r)/r with a model of its exchange hole.

Source: T. M. Henderson, B. G. Janesko and G. E. Scuseria, J. Chem. Phys. 128, 194105 (2008), a hole like that of
Ernzerhof and Perdew (`wpbe`) that can be integrated in closed form.  HSEsol: L. Schimka, J. Harl and G. Kresse,
J. Chem. Phys. 134, 024116 (2011), who screen with this interaction; libxc's hyb_gga_xc_hse_sol has this hole.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from eigenwerk.functionals.functional import ShortRange
from eigenwerk.functionals.lda import exchange, fermi_wave_vector, prepare
from eigenwerk.functionals.pbe import GGA_FLOOR, exchange_reduced_gradient

if TYPE_CHECKING:
    from torch import Tensor

_A, _B, _C, _D = 0.757211, -0.106364, -0.118649, 0.609650

_ABOVE = (0.0047333, 0.0403304, -0.0574615, 0.0435395, -0.0216251, 0.0063721)
_BELOW = (8.52056, -13.9885, 9.28583, -3.27287, 0.843499, -0.235543, 0.0847074, -0.0171561, 0.0050552)
"""Of PBEsol: H(s) = (a_2 s² + ... + a_7 s^7) / (1 + b_1 s + ... + b_9 s^9)."""

_FLAT = 1e-24
"""s² below this counts as this: H goes with s² there."""


def enhancement(reduced_sx: Tensor, nu_sx: Tensor) -> Tensor:
    """F(s, nu) from s² and nu = omega/k_F, nu >= 0.

    F = A - 4/9 B/l (1 - chi) - 4/9 C'/l² (1 - 3/2 chi + 1/2 chi³) - 8/9 E'/l³ (1 - 15/8 chi + 5/4 chi³ - 3/8 chi^5)
    + 2 nu (r_z - r_e) + 2 z ln((nu + r_z)/(nu + r_l)) - 2 e ln((nu + r_e)/(nu + r_l)),
    z = s² H, e = A + z, l = D + z, r_i = (i + nu²)^(1/2), chi = nu/r_l.
    """
    s2_sx = reduced_sx + (_FLAT - reduced_sx.detach()).clamp(min=0.0)
    s_sx = s2_sx.sqrt()
    over_sx = _polynomial(s_sx, _ABOVE) / (1.0 + s_sx * _polynomial(s_sx, _BELOW))  # H/s²
    zeta_sx = s2_sx.square() * over_sx
    eta_sx, lambda_sx, nu2_sx = _A + zeta_sx, _D + zeta_sx, nu_sx.square()
    root_z_sx, root_e_sx, root_l_sx = ((one_sx + nu2_sx).sqrt() for one_sx in (zeta_sx, eta_sx, lambda_sx))
    chi_sx, step_sx = nu_sx / root_l_sx, (root_l_sx * (root_l_sx + nu_sx)).reciprocal()  # (1 - chi)/l
    c_sx = _C - s2_sx / (27.0 + 6.75 * s2_sx) - 0.5 * zeta_sx
    e_sx = _one_electron(lambda_sx, c_sx, s2_sx * over_sx.sqrt(), eta_sx.sqrt())
    fifth_sx = step_sx * e_sx * (8.0 + chi_sx * (9.0 + 3.0 * chi_sx))
    gauss_sx = (-4.0 / 9.0) * step_sx * (_B + step_sx * (0.5 * c_sx * (2.0 + chi_sx) + 0.25 * fifth_sx))
    # A + 2 nu (r_z - r_e) without the difference
    width_sx = root_z_sx + root_e_sx
    excess_sx = zeta_sx / (root_z_sx + nu_sx) + eta_sx / (root_e_sx + nu_sx)
    logs_sx = zeta_sx * ((nu_sx + root_z_sx) / (nu_sx + root_l_sx)).log() - eta_sx * (
        (nu_sx + root_e_sx) / (nu_sx + root_l_sx)
    ).log()
    return _A * excess_sx / width_sx + gauss_sx + 2.0 * logs_sx


def _polynomial(s_sx: Tensor, factors: tuple[float, ...]) -> Tensor:
    """Sum of factors times powers of s, the first without."""
    total = s_sx * factors[-1] + factors[-2]
    for factor in factors[-3::-1]:
        total = total * s_sx + factor
    return total


def _one_electron(lambda_sx: Tensor, c_sx: Tensor, root_zeta_sx: Tensor, root_eta_sx: Tensor) -> Tensor:
    """E', with which the hole holds one electron."""
    half_sx = lambda_sx.sqrt() * (-0.8 * math.sqrt(math.pi) - 2.4 * (root_zeta_sx - root_eta_sx))
    return lambda_sx * (-0.4 * c_sx + lambda_sx * (-4.0 / 15.0 * _B + lambda_sx * (-1.2 * _A + half_sx)))


def exchange_density(density_sx: Tensor, sigma_yx: Tensor, screening: float) -> Tensor:
    """Short-range exchange energy per volume, hartree/bohr^3; arguments as of `pbe.energy_density`, bohr^-1."""
    points = prepare(density_sx, GGA_FLOOR)
    nu_sx = screening / fermi_wave_vector(points)
    factor_sx = enhancement(exchange_reduced_gradient(points, sigma_yx), nu_sx)
    return exchange(points, factor_sx)


def local_density(density_sx: Tensor, screening: float) -> Tensor:
    """The same without gradients."""
    points = prepare(density_sx, GGA_FLOOR)
    nu_sx = screening / fermi_wave_vector(points)
    return exchange(points, enhancement(0.0 * nu_sx, nu_sx))


SHORT_RANGES = (ShortRange(("PS",), exchange_density, local_density),)
