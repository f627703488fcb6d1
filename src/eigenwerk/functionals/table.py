"""The one table of functionals: all that the files of this folder declare.

A file with a tuple FUNCTIONALS, or PARTS of libxc's names, is enough: tags, messages, the choice of data sets and the
page of INCAR tags follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from eigenwerk.errors import InputError
from eigenwerk.functionals.functional import DENSITY, INGREDIENTS, Family, Functional, LibxcPart, ShortRange
from eigenwerk.functionals.hybrid import B3LYP, Hybrid, semilocal_part

if TYPE_CHECKING:
    from torch import Tensor

DEFAULT = "PE"
"""Tag of the functional of an INCAR that names none."""


def _declared(name: str) -> Iterator[Any]:
    for file in iter_modules([str(Path(__file__).parent)]):
        if file.name != "table":
            yield from getattr(import_module(f"eigenwerk.functionals.{file.name}"), name, ())


def _order(functional: Functional) -> tuple[bool, bool]:
    """The default first, those of the density alone last."""
    return functional.tag != DEFAULT, functional.ingredients == (DENSITY,)


FUNCTIONALS: dict[str, Functional] = {entry.tag: entry for entry in sorted(_declared("FUNCTIONALS"), key=_order)}
"""By tag."""

PARTS: dict[str, LibxcPart] = {
    part.name: part
    for part in sorted(_declared("PARTS"), key=lambda part: (not part.is_exchange, part.number))
}
"""By libxc's name, exchange first."""

SHORT_RANGES: dict[str, ShortRange] = {tag: entry for entry in _declared("SHORT_RANGES") for tag in entry.tags}
"""By the tag of the functional."""

FAMILIES: dict[str, Family] = {entry.tag: entry for entry in _declared("FAMILIES")}
"""By the tag of the functional, of which it has the usual numbers."""

LIBXC_HYBRIDS: dict[str, tuple[str, Hybrid]] = {
    "HYB_GGA_XC_B3LYP": ("B3", B3LYP),
    "HYB_GGA_XC_B3LYP5": ("B5", B3LYP),
    "HYB_GGA_XC_PBEH": ("PE-EXACT", Hybrid.of(0.25)),
    "HYB_GGA_XC_HSE06": ("PE-HOLE", Hybrid.of(0.25, 0.11)),
}
"""libxc's names of hybrids: the tag of the functional and what is taken of it."""

OFFERED = tuple(functional for functional in FUNCTIONALS.values() if functional.offered)
"""Those that INCAR may ask for by tag."""


def listed(functionals: tuple[Functional, ...] = OFFERED) -> str:
    """PE (PBE), PS (PBEsol), ..."""
    return ", ".join(f"{functional.tag} ({functional.title})" for functional in functionals)


def find_functional(tag: str, hybrid: Hybrid | None = None) -> Functional:
    """The functional of a GGA tag, or of libxc's names: GGA_X_PBE+GGA_C_PBE; of a hybrid its semilocal part.

    Members of a `Family` have their numbers in the tag: MK(0.12,0.8).
    The same functional at every call.  Raises InputError where there is none.
    """
    found = _found(tag)
    return found if hybrid is None else semilocal_part(found, hybrid, SHORT_RANGES.get(found.tag))


def _found(tag: str) -> Functional:
    found = FUNCTIONALS.get(tag.strip().upper())
    if found is not None:
        return found
    family, _, numbers = tag.strip().rstrip(")").partition("(")
    if family in FAMILIES and numbers:
        return _member(family, *map(float, numbers.split(",")))
    if "_" in tag:
        return libxc_functional(*tag.split("+"))
    raise InputError(f"GGA = {tag}: no such functional. Known are {listed(tuple(FUNCTIONALS.values()))}.")


def member_tag(family: Family, first: float, second: float) -> str:
    """The tag of a family's functional with these numbers, for `find_functional`: its own where they are the usual."""
    given = zip((first, second), family.usual, strict=True)
    same = all(abs(one - usual) <= SAME_NUMBER * usual for one, usual in given)
    return family.tag if same else f"{family.tag}({first!r},{second!r})"


SAME_NUMBER = 1e-8
"""Relative difference of numbers that were written with few digits (0.1833333333)."""


@cache
def _member(family: str, first: float, second: float) -> Functional:
    return FAMILIES[family].make(member_tag(FAMILIES[family], first, second), first, second)


def libxc_functional(*words: str) -> Functional:
    """The functional that one or two of libxc's names or numbers mean: exchange, correlation or their sum.

    The very functional of the table where it is that.  Raises InputError for others than `PARTS`, and for two of a
    kind.
    """
    parts = sorted((_part(word) for word in words), key=lambda part: not part.is_exchange)
    if [part.is_exchange for part in parts] not in ([True], [False], [True, False]):
        given = " and ".join(part.name for part in parts)
        raise InputError(f"{given} are no exchange and correlation. Name one of each kind, or one alone.")
    return _sum_of(tuple(parts))


def _part(word: str) -> LibxcPart:
    word = word.strip()
    name = word.upper().removeprefix("XC_")
    found = PARTS.get(name) or next((part for part in PARTS.values() if word == str(part.number)), None)
    if found is None:
        known = ", ".join(f"{part.name} ({part.number})" for part in PARTS.values())
        hybrids = ", ".join(LIBXC_HYBRIDS)
        raise InputError(
            f"there is no formula of libxc's {word or 'empty name'}. There are {known}, and alone, beside LHFCALC, "
            f"{hybrids}."
        )
    return found


@cache
def _sum_of(parts: tuple[LibxcPart, ...]) -> Functional:
    names = tuple(part.name.lower() for part in parts)
    # of two with the same parts the later: PE has the printed constants, PE-EXACT those of libxc
    same = [functional for functional in FUNCTIONALS.values() if set(functional.libxc) == set(names)]
    if same:
        return same[-1]
    ingredients = tuple(name for name in INGREDIENTS if any(name in part.ingredients for part in parts))
    tag = "+".join(part.name for part in parts)
    energy = partial(_summed, parts, ingredients)
    # data made with this very functional would have its name
    return Functional(tag, tag, ingredients, energy, names, (tag, *parts[0].data), offered=False)


def _summed(parts: tuple[LibxcPart, ...], ingredients: tuple[str, ...], *values: Tensor) -> Tensor:
    given = dict(zip(ingredients, values, strict=True))
    first, *others = (part.energy(*(given[name] for name in part.ingredients)) for part in parts)
    return first + others[0] if others else first
