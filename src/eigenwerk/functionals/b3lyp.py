"""What B3LYP is made of: exchange of Becke, correlation of Lee, Yang and Parr and of Vosko, Wilk and Nusair.

Sources: A. D. Becke, Phys. Rev. A 38, 3098 (1988); C. Lee, W. Yang and R. G. Parr, Phys. Rev. B 37, 785 (1988), without
second derivatives after B. Miehlich, A. Savin, H. Stoll and H. Preuss, Chem. Phys. Lett. 157, 200 (1989); S. H. Vosko,
L. Wilk and M. Nusair, Can. J. Phys. 58, 1200 (1980); their mixture, P. J. Stephens, F. J. Devlin, C. F. Chabalowski and
M. J. Frisch, J. Phys. Chem. 98, 11623 (1994).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from eigenwerk.functionals.functional import DENSITY, SIGMA, Functional, LibxcPart, Shares
from eigenwerk.functionals.lda import (
    LDA_FLOOR,
    WIGNER_SEITZ,
    Points,
    exchange_density,
    masked,
    prepare,
    spin_interpolation,
)
from eigenwerk.functionals.lda import correlation_density as lda_correlation
from eigenwerk.functionals.pbe import GGA_FLOOR, gga_exchange

if TYPE_CHECKING:
    from torch import Tensor

_CURVATURE = 4.0 / (9.0 * (2.0 ** (1.0 / 3.0) - 1.0))
"""f''(0) of the interpolation between spin states."""

_BECKE = 0.0042
_TO_X = 2.0 * (6.0 * math.pi**2) ** (1.0 / 3.0)
"""|grad n_s| / n_s^(4/3) = _TO_X s."""

_CHANNEL = 1.5 * (3.0 / (4.0 * math.pi)) ** (1.0 / 3.0)
"""Exchange of the uniform gas per n_s^(4/3) of one channel, without its sign."""

BECKE_FLOOR = 1e-6
"""Densities up to this value (electrons per bohr³) carry no exchange of Becke.  F grows with s without bound: the noise
of densities in vacuum becomes one of potentials.  B3LYP of water and CO in boxes takes 18 and 53 steps with 1e-6, 21
and 122 with 1e-7, and has no self-consistency in 200 with 1e-12; 1e-6 and 1e-7 differ by 0.6 and 0.7 meV.  Switches of
the gradient part without a step, n²/(n² + n_0²) and n⁸/(n⁸ + n_0⁸), did not become self-consistent either."""

_FLAT = 1e-24
"""s² below this counts as this: x asinh(x) goes with s² there."""


def becke(reduced_sx: Tensor) -> Tensor:
    """Exchange enhancement of Becke from s²: F = 1 + beta/c x² / (1 + 6 beta x asinh x), x = |grad n_s|/n_s^(4/3)."""
    reduced_sx = reduced_sx + (_FLAT - reduced_sx.detach()).clamp(min=0.0)
    x_sx = _TO_X * reduced_sx.sqrt()
    return 1.0 + (_BECKE / _CHANNEL * _TO_X**2) * reduced_sx / (1.0 + 6.0 * _BECKE * x_sx * x_sx.asinh())


@dataclass(frozen=True)
class VoskoFit:
    """Coefficients of one function of Vosko, Wilk and Nusair: a, x_0, b, c."""

    a: float
    x0: float
    b: float
    c: float


@dataclass(frozen=True)
class Vosko:
    """Paramagnetic and ferromagnetic gas, and the spin stiffness or None: linear in f(zeta) then."""

    para: VoskoFit
    ferro: VoskoFit
    stiffness: VoskoFit | None = None


VWN5 = Vosko(
    para=VoskoFit(0.0310907, -0.10498, 3.72744, 12.9352),
    ferro=VoskoFit(0.01554535, -0.32500, 7.06042, 18.0578),
    stiffness=VoskoFit(-1.0 / (6.0 * math.pi**2), -0.0047584, 1.13107, 13.0045),
)
"""Fit to the Monte Carlo energies of Ceperley and Alder; libxc's LDA_C_VWN."""

VWN_RPA = Vosko(
    para=VoskoFit(0.0310907, -0.409286, 13.0720, 42.7198), ferro=VoskoFit(0.01554535, -0.743294, 20.1231, 101.578)
)
"""Fit to the random phase approximation, which the B3LYP of 1994 has; libxc's LDA_C_VWN_RPA."""


def _fit(fit: VoskoFit, root_x: Tensor) -> Tensor:
    """a {ln x²/X + 2b/Q atan Q/(2x + b) - b x0/X0 [ln (x - x0)²/X + 2 (b + 2 x0)/Q atan Q/(2x + b)]}, x = r_s^(1/2).

    X = x² + b x + c, X0 the same of x0, Q = (4c - b²)^(1/2).
    """
    width = math.sqrt(4.0 * fit.c - fit.b**2)
    share = fit.b * fit.x0 / (fit.x0**2 + fit.b * fit.x0 + fit.c)
    whole_x = (root_x * (root_x + fit.b) + fit.c).log()
    angle_x = (width / (2.0 * root_x + fit.b)).atan()
    linear = 2.0 * fit.b / width - share * 2.0 * (fit.b + 2.0 * fit.x0) / width
    logs_x = 2.0 * root_x.log() - 2.0 * share * (root_x - fit.x0).log() - (1.0 - share) * whole_x
    return fit.a * (logs_x + linear * angle_x)


def vosko(points: Points, constants: Vosko) -> Tensor:
    """Correlation energy per electron of the uniform gas, hartree; (x,)."""
    root_x = (WIGNER_SEITZ / points.root_x).sqrt()
    para_x = _fit(constants.para, root_x)
    if not points.polarised:
        return para_x
    between_x, change_x = spin_interpolation(points), _fit(constants.ferro, root_x) - para_x
    if constants.stiffness is None:
        return para_x + between_x * change_x
    stiff_x = _fit(constants.stiffness, root_x) * (1.0 / _CURVATURE)
    zeta4_x = ((points.density_sx[0] - points.density_sx[1]) / points.total_x).square().square()
    return para_x + between_x * (stiff_x + zeta4_x * (change_x - stiff_x))


LYP_FLOOR = 1e-14
"""Densities up to this value carry no correlation of Lee, Yang and Parr; libxc's value."""

_A, _B_LYP, _C_LYP, _D_LYP = 0.04918, 0.132, 0.2533, 0.349
_KINETIC = 2.0 ** (11.0 / 3.0) * 0.3 * (3.0 * math.pi**2) ** (2.0 / 3.0)


def lee_yang_parr(density_sx: Tensor, sigma_yx: Tensor) -> Tensor:
    """Correlation energy per volume, hartree/bohr^3; arguments as of `pbe.energy_density`.

    E = -4a/(1 + d n^(-1/3)) n_u n_d/n - a b w {n_u n_d [2^(11/3) C_F (n_u^(8/3) + n_d^(8/3)) + (47 - 7 D)/18 g
    - (45 - D)/18 (g_u + g_d) - (D - 11)/9 (n_u g_u + n_d g_d)/n] - 2/3 n² g + (2/3 n² - n_u²) g_d
    + (2/3 n² - n_d²) g_u}, w = exp(-c n^(-1/3)) / (1 + d n^(-1/3)) n^(-11/3),
    D = c n^(-1/3) + d n^(-1/3) / (1 + d n^(-1/3)); g of the whole gradient, g_u and g_d of those of the channels.
    """
    points = prepare(density_sx, LYP_FLOOR)
    up_x, down_x, up_yx, whole_yx, down_yx = _channels(points, sigma_yx)
    total_x, length_x = points.total_x, points.root_x.reciprocal()
    below_x = (1.0 + _D_LYP * length_x).reciprocal()
    delta_x = length_x * (_C_LYP + _D_LYP * below_x)
    # every term below has n^(8/3) and more in it: w is taken without as much
    weight_x = (-_C_LYP * length_x).exp() * below_x / (total_x.square() * total_x * points.root_x.square())
    share_u, share_d = up_x / total_x, down_x / total_x
    thirds_x = _eight_thirds(up_x) + _eight_thirds(down_x)
    inner_x = (
        _KINETIC * thirds_x
        + (47.0 - 7.0 * delta_x) / 18.0 * whole_yx
        - (45.0 - delta_x) / 18.0 * (up_yx + down_yx)
        - (delta_x - 11.0) / 9.0 * (share_u * up_yx + share_d * down_yx)
    )
    third_x = (2.0 / 3.0) * total_x.square()
    outer_x = -third_x * whole_yx + (third_x - up_x.square()) * down_yx + (third_x - down_x.square()) * up_yx
    energy_x = -4.0 * _A * below_x * up_x * share_d - _A * _B_LYP * weight_x * (up_x * down_x * inner_x + outer_x)
    return masked(points, energy_x)


def _eight_thirds(density_x: Tensor) -> Tensor:
    return density_x.pow(8.0 / 3.0)


def _channels(points: Points, sigma_yx: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """n_u, n_d, g_u, g, g_d; halves and quarters where there is one channel."""
    if not points.polarised:
        half_x, quarter_x = 0.5 * points.total_x, 0.25 * sigma_yx[0]
        return half_x, half_x, quarter_x, sigma_yx[0], quarter_x
    whole_yx = sigma_yx[0] + 2.0 * sigma_yx[1] + sigma_yx[2]
    return points.density_sx[0], points.density_sx[1], sigma_yx[0], whole_yx, sigma_yx[2]


def _gas(constants: Vosko) -> Callable[[Tensor], Tensor]:
    return partial(lda_correlation, correlation=partial(vosko, constants=constants), floor=LDA_FLOOR)


def _correlation(density_sx: Tensor, sigma_yx: Tensor, constants: Vosko) -> Tensor:
    """Both correlations, of which B3LYP takes 81 % and 19 %."""
    return lee_yang_parr(density_sx, sigma_yx) + _gas(constants)(density_sx)


def _energy(density_sx: Tensor, sigma_yx: Tensor, constants: Vosko, floor: float) -> Tensor:
    exchange_x = gga_exchange(density_sx, sigma_yx, becke, floor)
    return exchange_x + _correlation(density_sx, sigma_yx, constants)


def _b3(
    tag: str, title: str, constants: Vosko, floor: float = BECKE_FLOOR, libxc: tuple[str, ...] = (),
    offered: bool = True,
) -> Functional:  # fmt: skip
    energy, correlation = partial(_energy, constants=constants, floor=floor), partial(_correlation, constants=constants)
    exchange = partial(gga_exchange, factor=becke, floor=floor)
    shares = Shares(exchange, partial(exchange_density, floor=GGA_FLOOR), correlation, _gas(constants))
    return Functional(tag, title, (DENSITY, SIGMA), energy, libxc, ("PBE",), offered=offered, shares=shares)


BECKE_LYP = "gga_x_b88", "gga_c_lyp"

FUNCTIONALS = (
    _b3("B3", "Becke's exchange with LYP and VWN3", VWN_RPA),
    _b3("B5", "Becke's exchange with LYP and VWN5", VWN5),
    _b3("B3-EXACT", "B3 of all densities", VWN_RPA, GGA_FLOOR, (*BECKE_LYP, "lda_c_vwn_rpa"), False),
    _b3("B5-EXACT", "B5 of all densities", VWN5, GGA_FLOOR, (*BECKE_LYP, "lda_c_vwn"), False),
)

PARTS = (
    LibxcPart(
        "GGA_X_B88", 106, (DENSITY, SIGMA), partial(gga_exchange, factor=becke, floor=BECKE_FLOOR), ("PBE",)
    ),
    LibxcPart("GGA_C_LYP", 131, (DENSITY, SIGMA), lee_yang_parr, ("PBE",)),
    LibxcPart("LDA_C_VWN", 7, (DENSITY,), _gas(VWN5), ("LDA",)),
    LibxcPart("LDA_C_VWN_RPA", 8, (DENSITY,), _gas(VWN_RPA), ("LDA",)),
)
