"""The one table of functionals: all that the files of this folder declare.

A file with a tuple FUNCTIONALS is enough: tags, messages, the choice of data sets and the page of INCAR tags follow.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from eigenwerk.errors import InputError
from eigenwerk.functionals.functional import DENSITY, Functional

DEFAULT = "PE"
"""Tag of the functional of an INCAR that names none."""


def _declared() -> Iterator[Functional]:
    for file in iter_modules([str(Path(__file__).parent)]):
        if file.name != "table":
            yield from getattr(import_module(f"eigenwerk.functionals.{file.name}"), "FUNCTIONALS", ())


def _order(functional: Functional) -> tuple[bool, bool]:
    """The default first, those of the density alone last."""
    return functional.tag != DEFAULT, functional.ingredients == (DENSITY,)


FUNCTIONALS = {functional.tag: functional for functional in sorted(_declared(), key=_order)}
"""By tag."""

OFFERED = tuple(functional for functional in FUNCTIONALS.values() if functional.offered)
"""Those that INCAR may ask for."""


def listed(functionals: tuple[Functional, ...] = OFFERED) -> str:
    """PE (PBE), PS (PBEsol), ..."""
    return ", ".join(f"{functional.tag} ({functional.title})" for functional in functionals)


def find_functional(tag: str) -> Functional:
    """The functional of a GGA tag; raises InputError where there is none."""
    found = FUNCTIONALS.get(tag.strip().upper())
    if found is None:
        raise InputError(f"GGA = {tag}: no such functional. Known are {listed(tuple(FUNCTIONALS.values()))}.")
    return found
