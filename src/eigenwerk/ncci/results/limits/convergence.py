"""Energies of several results, as curves over Nmax and over hbar-omega, and what tells the curves apart.

A curve follows one level: from the state of the largest Nmax down to that of the same J that overlaps with it most,
where the runs say so (in a series each begins from the states of the smaller one before), else to that of the same J
and number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from eigenwerk.ncci.inputs.inputs import half, number_text
from eigenwerk.ncci.results.levels import KNOWN, Levels
from eigenwerk.ncci.results.limits.extrapolation import Limit, extrapolated

BUILT_IN_NAMES = ("daejeon16", "jisp16", "nnloopt", "minnesota")
"""Interactions that need no file, in small letters: `interaction.files.BUILT_IN` makes them."""

LEAST_OVERLAP = 0.25
"""|<n|m>|^2 below which a state is no continuation of another."""


@dataclass(frozen=True)
class Curve:
    """Energies (MeV) of one level in results that differ in one number alone.

    apart: the words that tell these results from others of the series (see `words_apart`).  fixed: hbar-omega in MeV of
    a curve over Nmax, or the other way round.  points: (Nmax or hbar-omega, energy), rising.  level: its name in the
    largest of the results, as 3+ #1.  by_overlap: whether every step was followed by overlaps of states.  residual: the
    largest of these states, MeV.  elsewhere: of a curve over Nmax, the lowest energy of the same level at another
    hbar-omega, and that hbar-omega; None where there is none.  radii: point-proton radii (fm) of these states,
    None where they were not computed.
    """

    apart: tuple[str, ...]
    fixed: float
    points: tuple[tuple[float, float], ...]
    level: str = ""
    by_overlap: bool = True
    residual: float = 0.0
    elsewhere: tuple[float, float] | None = None
    radii: tuple[float | None, ...] = ()

    def limit(self) -> Limit | str:
        """The energy extrapolated to Nmax -> infinity, for a curve over Nmax, or why it is not; see `extrapolated`.

        Energies are upper bounds of the limit, which is the same for every hbar-omega: one whose whole error bar lies
        above an energy at another hbar-omega is wrong.
        """
        if self.residual > KNOWN:
            return f"a state at one of these Nmax is not converged (residual {self.residual:.1e} MeV)"
        found = extrapolated([int(size) for size, _ in self.points], [energy for _, energy in self.points])
        if isinstance(found, Limit) and self.elsewhere is not None and found.energy - found.spread > self.elsewhere[0]:
            energy, hw = self.elsewhere
            return (
                f"{found.energy:.3f} +- {found.spread:.3f} lies above {energy:.4f} MeV, the energy of this level at "
                f"hbar-omega {number_text(hw)}; the limit is the same for all hbar-omega, and no energy lies below it"
            )
        return found


def over_nmax(series: Sequence[Levels], excited: bool = False) -> list[Curve]:
    """A curve over Nmax for each hbar-omega of each kind of result: of the lowest level at the largest Nmax; with
    `excited` of all levels there."""
    curves = []
    groups = _groups(series, "hw", "Nmax")
    for (words, hw), results in groups:
        last = results[-1]
        others = [levels for (same, at), some in groups if same == words and at != hw for levels in some]
        own = [n for n in np.argsort(last.energy_n, kind="stable").tolist() if not last.spurious_n[n]]
        for n in own if excited else own[:1]:
            curves.append(replace(_followed(results, n, words, hw), elsewhere=_lowest_elsewhere(last, n, others)))
    return curves


def _lowest_elsewhere(last: Levels, n: int, others: Sequence[Levels]) -> tuple[float, float] | None:
    """(energy, hbar-omega) of the lowest of the states in `others` with the J and number of state n.

    Of built-in interactions alone, which are one operator at every hbar-omega: matrix elements in files may belong to
    one hbar-omega each, and so may be those of several operators of one name.
    """
    name = str(last.about["interaction"])
    if name.lower() not in BUILT_IN_NAMES:
        return None
    states = [
        (float(levels.energy_n[m]), float(levels.about["hw"]))
        for levels in others
        if levels.about["interaction"] == name
        and (m := _same_number(last, levels, n)) is not None
        and levels.residual_n[m] <= KNOWN
    ]
    return min(states, default=None)


def over_hw(series: Sequence[Levels]) -> list[Curve]:
    """A curve over hbar-omega for each Nmax of each kind of result, of the lowest level."""
    return [
        Curve(words, size, tuple((float(each.about["hw"]), _lowest(each)) for each in results))
        for (words, size), results in _groups(series, "Nmax", "hw")
    ]


def _lowest(levels: Levels) -> float:
    """The energy of the lowest state of the nucleus."""
    return float(np.where(levels.spurious_n, np.inf, levels.energy_n).min())


def _groups(series: Sequence[Levels], fixed: str, along: str):
    """((words, value of `fixed`), results with rising `along`) of what differs in `along` alone, in order; results
    without any state of the nucleus are left out."""
    found: dict[tuple[tuple[str, ...], float], dict[float, Levels]] = {}
    for words, levels in zip(words_apart(series), series, strict=True):
        if not levels.spurious_n.all():
            found.setdefault((words, float(levels.about[fixed])), {})[float(levels.about[along])] = levels
    return [(key, [of_one[place] for place in sorted(of_one)]) for key, of_one in sorted(found.items())]


def _followed(results: Sequence[Levels], n: int, words: tuple[str, ...], hw: float) -> Curve:
    """The level that is state n of the last result, in the results before as far down as it is found."""
    last = results[-1]
    name = f"{last.label(n)} #{last.order_n[n]}"
    points, sure = [(float(last.about["Nmax"]), float(last.energy_n[n]))], True
    radii = [_radius(last, n)]
    residual = float(last.residual_n[n])
    for larger, smaller in zip(results[:0:-1], results[-2::-1], strict=True):
        overlap_nm = _overlaps(larger, smaller)
        sure = sure and overlap_nm is not None
        found = _same_number(larger, smaller, n) if overlap_nm is None else _most_alike(larger, smaller, overlap_nm, n)
        if found is None:
            break
        n = found
        points.append((float(smaller.about["Nmax"]), float(smaller.energy_n[n])))
        radii.append(_radius(smaller, n))
        residual = max(residual, float(smaller.residual_n[n]))
    return Curve(words, hw, tuple(points[::-1]), name, sure, residual, radii=tuple(radii[::-1]))


def _radius(levels: Levels, n: int) -> float | None:
    return float(levels.values["r_p"][n]) if "r_p" in levels.values else None


def _overlaps(larger: Levels, smaller: Levels) -> np.ndarray | None:
    """|<n|m>|^2 where the larger result was computed from the smaller one."""
    known = larger.smaller
    if not known or (known["Nmax"], known["hw"]) != (smaller.about["Nmax"], smaller.about["hw"]):
        return None
    return known["overlap_nm"] if np.array_equal(known["energy_m"], smaller.energy_n) else None


def _most_alike(larger: Levels, smaller: Levels, overlap_nm: np.ndarray, n: int) -> int | None:
    """The state of the same J that overlaps most with state n, if it is most like n in turn."""
    same_nm = np.equal.outer(larger.twice_j_n, smaller.twice_j_n) & ~np.logical_or.outer(
        larger.spurious_n, smaller.spurious_n
    )
    overlap_nm = np.where(same_nm, overlap_nm, 0.0)
    m = int(overlap_nm[n].argmax())
    return m if overlap_nm[n, m] >= LEAST_OVERLAP and overlap_nm[:, m].argmax() == n else None


def _same_number(larger: Levels, smaller: Levels, n: int) -> int | None:
    """The state of the same J with the same number among those."""
    same = (smaller.twice_j_n == larger.twice_j_n[n]) & (smaller.order_n == larger.order_n[n])
    return int(np.flatnonzero(same)[0]) if same.any() else None


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
