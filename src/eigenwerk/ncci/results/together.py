"""Limits of levels from results of all Nmax and hbar-omega together."""

from collections.abc import Iterable, Sequence

from eigenwerk.ncci.basis.space import minimal_quanta
from eigenwerk.ncci.inputs import number_text
from eigenwerk.ncci.interaction.names import BUILT_IN_NAMES
from eigenwerk.ncci.results.convergence import Curve, over_nmax, words_apart
from eigenwerk.ncci.results.extrapolation import Limit
from eigenwerk.ncci.results.infrared import Infrared, Point, together
from eigenwerk.ncci.results.levels import KNOWN, Levels


def over_all(series: Sequence[Levels]) -> list[tuple[tuple[str, ...], str, Infrared | str]]:
    """(words, level, limits) of the lowest level of each kind of result with a built-in interaction and several
    hbar-omega: one fit to all of its energies, see `infrared.together`."""
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
            Point(int(size), curve.fixed, energy, None if radius is None else radius**2)
            for curve in same
            for (size, energy), radius in zip(curve.points, curve.radii, strict=True)
        ]
        quanta = minimal_quanta(protons)[0] + minimal_quanta(neutrons)[0]
        found.append((words, largest.level, together(points, protons + neutrons, quanta)))
    return found


def together_lines(series: Sequence[Levels]) -> list[str]:
    """The limits in words, or why there are none."""
    lines = []
    for words, level, found in over_all(series):
        name = ", ".join([*words, f"{level}, all hbar-omega together"])
        if isinstance(found, str):
            lines.append(f"  {name}: no limit: {found}")
            continue
        radius = "" if found.radius is None else f"; r_p {found.radius.energy:.3f} +- {found.radius.spread:.3f} fm"
        energy = f"{found.energy.energy:.3f} +- {found.energy.spread:.3f}"
        lines.append(f"  {name} ({found.points} energies, infrared fit)  limit {energy}{radius}")
    return lines


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
