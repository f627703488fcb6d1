"""Pictures of series of calculations, from the documents eos.json and converge.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenwerk.io.atomic_write import replacing
from eigenwerk.perf.pictures import BLUE, DARK, QUIET, RUST, plain_axes
from eigenwerk.units import EV_PER_CUBIC_ANGSTROM_GPA

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_figure(figure: "Figure", path: str | Path) -> None:
    """As PNG, or as SVG if the name of the file ends so.  Raises InputError if it cannot be written."""
    kind = "svg" if Path(path).suffix.lower() == ".svg" else "png"
    with replacing(path) as new:
        figure.savefig(new, format=kind)


def eos_figure(document: Mapping[str, Any], title: str) -> "Figure":
    """Energies with the curve above, both pressures below.  Raises ImportError if matplotlib is missing."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 6.0), dpi=130)
    above, below = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": (3, 2)})
    figure.subplots_adjust(left=0.115, right=0.975, bottom=0.09, top=0.93, hspace=0.09)
    atoms, points = document["atoms"], [point for point in document["points"] if point["converged"]]
    volume = np.array([point["volume_A3"] for point in points]) / atoms
    energy = np.array([point["free_energy_eV"] for point in points])
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
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=9, frameon=False)
    return figure


def _curves(above: Any, below: Any, fit: Mapping[str, Any], atoms: int, volume: np.ndarray) -> None:
    v0, b0, b1 = fit["volume_A3"] / atoms, fit["bulk_modulus_GPa"], fit["bulk_modulus_derivative"]
    ends = min(volume.min(), v0), max(volume.max(), v0)
    fine = np.linspace(ends[0] - 0.005 * v0, ends[1] + 0.005 * v0, 200)
    x = (v0 / fine) ** (2 / 3)
    energy = 9 / 16 * v0 * b0 / EV_PER_CUBIC_ANGSTROM_GPA * ((x - 1) ** 3 * b1 + (x - 1) ** 2 * (6 - 4 * x))
    above.plot(fine, 1000 * energy, color=DARK, linewidth=1.2, label="Birch–Murnaghan")
    pressure = 1.5 * b0 * (x**3.5 - x**2.5) * (1 + 0.75 * (b1 - 4) * (x - 1))
    below.plot(fine, pressure, color=DARK, linewidth=1.2, label="−dE/dV of the curve")
    for axes in (above, below):
        axes.axvline(v0, color=QUIET, linewidth=0.8, linestyle=":")
