"""A picture of a trajectory: pair distributions, mean square displacements, velocity autocorrelations."""

from typing import TYPE_CHECKING, Any

import numpy as np

from eigenwerk.figure_layout import legend_above
from eigenwerk.perf.pictures import PALETTE, QUIET, plain_axes
from eigenwerk.view.trajectory import (
    ReadTrajectory,
    pair_distributions,
    square_displacements,
    velocity_autocorrelations,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARE = 0.5
"""Of the trajectory: longer differences of times have too few origins to be averaged over."""


def trajectory_figure(found: ReadTrajectory, title: str) -> "Figure":
    """Three panels, two without velocities.  Raises ImportError if matplotlib is missing."""
    from matplotlib.figure import Figure

    kept = max(2, int(np.ceil(SHARE * len(found.time_t))))
    time_t = (found.time_t - found.time_t[0])[:kept]
    velocities = velocity_autocorrelations(found)
    figure = Figure(figsize=(7.0, 8.0 if velocities else 5.6), dpi=130, layout="constrained")
    all_axes = figure.subplots(3 if velocities else 2, 1)
    distance_x, pairs, half = pair_distributions(found)
    axes = all_axes[0]
    for place, ((one, other), value_x) in enumerate(pairs.items()):
        axes.plot(distance_x, value_x, color=PALETTE[place % len(PALETTE)], linewidth=1.2, label=f"{one}-{other}")
    axes.axhline(1.0, color=QUIET, linewidth=0.8)
    if half < distance_x[-1]:
        axes.axvline(half, color=QUIET, linewidth=0.8, linestyle="--")
    axes.set_xlim(0, distance_x[-1])
    axes.set_xlabel("distance (Å)", fontsize=9)
    axes.set_ylabel("pair distribution", fontsize=9)
    _curves(all_axes[1], time_t, square_displacements(found), "mean square\ndisplacement (Å²)")
    if velocities:
        _curves(all_axes[2], time_t, velocities, "velocity\nautocorrelation")
        all_axes[2].axhline(0.0, color=QUIET, linewidth=0.8)
    for place, one_axes in enumerate(all_axes):
        plain_axes(one_axes, "" if place else title, "y")
        legend_above(one_axes)
    figure.align_ylabels(all_axes)
    return figure


def _curves(axes: Any, time_t: np.ndarray, found: dict[str, np.ndarray], words: str) -> None:
    for place, (name, value_t) in enumerate(found.items()):
        colour = PALETTE[place % len(PALETTE)]
        axes.plot(time_t, value_t[: len(time_t)], color=colour, linewidth=1.2, label=name)
    axes.set_xlim(0, time_t[-1])
    axes.set_xlabel("time (fs)", fontsize=9)
    axes.set_ylabel(words, fontsize=9)
