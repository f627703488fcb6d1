"""Exchange that was made for functionals with non-local correlation: optPBE, optB88, optB86b, rPW86, C09, LV-rPW86.

Sources: optPBE and optB88, J. Klimes, D. R. Bowler and A. Michaelides, J. Phys.: Condens. Matter 22, 022201 (2010);
optB86b, the same, Phys. Rev. B 83, 195131 (2011); its form for rev-vdW-DF2, I. Hamada, Phys. Rev. B 89, 121103 (2014);
rPW86, E. D. Murray, K. Lee and D. C. Langreth, J. Chem. Theory Comput. 5, 2754 (2009); C09, V. R. Cooper, Phys. Rev. B
81, 161104 (2010); LV-rPW86, K. Berland and P. Hyldgaard, Phys. Rev. B 89, 035412 (2014).  Correlation is that of PBE,
of which functionals with Dion's kernel keep the uniform gas alone (AGGAC = 0).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from eigenwerk.functionals.functional import DENSITY, SIGMA, Family, Functional, LibxcPart, Shares
from eigenwerk.functionals.lda import exchange_density
from eigenwerk.functionals.pbe import GGA_FLOOR, PBE, gas_correlation, gga_exchange
from eigenwerk.functionals.pbe import correlation_density as pbe_correlation

if TYPE_CHECKING:
    from torch import Tensor

Factor = Callable[["Tensor"], "Tensor"]
"""F from s²."""

_FLAT = 1e-24
"""s² below this counts as this where a root of it is taken: all that holds s goes with s² there."""

_TO_X = 2.0 ** (4.0 / 3.0) * (3.0 * math.pi**2) ** (1.0 / 3.0)
"""|grad n_s| / n_s^(4/3) = _TO_X s."""

UNBOUND_FLOOR = 1e-6
"""Densities up to this value (electrons per bohr³) carry no exchange of factors that grow without bound, all but optPBE
and C09: as of Becke's (`b3lyp.BECKE_FLOOR`), the noise of densities in vacuum becomes one of potentials.  Water in a
box by optB88-vdW has no self-consistency in 14 steps with 1e-12, energies a tenth of an eV apart; with 1e-6 it,
optB86b-vdW and vdW-DF2 take 9 steps, as PBE does."""

OPTB88 = 0.22 / 1.2, 0.22
OPTB86B = 0.1234, 1.0


def opt_pbe(reduced_sx: Tensor) -> Tensor:
    """F = 1 + w kappa (1 - exp(-x)) + (1 - w) kappa (1 - 1/(1 + x)), x = mu s²/kappa: RPBE and PBE mixed."""
    share, kappa, mu = 0.054732, 1.04804, 0.175519
    ratio_sx = (mu / kappa) * reduced_sx
    rational_sx = 1.0 - 1.0 / (1.0 + ratio_sx)
    return 1.0 + (share * kappa) * -(-ratio_sx).expm1() + ((1.0 - share) * kappa) * rational_sx


def b88_form(reduced_sx: Tensor, beta: float, mu: float) -> Tensor:
    """F = 1 + mu s² / (1 + beta s asinh(c s)), c = 2^(4/3) (3 pi²)^(1/3); optB88: beta = mu/1.2, mu = 0.22."""
    reduced_sx = reduced_sx + (_FLAT - reduced_sx.detach()).clamp(min=0.0)
    root_sx = reduced_sx.sqrt()
    return 1.0 + mu * reduced_sx / (1.0 + beta * root_sx * (_TO_X * root_sx).asinh())


def b86_form(reduced_sx: Tensor, mu: float, kappa: float) -> Tensor:
    """F = 1 + mu s² / (1 + mu s²/kappa)^(4/5); optB86b: mu = 0.1234, kappa = 1; rev-vdW-DF2: 10/81, 0.7114."""
    return 1.0 + mu * reduced_sx * (1.0 + (mu / kappa) * reduced_sx).pow(-0.8)


def rpw86(reduced_sx: Tensor) -> Tensor:
    """F = (1 + 15 a s² + b s⁴ + c s⁶)^(1/15)."""
    return (1.0 + reduced_sx * (1.851 + reduced_sx * (17.33 + 0.163 * reduced_sx))).pow(1.0 / 15.0)


def c09(reduced_sx: Tensor) -> Tensor:
    """F = 1 + mu s² exp(-alpha s²) + kappa (1 - exp(-alpha s²/2))."""
    mu, kappa, alpha = 0.0617, 1.245, 0.0483
    half_sx = (-0.5 * alpha) * reduced_sx
    return 1.0 + mu * reduced_sx * (2.0 * half_sx).exp() - kappa * half_sx.expm1()


def lv_rpw86(reduced_sx: Tensor) -> Tensor:
    """F = (1 + mu s²) / (1 + alpha s⁶) + alpha s⁶ / (beta + alpha s⁶) F of rPW86, mu = 0.8491/9."""
    mu, alpha, beta = 0.8491 / 9.0, 0.02178, 1.15
    sixth_sx = alpha * reduced_sx * reduced_sx.square()
    return (1.0 + mu * reduced_sx) / (1.0 + sixth_sx) + (1.0 - beta / (beta + sixth_sx)) * rpw86(reduced_sx)


def energy_density(density_sx: Tensor, sigma_yx: Tensor, factor: Factor, floor: float) -> Tensor:
    """E_x F(s) + n (e_c + H) with PBE's correlation, hartree/bohr³; arguments as of `pbe.energy_density`."""
    return gga_exchange(density_sx, sigma_yx, factor, floor) + pbe_correlation(density_sx, sigma_yx, PBE)


def _functional(
    tag: str, title: str, factor: Factor, libxc: tuple[str, ...] = (), floor: float = UNBOUND_FLOOR,
    offered: bool = True,
) -> Functional:  # fmt: skip
    shares = Shares(
        partial(gga_exchange, factor=factor, floor=floor), partial(exchange_density, floor=GGA_FLOOR),
        partial(pbe_correlation, constants=PBE), gas_correlation(PBE.gas, GGA_FLOOR),
    )  # fmt: skip
    energy = partial(energy_density, factor=factor, floor=floor)
    return Functional(tag, title, (DENSITY, SIGMA), energy, libxc, ("PBE",), offered=offered, shares=shares)


def _exact(tag: str, title: str, factor: Factor, exchange: str) -> Functional:
    """The same of all densities, which is libxc's."""
    return _functional(f"{tag}-EXACT", f"{title} of all densities", factor, (exchange, "gga_c_pbe"), GGA_FLOOR, False)


def _b88(tag: str, beta: float, mu: float) -> Functional:
    form = partial(b88_form, beta=beta, mu=mu)
    return _functional(tag, f"B88 with beta = {beta:.6g}, mu = {mu:.6g}", form, offered=False)


def _b86(tag: str, mu: float, kappa: float) -> Functional:
    form = partial(b86_form, mu=mu, kappa=kappa)
    return _functional(tag, f"B86b with mu = {mu:.6g}, kappa = {kappa:.6g}", form, offered=False)


_OPTB88, _OPTB86B = partial(b88_form, beta=OPTB88[0], mu=OPTB88[1]), partial(b86_form, mu=OPTB86B[0], kappa=OPTB86B[1])

FUNCTIONALS = (
    _functional("OR", "optPBE", opt_pbe, ("gga_x_optpbe_vdw", "gga_c_pbe"), GGA_FLOOR),
    _functional("BO", "optB88", _OPTB88), _exact("BO", "optB88", _OPTB88, "gga_x_optb88_vdw"),
    _functional("MK", "optB86b", _OPTB86B),  # libxc (5.2) has mu = 10/81
    _functional("ML", "rPW86", rpw86), _exact("ML", "rPW86", rpw86, "gga_x_rpw86"),
    _functional("CX", "LV-rPW86", lv_rpw86), _exact("CX", "LV-rPW86", lv_rpw86, "gga_x_lv_rpw86"),
)  # fmt: skip

FAMILIES = (Family("BO", OPTB88, _b88), Family("MK", OPTB86B, _b86))


def _part(name: str, number: int, factor: Factor, floor: float = UNBOUND_FLOOR) -> LibxcPart:
    return LibxcPart(name, number, (DENSITY, SIGMA), partial(gga_exchange, factor=factor, floor=floor), ("PBE",))


PARTS = (
    _part("GGA_X_OPTB88_VDW", 139, _OPTB88),
    _part("GGA_X_OPTPBE_VDW", 141, opt_pbe, GGA_FLOOR),
    _part("GGA_X_RPW86", 144, rpw86),
    _part("GGA_X_C09X", 158, c09, GGA_FLOOR),
    _part("GGA_X_OPTB86B_VDW", 171, partial(b86_form, mu=10.0 / 81.0, kappa=1.0)),
    _part("GGA_X_B86_R", 41, partial(b86_form, mu=10.0 / 81.0, kappa=0.7114)),
    _part("GGA_X_LV_RPW86", 58, lv_rpw86),
)
