"""The PBE family of gradient-corrected functionals: PBE, PBEsol, RPBE, revPBE.

Source: J. P. Perdew, K. Burke and M. Ernzerhof, Phys. Rev. Lett. 77, 3865 (1996), erratum 78, 1396 (1997).
The uniform-gas limit comes from `lda`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from eigenwerk.functionals.functional import DENSITY, SIGMA, Functional, LibxcPart, Shares
from eigenwerk.functionals.lda import (
    PW92_MODIFIED,
    PW92_PRINTED,
    PerdewWang,
    Points,
    exchange,
    exchange_density,
    perdew_wang,
    prepare,
    spin_scaling,
)
from eigenwerk.functionals.lda import correlation_density as lda_correlation

if TYPE_CHECKING:
    from torch import Tensor

GGA_FLOOR = 1e-12
"""Densities up to this value (electrons per bohr^3) carry no energy and no potential; libxc's value for GGA_C_PBE."""

_S2 = 0.25 * (3.0 * math.pi**2) ** (-2.0 / 3.0)  # s^2 = _S2 sigma / n^(8/3)
_T2 = (math.pi / 16.0) * (3.0 * math.pi**2) ** (-1.0 / 3.0)  # t^2 = _T2 sigma / (phi^2 n^(7/3))


@dataclass(frozen=True)
class PbeConstants:
    """The numbers that tell one member of the family from another.

    kappa, mu and shape fix the exchange enhancement F(s); beta and gamma the gradient correction of correlation; gas
    the uniform-gas correlation.
    """

    kappa: float
    mu: float
    shape: Literal["rational", "exponential"]
    beta: float
    gamma: float
    gas: PerdewWang


_BETA = 0.06672455060314922
_MU = _BETA * math.pi**2 / 3.0
_GAMMA = (1.0 - math.log(2.0)) / math.pi**2

PBE = PbeConstants(0.804, _MU, "rational", _BETA, _GAMMA, PW92_MODIFIED)
"""beta to all digits, mu = beta pi^2/3, gamma = (1 - ln 2)/pi^2: libxc's GGA_X_PBE + GGA_C_PBE."""

PBESOL = PbeConstants(0.804, 10.0 / 81.0, "rational", 0.046, _GAMMA, PW92_MODIFIED)
"""J. P. Perdew et al., Phys. Rev. Lett. 100, 136406 (2008): libxc's GGA_X_PBE_SOL + GGA_C_PBE_SOL."""

RPBE = PbeConstants(0.804, _MU, "exponential", _BETA, _GAMMA, PW92_MODIFIED)
"""B. Hammer, L. B. Hansen and J. K. Norskov, Phys. Rev. B 59, 7413 (1999): libxc's GGA_X_RPBE + GGA_C_PBE."""

REVPBE = PbeConstants(1.245, _MU, "rational", _BETA, _GAMMA, PW92_MODIFIED)
"""Y. Zhang and W. Yang, Phys. Rev. Lett. 80, 890 (1998): libxc's GGA_X_PBE_R + GGA_C_PBE."""

PBE_PRINTED = PbeConstants(0.804, 0.066725 * math.pi**2 / 3.0, "rational", 0.066725, 0.031091, PW92_PRINTED)
"""PBE with the rounded numbers printed in the papers, as in GPAW's built-in PBE, which made the gpaw-data sets."""


def enhancement(reduced_sx: Tensor, constants: PbeConstants) -> Tensor:
    """Exchange enhancement F(s) from s^2.

    Rational (PBE): F = 1 + kappa - kappa / (1 + mu s^2/kappa).
    Exponential (RPBE): F = 1 + kappa (1 - exp(-mu s^2/kappa)).
    """
    if constants.shape == "exponential":
        return 1.0 - constants.kappa * ((-constants.mu / constants.kappa) * reduced_sx).expm1()
    # In this form the derivative has no difference of large terms at large s.
    kappa = constants.kappa
    return (1.0 + kappa) - kappa * kappa / (kappa + constants.mu * reduced_sx)


def exchange_reduced_gradient(points: Points, sigma_yx: Tensor) -> Tensor:
    """s^2 of each channel, s = |grad n| / (2 (3 pi^2)^(1/3) n^(4/3)); a spin channel counts with twice its density."""
    if not points.polarised:
        return _S2 * sigma_yx / (points.density_sx * points.root_sx).square()
    channel_sx = not_negative(sigma_yx[::2])
    return (_S2 * 2.0 ** (-2.0 / 3.0)) * channel_sx / (points.density_sx * points.root_sx).square()


def total_gradient(points: Points, sigma_yx: Tensor) -> Tensor:
    """|grad n|^2 of the total density, (x,)."""
    return sigma_yx[0] + 2.0 * sigma_yx[1] + sigma_yx[2] if points.polarised else sigma_yx[0]


def reduced_gradient(points: Points, sigma_x: Tensor) -> Tensor:
    """phi^2 t^2, t = |grad n| / (2 phi k_s n), k_s = (4 k_F/pi)^(1/2); (x,)."""
    return _T2 * sigma_x / (points.total_x.square() * points.root_x)


def not_negative(sigma_x: Tensor) -> Tensor:
    """max(sigma, 0) with slope 1 at 0, where gradients vanish; PyTorch's clamp has slope 0 there from 2.14 on."""
    return sigma_x.where(sigma_x >= 0.0, 0.0)


def correlation(points: Points, sigma_x: Tensor, constants: PbeConstants) -> Tensor:
    """Correlation energy per electron e_c + H, hartree; (x,).

    Printed: H = gamma phi^3 ln(1 + beta/gamma t^2 (1 + A t^2) / (1 + A t^2 + A^2 t^4)),
    A = beta/gamma / (exp(-e_c / (gamma phi^3)) - 1),  t = |grad n| / (2 phi k_s n),  k_s = (4 k_F/pi)^(1/2),
    phi = ((1 + zeta)^(2/3) + (1 - zeta)^(2/3)) / 2 (equations 7 and 8 of the PBE paper).
    With p = exp(e_c / (gamma phi^3)) - 1 and a = A t^2 = -beta/gamma t^2 (1 + p) / p the sum is
    e_c + H = gamma phi^3 ln(1 + p / (1 + a + a^2)),
    because e_c = gamma phi^3 ln(1 + p): the two terms, which cancel at large gradients, never meet.

    sigma_x: |grad n|^2 of the total density, not negative.
    """
    gas_x = perdew_wang(points, constants.gas)
    t2_x = (constants.beta / constants.gamma) * reduced_gradient(points, sigma_x)
    if not points.polarised:
        return constants.gamma * _screened_logarithm(gas_x * (1.0 / constants.gamma), t2_x)
    phi_x = spin_scaling(points)
    phi2_x = phi_x.square()
    scale_x = constants.gamma * phi_x * phi2_x
    return scale_x * _screened_logarithm(gas_x / scale_x, t2_x / phi2_x)


def _screened_logarithm(exponent_x: Tensor, t2_x: Tensor) -> Tensor:
    """ln(1 + p / (1 + a + a^2)) with p = exp(exponent) - 1 and a = -t2 (1 + p) / p."""
    p_x = exponent_x.expm1()
    a_x = t2_x * (-1.0 - p_x.reciprocal())
    return (p_x / (1.0 + a_x + a_x.square())).log1p()


def energy_density(density_sx: Tensor, sigma_yx: Tensor, constants: PbeConstants) -> Tensor:
    """PBE-type exchange-correlation energy per volume, hartree/bohr^3: E_x F(s) + n (e_c + H).

    density_sx: (s, ...) electrons/bohr^3; sigma_yx: (1, ...) |grad n|^2 or (3, ...) up-up, up-down, down-down,
    bohr^-8.  Returns (...), zero where all densities are below GGA_FLOOR.
    """
    points = prepare(density_sx, GGA_FLOOR)
    exchange_x = exchange(points, enhancement(exchange_reduced_gradient(points, sigma_yx), constants))
    correlation_x = points.electrons_x * correlation(
        points, not_negative(total_gradient(points, sigma_yx)), constants
    )
    return exchange_x + correlation_x.where(points.filled_x, 0.0)


def gga_exchange(density_sx: Tensor, sigma_yx: Tensor, factor: Callable[[Tensor], Tensor], floor: float) -> Tensor:
    """Exchange energy per volume with an enhancement factor(s^2); arguments as of `energy_density`."""
    points = prepare(density_sx, floor)
    return exchange(points, factor(exchange_reduced_gradient(points, sigma_yx)))


def correlation_density(density_sx: Tensor, sigma_yx: Tensor, constants: PbeConstants) -> Tensor:
    """The correlation part of `energy_density`."""
    points = prepare(density_sx, GGA_FLOOR)
    electron_x = correlation(points, not_negative(total_gradient(points, sigma_yx)), constants)
    return (points.electrons_x * electron_x).where(points.filled_x, 0.0)


def gas_correlation(gas: PerdewWang, floor: float) -> Callable[[Tensor], Tensor]:
    """Correlation energy per volume of the uniform gas with the floor of a gradient functional."""
    return partial(lda_correlation, correlation=partial(perdew_wang, constants=gas), floor=floor)


def _gga(
    tag: str, title: str, constants: PbeConstants, libxc: tuple[str, str], data: tuple[str, ...], *aliases: str,
    offered: bool = True,
) -> Functional:  # fmt: skip
    energy = partial(energy_density, constants=constants)
    shares = Shares(
        partial(gga_exchange, factor=partial(enhancement, constants=constants), floor=GGA_FLOOR),
        partial(exchange_density, floor=GGA_FLOOR),
        partial(correlation_density, constants=constants),
        gas_correlation(constants.gas, GGA_FLOOR),
    )
    return Functional(tag, title, (DENSITY, SIGMA), energy, libxc, data, aliases, offered, shares)


FUNCTIONALS = (
    # the constants of the PBE that made the data sets; PE-EXACT is 1e-6 of the energy apart (docs/equations/xc.md)
    _gga("PE", "PBE", PBE_PRINTED, ("gga_x_pbe", "gga_c_pbe"), ("PBE",), "PBE"),
    _gga("PS", "PBEsol", PBESOL, ("gga_x_pbe_sol", "gga_c_pbe_sol"), ("PBEsol", "PBE")),
    _gga("RP", "RPBE", RPBE, ("gga_x_rpbe", "gga_c_pbe"), ("RPBE", "PBE")),
    _gga("RE", "revPBE", REVPBE, ("gga_x_pbe_r", "gga_c_pbe"), ("revPBE", "PBE")),
    _gga("PE-EXACT", "PBE with unrounded constants", PBE, ("gga_x_pbe", "gga_c_pbe"), ("PBE",), offered=False),
)


def _exchange_part(name: str, number: int, constants: PbeConstants, *data: str) -> LibxcPart:
    energy = partial(gga_exchange, factor=partial(enhancement, constants=constants), floor=GGA_FLOOR)
    return LibxcPart(name, number, (DENSITY, SIGMA), energy, data)


def _correlation_part(name: str, number: int, constants: PbeConstants, *data: str) -> LibxcPart:
    return LibxcPart(name, number, (DENSITY, SIGMA), partial(correlation_density, constants=constants), data)


PARTS = (
    _exchange_part("GGA_X_PBE", 101, PBE, "PBE"),
    _exchange_part("GGA_X_PBE_R", 102, REVPBE, "revPBE", "PBE"),
    _exchange_part("GGA_X_PBE_SOL", 116, PBESOL, "PBEsol", "PBE"),
    _exchange_part("GGA_X_RPBE", 117, RPBE, "RPBE", "PBE"),
    _correlation_part("GGA_C_PBE", 130, PBE, "PBE"),
    _correlation_part("GGA_C_PBE_SOL", 133, PBESOL, "PBEsol", "PBE"),
)
