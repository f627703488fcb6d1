"""A picture of atoms that move: energy, largest force and pressure, or temperature, of each ionic step."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenwerk.io.vasp.output.record import IonicStep
from eigenwerk.perf.pictures import BLUE, DARK, QUIET, RUST, plain_axes, whole_numbers
from eigenwerk.units import BOLTZMANN_EV_KELVIN

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FALLS = 10.0
"""Forces that change by more have a logarithmic scale."""


def ionic_figure(
    steps: Sequence[IonicStep], title: str, force_limit: float | None = None, freedom: int | None = None
) -> "Figure":
    """A panel for each quantity that is known.

    force_limit: where a relaxation ends, eV/Å; freedom: degrees of freedom of dynamics, for
    temperatures that the file does not have.  Raises
    ImportError if matplotlib is missing.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    number = np.arange(1, len(steps) + 1)
    panels = [("free energy\n(eV, from the lowest)", _from_lowest([step.free_energy for step in steps]))]
    kinetic = _column([step.kinetic for step in steps])
    moving = bool(np.nansum(kinetic) > 0)
    if moving:
        total = _column([step.conserved for step in steps])
        if not np.isnan(total).all():
            panels.append(("conserved energy\n(eV, from its mean)", total - np.nanmean(total)))
        said = _column([step.temperature for step in steps])
        counted = 2 * kinetic / (freedom * BOLTZMANN_EV_KELVIN) if freedom else np.full(len(steps), np.nan)
        panels.append(("temperature (K)", np.where(np.isnan(said), counted, said)))
    else:
        panels.append(("largest force\n(eV/Å)", _column([step.force for step in steps])))
    panels.append(("pressure (GPa)", _column([step.pressure for step in steps])))
    volume = np.array([abs(np.linalg.det(step.lattice_cv)) for step in steps])
    if np.ptp(volume) > 1e-6 * volume[0]:
        panels.append(("volume (Å³)", volume))
    panels = [(words, value) for words, value in panels if not np.isnan(value).all()]
    height = 0.9 + 1.75 * len(panels)
    figure = Figure(figsize=(7.0, height), dpi=130, layout=ConstrainedLayoutEngine(h_pad=0.06))
    all_axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for place, (axes, (words, value)) in enumerate(zip(all_axes, panels, strict=True)):
        marker = "o" if len(steps) <= 60 else ""
        axes.plot(number, value, "-", marker=marker, markersize=4, color=(BLUE, RUST)[place % 2], linewidth=1.2)
        axes.set_ylabel(words, fontsize=9)
        plain_axes(axes, "" if place else title, "y")
        if words.startswith("largest force") and np.nanmin(value) > 0 and np.nanmax(value) > FALLS * np.nanmin(value):
            _force_scale(axes, force_limit)
        elif words.startswith("pressure"):
            axes.axhline(0.0, color=QUIET, linewidth=0.8)
    figure.align_ylabels(all_axes)
    all_axes[-1].set_xlabel("ionic step", fontsize=10)
    all_axes[-1].set_xlim(0.5, len(steps) + 0.5)
    whole_numbers(all_axes[-1].xaxis)
    return figure


def _force_scale(axes: Any, limit: float | None) -> None:
    axes.set_yscale("log")
    if limit is not None and limit > 0:
        axes.axhline(limit, color=DARK, linewidth=1, linestyle="--")
        axes.annotate(
            f"EDIFFG = {-limit:g} eV/Å", (0.99, limit), xycoords=("axes fraction", "data"), ha="right", fontsize=8,
            textcoords="offset points", xytext=(0, 3), color=DARK,
        )  # fmt: skip


def _column(values: Sequence[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def _from_lowest(values: Sequence[float | None]) -> np.ndarray:
    value_x = _column(values)
    return value_x if np.isnan(value_x).all() else value_x - np.nanmin(value_x)
