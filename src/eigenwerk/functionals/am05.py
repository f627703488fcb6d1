"""The functional of Armiento and Mattsson of 2005, made of the uniform gas and of the Airy gas at surfaces.

Sources: R. Armiento and A. E. Mattsson, Phys. Rev. B 72, 085108 (2005); with spin: A. E. Mattsson and R. Armiento,
Phys. Rev. B 79, 155101 (2009).  The uniform-gas limit comes from `lda`.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from eigenwerk.functionals.functional import DENSITY, SIGMA, Functional, LibxcPart, Shares
from eigenwerk.functionals.lda import (
    LDA_FLOOR,
    PW92_MODIFIED,
    Points,
    exchange,
    exchange_density,
    masked,
    perdew_wang,
    prepare,
)
from eigenwerk.functionals.pbe import exchange_reduced_gradient, gas_correlation, gga_exchange

if TYPE_CHECKING:
    from torch import Tensor

_ALPHA, _GAMMA, _C = 2.804, 0.8098, 0.7168
_D = ((4.0 / 3.0) ** (1.0 / 3.0) * 2.0 * math.pi / 3.0) ** 4

AM05_FLOOR = 1e-9
"""Densities up to this value (electrons per bohr^3) carry no energy and no potential. F grows with s without bound:
the noise of densities in vacuum becomes one of potentials, and a water molecule takes 41 steps with 1e-10, 18 with
1e-9, at 0.02 meV."""

_FLAT = 1e-24
"""s^2 below this counts as this: all that holds s goes with s^2 there."""

_ROUNDS = 3
"""Steps of Halley's, each of which cubes the error of Lambert's W, at first below 1 %."""


def lambert_w(z_x: Tensor) -> Tensor:
    """W of W exp W = z, z >= 0.

    First guess: R. Iacono and J. P. Boyd, Adv. Comput. Math. 43, 1403 (2017).
    """
    log_x = z_x.log1p()
    w_x = log_x * (1.0 - log_x.log1p() / (2.0 + log_x))
    for _ in range(_ROUNDS):
        # exp(-W) keeps the numbers small where z is large
        error_x = w_x - z_x * (-w_x).exp()
        w_x = w_x - error_x / (w_x + 1.0 - 0.5 * (w_x + 2.0) * error_x / (w_x + 1.0))
    return w_x


def bulk_share(reduced_sx: Tensor) -> Tensor:
    """X = 1 / (1 + alpha s^2), the share of the uniform gas, from s^2."""
    return (1.0 + _ALPHA * reduced_sx).reciprocal()


def enhancement(reduced_sx: Tensor) -> Tensor:
    """Exchange enhancement X + (1 - X) F from s^2.

    F = (c s^2 + 1) / (c s^2/F_b + 1), F_b = pi s / (3 xi (d + xi^2)^(1/4)), xi = (3/2 W(s^(3/2) / sqrt 24))^(2/3).
    """
    reduced_sx = reduced_sx + (_FLAT - reduced_sx.detach()).clamp(min=0.0)
    root_sx = reduced_sx.sqrt()
    xi_sx = (1.5 * lambert_w(root_sx * root_sx.sqrt() * (1.0 / math.sqrt(24.0)))).pow(2.0 / 3.0)
    airy_sx = (3.0 * _C / math.pi) * root_sx * xi_sx * (_D + xi_sx.square()).pow(0.25)
    surface_sx = (_C * reduced_sx + 1.0) / (airy_sx + 1.0)
    share_sx = bulk_share(reduced_sx)
    return share_sx + (1.0 - share_sx) * surface_sx


def energy_density(density_sx: Tensor, sigma_yx: Tensor, floor: float) -> Tensor:
    """AM05 exchange-correlation energy per volume, hartree/bohr^3; arguments as in `pbe.energy_density`.

    Correlation: e_c of the uniform gas times X + (1 - X) gamma of each spin, weighted with its electrons.
    """
    points = prepare(density_sx, floor)
    reduced_sx = exchange_reduced_gradient(points, sigma_yx)
    correlation_x = _correlation(points, density_sx, reduced_sx)
    return exchange(points, enhancement(reduced_sx)) + masked(points, correlation_x)


def _correlation(points: Points, density_sx: Tensor, reduced_sx: Tensor) -> Tensor:
    share_sx = bulk_share(reduced_sx)
    factor_sx = share_sx + (1.0 - share_sx) * _GAMMA
    return perdew_wang(points, PW92_MODIFIED) * (density_sx * factor_sx).sum(0)


def correlation_density(density_sx: Tensor, sigma_yx: Tensor, floor: float) -> Tensor:
    """The correlation part of `energy_density`."""
    points = prepare(density_sx, floor)
    correlation_x = _correlation(points, density_sx, exchange_reduced_gradient(points, sigma_yx))
    return masked(points, correlation_x)


def _am05(tag: str, title: str, floor: float, libxc: tuple[str, ...], *aliases: str, offered: bool) -> Functional:
    energy = partial(energy_density, floor=floor)
    shares = Shares(
        partial(gga_exchange, factor=enhancement, floor=floor),
        partial(exchange_density, floor=floor),
        partial(correlation_density, floor=floor),
        gas_correlation(PW92_MODIFIED, floor),
    )
    return Functional(tag, title, (DENSITY, SIGMA), energy, libxc, ("PBE",), aliases, offered, shares)


FUNCTIONALS = (
    _am05("AM", "AM05", AM05_FLOOR, (), "AM05", offered=True),
    _am05("AM-EXACT", "AM05 of all densities", LDA_FLOOR, ("gga_x_am05", "gga_c_am05"), offered=False),
)

_EXCHANGE = partial(gga_exchange, factor=enhancement, floor=LDA_FLOOR)

PARTS = (
    LibxcPart("GGA_X_AM05", 120, (DENSITY, SIGMA), _EXCHANGE, ("PBE",)),
    LibxcPart("GGA_C_AM05", 135, (DENSITY, SIGMA), partial(correlation_density, floor=LDA_FLOOR), ("PBE",)),
)
