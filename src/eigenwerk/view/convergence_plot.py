"""A picture of the way to self-consistency: what each step still changed, on a logarithmic scale."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenwerk.figure_layout import legend_above
from eigenwerk.io.vasp.output.record import StepRecord
from eigenwerk.perf.pictures import BLUE, LIGHT, QUIET, RUST, plain_axes, save_figure, whole_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_convergence(path: str | Path, steps: Sequence[StepRecord], title: str, tolerance: float) -> None:
    """Draw the changes of energy (eV) and the density residual (electrons) of each step into a file.

    tolerance: EDIFF in eV, drawn as a line: both energies have to change by less.  The first step has no change yet,
    and changes of exactly zero cannot be shown on a logarithmic scale; both are left out.
    Raises InputError if the file cannot be written.
    """
    save_figure(convergence_figure(steps, title, tolerance), path)


def convergence_figure(steps: Sequence[StepRecord], title: str, tolerance: float) -> "Figure":
    """The picture as matplotlib has it; see `draw_convergence`.  Residuals that are not known have no panel."""
    from matplotlib.figure import Figure

    residual = [(step.step, step.density_residual) for step in steps if step.density_residual is not None]
    figure = Figure(figsize=(7.0, 5.6 if residual else 3.6), dpi=120)
    panels = figure.subplots(1 + bool(residual), 1, sharex=True, squeeze=False)[:, 0]
    # fixed margins: to find them, matplotlib would draw everything twice
    figure.subplots_adjust(left=0.11, right=0.985, bottom=0.095 if residual else 0.145, top=0.94, hspace=0.17)
    bands = [(step.step, abs(step.band_energy_change)) for step in steps[1:]]
    change = [(step.step, abs(step.change)) for step in steps[1:]]
    _curve(panels[0], bands, LIGHT, "s", "band energy")
    _curve(panels[0], change, BLUE, "o", "free energy")
    if len(steps) < 2:  # nothing has changed yet
        panels[0].set_ylim(0.1 * tolerance, 10 * tolerance)
    panels[0].set_ylabel("change (eV)", fontsize=10)
    panels[0].axhline(tolerance, color=QUIET, linewidth=1, linestyle="--", label=f"EDIFF = {tolerance:g} eV")
    legend_above(panels[0])
    plain_axes(panels[0], title, "y")
    if residual:
        _curve(panels[1], residual, RUST, "o", "density residual")
        panels[1].set_ylabel("density residual (electrons)", fontsize=10)
        plain_axes(panels[1], "", "y")
    panels[-1].set_xlabel("step of self-consistency", fontsize=10)
    panels[-1].set_xlim(0.5, max(len(steps), 2) + 0.5)
    whole_numbers(panels[-1].xaxis)
    return figure


def _curve(axes: Any, points: Sequence[tuple[int, float]], colour: str, marker: str, label: str) -> None:
    """One quantity by step, if it is known."""
    shown = [(step, value) for step, value in points if value > 0]
    axes.set_yscale("log")
    if shown:
        steps, values = zip(*shown, strict=True)
        axes.plot(steps, values, marker=marker, markersize=4.5, color=colour, label=label)
