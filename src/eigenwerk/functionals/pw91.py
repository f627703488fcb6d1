"""The functional of Perdew and Wang of 1991.

Source: J. P. Perdew, J. A. Chevary, S. H. Vosko, K. A. Jackson, M. R. Pederson, D. J. Singh and C. Fiolhais,
Phys. Rev. B 46, 6671 (1992), equations 8 to 15.  The uniform-gas limit comes from `lda`, what it shares
with PBE from `pbe`.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from eigenwerk.functionals.functional import DENSITY, SIGMA, Functional, LibxcPart, Shares
from eigenwerk.functionals.lda import (
    PW92_PRINTED,
    WIGNER_SEITZ,
    Points,
    exchange,
    exchange_density,
    prepare,
    spin_scaling,
)
from eigenwerk.functionals.pbe import (
    GGA_FLOOR,
    PbeConstants,
    correlation,
    exchange_reduced_gradient,
    gas_correlation,
    gga_exchange,
    not_negative,
    reduced_gradient,
    total_gradient,
)

if TYPE_CHECKING:
    from torch import Tensor

_NU = (16.0 / math.pi) * (3.0 * math.pi**2) ** (1.0 / 3.0)
_C_ZERO, _C_EXCHANGE = 0.004235, -0.001667
_BETA = _NU * _C_ZERO
_ALPHA = 0.09
_H0 = PbeConstants(0.0, 0.0, "rational", _BETA, _BETA**2 / (2.0 * _ALPHA), PW92_PRINTED)
"""H_0 has the form of PBE's gradient correction, with beta = nu C_c(0) and gamma = beta^2 / (2 alpha)."""

_SCREENING = (4.0 / math.pi) * (3.0 * math.pi**2) ** (-1.0 / 3.0)
"""k_s^2/k_F^2 = _SCREENING / n^(1/3)."""

_FLAT = 1e-24
"""s^2 below this counts as this: the slope of s asinh(s) is that of s^2 there."""


def enhancement(reduced_sx: Tensor) -> Tensor:
    """Exchange enhancement F(s) from s^2.

    F = (1 + a s asinh(b s) + (c - d exp(-100 s^2)) s^2) / (1 + a s asinh(b s) + 0.004 s^4), a = 0.19645, b = 7.7956,
    c = 0.2743, d = 0.1508.
    """
    reduced_sx = reduced_sx + (_FLAT - reduced_sx.detach()).clamp(min=0.0)
    root_sx = reduced_sx.sqrt()
    common_sx = 1.0 + 0.19645 * root_sx * (7.7956 * root_sx).asinh()
    gradient_sx = (0.2743 - 0.1508 * (-100.0 * reduced_sx).exp()) * reduced_sx
    return (common_sx + gradient_sx) / (common_sx + 0.004 * reduced_sx.square())


def second_gradient_term(points: Points, sigma_x: Tensor, cubic: float) -> Tensor:
    """H_1 per electron, hartree; (x,).

    H_1 = nu (C_c(r_s) - C_c(0) - 3 C_x/7) phi^3 t^2 exp(-100 phi^4 (k_s/k_F)^2 t^2), C_c(r_s) = C_xc(r_s) - C_x with
    the C_xc of M. Rasolt and D. J. W. Geldart, Phys. Rev. B 34, 1325 (1986), cubic being its factor of r_s^3.
    """
    rs_x = WIGNER_SEITZ / points.root_x
    above_x = 2.568 + rs_x * (23.266 + 0.007389 * rs_x)
    below_x = 1.0 + rs_x * (8.723 + rs_x * (0.472 + cubic * rs_x))
    factor_x = 1e-3 * above_x / below_x - (_C_ZERO + (10.0 / 7.0) * _C_EXCHANGE)
    # phi^2 t^2 has no phi in it
    bare_x = reduced_gradient(points, sigma_x)
    exponent_x = (-100.0 * _SCREENING) * bare_x / points.root_x
    if not points.polarised:
        return _NU * factor_x * bare_x * exponent_x.exp()
    phi_x = spin_scaling(points)
    return _NU * factor_x * phi_x * bare_x * (phi_x.square() * exponent_x).exp()


def energy_density(density_sx: Tensor, sigma_yx: Tensor, cubic: float) -> Tensor:
    """PW91 exchange-correlation energy per volume, hartree/bohr^3; arguments as in `pbe.energy_density`."""
    points = prepare(density_sx, GGA_FLOOR)
    exchange_x = exchange(points, enhancement(exchange_reduced_gradient(points, sigma_yx)))
    correlation_x = points.electrons_x * electron_correlation(points, sigma_yx, cubic)
    return exchange_x + correlation_x.where(points.filled_x, 0.0)


def electron_correlation(points: Points, sigma_yx: Tensor, cubic: float) -> Tensor:
    """Correlation energy per electron, e_c + H_0 + H_1, hartree; (x,)."""
    sigma_x = not_negative(total_gradient(points, sigma_yx))
    return correlation(points, sigma_x, _H0) + second_gradient_term(points, sigma_x, cubic)


def correlation_density(density_sx: Tensor, sigma_yx: Tensor, cubic: float) -> Tensor:
    """The correlation part of `energy_density`."""
    points = prepare(density_sx, GGA_FLOOR)
    return (points.electrons_x * electron_correlation(points, sigma_yx, cubic)).where(points.filled_x, 0.0)


def _pw91(tag: str, title: str, cubic: float, libxc: tuple[str, ...], *aliases: str, offered: bool) -> Functional:
    energy = partial(energy_density, cubic=cubic)
    shares = Shares(
        partial(gga_exchange, factor=enhancement, floor=GGA_FLOOR),
        partial(exchange_density, floor=GGA_FLOOR),
        partial(correlation_density, cubic=cubic),
        gas_correlation(PW92_PRINTED, GGA_FLOOR),
    )
    return Functional(tag, title, (DENSITY, SIGMA), energy, libxc, ("PBE",), aliases, offered, shares)


FUNCTIONALS = (
    _pw91("91", "PW91", 0.07389, (), "PW91", offered=True),
    # libxc (5.2) leaves the term out: up to 3e-4 of the correlation energy where the density is low
    _pw91("91-LIBXC", "PW91 without the cubic term of C_xc", 0.0, ("gga_x_pw91", "gga_c_pw91"), offered=False),
)

_EXCHANGE = partial(gga_exchange, factor=enhancement, floor=GGA_FLOOR)

PARTS = (
    LibxcPart("GGA_X_PW91", 109, (DENSITY, SIGMA), _EXCHANGE, ("PBE",)),
    LibxcPart("GGA_C_PW91", 134, (DENSITY, SIGMA), partial(correlation_density, cubic=0.0), ("PBE",)),
)
