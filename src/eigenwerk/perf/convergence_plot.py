"""A picture of the way to self-consistency: what each step still changed, on a logarithmic scale."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.vasp.output.record import StepRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENERGY_COLOUR, BAND_COLOUR, RESIDUAL_COLOUR, QUIET = "#1b6ca8", "#8fbbda", "#c4572b", "#666666"


def draw_convergence(path: str | Path, steps: Sequence[StepRecord], title: str, tolerance: float) -> None:
    """Draw the changes of energy (eV) and the density residual (electrons) of each step into a PNG file.

    tolerance: EDIFF in eV, drawn as a line: both energies have to change by less.  The first step has no change yet,
    and changes of exactly zero cannot be shown on a logarithmic scale; both are left out.
    Raises InputError if the file cannot be written, ImportError if matplotlib is missing.
    """
    figure = convergence_figure(steps, title, tolerance)
    with replacing(path) as new:
        figure.savefig(new, format="png")


def convergence_figure(steps: Sequence[StepRecord], title: str, tolerance: float) -> "Figure":
    """The picture as matplotlib has it; see `draw_convergence`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 5.6), dpi=120)
    above, below = figure.subplots(2, 1, sharex=True)
    # fixed margins: to find them, matplotlib would draw everything twice
    figure.subplots_adjust(left=0.11, right=0.985, bottom=0.095, top=0.93, hspace=0.09)
    figure.suptitle(title, fontsize=11)
    bands = [(step.step, abs(step.band_energy_change)) for step in steps[1:]]
    change = [(step.step, abs(step.change)) for step in steps[1:]]
    _curve(above, bands, BAND_COLOUR, "band energy")
    _curve(above, change, ENERGY_COLOUR, "free energy")
    above.set_ylabel("change (eV)", fontsize=10)
    above.legend(loc="upper right", fontsize=9, frameon=False)
    above.axhline(tolerance, color=QUIET, linewidth=1, linestyle="--")
    above.annotate(
        f"EDIFF = {tolerance:g} eV", (0.01, tolerance), xycoords=("axes fraction", "data"), textcoords="offset points",
        xytext=(0, 3), fontsize=9, color=QUIET,
    )  # fmt: skip
    residual = [(step.step, step.density_residual) for step in steps if step.density_residual is not None]
    _curve(below, residual, RESIDUAL_COLOUR, "density residual")
    below.set_ylabel("density residual (electrons)", fontsize=10)
    _step_axis(below, len(steps))
    return figure


def _curve(axes: Any, points: Sequence[tuple[int, float]], colour: str, label: str) -> None:
    """One quantity by step."""
    shown = [(step, value) for step, value in points if value > 0]
    axes.set_yscale("log")
    steps, values = [step for step, _ in shown], [value for _, value in shown]
    axes.plot(steps, values, marker="o", markersize=4.5, color=colour, label=label)
    axes.grid(True, which="major", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _step_axis(axes: Any, steps: int) -> None:
    """Whole numbers below the lower panel."""
    axes.set_xlabel("step of self-consistency", fontsize=10)
    axes.set_xlim(0.5, max(steps, 2) + 0.5)
    axes.locator_params(axis="x", integer=True, nbins=min(max(steps, 2), 15))
