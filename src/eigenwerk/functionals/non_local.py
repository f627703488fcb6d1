"""Non-local correlation: the kernels of Dion et al. and of rVV10, the wave vectors they take at points, usual recipes.

    E = 1/2 int int f(r) phi(q(r), q(r'), |r - r'|) f(r') dr dr'

q is given at each point by the density and its gradient, and so is the weight f.
Sources: M. Dion, H. Rydberg, E. Schroeder, D. C. Langreth and B. I. Lundqvist, Phys. Rev. Lett. 92, 246401 (2004);
G. Roman-Perez and J. M. Soler, Phys. Rev. Lett. 103, 096102 (2009), whose mesh and saturation of q these are; with spin
T. Thonhauser et al., Phys. Rev. Lett. 115, 136402 (2015); rVV10: R. Sabatini, T. Gorni and S. de Gironcoli, Phys. Rev.
B 87, 041108 (2013).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

from eigenwerk.functionals.functional import DENSITY, SIGMA, Functional
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.functionals.lda import PW92_MODIFIED, fermi_wave_vector, perdew_wang, prepare
from eigenwerk.functionals.pbe import GGA_FLOOR, exchange_reduced_gradient

if TYPE_CHECKING:
    from torch import Tensor

DION, RVV10 = "vdW-DF", "rVV10"

VDW_DF1, VDW_DF2 = -0.8491, -1.8867
"""Z_ab of the first and of the second van der Waals functional."""

TERMS = 12
"""Of the saturation."""

LARGEST_RATIO = 4.0
"""q/q_c from which on the saturated q is q_c in double precision."""

RVV10_FLOOR = 1e-9
"""Electrons per bohr³; far below, the weight of rVV10, n^(3/4), goes with n: its slope has no bound otherwise."""


@dataclass(frozen=True)
class NonLocal:
    """Which kernel, and its parameters.

    kernel: Dion's or that of rVV10 (IVDW_NL); gradient: Z_ab of Dion's (ZAB_VDW); b, c: of rVV10 (BPARAM, CPARAM);
    spin_resolved: q of the spin densities in place of that of the total (LSPIN_VDW).
    """

    kernel: str = DION
    gradient: float = VDW_DF1
    b: float = 6.3
    c: float = 0.0093
    spin_resolved: bool = False


def kernel_words(non_local: NonLocal) -> str:
    """'kernel of vdW-DF (ZAB_VDW = -0.8491)'."""
    if non_local.kernel == DION:
        words = f"ZAB_VDW = {non_local.gradient:g}"
    else:
        words = f"BPARAM = {non_local.b:g}, CPARAM = {non_local.c:g}"
    return f"kernel of {non_local.kernel} ({words}{', spin-resolved' if non_local.spin_resolved else ''})"


@dataclass(frozen=True)
class Mesh:
    """q_u between which functions of q are interpolated: first, then steps that grow by one factor up to the last.

    least: in place of a smaller first value.
    """

    first: float
    step: float
    last: float
    count: int = 20
    least: float = 0.0

    @property
    def factor(self) -> float:
        """Of one step to the next, so that the last is reached; by bisection."""
        low, high = 1.0 + 1e-9, 10.0
        for _ in range(100):
            middle = 0.5 * (low + high)
            reached = self.first + self.step * (middle ** (self.count - 1) - 1.0) / (middle - 1.0)
            low, high = (middle, high) if reached < self.last else (low, middle)
        return low

    @property
    def values(self) -> list[float]:
        """All q_u, bohr⁻¹ (Dion's) or bohr⁻² (rVV10)."""
        factor = self.factor
        inner = [self.first + self.step * (factor**u - 1.0) / (factor - 1.0) for u in range(self.count - 1)]
        return [max(inner[0], self.least), *inner[1:], self.last]


MESHES = {DION: Mesh(0.0, 0.0449420825586261, 5.0, least=1e-5), RVV10: Mesh(1e-4, 2e-4, 0.5)}
"""By kernel; q is saturated at the last value."""


def saturated(value_x: Tensor, last: float) -> Tensor:
    """q_c (1 - exp(-sum_m (q/q_c)^m / m)), m = 1 ... 12: q itself while it is small, never above q_c."""
    ratio_x = (value_x * (1.0 / last)).clamp(max=LARGEST_RATIO)
    sum_x = ratio_x * (1.0 / TERMS)
    for m in range(TERMS - 1, 0, -1):
        sum_x = ratio_x * (1.0 / m + sum_x)
    return -last * (-sum_x).expm1()


def dion_wave_vector(density_sx: Tensor, sigma_yx: Tensor, gradient: float) -> Tensor:
    """q = k_F (1 - Z_ab/9 s²) - 4 pi/3 e_c of the uniform gas, saturated, bohr⁻¹; arguments as of `pbe.energy_density`.

    With two channels the first part is the mean of theirs, weighted with their electrons.
    """
    points = prepare(density_sx, GGA_FLOOR)
    part_sx = fermi_wave_vector(points) * (1.0 - gradient / 9.0 * exchange_reduced_gradient(points, sigma_yx))
    exchange_x = (points.density_sx * part_sx).sum(0) / points.total_x
    gas_x = perdew_wang(points, PW92_MODIFIED)
    return saturated(exchange_x - (4.0 * math.pi / 3.0) * gas_x, MESHES[DION].last)


def rvv10_wave_vector(density_sx: Tensor, sigma_yx: Tensor, b: float, c: float) -> Tensor:
    """q = omega/kappa, omega² = C (|grad n|/n)⁴ + 4 pi n/3, kappa = 3 pi b/2 (n/9 pi)^(1/6), saturated, bohr⁻²."""
    mesh, points = MESHES[RVV10], prepare(density_sx, GGA_FLOOR)
    total_x = points.total_x
    ratio_x = sigma_yx[0] / total_x.square()
    omega_x = (c * ratio_x.square() + (4.0 * math.pi / 3.0) * total_x).sqrt()
    kappa_x = (1.5 * math.pi * b * (9.0 * math.pi) ** (-1.0 / 6.0)) * points.root_x.sqrt()
    return saturated(omega_x / kappa_x, mesh.last).clamp(min=mesh.first)


@cache
def wave_vector(non_local: NonLocal) -> Functional:
    """q at points as the "energy" of a functional, so that it is differentiated and compiled as one."""
    if non_local.kernel == DION:
        energy = partial(dion_wave_vector, gradient=non_local.gradient)
    else:
        energy = partial(rvv10_wave_vector, b=non_local.b, c=non_local.c)
    title = f"wave vectors of {non_local.kernel}"
    return Functional(title, title, (DENSITY, SIGMA), energy, (), (), offered=False)


def weight(non_local: NonLocal, density_x: Tensor) -> tuple[Tensor, Tensor]:
    """f and its derivative by the density: n, or n kappa^(-3/2) of rVV10."""
    if non_local.kernel == DION:
        return density_x, density_x.new_ones(())
    factor = (1.5 * math.pi * non_local.b) ** -1.5 * (9.0 * math.pi) ** 0.25
    square_x = density_x.square()
    above_x = square_x + RVV10_FLOOR**2
    root_x = factor * above_x.pow(-0.125)
    return density_x * root_x, root_x * (1.0 - 0.25 * square_x / above_x)


@dataclass(frozen=True)
class Recipe:
    """A functional by its usual name: tag of the semilocal part, share of gradient correlation, kernel."""

    name: str
    tag: str
    gradient_correlation: float
    non_local: NonLocal


_FIRST, _SECOND = NonLocal(), NonLocal(gradient=VDW_DF2)

RECIPES = (
    Recipe("vdW-DF", "RE", 0.0, _FIRST), Recipe("vdW-DF2", "ML", 0.0, _SECOND),
    Recipe("optPBE-vdW", "OR", 0.0, _FIRST), Recipe("optB88-vdW", "BO", 0.0, _FIRST),
    Recipe("optB86b-vdW", "MK", 0.0, _FIRST), Recipe("rev-vdW-DF2", "MK(0.1234568,0.7114)", 0.0, _SECOND),
    Recipe("vdW-DF-cx", "CX", 0.0, _FIRST),
    Recipe("C09-vdW", "GGA_X_C09X+LDA_C_PW", 1.0, _FIRST), Recipe("vdW-DF2-C09", "GGA_X_C09X+LDA_C_PW", 1.0, _SECOND),
    Recipe("rVV10", "ML", 1.0, NonLocal(RVV10)), Recipe("PBE+rVV10L", "PE", 1.0, NonLocal(RVV10, b=10.0)),
)  # fmt: skip

CLOSE = 1e-3
"""Relative difference of parameters that have one name: 0.711357 and 0.7114, -1.8867 and -1.887."""


def recipe_name(tag: str, hybrid: Hybrid | None, non_local: NonLocal) -> str | None:
    """The usual name of a functional with non-local correlation; None of a mixture that has none."""
    shares = Hybrid(0.0, 0.0, 1.0, 1.0) if hybrid is None else hybrid
    for recipe in RECIPES:
        whole = Hybrid(0.0, 0.0, 1.0, 1.0, recipe.gradient_correlation)
        if shares == whole and _close(numbers(tag), numbers(recipe.tag)) and _alike(non_local, recipe.non_local):
            return f"spin-resolved {recipe.name}" if non_local.spin_resolved else recipe.name
    return None


def numbers(tag: str) -> tuple[object, ...]:
    """Word and numbers of a tag: MK(0.12,0.8)."""
    word, _, rest = tag.rstrip(")").partition("(")
    return (word, *map(float, rest.split(","))) if rest else (word,)


def _close(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    if len(one) != len(other) or one[0] != other[0]:
        return False
    return all(math.isclose(a, b, rel_tol=CLOSE) for a, b in zip(one[1:], other[1:], strict=True))  # type: ignore[arg-type]


def _alike(one: NonLocal, other: NonLocal) -> bool:
    if one.kernel != other.kernel:
        return False
    pairs = [(one.gradient, other.gradient)] if one.kernel == DION else [(one.b, other.b), (one.c, other.c)]
    return all(math.isclose(a, b, rel_tol=CLOSE) for a, b in pairs)
