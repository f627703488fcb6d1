"""Pictures of levels: schemes side by side, and energies over Nmax and hbar-omega."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eigenwerk.io.atomic_write import replacing
from eigenwerk.ncci.results.convergence import Curve, common_title, over_hw, over_nmax, words_apart
from eigenwerk.ncci.results.levels import Levels

COLOURS = ("#1b6ca8", "#c4572b", "#4c8c4a", "#7a5195", "#b8860b", "#222222")
MARKERS = "os^D"
"""The next one where more curves than colours are drawn."""


def draw_levels(path: str | Path, columns: Sequence[Levels]) -> None:
    """One column of states with J, parity and excitation energy for each calculation, named by what sets it apart; a
    PNG file.

    Raises InputError if the file cannot be written, ImportError if matplotlib is missing.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(3.2, 1.2 + 1.9 * len(columns)), 5.4), dpi=120, layout="constrained")
    axes = figure.subplots()
    for place, levels in enumerate(columns):
        _column(axes, place, levels)
    names = [_short(*each) for each in zip(columns, words_apart(columns), strict=True)]
    axes.set_xticks(range(len(columns)), names, fontsize=8)
    axes.set_xlim(-0.6, len(columns) - 0.2)
    axes.set_ylabel("excitation energy (MeV)", fontsize=10)
    axes.set_title(common_title(columns), fontsize=11, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    with replacing(path) as new:
        figure.savefig(new, format="png")


def _column(axes: Any, place: int, levels: Levels) -> None:
    excited = levels.energy_n - levels.energy_n[0]
    span = max(float(excited.max()), 1.0)
    lowest = -span
    for n, energy in enumerate(excited.tolist()):
        axes.plot([place - 0.35, place + 0.15], [energy, energy], color=_colour(levels, n), linewidth=1.6)
        lowest = max(energy, lowest + 0.035 * span)  # names of close states must not lie on each other
        axes.annotate(levels.label(n), (place + 0.18, lowest), fontsize=8, verticalalignment="center")
    axes.annotate(
        f"{levels.energy_n[0]:.3f} MeV", (place - 0.1, 0.0), textcoords="offset points", xytext=(0, -12), fontsize=8,
        horizontalalignment="center",
    )  # fmt: skip


def _colour(levels: Levels, n: int) -> str:
    return COLOURS[int(levels.twice_j_n[n]) // 2 % len(COLOURS)]


def _short(levels: Levels, apart: tuple[str, ...]) -> str:
    about, parts = levels.about, list(apart)
    if about["hw"] is not None:
        parts.append(f"{about['hw']:g} MeV")
    if about["Nmax"] is not None:
        parts.append(f"Nmax {about['Nmax']}")
    return "\n".join(parts)


def draw_convergence(path: str | Path, series: Sequence[Levels]) -> None:
    """The lowest energy over Nmax (a curve for each hbar-omega, with its extrapolation) and over hbar-omega; results of
    other interactions, nuclei, M or parity have curves of their own.

    Raises InputError if the file cannot be written, ImportError if matplotlib is missing.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.6, 4.2), dpi=120, layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for number, curve in enumerate(over_nmax(series)):
        _curve(left, number, curve, f"{curve.fixed:g} MeV")
        limit = curve.limit()
        if limit is not None:
            left.axhline(limit.energy, color=COLOURS[number % len(COLOURS)], linewidth=0.9, linestyle="--")
    for number, curve in enumerate(over_hw(series)):
        _curve(right, number, curve, f"Nmax {curve.fixed:g}")
    left.set_xlabel("Nmax", fontsize=10)
    left.set_ylabel("lowest energy (MeV)", fontsize=10)
    left.locator_params(axis="x", integer=True)
    right.set_xlabel("hbar-omega (MeV)", fontsize=10)
    for axes in (left, right):
        axes.grid(True, color="#dddddd", linewidth=0.7)
        axes.legend(fontsize=8, frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(common_title(series), fontsize=11)
    with replacing(path) as new:
        figure.savefig(new, format="png")


def _curve(axes: Any, number: int, curve: Curve, fixed: str) -> None:
    colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number // len(COLOURS) % len(MARKERS)]
    axes.plot(
        *zip(*curve.points, strict=True),
        marker=marker,
        markersize=4.5,
        color=colour,
        label=", ".join([*curve.apart, fixed]),
    )
