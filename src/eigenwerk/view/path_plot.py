"""The picture of a path between two minima, from the document neb.json."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from eigenwerk.figure_layout import NAME, legend_above
from eigenwerk.motion.saddle.barrier import PathEnergy
from eigenwerk.perf.pictures import BLUE, DARK, QUIET, RUST, plain_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def path_title(document: Mapping[str, Any]) -> str:
    """Barriers both ways, and whether the band is at rest."""
    words = f"barrier {document['barrier_eV']:.3f} eV, back {document['backward_barrier_eV']:.3f} eV"
    return words if document["converged"] else f"{words}, NOT AT REST"


def path_figure(document: Mapping[str, Any], title: str) -> "Figure":
    """Energies of the images with the curve through them, by their slopes.  Raises ImportError without matplotlib."""
    from matplotlib.figure import Figure

    found = PathEnergy.of_document(document)
    zero, rows = float(found.energy_x[0]), document["images"]
    figure = Figure(figsize=(7.0, 4.6), dpi=130, layout="constrained")
    axes = figure.subplots()
    place, energy = found.curve()
    axes.plot(place, energy - zero, color=DARK, linewidth=1.2, label="cubic in each interval, by energies and forces")
    axes.plot(found.distance_x, found.energy_x - zero, "o", color=BLUE, markersize=5, label="images")
    top, height = found.top
    axes.plot([top], [height - zero], "x", color=RUST, markersize=7, label=f"highest: {height - zero:.4f} eV")
    half = 0.18 * float(found.distance_x[-1]) / max(len(rows) - 1, 1)
    for x, value, slope in zip(found.distance_x, found.energy_x - zero, found.slope_x, strict=True):
        axes.plot([x - half, x + half], [value - half * slope, value + half * slope], color=BLUE, linewidth=0.8)
    for x, value, row in zip(found.distance_x, found.energy_x - zero, rows, strict=True):
        axes.annotate(
            row["folder"], (x, value), xytext=(0, 7), textcoords="offset points", fontsize=8, ha="center", gid=NAME
        )
    axes.axhline(0.0, color=QUIET, linewidth=0.8)
    axes.set_xlabel("distance along the band (Å)", fontsize=10)
    axes.set_ylabel("free energy (eV)", fontsize=10)
    axes.margins(y=0.12)
    plain_axes(axes, title, "y")
    legend_above(axes)
    return figure
