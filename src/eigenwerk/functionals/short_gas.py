"""Short-range exchange of the uniform gas: the interaction erfc(omega r)/r.

Source: P. M. W. Gill, R. D. Adamson and J. A. Pople, Mol. Phys. 88, 1005 (1996).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from eigenwerk.functionals.functional import ShortRange
from eigenwerk.functionals.lda import LDA_FLOOR, exchange, fermi_wave_vector, prepare

if TYPE_CHECKING:
    from torch import Tensor

_LARGE = 2.0
"""nu from which on the series counts: the terms of the formula cancel there."""

_SERIES = tuple(-2.0 * (-1.0) ** n / (math.factorial(n) * (2 * n + 1) * (n + 1) * (n + 2)) for n in range(1, 11))
"""Of nu^-2: the formula, expanded."""


def factor(nu_sx: Tensor) -> Tensor:
    """Short range over whole exchange, nu = omega/k_F > 0.

    F = 1 - 8/3 a (pi^(1/2) erf(1/2a) - 3a + 4a³ + (2a - 4a³) exp(-1/4a²)), a = nu/2.
    """
    large_sx = nu_sx > _LARGE
    a_sx = 0.5 * nu_sx.where(~large_sx, _LARGE)
    half_sx = (0.5 / a_sx).square()
    inner_sx = math.sqrt(math.pi) * (0.5 / a_sx).erf() + a_sx * (
        -3.0 + 4.0 * a_sx.square() + (2.0 - 4.0 * a_sx.square()) * (-half_sx).exp()
    )
    power_sx = nu_sx.where(large_sx, _LARGE).square().reciprocal()
    total_sx = power_sx * _SERIES[-1]
    for term in _SERIES[-2::-1]:
        total_sx = power_sx * (total_sx + term)
    return total_sx.where(large_sx, 1.0 - (8.0 / 3.0) * a_sx * inner_sx)


def exchange_density(density_sx: Tensor, screening: float) -> Tensor:
    """Short-range exchange energy per volume, hartree/bohr^3; density_sx: (s, ...), screening: bohr^-1."""
    points = prepare(density_sx, LDA_FLOOR)
    return exchange(points, factor(screening / fermi_wave_vector(points)))


SHORT_RANGES = (ShortRange(("CA", "PW92"), exchange_density, exchange_density),)
