"""Limits of levels from results of all Nmax and hbar-omega together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from eigenwerk.ncci.basis.space import minimal_quanta
from eigenwerk.ncci.inputs.inputs import number_text
from eigenwerk.ncci.results.levels import KNOWN, Levels
from eigenwerk.ncci.results.limits.convergence import BUILT_IN_NAMES, Curve, over_nmax, words_apart
from eigenwerk.ncci.results.limits.extrapolation import Limit, around_minimum
from eigenwerk.ncci.results.limits.infrared import Infrared, LevelPoint, together

INFRARED, EXPONENTIAL = "infrared fit", "exponentials around the lowest energy"
"""How limits of all energies are made."""


@dataclass(frozen=True)
class Together:
    """Limits of a level by all energies: by the infrared fit, and by exponentials at the hbar-omega around the lowest
    energy; or why there are none.  points: how many energies there are."""

    infrared: Infrared | str
    exponential: Limit | str
    points: int

    def energy(self) -> tuple[Limit, str] | str:
        """That of the smaller error bar, and how it was made; or why there is none."""
        if isinstance(self.infrared, str):
            if isinstance(self.exponential, str):
                return f"infrared fit: {self.infrared}; exponentials around the lowest energy: {self.exponential}"
            return self.exponential, EXPONENTIAL
        one = self.infrared.energy
        if isinstance(self.exponential, str):
            return one, INFRARED
        other = self.exponential
        if abs(one.energy - other.energy) > one.spread + other.spread:
            return f"{INFRARED} gives {_with_bar(one)}, {EXPONENTIAL} {_with_bar(other)}"
        return (one, INFRARED) if one.spread <= other.spread else (other, EXPONENTIAL)


def over_all(series: Sequence[Levels]) -> list[tuple[tuple[str, ...], str, Together]]:
    """(words, level, limits) of the lowest level of each kind of result with a built-in interaction and several
    hbar-omega, see `infrared.together` and `extrapolation.around_minimum`."""
    about: dict[tuple[str, ...], Levels] = dict(zip(words_apart(series), series, strict=True))
    found = []
    for words, last in about.items():
        curves = [curve for curve in over_nmax(series) if curve.apart == words and curve.residual <= KNOWN]
        if len(curves) < 2 or str(last.about["interaction"]).lower() not in BUILT_IN_NAMES:
            continue
        largest = max(curves, key=lambda curve: (curve.points[-1][0], -curve.points[-1][1]))
        same = [curve for curve in curves if curve.level == largest.level]
        protons, neutrons = int(last.about["Z"]), int(last.about["N"])
        points = [
            LevelPoint(int(size), curve.fixed, energy, None if radius is None else radius**2)
            for curve in same
            for (size, energy), radius in zip(curve.points, curve.radii, strict=True)
        ]
        quanta = minimal_quanta(protons)[0] + minimal_quanta(neutrons)[0]
        around = around_minimum({
            curve.fixed: ([int(size) for size, _ in curve.points], [energy for _, energy in curve.points])
            for curve in same
        })  # fmt: skip
        limits = Together(together(points, protons + neutrons, quanta), around, len(points))
        found.append((words, largest.level, limits))
    return found


def together_lines(series: Sequence[Levels]) -> list[str]:
    """The limits in words, or why there are none."""
    lines = []
    for words, level, found in over_all(series):
        name = ", ".join([*words, f"{level}, all hbar-omega together"])
        energy = found.energy()
        if isinstance(energy, str):
            lines.append(f"  {name}: no limit: {energy}")
            continue
        limit, how = energy
        radius = None if isinstance(found.infrared, str) else found.infrared.radius
        more = "" if radius is None else f"; r_p {radius.energy:.3f} +- {radius.spread:.3f} fm"
        lines.append(f"  {name} ({found.points} energies, {how})  limit {_with_bar(limit)}{more}")
    return lines


def _with_bar(limit: Limit) -> str:
    return f"{limit.energy:.3f} +- {limit.spread:.3f}"


def series_lines(series: Sequence[Levels]) -> list[str]:
    """Lowest energies over Nmax with their limits, or why there are none, and excited levels, where there are some."""
    lines = ["", "The lowest level at the largest Nmax, followed through Nmax (MeV)"]
    for curve in over_nmax(series):
        limit = curve.limit()
        end = f"  limit {limit.energy:.3f} +- {limit.spread:.3f}" if isinstance(limit, Limit) else ""
        lines.append(f"  {_name(curve)}  {_points(curve.points)}{end}")
        if not isinstance(limit, Limit) and len(curve.points) > 1:
            lines.append(f"    no limit: {limit}")
    lines += together_lines(series)
    levels = [curve for curve in over_nmax(series, excited=True) if len(curve.points) > 1]
    if len(levels) > len({(curve.apart, curve.fixed) for curve in levels}):
        lines += ["", "Levels over Nmax (MeV), followed by J, parity and overlap"]
        for curve in levels:
            doubt = "" if curve.by_overlap else "  (without overlaps: by its number among those of this J)"
            lines.append(f"  {_name(curve)}  {curve.level:>8s}  {_points(curve.points)}{doubt}")
    return lines


def _name(curve: Curve) -> str:
    return ", ".join([*curve.apart, f"hbar-omega {number_text(curve.fixed)}"])


def _points(points: Iterable[tuple[float, float]]) -> str:
    return "  ".join(f"{size:g}: {energy:.4f}" for size, energy in points)
