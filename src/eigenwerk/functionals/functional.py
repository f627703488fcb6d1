"""What is declared of an exchange-correlation functional, and what energy densities are made of.

The files of this folder hold the formulas, as operations of the tensors they are given: torch itself is not loaded,
so that the reader of INCAR and the choice of data sets take names from here.  Derivatives: `dft/xc/evaluation.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

DENSITY, SIGMA, TAU = "density", "sigma", "tau"


@dataclass(frozen=True)
class Ingredient:
    """One argument of an energy density: its name in messages, its channels (first axis) without and with spin."""

    title: str
    channels: tuple[int, int]


INGREDIENTS = {
    DENSITY: Ingredient("electron densities", (1, 2)),
    SIGMA: Ingredient("squared gradients", (1, 3)),
    TAU: Ingredient("kinetic-energy densities", (1, 2)),
}
"""density: n, or up and down, electrons/bohr³; sigma: |∇n|², or up-up, up-down, down-down; tau: ½ Σ f |∇ψ|²."""


@dataclass(frozen=True, eq=False)
class Shares:
    """The parts of a functional of which hybrids take shares; their sum is the functional.

    exchange, correlation: energies per volume from the functional's ingredients; local_exchange, local_correlation:
    what is left of them without gradients, from the density alone.
    """

    exchange: Callable[..., Tensor]
    local_exchange: Callable[[Tensor], Tensor]
    correlation: Callable[..., Tensor]
    local_correlation: Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class ShortRange:
    """The exchange of some functionals (tags) with the interaction erfc(omega r)/r.

    exchange: energy per volume from the functionals' ingredients and omega, bohr⁻¹; local: what is left of it without
    gradients, from the density and omega.
    """

    tags: tuple[str, ...]
    exchange: Callable[..., Tensor]
    local: Callable[[Tensor, float], Tensor]


@dataclass(frozen=True, eq=False)  # each stands once in the table: looked up by identity at every call
class Functional:
    """One exchange-correlation functional.

    tag: its word in INCAR; title: the usual name; ingredients: arguments of the energy density in order; energy: energy
    per volume in hartree/bohr³ from these, (c, ...) each -> (...); libxc: the same functional in the naming of libxc
    (PE: but for rounding); data: functionals of the PAW data sets that serve it, best first; aliases: other spellings
    of the tag; offered: whether INCAR may ask for it; shares: its parts, without which there are no hybrids of it.
    """

    tag: str
    title: str
    ingredients: tuple[str, ...]
    energy: Callable[..., Tensor]
    libxc: tuple[str, ...]
    data: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    offered: bool = True
    shares: Shares | None = None


@dataclass(frozen=True, eq=False)
class Family:
    """Functionals of one tag with two numbers (PARAM1, PARAM2): those of its name, and what makes one of others.

    make: a tag of its own and the numbers -> the functional.
    """

    tag: str
    usual: tuple[float, float]
    make: Callable[[str, float, float], Functional]


@dataclass(frozen=True, eq=False)
class LibxcPart:
    """Exchange or correlation alone, by libxc's name (GGA_X_PBE) and number; the rest as of a `Functional`."""

    name: str
    number: int
    ingredients: tuple[str, ...]
    energy: Callable[..., Tensor]
    data: tuple[str, ...]

    @property
    def is_exchange(self) -> bool:
        return self.name.split("_")[1] == "X"
