"""Short-range exchange of PBE: the interaction erfc(omega r)/r with a model of PBE's exchange hole.

Sources: the hole, M. Ernzerhof and J. P. Perdew, J. Chem. Phys. 109, 3313 (1998); its short range, and the rule for
large s, J. Heyd, G. E. Scuseria and M. Ernzerhof, J. Chem. Phys. 118, 8207 (2003).

F(s, nu) = -8/9 int_0^inf y J(s, y) erfc(nu y) dy,  nu = omega/k_F,
J = -A/y² exp(-q y²) / (1 + c y²) + (A/y² + B + C' y² + E' y⁴) exp(-d y²),  c = 4A/9,  q = s² H(s),  d = D + q,
C' = C (1 + s² F_C), F_C = 6.4753871 H + 0.47965830,  E' so that the hole holds one electron.
Everything is integrated in closed form but x exp(-q/c x²) erfc(nu/c^(1/2) x) / (1 + x²), of which
tools/fit_short_range.py tells.  Without screening F is PBE's but for up to 0.4 %: the model, not the integral.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Literal

from eigenwerk.functionals.functional import DENSITY, SIGMA, Functional, Shares, ShortRange
from eigenwerk.functionals.lda import exchange, fermi_wave_vector, prepare
from eigenwerk.functionals.lda import exchange_density as exchange_of_gas
from eigenwerk.functionals.pbe import (
    GGA_FLOOR,
    PBE,
    correlation_density,
    exchange_reduced_gradient,
    gas_correlation,
)
from eigenwerk.functionals.wpbe_coefficients import B0, COEFFICIENTS, P0, Y

if TYPE_CHECKING:
    from torch import Tensor

Large = Literal["printed", "smooth"]
"""How s is kept below 8.57, where F would pass the bound of Lieb and Oxford: as printed, or as libxc (5.2) does."""

_A, _B, _C, _D = 1.0161144, -0.37170836, -0.077215461, 0.57786348
_GAUSS = 4.0 * _A / 9.0
_LINEAR = _B / _GAUSS
_LARGEST, _TURN, _BEND = 8.572844, 8.3, 18.79622316

_FLAT = 1e-24
"""s² below this counts as this: all that holds s goes with s² there."""

def bounded(reduced_sx: Tensor, large: Large) -> Tensor:
    """s² with s kept below 8.572844.

    Printed: above 8.3 it is 8.572844 - 18.79622316/s².  Smooth: from 1 on s - ln(1 + exp(s - 8.572844)).
    """
    reduced_sx = reduced_sx + (_FLAT - reduced_sx.detach()).clamp(min=0.0)
    if large == "printed":
        beyond_sx = reduced_sx > _TURN**2
        far_sx = reduced_sx.where(beyond_sx, _TURN**2)
        return (_LARGEST - _BEND / far_sx).square().where(beyond_sx, reduced_sx)
    beyond_sx = reduced_sx >= 1.0
    far_sx = reduced_sx.where(beyond_sx, 1.0).sqrt()
    return (_LARGEST - (_LARGEST - far_sx).exp().log1p()).square().where(beyond_sx, reduced_sx)


def enhancement(reduced_sx: Tensor, nu_sx: Tensor, large: Large) -> Tensor:
    """F(s, nu) from s² and nu = omega/k_F, nu >= 0."""
    s2_sx = bounded(reduced_sx, large)
    s4_sx = s2_sx.square()
    above_sx = 0.00979681 + 0.0410834 * s2_sx
    below_sx = 1.0 + s4_sx * (0.187440 + 0.00120824 * s2_sx.sqrt() + 0.0347188 * s2_sx)
    ratio_sx = above_sx / below_sx
    h_sx = s2_sx * ratio_sx
    # lengths in units of c^(1/2), in which the rational term is 1 / (1 + x²)
    p_sx, mu_sx = (1.0 / _GAUSS) * s2_sx * h_sx, _GAUSS**-0.5 * nu_sx
    root_p_sx, d_sx = s2_sx * ((1.0 / _GAUSS) * ratio_sx).sqrt(), _D / _GAUSS + p_sx
    c_sx = (_C / _GAUSS**2) * (1.0 + s2_sx * (6.4753871 * h_sx + 0.47965830))
    e_sx = _one_electron(p_sx.exp() * root_p_sx.erfc(), d_sx, c_sx)
    reach_sx = (d_sx + mu_sx.square()).sqrt()
    tail_sx = _tail(p_sx, mu_sx, reach_sx)
    return (-8.0 / 9.0) * (_A * tail_sx + _gaussians(c_sx, e_sx, mu_sx, reach_sx))


def _one_electron(rational_sx: Tensor, d_sx: Tensor, c_sx: Tensor) -> Tensor:
    """The factor of x⁴ with which the hole holds one electron, int y² J dy = -3 pi/4.

    rational_sx: exp(p) erfc(p^(1/2)), 2/pi times the integral of the rational term.
    """
    whole_sx = (0.5 * math.pi * _A) * rational_sx - 0.75 * math.pi * math.sqrt(_GAUSS)
    rest_sx = d_sx * ((16.0 / (15.0 * math.sqrt(math.pi))) * d_sx.sqrt() * whole_sx - (8.0 / 15.0) * _A)
    return d_sx * (d_sx * (rest_sx - (4.0 / 15.0) * _LINEAR) - 0.4 * c_sx)


def _gaussians(c_sx: Tensor, e_sx: Tensor, mu_sx: Tensor, reach_sx: Tensor) -> Tensor:
    """int x (b + c x² + e x⁴) exp(-d x²) erfc(mu x) dx.

    The three integrals are polynomials of chi = mu/(d + mu²)^(1/2) with the factors ((1 - chi)/d)^n, which have no
    differences in this form.
    """
    chi_sx, step_sx = mu_sx / reach_sx, (reach_sx * (reach_sx + mu_sx)).reciprocal()
    fifth_sx = 0.25 * step_sx * e_sx * (8.0 + chi_sx * (9.0 + 3.0 * chi_sx))
    return 0.5 * step_sx * (_LINEAR + 0.5 * step_sx * (c_sx * (2.0 + chi_sx) + fifth_sx * 2.0))


def _tail(p_sx: Tensor, mu_sx: Tensor, reach_sx: Tensor) -> Tensor:
    """int (exp(-d x²) - exp(-p x²) / (1 + x²)) erfc(mu x) / x dx.

    Without the denominator it is ln(b / (mu + reach)), b = mu + (p + mu²)^(1/2), and T is the rest; both have the
    logarithm of b, which may be 0.
    """
    b_sx = mu_sx + (p_sx + mu_sx.square()).sqrt()
    b2_sx = b_sx.square()
    outer_sx = 1.0 + b2_sx
    common_sx = 0.5 * (outer_sx / (mu_sx + reach_sx).square()).log()
    smooth_sx = _expansion((b_sx - B0) / (b_sx + B0), (2.0 / Y) * (p_sx / b2_sx + (1.0 / P0) * p_sx) - 1.0)
    return common_sx + 0.5 * p_sx.expm1() * b2_sx.reciprocal().log1p() + p_sx.exp() * smooth_sx / outer_sx


def _expansion(x_sx: Tensor, y_sx: Tensor) -> Tensor:
    """Sum of COEFFICIENTS times Chebyshev polynomials of x and y."""
    in_x, in_y = _polynomials(x_sx, max(map(len, COEFFICIENTS))), _polynomials(y_sx, len(COEFFICIENTS))
    total_sx = 0.0 * x_sx
    for row, outer_sx in zip(COEFFICIENTS, in_y, strict=True):
        terms = [factor * inner_sx for factor, inner_sx in zip(row, in_x, strict=False) if factor]
        total_sx = total_sx + outer_sx * sum(terms[1:], start=terms[0])
    return total_sx


def _polynomials(x_sx: Tensor, count: int) -> list[Tensor]:
    """T_0 to T_(count - 1)."""
    found = [0.0 * x_sx + 1.0, x_sx]
    while len(found) < count:
        found.append(2.0 * x_sx * found[-1] - found[-2])
    return found


def exchange_density(density_sx: Tensor, sigma_yx: Tensor, screening: float, large: Large = "printed") -> Tensor:
    """Short-range exchange energy per volume, hartree/bohr^3; arguments as of `pbe.energy_density`, bohr^-1."""
    points = prepare(density_sx, GGA_FLOOR)
    nu_sx = screening / fermi_wave_vector(points)
    factor_sx = enhancement(exchange_reduced_gradient(points, sigma_yx), nu_sx, large)
    return exchange(points, factor_sx)


def local_density(density_sx: Tensor, screening: float) -> Tensor:
    """The same without gradients."""
    points = prepare(density_sx, GGA_FLOOR)
    nu_sx = screening / fermi_wave_vector(points)
    return exchange(points, enhancement(0.0 * nu_sx, nu_sx, "printed"))


def _whole(density_sx: Tensor, sigma_yx: Tensor) -> Tensor:
    """Exchange of the hole without screening."""
    return exchange_density(density_sx, sigma_yx, 0.0, "smooth")


def _energy(density_sx: Tensor, sigma_yx: Tensor) -> Tensor:
    return _whole(density_sx, sigma_yx) + correlation_density(density_sx, sigma_yx, PBE)


FUNCTIONALS = (
    # of libxc's HSE06, whose own approximations (5.2) are 6e-7 of the exchange away
    Functional(
        "PE-HOLE", "PBE by its exchange hole", (DENSITY, SIGMA), _energy, (), ("PBE",), offered=False,
        shares=Shares(
            _whole, partial(exchange_of_gas, floor=GGA_FLOOR), partial(correlation_density, constants=PBE),
            gas_correlation(PBE.gas, GGA_FLOOR),
        ),
    ),
)

SHORT_RANGES = (
    ShortRange(("PE", "PE-EXACT"), exchange_density, local_density),
    ShortRange(("PE-HOLE",), partial(exchange_density, large="smooth"), local_density),
)
