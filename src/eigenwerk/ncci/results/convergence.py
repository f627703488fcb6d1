"""Lowest energies of several results, as curves over Nmax and over hbar-omega, and what tells the curves apart."""

from collections.abc import Sequence
from dataclasses import dataclass

from eigenwerk.ncci.inputs import half
from eigenwerk.ncci.results.extrapolation import Limit, extrapolated
from eigenwerk.ncci.results.levels import Levels


@dataclass(frozen=True)
class Curve:
    """Lowest energies (MeV) of results that differ in one number alone.

    apart: the words that tell these results from others of the series (see `words_apart`).  fixed: hbar-omega in MeV of
    a curve over Nmax, or the other way round.  points: (Nmax or hbar-omega, energy), rising.
    """

    apart: tuple[str, ...]
    fixed: float
    points: tuple[tuple[float, float], ...]

    def limit(self) -> Limit | None:
        """The energy extrapolated to Nmax -> infinity, for a curve over Nmax; see `extrapolated`."""
        return extrapolated([int(size) for size, _ in self.points], [energy for _, energy in self.points])


def over_nmax(series: Sequence[Levels]) -> list[Curve]:
    """A curve over Nmax for each hbar-omega of each kind of result."""
    return _curves(series, "hw", "Nmax")


def over_hw(series: Sequence[Levels]) -> list[Curve]:
    """A curve over hbar-omega for each Nmax of each kind of result."""
    return _curves(series, "Nmax", "hw")


def _curves(series: Sequence[Levels], fixed: str, along: str) -> list[Curve]:
    found: dict[tuple[tuple[str, ...], float], list[tuple[float, float]]] = {}
    for words, levels in zip(words_apart(series), series, strict=True):
        point = float(levels.about[along]), float(levels.energy_n[0])
        found.setdefault((words, float(levels.about[fixed])), []).append(point)
    return [Curve(words, value, tuple(sorted(points))) for (words, value), points in sorted(found.items())]


def words_apart(series: Sequence[Levels]) -> list[tuple[str, ...]]:
    """For each result those of nucleus, interaction, Coulomb term, M and parity that are not equal in all results."""
    rows = [_kind(levels) for levels in series]
    differs = [len(set(column)) > 1 for column in zip(*rows, strict=True)]
    return [tuple(word for word, shown in zip(row, differs, strict=True) if shown) for row in rows]


def common_title(series: Sequence[Levels]) -> str:
    """Nucleus and interaction as far as all results share them."""
    columns = zip(*(_kind(levels)[:2] for levels in series), strict=True)
    return ", ".join(column[0] for column in columns if len(set(column)) == 1)


def _kind(levels: Levels) -> tuple[str, ...]:
    about = levels.about
    return (
        str(about["nucleus"]),
        levels.interaction,
        "with Coulomb" if about["coulomb"] else "no Coulomb",
        f"M = {half(int(about['twice_M']))}",
        f"parity {'+' if levels.parity > 0 else '-'}",
    )
