"""Pictures of levels: schemes side by side, and energies over Nmax and hbar-omega."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.figure_layout import legend_above, ready
from eigenwerk.io.atomic_write import replacing
from eigenwerk.ncci.inputs.inputs import number_text
from eigenwerk.ncci.results.levels import Levels
from eigenwerk.ncci.results.limits.convergence import Curve, common_title, over_hw, over_nmax, words_apart
from eigenwerk.ncci.results.limits.extrapolation import Limit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#1b6ca8", "#c4572b", "#4c8c4a", "#7a5195", "#b8860b", "#222222")
MARKERS = "os^D"
"""The next one where more curves than colours are drawn."""


LABEL_INCHES = 0.16
"""Height of a label with the space below it."""

MARGIN_INCHES = 1.4
"""Height of the title, the names of the columns and the edges, at least."""

MOST_TICKS = 12
"""Values of a panel that are ticks of their own."""


def draw_levels(path: str | Path, columns: Sequence[Levels]) -> None:
    """One column of states with J, parity and excitation energy for each calculation, named by what sets it apart; a
    PNG file.  States with an excited centre of mass are left out.

    Raises InputError if there is nothing to draw or the file cannot be written, ImportError if matplotlib is missing.
    """
    _save(levels_figure(columns), path)


def levels_figure(columns: Sequence[Levels]) -> "Figure":
    """The picture as matplotlib has it."""
    from matplotlib.figure import Figure

    columns = [levels for levels in columns if not levels.spurious_n.all()]
    if not columns:
        raise InputError("Nothing to draw: in all states the centre of mass is excited. Take lawson > 0.")
    names = [_short(*each) for each in zip(columns, words_apart(columns), strict=True)]
    most = max(len(_states(levels)) for levels in columns)
    height = max(5.4, LABEL_INCHES * (most + 1) + MARGIN_INCHES)
    figure = Figure(figsize=(max(3.2, 1.2 + 2.1 * len(columns)), height), dpi=120, layout="constrained")
    axes = figure.subplots()
    top = max(1.0, *(float(np.nanmax(levels.excited_n)) for levels in columns))
    per_inch = top / (height - MARGIN_INCHES - 2 * LABEL_INCHES)
    low, high = -2 * LABEL_INCHES * per_inch, top + LABEL_INCHES * per_inch
    for place, levels in enumerate(columns):
        _column(axes, place, levels, LABEL_INCHES * per_inch, high - LABEL_INCHES * per_inch / 2)
    axes.set_xticks(range(len(columns)), names, fontsize=8)
    axes.set_xlim(-0.6, len(columns) - 0.3)
    axes.set_ylim(low, high)
    axes.set_ylabel("excitation energy (MeV)", fontsize=10)
    axes.set_title(common_title(columns), fontsize=11, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _save(figure: "Figure", path: str | Path) -> None:
    ready(figure)
    with replacing(path) as new:
        figure.savefig(new, format="png")


def _states(levels: Levels) -> list[int]:
    """Those of the nucleus, with rising energies."""
    return [n for n in np.argsort(levels.energy_n, kind="stable").tolist() if not levels.spurious_n[n]]


def _column(axes: Any, place: int, levels: Levels, gap: float, high: float) -> None:
    """Lines of the states, and their labels, which have room of their own, at the end of a leader."""
    states, excited_n = _states(levels), levels.excited_n
    energies = [float(excited_n[n]) for n in states]
    for n, energy, y in zip(states, energies, label_heights(energies, gap, 0.0, high), strict=True):
        axes.plot([place - 0.45, place - 0.05], [energy, energy], color=_colour(levels, n), linewidth=1.6)
        axes.plot([place - 0.04, place + 0.06], [energy, y], color="#999999", linewidth=0.6)
        axes.annotate(f"{levels.label(n)}  {energy:.2f}", (place + 0.08, y), fontsize=8, verticalalignment="center")
    axes.annotate(
        f"{levels.energy_n[states[0]]:.3f} MeV", (place - 0.25, 0.0), textcoords="offset points", xytext=(0, -13),
        fontsize=8, horizontalalignment="center",
    )  # fmt: skip


def label_heights(wanted: Sequence[float], gap: float, low: float, high: float) -> np.ndarray:
    """Heights as near as possible to rising ones (least squares), at least `gap` apart, between low and high.

    With z_k = y_k - k gap the z_k have to rise: neighbours that fall become one run at their mean.  Cut at the ends.
    """
    step_k = gap * np.arange(len(wanted))
    runs: list[tuple[float, int]] = []
    for mean in (np.asarray(wanted, dtype=float) - step_k).tolist():
        size = 1
        while runs and runs[-1][0] > mean:
            other, count = runs.pop()
            mean, size = (mean * size + other * count) / (size + count), size + count
        runs.append((mean, size))
    rising_k = np.repeat([mean for mean, _ in runs], [size for _, size in runs])
    return np.clip(rising_k, low, max(low, high - step_k[-1])) + step_k


def _colour(levels: Levels, n: int) -> str:
    return COLOURS[int(levels.twice_j_n[n]) // 2 % len(COLOURS)]


def _short(levels: Levels, apart: tuple[str, ...]) -> str:
    about, parts = levels.about, list(apart)
    if about["hw"] is not None:
        parts.append(f"{number_text(about['hw'])} MeV")
    if about["Nmax"] is not None:
        parts.append(f"Nmax {about['Nmax']}")
    return "\n".join(parts)


def draw_convergence(path: str | Path, series: Sequence[Levels]) -> None:
    """The lowest level over Nmax (a curve for each hbar-omega, with its limit and error bar) and over hbar-omega;
    results of other interactions, nuclei, M or parity have curves of their own, those of even and odd Nmax panels of
    their own.  Panels with single points only are left out.

    Raises InputError if nothing remains or the file cannot be written, ImportError if matplotlib is missing.
    """
    _save(convergence_figure(series), path)


def convergence_figure(series: Sequence[Levels]) -> "Figure":
    """The picture as matplotlib has it."""
    from matplotlib.figure import Figure

    panels = [panel for panel in _panels(series) if any(len(curve.points) > 1 for curve in panel.curves)]
    if not panels:
        raise InputError(
            "Nothing to draw: a curve takes results with two or more Nmax of one parity, or two or more hbar-omega. "
            "Name more results."
        )
    figure = Figure(figsize=(0.8 + 3.9 * len(panels), 4.2), dpi=120, layout="constrained")
    row = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, panel in zip(row, panels, strict=True):
        for number, curve in enumerate(panel.curves):
            _curve(axes, number, curve, panel.fixed.format(number_text(curve.fixed)))
            limit = curve.limit() if panel.limits else ""
            if isinstance(limit, Limit):
                colour = COLOURS[number % len(COLOURS)]
                axes.axhline(limit.energy, color=colour, linewidth=0.9, linestyle="--")
                axes.axhspan(limit.energy - limit.spread, limit.energy + limit.spread, color=colour, alpha=0.15)
        values = sorted({x for curve in panel.curves for x, _ in curve.points})
        if len(values) <= MOST_TICKS:
            axes.set_xticks(values, [f"{value:g}" for value in values])
        axes.set_xlabel(panel.along, fontsize=10)
        axes.set_ylabel("lowest energy (MeV)", fontsize=10)
        axes.grid(True, color="#dddddd", linewidth=0.7)
        legend_above(axes)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(common_title(series), fontsize=11)
    return figure


class _Panel(NamedTuple):
    """Curves of one panel, what they run along, how the other number is named, and whether they have limits."""

    curves: list[Curve]
    along: str
    fixed: str
    limits: bool


def _panels(series: Sequence[Levels]) -> list[_Panel]:
    curves = over_nmax(series)
    by_parity = [[curve for curve in curves if curve.points[-1][0] % 2 == odd] for odd in (0, 1)]
    found = [_Panel(some, "Nmax", "{} MeV", True) for some in by_parity]
    return [*found, _Panel(over_hw(series), "hbar-omega (MeV)", "Nmax {}", False)]


def _curve(axes: Any, number: int, curve: Curve, fixed: str) -> None:
    colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number // len(COLOURS) % len(MARKERS)]
    axes.plot(
        *zip(*curve.points, strict=True),
        marker=marker,
        markersize=4.5,
        color=colour,
        label=", ".join([*curve.apart, fixed]),
    )
