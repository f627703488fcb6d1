"""Isotopes of hydrogen with a symbol of their own: D and T.  To electrons they are hydrogen, to motion they are not.

In a `Poscar` the element of such a run is H, and the text that follows its symbol begins with the mark of the isotope.
"""

from collections.abc import Sequence

ISOTOPES = {"D": ("H", 2.014), "T": ("H", 3.016)}
"""Element and mass (amu) by symbol.  Source: M. Wang et al., Chinese Phys. C 45, 030003 (2021): 2.01410, 3.01605."""

MARK = ":"


def element_of(symbol: str, rest: str) -> tuple[str, str]:
    """Element and rest of a name that may be one of an isotope: D_h -> H and :D_h."""
    return (ISOTOPES[symbol][0], MARK + symbol + rest) if symbol in ISOTOPES else (symbol, rest)


def without_isotope(suffix: str) -> str:
    """What follows the symbol of an element or isotope."""
    return suffix[2:] if _isotope(suffix) else suffix


def name_of(symbol: str, suffix: str) -> str:
    """The name of a species as files have it."""
    isotope = _isotope(suffix)
    return isotope + suffix[2:] if isotope else symbol + suffix


def isotope_masses(runs: Sequence[tuple[str, int]], suffixes: Sequence[str]) -> tuple[float | None, ...]:
    """The mass of each run that is of an isotope, amu; None for elements."""
    found = (_isotope(suffix) for suffix in suffixes or ("",) * len(runs))
    return tuple(ISOTOPES[isotope][1] if isotope else None for isotope in found)


def _isotope(suffix: str) -> str:
    return suffix[1] if suffix[:1] == MARK and suffix[1:2] in ISOTOPES else ""
