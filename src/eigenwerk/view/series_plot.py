"""Pictures of series of calculations, from the documents eos.json and converge.json."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenwerk.figure_layout import legend_above
from eigenwerk.perf.pictures import BLUE, DARK, QUIET, RUST, plain_axes
from eigenwerk.units import EV_PER_ANGSTROM3_GPA

if TYPE_CHECKING:
    from matplotlib.figure import Figure


VARIED = {"cutoff": "ENCUT (eV)", "k-points": "mesh of k-points", "smearing": "SIGMA (eV)"}
"""What settings of a series are, below its axes."""


def eos_figure(document: Mapping[str, Any], title: str) -> "Figure":
    """Energies with the curve above, both pressures below.  Raises ImportError if matplotlib is missing."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 6.0), dpi=130, layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": (3, 2)})
    atoms, points = document["atoms"], [point for point in document["points"] if point["converged"]]
    volume = np.array([point["volume_A3"] for point in points]) / atoms
    energy = np.array([point.get("smooth_free_energy_eV", point["free_energy_eV"]) for point in points])
    fit = document["birch_murnaghan"]
    zero = (energy.min() if fit is None else fit["energy_eV"]) if len(points) else 0.0
    if fit is not None:
        _curves(above, below, fit, atoms, volume)
    above.plot(volume, 1000 * (energy - zero) / atoms, "o", color=BLUE, markersize=5, label="computed")
    stress = [(v, p) for v, p in zip(volume, points, strict=True) if p["pressure_GPa"] is not None]
    if stress:
        corrected = [point["pressure_GPa"] - (point["pulay_pressure_GPa"] or 0.0) for _, point in stress]
        below.plot([v for v, _ in stress], corrected, "o", color=RUST, markersize=5, label="stress − Pulay estimate")
    above.set_ylabel("free energy (meV per atom)", fontsize=10)
    below.set_ylabel("pressure (GPa)", fontsize=10)
    below.set_xlabel("volume (Å³ per atom)", fontsize=10)
    below.axhline(0.0, color=QUIET, linewidth=0.8)
    plain_axes(above, title, "y")
    plain_axes(below, "", "y")
    for axes in (above, below):
        legend_above(axes)
    return figure


def eos_title(document: Mapping[str, Any]) -> str:
    """Volume, bulk modulus and its derivative, if there is a curve."""
    fit, atoms = document["birch_murnaghan"], document["atoms"]
    if fit is None:
        return "no equation of state"
    volume, modulus = fit["volume_A3"] / atoms, fit["bulk_modulus_GPa"]
    words = f"V0 = {volume:.3f} Å³ per atom, B0 = {modulus:.1f} GPa, B0' = {fit['bulk_modulus_derivative']:.2f}"
    return words if document["bracketed"] else f"{words} (extrapolated)"


def _curves(above: Any, below: Any, fit: Mapping[str, Any], atoms: int, volume: np.ndarray) -> None:
    v0, b0, b1 = fit["volume_A3"] / atoms, fit["bulk_modulus_GPa"], fit["bulk_modulus_derivative"]
    ends = min(volume.min(), v0), max(volume.max(), v0)
    fine = np.linspace(ends[0] - 0.005 * v0, ends[1] + 0.005 * v0, 200)
    x = (v0 / fine) ** (2 / 3)
    energy = 9 / 16 * v0 * b0 / EV_PER_ANGSTROM3_GPA * ((x - 1) ** 3 * b1 + (x - 1) ** 2 * (6 - 4 * x))
    above.plot(fine, 1000 * energy, color=DARK, linewidth=1.2, label="Birch–Murnaghan")
    pressure = 1.5 * b0 * (x**3.5 - x**2.5) * (1 + 0.75 * (b1 - 4) * (x - 1))
    below.plot(fine, pressure, color=DARK, linewidth=1.2, label="−dE/dV of the curve")
    for axes in (above, below):
        axes.axvline(v0, color=QUIET, linewidth=0.8, linestyle=":")


def converge_figure(document: Mapping[str, Any], title: str) -> "Figure":
    """A row for each series: what energy (with the estimated error) and pressure still change, logarithmic.

    Raises ImportError if matplotlib is missing.
    """
    from matplotlib.figure import Figure

    series = document["series"]
    figure = Figure(figsize=(8.0, 0.6 + 2.9 * len(series)), dpi=130, layout="constrained")
    figure.suptitle(title, fontsize=11)
    for axes, one in zip(figure.subplots(len(series), 2, squeeze=False), series, strict=True):
        rows = [row for row in one["settings"] if row["converged"]]
        places = range(len(rows))
        names = [row["words"].removeprefix("ENCUT = ").removeprefix("SIGMA = ") for row in rows]
        error = [1000 * row["estimated_error_eV_per_atom"] for row in rows]
        change = [1000 * abs(row["difference_to_best_eV_per_atom"]) for row in rows]
        _steps(axes[0], places, error, names, "-o", BLUE, "estimated error")
        _steps(axes[0], places, change, names, "x", RUST, "difference to the best")
        for target in (10.0, 1.0):
            axes[0].axhline(target, color=QUIET, linewidth=0.8, linestyle=":")
        plain_axes(axes[0], f"{one['name']}: energy (meV per atom)", "y")
        legend_above(axes[0])
        known = [(place, row["pressure_change_GPa"]) for place, row in zip(places, rows, strict=True)]
        known = [(place, value) for place, value in known if value is not None]
        axes[1].plot([place for place, _ in known], [value for _, value in known], "-o", color=BLUE, markersize=4.5)
        axes[1].set_xticks(list(places), names, fontsize=8)
        axes[1].axhline(0.0, color=QUIET, linewidth=0.8)
        for panel in axes:
            panel.set_xlabel(VARIED.get(one["name"], one["name"]), fontsize=9)
        plain_axes(axes[1], f"{one['name']}: pressure to the best (GPa)", "y")
    return figure


def _steps(axes: Any, places: Any, values: list[float], names: list[str], style: str, colour: str, label: str) -> None:
    """One quantity by setting; zeros have no place on a logarithmic scale."""
    shown = [(place, value) for place, value in zip(places, values, strict=True) if value > 0]
    axes.plot([p for p, _ in shown], [v for _, v in shown], style, color=colour, markersize=4.5, label=label)
    if shown:
        axes.set_yscale("log")
    axes.set_xticks(list(places), names, fontsize=8)
