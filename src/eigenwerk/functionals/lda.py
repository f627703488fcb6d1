"""Local density approximation: exchange and correlation of the uniform electron gas.

Everything here is pointwise in the density.  The two parametrisations of correlation (Perdew-Wang 92, Perdew-Zunger
81) give the energy per electron; `pbe` builds upon the first.

Spin axis `s`: one entry means the total density of an unpolarised system, two entries are up and down.  The one-channel
case is written out separately where the spin functions vanish, so unpolarised calculations pay for no zeta terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from eigenwerk.functionals.functional import DENSITY, Functional, LibxcPart, Shares

if TYPE_CHECKING:
    from torch import Tensor

LDA_FLOOR = 1e-15
"""Densities up to this value (electrons per bohr^3) carry no energy and no potential; libxc's value for the LDA."""

EXCHANGE = -0.75 * (3.0 / math.pi) ** (1.0 / 3.0)
"""Exchange energy per volume of the uniform gas is EXCHANGE * n^(4/3)."""

WIGNER_SEITZ = (3.0 / (4.0 * math.pi)) ** (1.0 / 3.0)
"""r_s = WIGNER_SEITZ / n^(1/3)."""

_FERMI = (3.0 * math.pi**2) ** (1.0 / 3.0)
_CBRT2 = 2.0 ** (1.0 / 3.0)
_SPIN_NORM = 1.0 / (2.0 * _CBRT2 - 2.0)


EMPTY = 1e-5
"""A spin channel with less than half of this share of the electrons counts as empty in `spin_scaling`."""


@dataclass(frozen=True)
class Points:
    """Densities and their cube roots at a set of points, safe to divide by.

    density_sx, root_sx: (s, x) channels not below the floor and their cube roots (one channel: the total density);
    total_x, root_x: (x,) the same for the sum; electrons_x: (x,) the true sum, the weight of energies per electron;
    filled_sx, filled_x: where the true values exceed the floor.
    """

    density_sx: Tensor
    root_sx: Tensor
    total_x: Tensor
    root_x: Tensor
    electrons_x: Tensor
    filled_sx: Tensor
    filled_x: Tensor

    @property
    def polarised(self) -> bool:
        return self.density_sx.shape[0] == 2


def cube_root(value_x: Tensor) -> Tensor:
    """Cube root of positive numbers."""
    return value_x.pow(1.0 / 3.0)


def prepare(density_sx: Tensor, floor: float) -> Points:
    """Raise densities below the floor to it, so that no power or quotient can overflow.

    The derivative passes through unchanged (the added amount is a constant): an empty minority channel then gets the
    potential of the lowest density we evaluate, as in libxc.  Energies must be masked so that none has a step where the
    channels of a truncated density have opposite signs: exchange by channel, what is in proportion to all electrons by
    filled_x, other energies by `masked`.
    """
    raised_sx = density_sx + (floor - density_sx.detach()).clamp(min=0.0)
    root_sx = cube_root(raised_sx)
    electrons_x = density_sx[0] if density_sx.shape[0] == 1 else density_sx[0] + density_sx[1]
    total_x = raised_sx[0] if density_sx.shape[0] == 1 else raised_sx[0] + raised_sx[1]
    root_x = root_sx[0] if density_sx.shape[0] == 1 else cube_root(total_x)
    return Points(raised_sx, root_sx, total_x, root_x, electrons_x, density_sx > floor, electrons_x > floor)


def masked(points: Points, energy_x: Tensor) -> Tensor:
    """Zero where no channel is above the floor."""
    found_x = energy_x.where(points.filled_sx[0], 0.0)
    return energy_x.where(points.filled_sx[1], found_x) if points.polarised else found_x


def fermi_wave_vector(points: Points) -> Tensor:
    """k_F = (3 pi² n)^(1/3) of each channel, which counts with twice its density, bohr^-1; (s, x)."""
    return (_FERMI * (_CBRT2 if points.polarised else 1.0)) * points.root_sx


def exchange(points: Points, enhancement_sx: Tensor | None = None) -> Tensor:
    """Exchange energy per volume, hartree/bohr^3.

    E_x[n] = -3/4 (3/pi)^(1/3) n^(4/3) F,  E_x[n_up, n_dn] = (E_x[2 n_up] + E_x[2 n_dn]) / 2.
    Source: P. A. M. Dirac, Proc. Camb. Phil. Soc. 26, 376 (1930); spin scaling G. L. Oliver and J. P. Perdew,
    Phys. Rev. A 20, 397 (1979).

    enhancement_sx: (s, x) factor F of each channel, or None for F = 1.  Returns (x,), without channels up to the floor.
    """
    energy_sx = points.density_sx * points.root_sx
    if enhancement_sx is not None:
        energy_sx = energy_sx * enhancement_sx
    # A channel at the floor is an empty one: its floor value must not add to the energy of the other.
    energy_sx = energy_sx.where(points.filled_sx, 0.0)
    if not points.polarised:
        return EXCHANGE * energy_sx[0]
    return (_CBRT2 * EXCHANGE) * (energy_sx[0] + energy_sx[1])


@dataclass(frozen=True)
class GasFit:
    """Coefficients of one PW92 function G(r_s)."""

    a: float
    alpha: float
    beta1: float
    beta2: float
    beta3: float
    beta4: float


@dataclass(frozen=True)
class PerdewWang:
    """Coefficients of PW92: paramagnetic gas, ferromagnetic gas, minus the spin stiffness, and f''(0)."""

    para: GasFit
    ferro: GasFit
    stiffness: GasFit
    curvature: float


PW92_PRINTED = PerdewWang(
    para=GasFit(0.031091, 0.21370, 7.5957, 3.5876, 1.6382, 0.49294),
    ferro=GasFit(0.015545, 0.20548, 14.1189, 6.1977, 3.3662, 0.62517),
    stiffness=GasFit(0.016887, 0.11125, 10.357, 3.6231, 0.88026, 0.49671),
    curvature=1.709921,
)
"""Table I of the paper as printed; libxc's LDA_C_PW.  Used by the LDA named PW92."""

PW92_MODIFIED = PerdewWang(
    para=GasFit(0.0310907, 0.21370, 7.5957, 3.5876, 1.6382, 0.49294),
    ferro=GasFit(0.01554535, 0.20548, 14.1189, 6.1977, 3.3662, 0.62517),
    stiffness=GasFit(0.0168869, 0.11125, 10.357, 3.6231, 0.88026, 0.49671),
    curvature=4.0 / (9.0 * (_CBRT2 - 1.0)),
)
"""One more digit in A, and the exact f''(0); libxc's LDA_C_PW_MOD.  Used inside PBE and its relatives."""


def _gas_fit(fit: GasFit, rs_x: Tensor, sqrt_rs_x: Tensor) -> Tensor:
    """G(r_s) = -2A (1 + alpha r_s) ln(1 + 1 / (2A (b1 r_s^1/2 + b2 r_s + b3 r_s^3/2 + b4 r_s^2)))."""
    a2 = 2.0 * fit.a
    lower_x = sqrt_rs_x * (a2 * fit.beta1 + a2 * fit.beta3 * rs_x) + rs_x * (a2 * fit.beta2 + a2 * fit.beta4 * rs_x)
    return (-a2 - a2 * fit.alpha * rs_x) * lower_x.reciprocal().log1p()


def spin_roots(points: Points) -> Tensor:
    """(1 + zeta)^(1/3) and (1 - zeta)^(1/3), zeta = (n_up - n_dn) / n; (2, x).

    Taken from the channels, never from 1 -+ zeta, so a nearly empty channel keeps its digits.
    """
    return points.root_sx * (_CBRT2 / points.root_x)


def spin_scaling(points: Points) -> Tensor:
    """phi = ((1 + zeta)^(2/3) + (1 - zeta)^(2/3)) / 2, with which gradient corrections of correlation go; (x,).

    The slope of y^(2/3) has no bound at y = 0, so y^2 / (y^4 + EMPTY^4)^(1/3) stands for it: the same at 0 and, but for
    EMPTY^4 / 3 y^4, above EMPTY, and flat at 0, where a channel without electrons feels no force.
    """
    share2_sx = ((2.0 / points.total_x) * points.density_sx).square()
    scaling_sx = share2_sx / cube_root(share2_sx.square() + EMPTY**4)
    return 0.5 * (scaling_sx[0] + scaling_sx[1])


def spin_interpolation(points: Points) -> Tensor:
    """f(zeta) = ((1 + zeta)^(4/3) + (1 - zeta)^(4/3) - 2) / (2^(4/3) - 2)."""
    square_sx = spin_roots(points).square()
    return (square_sx[0].square() + square_sx[1].square() - 2.0) * _SPIN_NORM


def perdew_wang(points: Points, constants: PerdewWang) -> Tensor:
    """Correlation energy per electron of the uniform gas after Perdew and Wang, hartree; (x,).

    e(r_s, zeta) = e_0 - G_a f(zeta)/f''(0) (1 - zeta^4) + (e_1 - e_0) f(zeta) zeta^4, G_a = -(spin stiffness).
    Source: J. P. Perdew and Y. Wang, Phys. Rev. B 45, 13244 (1992), equations 8 to 10 and table I.
    """
    rs_x = WIGNER_SEITZ / points.root_x
    sqrt_rs_x = rs_x.sqrt()
    para_x = _gas_fit(constants.para, rs_x, sqrt_rs_x)
    if not points.polarised:
        return para_x
    ferro_x = _gas_fit(constants.ferro, rs_x, sqrt_rs_x)
    stiff_x = _gas_fit(constants.stiffness, rs_x, sqrt_rs_x) * (1.0 / constants.curvature)
    zeta4_x = ((points.density_sx[0] - points.density_sx[1]) / points.total_x).square().square()
    return para_x + spin_interpolation(points) * (zeta4_x * (ferro_x - para_x + stiff_x) - stiff_x)


def _zunger_fit(rs_x: Tensor, gamma: float, beta: tuple[float, float], dense: tuple[float, ...]) -> Tensor:
    """gamma / (1 + b1 r_s^1/2 + b2 r_s) for r_s >= 1, else A ln r_s + B + C r_s ln r_s + D r_s."""
    a, b, c, d = dense
    log_x = rs_x.log()
    dilute_x = gamma / (1.0 + beta[0] * rs_x.sqrt() + beta[1] * rs_x)
    return dilute_x.where(rs_x >= 1.0, a * log_x + b + c * rs_x * log_x + d * rs_x)


def perdew_zunger(points: Points) -> Tensor:
    """Correlation energy per electron of the uniform gas after Perdew and Zunger, hartree; (x,).

    Fit to the Monte Carlo energies of Ceperley and Alder; e = e_0 + f(zeta) (e_1 - e_0).  The printed coefficients
    leave a jump of about 3e-5 hartree at r_s = 1; it is part of the functional (libxc's LDA_C_PZ).
    Source: J. P. Perdew and A. Zunger, Phys. Rev. B 23, 5048 (1981), table XII.
    """
    rs_x = WIGNER_SEITZ / points.root_x
    para_x = _zunger_fit(rs_x, -0.1423, (1.0529, 0.3334), (0.0311, -0.048, 0.0020, -0.0116))
    if not points.polarised:
        return para_x
    ferro_x = _zunger_fit(rs_x, -0.0843, (1.3981, 0.2611), (0.01555, -0.0269, 0.0007, -0.0048))
    return para_x + spin_interpolation(points) * (ferro_x - para_x)


def energy_density(density_sx: Tensor, correlation: Callable[[Points], Tensor]) -> Tensor:
    """LDA exchange-correlation energy per volume, hartree/bohr^3: E_x + n e_c.

    density_sx: (s, ...) electrons/bohr^3.  Returns (...), zero where the density is low.
    """
    points = prepare(density_sx, LDA_FLOOR)
    return exchange(points) + (points.electrons_x * correlation(points)).where(points.filled_x, 0.0)


def exchange_density(density_sx: Tensor, floor: float = LDA_FLOOR) -> Tensor:
    """The exchange part of `energy_density`."""
    return exchange(prepare(density_sx, floor))


def correlation_density(
    density_sx: Tensor, correlation: Callable[[Points], Tensor], floor: float = LDA_FLOOR
) -> Tensor:
    """The correlation part of `energy_density`."""
    points = prepare(density_sx, floor)
    return (points.electrons_x * correlation(points)).where(points.filled_x, 0.0)


def _lda(tag: str, title: str, correlation: Callable[[Points], Tensor], part: str, *aliases: str) -> Functional:
    energy = partial(energy_density, correlation=correlation)
    gas = partial(correlation_density, correlation=correlation)
    shares = Shares(exchange_density, exchange_density, gas, gas)
    return Functional(tag, title, (DENSITY,), energy, ("lda_x", part), ("LDA",), aliases, shares=shares)


FUNCTIONALS = (
    _lda("CA", "LDA of Perdew and Zunger", perdew_zunger, "lda_c_pz", "PZ"),
    _lda("PW92", "LDA of Perdew and Wang", partial(perdew_wang, constants=PW92_PRINTED), "lda_c_pw"),
)


def _correlation_part(name: str, number: int, correlation: Callable[[Points], Tensor]) -> LibxcPart:
    return LibxcPart(name, number, (DENSITY,), partial(correlation_density, correlation=correlation), ("LDA",))


PARTS = (
    LibxcPart("LDA_X", 1, (DENSITY,), exchange_density, ("LDA",)),
    _correlation_part("LDA_C_PZ", 9, perdew_zunger),
    _correlation_part("LDA_C_PW", 12, partial(perdew_wang, constants=PW92_PRINTED)),
    _correlation_part("LDA_C_PW_MOD", 13, partial(perdew_wang, constants=PW92_MODIFIED)),
)
