"""What a hybrid functional is made of: exact exchange, and shares of a semilocal functional."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

from eigenwerk.errors import InputError
from eigenwerk.functionals.functional import Functional

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
def semilocal_part(functional: Functional, hybrid: Hybrid) -> Functional:
    """What a hybrid of a functional has besides exact exchange, itself a functional.

    Raises InputError where the functional has no shares, or no exchange of short range.
    """
    shares = functional.shares
    if shares is None:
        raise InputError(f"there are no hybrids of {functional.title}.")
    if hybrid.screening and shares.short_exchange is None:
        raise InputError(f"there is no screened exchange of {functional.title}, so no screened hybrid of it.")
    energy = partial(_energy, functional, hybrid)
    title = title_of(functional, hybrid)
    return Functional(title, title, functional.ingredients, energy, (), functional.data, offered=False)


def title_of(functional: Functional, hybrid: Hybrid) -> str:
    """The usual name of a hybrid with the numbers behind it: 'PBE0, 25 % exact exchange'."""
    numbers = f"{100 * hybrid.fraction:g} % exact exchange"
    return f"hybrid of {functional.title}, {numbers}"


def _energy(functional: Functional, hybrid: Hybrid, *values: Tensor) -> Tensor:
    """Semilocal energy per volume of a hybrid, hartree/bohr³, from the ingredients of its functional."""
    shares, density_sx = functional.shares, values[0]
    assert shares is not None
    correlation = _weighted(
        hybrid.gradient_correlation, lambda: shares.correlation(*values),
        hybrid.local_correlation, lambda: shares.local_correlation(density_sx),
    )  # fmt: skip
    short, short_local = shares.short_exchange, shares.short_local
    if not hybrid.screening or short is None or short_local is None:
        exchange = _weighted(
            hybrid.gradient_exchange, lambda: shares.exchange(*values),
            hybrid.local_exchange, lambda: shares.local_exchange(density_sx),
        )  # fmt: skip
    else:
        exchange = [shares.exchange(*values)] + _weighted(
            hybrid.gradient_exchange - 1.0, lambda: short(*values, hybrid.screening),
            hybrid.local_exchange - 1.0, lambda: short_local(density_sx, hybrid.screening),
        )  # fmt: skip
    # derivatives by all that the functional takes, also where nothing depends on it, as in Hartree-Fock
    nothing = [0.0 * value.sum(0) for value in values]
    return sum(correlation + exchange, start=sum(nothing[1:], start=nothing[0]))


def _weighted(gradient: float, whole: Callable[[], Tensor], local: float, gas: Callable[[], Tensor]) -> list[Tensor]:
    """The terms of gradient (whole - gas) + local gas, without those of no weight."""
    return [weight * energy() for weight, energy in ((gradient, whole), (local - gradient, gas)) if weight]
