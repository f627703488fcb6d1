"""A picture of products by several schemes or on several numbers of ranks: where their time went, what was hidden."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenwerk.figure_layout import legend_above
from eigenwerk.perf.pictures import LIGHT, PALE, PALETTE, QUIET, plain_axes, require_suffix, save_figure
from eigenwerk.perf.schemes.comparison import Row
from eigenwerk.perf.schemes.products import STEPS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_schemes(path: Path, rows: Sequence[Row]) -> None:
    """Draw the runs into a file.  Raises InputError if it cannot be written, ImportError if matplotlib is missing."""
    require_suffix(path, "--plot")
    save_figure(schemes_figure(rows), path)


def schemes_figure(rows: Sequence[Row]) -> "Figure":
    """The picture as matplotlib has it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 3.2 + 0.42 * len(rows)), dpi=120, layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    names = [f"{row.use.scheme}, {row.use.ranks} rank{'s' * (row.use.ranks > 1)}" for row in rows]
    place = np.arange(len(rows))[::-1]
    _times(left, rows, place)
    _hidden(right, rows, place)
    left.set_yticks(place, names, fontsize=9)
    figure.suptitle(str(rows[0].use.run.about.get("system", "")), fontsize=11)
    return figure


def _times(axes: Any, rows: Sequence[Row], place: np.ndarray) -> None:
    """Seconds of a product: local products, the steps, the rest."""
    begin = np.zeros(len(rows))
    parts = [("local products", np.array([row.use.kernel_p.mean() / row.use.products for row in rows]), PALE)]
    for number, (name, _, _) in enumerate(STEPS):
        held = np.array([row.use.steps[number].held_p.mean() / row.use.products for row in rows])
        parts.append((name, held, PALETTE[number]))
    meeting = np.array([row.use.meeting_p.mean() / row.use.products for row in rows])
    parts += [("meetings", meeting, QUIET)] if meeting.any() else []
    for name, length, colour in parts:
        axes.barh(place, 1e3 * length, left=1e3 * begin, color=colour, label=name, height=0.7)
        begin = begin + length
    axes.set_xlabel("ms of a product (mean over ranks)", fontsize=9)
    legend_above(axes)
    plain_axes(axes, "", "x")


def _hidden(axes: Any, rows: Sequence[Row], place: np.ndarray) -> None:
    """The share of broadcast and reduce beside which kernels ran; speed-ups as words."""
    for number, shift in ((1, 0.2), (2, -0.2)):
        hidden = [100 * (row.use.steps[number].hidden or 0.0) for row in rows]
        colour = PALETTE[number] if any(hidden) else LIGHT
        axes.barh(place + shift, hidden, height=0.36, color=colour, label=STEPS[number][0])
    for row, at in zip(rows, place, strict=True):
        words = [f"{value:.2f}x over {name}" for name, value in (("plain", row.over_plain), ("mpi", row.over_mpi))
                 if value is not None and name != row.use.scheme]  # fmt: skip
        words += [] if row.efficiency is None else [f"efficiency {100 * row.efficiency:.0f} %"]
        axes.text(101, at, ", ".join(words), fontsize=8, va="center")
    axes.set_xlim(0, 160)
    axes.set_xticks(range(0, 101, 20))
    axes.set_xlabel("hidden under kernels (%), where it is known", fontsize=9)
    plain_axes(axes, "", "x")
