"""A picture of the communication of a run: functions, ranks, sizes of messages, pairs of ranks."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenwerk.figure_layout import legend_above
from eigenwerk.perf.communication import Communication
from eigenwerk.perf.communication_text import heading
from eigenwerk.perf.pictures import BLUE, DARK, PALE, QUIET, RUST, plain_axes, save_figure, whole_numbers
from eigenwerk.perf.tables import percent, size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORK, MOVING, WAITING = PALE, BLUE, RUST

MANY_FUNCTIONS, MANY_NUMBERS = 10, 8
"""Functions that are shown, and ranks up to which the numbers stand in the matrix."""


def draw_communication(path: str | Path, found: Communication) -> None:
    """Draw the traffic of a run into a file.

    Raises InputError if the file cannot be written, ImportError if matplotlib is missing.
    """
    save_figure(communication_figure(found), path)


def communication_figure(found: Communication) -> "Figure":
    """The picture as matplotlib has it."""
    from matplotlib.figure import Figure

    pairs = bool(found.call_pp.any())
    figure = Figure(figsize=(12.0, 8.4), dpi=120, layout="constrained")
    panels = figure.subplot_mosaic([["functions", "ranks"], ["sizes", "pairs" if pairs else "sizes"]])
    title, *where = heading(found.run)
    figure.suptitle(f"{title}\n{' '.join(line.strip() for line in where)}", fontsize=11)
    _functions(panels["functions"], found)
    _ranks(panels["ranks"], found)
    _sizes(panels["sizes"], found)
    if pairs:
        _pairs(panels["pairs"], found, figure)
    return figure


def _functions(axes: Any, found: Communication) -> None:
    """Seconds by function, the longest on top."""
    shown = found.functions[:MANY_FUNCTIONS][::-1]
    waiting = np.array([use.waiting or 0.0 for use in shown])
    moving = np.array([use.seconds for use in shown]) - waiting
    place = np.arange(len(shown))
    axes.barh(place, moving, color=MOVING, label="moving data", height=0.7)
    axes.barh(place, waiting, left=moving, color=WAITING, label="waiting for other ranks", height=0.7)
    axes.set_yticks(place, [f"{use.function[0]}\n{use.function[1]}, {use.function[2]}" for use in shown])
    axes.set_xlabel("seconds (mean over ranks)", fontsize=9)
    legend_above(axes)
    plain_axes(axes, f"By function: {percent(found.share)} of the elapsed time is communication", "x")


def _ranks(axes: Any, found: Communication) -> None:
    """Where the time of each rank went."""
    place = np.arange(len(found.elapsed_p))
    moving_p = found.held_p - found.wait_p
    axes.bar(place, found.work_p, color=WORK, label="work", width=0.8)
    axes.bar(place, moving_p, bottom=found.work_p, color=MOVING, label="moving data", width=0.8)
    axes.bar(
        place, found.wait_p, bottom=found.work_p + moving_p, color=WAITING, label="waiting for other ranks", width=0.8
    )
    axes.set_xlabel("rank", fontsize=9)
    axes.set_ylabel("seconds", fontsize=9)
    axes.set_ylim(0, float(found.elapsed_p.max()) * 1.18)
    whole_numbers(axes.xaxis)
    legend_above(axes)
    plain_axes(axes, f"By rank: the busiest works {percent(found.imbalance)} longer than the mean", "y")


def _sizes(axes: Any, found: Communication) -> None:
    """Messages by size: how many, and how long they took."""
    place = np.arange(len(found.sizes))
    calls = np.array([entry.calls for entry in found.sizes], dtype=float)
    times = np.array([entry.seconds for entry in found.sizes])
    axes.bar(place - 0.2, 100 * calls / calls.sum(), width=0.4, color=QUIET, label="calls")
    axes.bar(place + 0.2, 100 * times / max(times.sum(), 1e-300), width=0.4, color=MOVING, label="seconds")
    every = -(-len(place) // 12)
    axes.set_xticks(place[::every] - 0.5, [size(entry.from_bytes) for entry in found.sizes[::every]])
    axes.set_xlabel("size of message", fontsize=9)
    axes.set_ylabel("share of all (%)", fontsize=9)
    legend_above(axes)
    plain_axes(axes, f"Sizes: {int(calls.sum())} calls with {size(sum(entry.bytes for entry in found.sizes))}", "y")


def _pairs(axes: Any, found: Communication, figure: Any) -> None:
    """Bytes from the rank of the row to that of the column; pairs that never exchanged anything stay white."""
    sent_pp = np.where(found.call_pp > 0, found.sent_pp, np.nan).astype(float)
    largest = max(float(found.sent_pp.max()), 1.0)
    image = axes.imshow(sent_pp, cmap="Blues", vmin=0, vmax=largest)
    bar = figure.colorbar(image, ax=axes, ticks=[0, largest / 2, largest])
    bar.ax.set_yticklabels([size(count) for count in (0, largest / 2, largest)], fontsize=8)
    bar.outline.set_visible(False)
    ranks = len(sent_pp)
    if ranks <= MANY_NUMBERS:
        for row, to in np.argwhere(found.call_pp > 0):
            colour = "white" if sent_pp[row, to] > 0.55 * largest else DARK
            axes.text(to, row, size(sent_pp[row, to]), ha="center", va="center", fontsize=7, color=colour)
    axes.set_xlabel("to rank", fontsize=9)
    axes.set_ylabel("from rank", fontsize=9)
    for axis in (axes.xaxis, axes.yaxis):
        whole_numbers(axis)
    plain_axes(axes, "Bytes from rank to rank (where it is known)", "")
