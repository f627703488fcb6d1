"""Pictures of levels: schemes side by side, and energies over Nmax and hbar-omega."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eigenwerk.io.atomic_write import replacing
from eigenwerk.ncci.extrapolation import extrapolated
from eigenwerk.ncci.levels import Levels

COLOURS = ("#1b6ca8", "#c4572b", "#4c8c4a", "#7a5195", "#b8860b", "#222222")


def draw_levels(path: str | Path, columns: Sequence[Levels]) -> None:
    """One column of states with J, parity and excitation energy for each calculation; a PNG file.

    Raises InputError if the file cannot be written, ImportError if matplotlib is missing.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(3.2, 1.2 + 1.9 * len(columns)), 5.4), dpi=120, layout="constrained")
    axes = figure.subplots()
    for place, levels in enumerate(columns):
        _column(axes, place, levels)
    axes.set_xticks(range(len(columns)), [_short(levels) for levels in columns], fontsize=8)
    axes.set_xlim(-0.6, len(columns) - 0.2)
    axes.set_ylabel("excitation energy (MeV)", fontsize=10)
    axes.set_title(str(columns[0].about["nucleus"]), fontsize=11, loc="left")
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


def _short(levels: Levels) -> str:
    about = levels.about
    parts = [levels.interaction]
    if about["hw"] is not None:
        parts.append(f"{about['hw']:g} MeV")
    if about["Nmax"] is not None:
        parts.append(f"Nmax {about['Nmax']}")
    return "\n".join(parts)


def draw_convergence(path: str | Path, series: Sequence[Levels]) -> None:
    """The lowest energy over Nmax (a curve for each hbar-omega, with its extrapolation) and over hbar-omega.

    Raises InputError if the file cannot be written, ImportError if matplotlib is missing.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.6, 4.2), dpi=120, layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for number, (hw, points) in enumerate(by_hw(series).items()):
        colour = COLOURS[number % len(COLOURS)]
        left.plot(*zip(*points, strict=True), marker="o", markersize=4.5, color=colour, label=f"{hw:g} MeV")
        limit = extrapolated([size for size, _ in points], [energy for _, energy in points])
        if limit is not None:
            left.axhline(limit.energy, color=colour, linewidth=0.9, linestyle="--")
    for number, (size, over_hw) in enumerate(by_size(series).items()):
        colour = COLOURS[number % len(COLOURS)]
        right.plot(*zip(*over_hw, strict=True), marker="o", markersize=4.5, color=colour, label=f"Nmax {size}")
    left.set_xlabel("Nmax", fontsize=10)
    left.set_ylabel("ground state (MeV)", fontsize=10)
    left.locator_params(axis="x", integer=True)
    right.set_xlabel("hbar-omega (MeV)", fontsize=10)
    for axes in (left, right):
        axes.grid(True, color="#dddddd", linewidth=0.7)
        axes.legend(fontsize=8, frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"{series[0].about['nucleus']}, {series[0].interaction}", fontsize=11)
    with replacing(path) as new:
        figure.savefig(new, format="png")


def by_hw(series: Sequence[Levels]) -> dict[float, list[tuple[int, float]]]:
    """hbar-omega -> (Nmax, lowest energy), Nmax rising."""
    found: dict[float, list[tuple[int, float]]] = {}
    for levels in series:
        point = int(levels.about["Nmax"]), float(levels.energy_n[0])
        found.setdefault(float(levels.about["hw"]), []).append(point)
    return {hw: sorted(points) for hw, points in sorted(found.items())}


def by_size(series: Sequence[Levels]) -> dict[int, list[tuple[float, float]]]:
    """Nmax -> (hbar-omega, lowest energy), hbar-omega rising."""
    found: dict[int, list[tuple[float, float]]] = {}
    for levels in series:
        point = float(levels.about["hw"]), float(levels.energy_n[0])
        found.setdefault(int(levels.about["Nmax"]), []).append(point)
    return {size: sorted(points) for size, points in sorted(found.items())}
