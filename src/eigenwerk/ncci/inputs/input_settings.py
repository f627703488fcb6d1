"""The keys of a case file, each declared once: where it stands, its type and default, what it means, how it is read."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any

from eigenwerk.errors import InputError
from eigenwerk.ncci.ranks.scheme import SCHEME_USAGES, scheme_named

METHODS = ("lanczos", "lobpcg")
LAYOUTS = ("auto", "triangle", "dealt")
BACK_ENDS = ("auto", "csb", "pairs", "dense")
PRECISIONS = ("double", "single")
OBSERVABLES = (
    "radii",
    "spins",
    "moments",
    "transitions",
    "occupations",
    "quanta",
    "center_of_mass",
    "terms",
    "densities",
)
PARITIES = {"natural": "natural", "unnatural": "unnatural", "+": "+", "-": "-", "+1": "+", "1": "+", "-1": "-"}


@dataclass(frozen=True)
class CaseKey:
    """One key of a case file: its table ('' for the top), type in words, unit, default (None: has to be given or is
    chosen), what it means, and how its value is read."""

    table: str
    key: str
    kind: str
    default: Any
    help: str
    read: Callable[["KeyPlace", Any], Any]


@dataclass(frozen=True)
class KeyPlace:
    """Where a value stands, for messages."""

    path: Path
    table: str
    key: str

    def error(self, value: Any, wants: str) -> InputError:
        """The message for a value that cannot be used."""
        where = f"[{self.table}] {self.key}" if self.table else self.key
        shown = f"'{value}'" if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else value
        if isinstance(value, int) and abs(value) > 10**18:  # Python does not write out thousands of digits
            shown = f"a number of {value.bit_length()} bits"
        return InputError(f"{self.path}: {where} = {shown}, but it has to be {wants}.")


LARGEST_NUMBER = 1e6

MOST_QUANTA, MOST_NUCLEONS = 100, 300
"""Beyond what any machine computes; the space is counted before it is refused for its size."""


def _text(place: KeyPlace, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise place.error(value, "a text in quotation marks")
    return value.strip()


def _flag(place: KeyPlace, value: Any) -> bool:
    if not isinstance(value, bool):
        raise place.error(value, "true or false")
    return value


def _whole(least: int, most: int = 10**6) -> Callable[[KeyPlace, Any], int]:
    def read(place: KeyPlace, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise place.error(value, f"a whole number, {least} or larger")
        if value > most:
            raise place.error(value, f"a whole number up to {most}")
        return value

    return read


def _number(least: float, open_end: bool) -> Callable[[KeyPlace, Any], float]:
    def read(place: KeyPlace, value: Any) -> float:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not least <= value <= LARGEST_NUMBER or (open_end and value == least):
            from_on = f"larger than {least:g}" if open_end else f"{least:g} or larger"
            raise place.error(value, f"a number {from_on}, up to {LARGEST_NUMBER:g}")
        return float(value)

    return read


def _several(read: Callable[[KeyPlace, Any], Any]) -> Callable[[KeyPlace, Any], list[Any]]:
    def read_all(place: KeyPlace, value: Any) -> list[Any]:
        found = sorted({read(place, item) for item in (value if isinstance(value, list) else [value])})
        if not found:
            raise place.error(value, "one number or a list of them")
        return found

    return read_all


def _one_of(names: tuple[str, ...]) -> Callable[[KeyPlace, Any], str]:
    def read(place: KeyPlace, value: Any) -> str:
        if not isinstance(value, str) or value.lower() not in names:
            raise place.error(value, f"one of {', '.join(names)}")
        return value.lower()

    return read


def _scheme(place: KeyPlace, value: Any) -> str:
    if not isinstance(value, str):
        raise place.error(value, f"a text, one of {', '.join(SCHEME_USAGES)}")
    return scheme_named(value.lower(), f"{place.path}: [{place.table}] {place.key} = ").name


def _parity(place: KeyPlace, value: Any) -> str:
    if isinstance(value, bool) or str(value).lower() not in PARITIES:
        raise place.error(value, 'one of "natural", "unnatural", "+", "-"')
    return PARITIES[str(value).lower()]


def _twice(place: KeyPlace, value: Any) -> int:
    """2M of 1, 0.5, "1/2" or "3/2"."""
    text = str(value) if not isinstance(value, int) or abs(value) < 10**6 else ""
    if isinstance(value, bool) or not re.fullmatch(r"-?\d{1,6}(\.\d{1,6})?(/2)?", text, re.ASCII):
        raise place.error(value, 'a multiple of one half, as 1, 0.5 or "3/2"')
    twice = 2 * Fraction(text)
    if twice.denominator != 1:
        raise place.error(value, 'a multiple of one half, as 1, 0.5 or "3/2"')
    return int(twice)


def _names(place: KeyPlace, value: Any) -> tuple[str, ...]:
    if value in ("all", ["all"]):
        return OBSERVABLES
    wants = f'"all" or a list of some of {", ".join(OBSERVABLES)}'
    if not isinstance(value, list) or not all(item in OBSERVABLES for item in value):
        raise place.error(value, wants)
    return tuple(name for name in OBSERVABLES if name in value)


def _two_numbers(place: KeyPlace, value: Any) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2 or not all(type(item) is int and item >= 0 for item in value):
        raise place.error(value, "two whole numbers, protons and neutrons of the core, as [8, 8]")
    return value[0], value[1]


def _scaling(place: KeyPlace, value: Any) -> tuple[float, float]:
    numbers = isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))
    if not numbers or value[0] <= 0:
        raise place.error(value, "a mass number and an exponent, as [18, -0.3]")
    return float(value[0]), float(value[1])


def _factors(place: KeyPlace, value: Any) -> tuple[float, float]:
    if (
        not isinstance(value, list)
        or len(value) != 2
        or not all(_is_number(item) and abs(item) < 100 for item in value)
    ):
        raise place.error(value, "two numbers, of protons and neutrons, as [1.5, 0.5]")
    return float(value[0]), float(value[1])


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and isfinite(value)


def _file(place: KeyPlace, value: Any) -> Path:
    return place.path.parent / _text(place, value)


def _device(place: KeyPlace, value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"auto|cpu|cuda(:\d+)?", value):
        raise place.error(value, 'one of "auto", "cpu", "cuda", "cuda:1"')
    return value


G_ORBITAL = (1.0, 0.0)
"""Orbital g factors of proton and neutron, nuclear magnetons."""

G_SPIN = (5.586, -3.826)
"""Spin g factors of proton and neutron, nuclear magnetons, as MFDn has them."""

USUAL_STATES = 4
"""How many states are computed where the case does not say."""

_SUM = _whole(0, 10 * MOST_QUANTA)
_USUAL = ("radii", "spins", "moments", "occupations", "quanta", "center_of_mass")

SETTINGS = (
    CaseKey("", "nucleus", "text", None, "the nucleus, as 6Li", _text),
    CaseKey("", "Z", "whole number", None, "protons, in place of nucleus", _whole(0, MOST_NUCLEONS)),
    CaseKey("", "N", "whole number", None, "neutrons, in place of nucleus", _whole(0, MOST_NUCLEONS)),
    CaseKey(
        "", "interaction", "text", None, "JISP16, Daejeon16, ... or a file (relative table, h2, .snt, .int)", _text
    ),
    CaseKey("", "file_hw", "MeV", None, "hw that a file was made for, where it does not tell", _number(0, True)),
    CaseKey("", "srg_lambda", "fm^-1", None, "SRG evolution of NNLOopt so far; default: none", _number(1, False)),
    CaseKey(
        "",
        "hw",
        "MeV, or a list",
        None,
        "oscillator quantum hbar-omega; in a valence space for moments only, default 45 A^-1/3 - 25 A^-2/3",
        _several(_number(0, True)),
    ),
    CaseKey(
        "",
        "Nmax",
        "whole number, or a list",
        None,
        "quanta above the minimal configuration",
        _several(_whole(0, MOST_QUANTA)),
    ),
    CaseKey("", "M", "half-integer", None, "projection of the total angular momentum; default 0 or 1/2", _twice),
    CaseKey("", "parity", "text", None, "natural, unnatural, + or -; default: that of Nmax", _parity),
    CaseKey("", "states", "whole number", USUAL_STATES, "how many, from the lowest; fewer in tiny spaces", _whole(1)),
    CaseKey("", "coulomb", "true or false", True, "Coulomb repulsion of protons (no-core)", _flag),
    CaseKey("", "lawson", "MeV", 50.0, "strength of the Lawson term (no-core); 0 switches it off", _number(0, False)),
    CaseKey("", "core", "[Z, N]", None, "inert core of a valence space, where the file does not name it", _two_numbers),
    CaseKey("", "orbitals", "file", None, "list of orbitals (.sps, .sp) that belongs to an .int file", _file),
    CaseKey("", "scaling", "[A, x]", None, "elements scale as (mass / A)^x, where the .int file is silent", _scaling),
    CaseKey(
        "",
        "effective_charges",
        "[p, n], e",
        None,
        "of protons and neutrons in Q and E2; default [1, 0], in a valence space [1.5, 0.5]",
        _factors,
    ),
    CaseKey("", "g_orbital", "[p, n]", G_ORBITAL, "orbital g factors, nuclear magnetons", _factors),
    CaseKey("", "g_spin", "[p, n]", G_SPIN, "spin g factors, nuclear magnetons; bare by default", _factors),
    CaseKey("", "observables", "list", _USUAL, "what to compute of each state", _names),
    CaseKey("basis", "protons", "whole number", None, "largest sum of quanta of the protons", _SUM),
    CaseKey("basis", "neutrons", "whole number", None, "largest sum of quanta of the neutrons", _SUM),
    CaseKey("basis", "all", "whole number", None, "largest sum of quanta of all nucleons", _SUM),
    CaseKey("solver", "method", "text", "lanczos", "lanczos or lobpcg", _one_of(METHODS)),
    CaseKey("solver", "backend", "text", "auto", "auto, csb (stored), pairs (matrix-free), dense", _one_of(BACK_ENDS)),
    CaseKey("solver", "layout", "text", "auto", "of stored blocks on ranks: auto, triangle, dealt", _one_of(LAYOUTS)),
    CaseKey("solver", "scheme", "text", "auto", f"how vectors travel: {', '.join(SCHEME_USAGES)}", _scheme),
    CaseKey("solver", "precision", "text", "double", "of vectors and stored elements", _one_of(PRECISIONS)),
    CaseKey("solver", "device", "text", "auto", "cpu, cuda, or the one that is there", _device),
    CaseKey("solver", "block", "whole number", None, "vectors at once; default 1 (lanczos) or 8 (lobpcg)", _whole(1)),
    CaseKey("solver", "tolerance", "number", 1e-6, "residual, relative to max(1 MeV, |E|)", _number(0, True)),
    CaseKey("solver", "products", "whole number", 1000, "H is applied to at most so many vectors", _whole(1)),
    CaseKey("solver", "fixed", "true or false", False, "exactly so many, converged or not (lanczos)", _flag),
    CaseKey("solver", "space", "whole number", 200, "Lanczos vectors kept before a thick restart", _whole(2)),
    CaseKey("solver", "start", "file", None, "results of a smaller case to start from", _file),
    CaseKey("solver", "checkpoint_minutes", "minutes", 10.0, "between checkpoints; 0: every step", _number(0, False)),
    CaseKey("solver", "memory_gb", "GB", None, "memory that each rank may use; default all", _number(0, True)),
)
"""Every key of a case file."""
