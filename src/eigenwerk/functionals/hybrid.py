"""What a hybrid functional is made of: exact exchange, and shares of a semilocal functional."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING

from eigenwerk.errors import InputError
from eigenwerk.functionals.functional import Functional, Shares, ShortRange
from eigenwerk.units import BOHR_ANGSTROM

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Hybrid:
    """E = a E_x^HF + g (E_x - E_x^LDA) + l E_x^LDA + h (E_c - E_c^LDA) + k E_c^LDA, bohr.

    With a screening the exact exchange has the interaction erfc(omega r)/r, and the shares of semilocal exchange are
    those of its short range; its long range counts whole.
    Source: J. P. Perdew, M. Ernzerhof and K. Burke, J. Chem. Phys. 105, 9982 (1996); screened: J. Heyd,
    G. E. Scuseria and M. Ernzerhof, J. Chem. Phys. 118, 8207 (2003).

    fraction: a (AEXX); screening: omega, bohr^-1 (HFSCREEN), 0 without; gradient_exchange, local_exchange,
    gradient_correlation, local_correlation: g, l, h, k (AGGAX, ALDAX, AGGAC, ALDAC).
    """

    fraction: float
    screening: float
    gradient_exchange: float
    local_exchange: float
    gradient_correlation: float = 1.0
    local_correlation: float = 1.0

    @classmethod
    def of(cls, fraction: float, screening: float = 0.0) -> Hybrid:
        """Exact exchange in place of as much semilocal exchange, all of the correlation: HSE06 is of(0.25, 0.11)."""
        return cls(fraction, screening, 1.0 - fraction, 1.0 - fraction)

    def __post_init__(self) -> None:
        if self.screening < 0.0:
            raise InputError(f"a screening of {self.screening:g} per bohr: it cannot be negative.")


@cache
def semilocal_part(functional: Functional, hybrid: Hybrid, short: ShortRange | None = None) -> Functional:
    """What a hybrid of a functional has besides exact exchange, itself a functional.

    short: the functional's exchange of short range, if there is such.
    Raises InputError where the functional has no shares, or no exchange of short range.
    """
    if functional.shares is None:
        raise InputError(f"there are no hybrids of {functional.title}.")
    if hybrid.screening and short is None:
        raise InputError(f"there is no screened exchange of {functional.title}, so no screened hybrid of it.")
    energy = partial(_energy, functional.shares, hybrid, short)
    title = title_of(functional, hybrid)
    return Functional(title, title, functional.ingredients, energy, (), functional.data, offered=False)


def title_of(functional: Functional, hybrid: Hybrid) -> str:
    """The usual name with the numbers behind it: 'HSE06: 25 % exact exchange screened by 0.2 per Å'."""
    if hybrid == HARTREE_FOCK:
        return "Hartree-Fock"
    numbers = f"{100 * hybrid.fraction:.6g} % exact exchange"
    if hybrid.screening:
        numbers += f" screened by {hybrid.screening / BOHR_ANGSTROM:.3g} per Å"
    found = [name for name, tags, known in NAMES if functional.tag in tags and _alike(hybrid, known)]
    if found:
        return f"{found[0]}: {numbers}"
    usual = Hybrid.of(hybrid.fraction, hybrid.screening)
    odd = [f"{tag} = {getattr(hybrid, field):g}" for tag, field in SHARES.items()
           if getattr(hybrid, field) != getattr(usual, field)]  # fmt: skip
    if not hybrid.fraction:
        return f"{functional.title} with {', '.join(odd)}" if odd else functional.title
    return f"hybrid of {functional.title}: {', '.join([numbers, *odd])}"


def _alike(one: Hybrid, other: Hybrid) -> bool:
    """Screenings of 0.2 per Å and of 0.11 per bohr have one name."""
    near = abs(one.screening - other.screening) <= 0.006
    return near and bool(one.screening) == bool(other.screening) and replace(one, screening=other.screening) == other


SHARES = {
    "AGGAX": "gradient_exchange", "ALDAX": "local_exchange", "AGGAC": "gradient_correlation",
    "ALDAC": "local_correlation",
}  # fmt: skip
"""Tags of INCAR for shares of the functional, and the fields of `Hybrid` that they are."""

HARTREE_FOCK = Hybrid(1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
B3LYP = Hybrid(0.2, 0.0, 0.72, 0.8, 0.81, 0.19)
"""Stephens et al., J. Phys. Chem. 98, 11623 (1994); of the functional B3 or B5 (`b3lyp`)."""

_PBE, _HSE06, _HSE03 = ("PE", "PE-EXACT", "PE-HOLE"), 0.2 * BOHR_ANGSTROM, 0.3 * BOHR_ANGSTROM

NAMES = (
    ("PBE0", _PBE, Hybrid.of(0.25)), ("HSE06", _PBE, Hybrid.of(0.25, _HSE06)), ("HSE03", _PBE, Hybrid.of(0.25, _HSE03)),
    ("PBEsol0", ("PS",), Hybrid.of(0.25)), ("HSEsol", ("PS",), Hybrid.of(0.25, _HSE06)),
    ("B3LYP", ("B3",), B3LYP), ("B3LYP with VWN5", ("B5",), B3LYP),
)  # fmt: skip
"""Usual names: name, functionals, hybrid."""


def _energy(shares: Shares, hybrid: Hybrid, short: ShortRange | None, *values: Tensor) -> Tensor:
    """Semilocal energy per volume of a hybrid, hartree/bohr³, from the ingredients of its functional."""
    density_sx = values[0]
    correlation = _weighted(
        hybrid.gradient_correlation, lambda: shares.correlation(*values),
        hybrid.local_correlation, lambda: shares.local_correlation(density_sx),
    )  # fmt: skip
    if not hybrid.screening or short is None:
        exchange = _weighted(
            hybrid.gradient_exchange, lambda: shares.exchange(*values),
            hybrid.local_exchange, lambda: shares.local_exchange(density_sx),
        )  # fmt: skip
    else:
        exchange = [shares.exchange(*values)] + _weighted(
            hybrid.gradient_exchange - 1.0, lambda: short.exchange(*values, hybrid.screening),
            hybrid.local_exchange - 1.0, lambda: short.local(density_sx, hybrid.screening),
        )  # fmt: skip
    # derivatives by all that the functional takes, also where nothing depends on it, as in Hartree-Fock
    nothing = [0.0 * value.sum(0) for value in values]
    return sum(correlation + exchange, start=sum(nothing[1:], start=nothing[0]))


def _weighted(gradient: float, whole: Callable[[], Tensor], local: float, gas: Callable[[], Tensor]) -> list[Tensor]:
    """The terms of gradient (whole - gas) + local gas, without those of no weight."""
    return [weight * energy() for weight, energy in ((gradient, whole), (local - gradient, gas)) if weight]
