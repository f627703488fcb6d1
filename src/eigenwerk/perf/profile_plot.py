"""A picture of where the time of a run went: phases, and the turns of its loops."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenwerk.figure_layout import legend_above
from eigenwerk.perf.communication_text import heading
from eigenwerk.perf.pictures import BLUE, DARK, LIGHT, QUIET, RUST, plain_axes, save_figure, whole_numbers
from eigenwerk.perf.profile import Lap, Profile
from eigenwerk.perf.tables import percent
from eigenwerk.record.trace import COMMUNICATION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOST, TALK, DEVICE = BLUE, LIGHT, RUST

MANY_PHASES = 18
"""Phases that are shown, those with most time of their own."""


def draw_profile(path: str | Path, found: Profile) -> None:
    """Draw the phases of a run into a file.

    Raises InputError if the file cannot be written, ImportError if matplotlib is missing.
    """
    save_figure(profile_figure(found), path)


def profile_figure(found: Profile) -> "Figure":
    """The picture as matplotlib has it."""
    from matplotlib.figure import Figure

    laps = [lap for lap in found.laps if len(lap.seconds) > 1]
    figure = Figure(figsize=(12.0, 5.6), dpi=120, layout="constrained")
    panels = figure.subplots(1, 1 + bool(laps), width_ratios=[3, 2][: 1 + bool(laps)], squeeze=False)[0]
    title, *where = heading(found.run)
    figure.suptitle(f"{title}\n{' '.join(line.strip() for line in where)}", fontsize=11)
    _phases(panels[0], found)
    if laps:
        _laps(panels[1], laps[0])
    return figure


def _phases(axes: Any, found: Profile) -> None:
    """Own time of the longest phases in the order of the tree, with the spread over ranks."""
    longest = sorted(found.phases, key=lambda phase: -max(phase.own_p.mean(), phase.busy_p.mean()))[:MANY_PHASES]
    shown = [phase for phase in found.phases if any(phase is one for one in longest)][::-1]
    place = np.arange(len(shown))
    second_xp = np.array([phase.own_p for phase in shown]).reshape(len(shown), -1)
    mean_x = second_xp.mean(axis=1)
    height = 0.38 if found.on_device else 0.7
    shift = height / 2 if found.on_device else 0.0
    talks_x = np.array([phase.name == COMMUNICATION for phase in shown], dtype=bool)
    for chosen_x, colour, label in ((~talks_x, HOST, "host"), (talks_x, TALK, "host, communication")):
        if chosen_x.any():
            axes.barh(place[chosen_x] + shift, mean_x[chosen_x], height=height, color=colour, label=label)
    if second_xp.shape[1] > 1:
        spread = np.maximum(0.0, [mean_x - second_xp.min(axis=1), second_xp.max(axis=1) - mean_x])  # equal ones too
        axes.errorbar(mean_x, place + shift, xerr=spread, fmt="none", ecolor=DARK, elinewidth=1, capsize=2)
    if found.on_device:
        device_x = [phase.own_device_seconds or 0.0 for phase in shown]
        axes.barh(place - shift, device_x, height=height, color=DEVICE, label="device")
    if found.on_device or talks_x.any():
        legend_above(axes)
    axes.set_yticks(place, [" / ".join(phase.path[-2:]) for phase in shown])
    axes.set_xlabel("seconds without inner phases (mean, smallest, largest over ranks)", fontsize=9)
    listed = sum(float(phase.own_p.mean()) for phase in shown) / float(found.elapsed_p.mean())
    plain_axes(axes, f"Phases: these are {percent(listed)} of the elapsed time", "x")


def _laps(axes: Any, lap: Lap) -> None:
    """The turns of the first loop."""
    turn = np.arange(1, len(lap.seconds) + 1)
    axes.plot(turn, lap.seconds, marker="o", markersize=4, color=HOST)
    mean = float(np.mean(lap.seconds))
    axes.axhline(mean, color=QUIET, linewidth=1, linestyle="--")
    axes.set_ylim(0, max(lap.seconds) * 1.12)
    whole_numbers(axes.xaxis)
    axes.set_xlabel("turn", fontsize=9)
    axes.set_ylabel("seconds", fontsize=9)
    plain_axes(axes, f"{lap.name}: {len(lap.seconds)} turns, {mean:.3f} s in the mean", "y")
