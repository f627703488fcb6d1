"""A picture of bands along a path, from the document bands.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenwerk.io.atomic_write import replacing
from eigenwerk.perf.pictures import BLUE, DARK, QUIET, RUST, plain_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BELOW, ABOVE = 15.0, 10.0
"""What is shown around zero, eV, unless the bands end before."""

GREEK = {"G": "Γ", "GAMMA": "Γ", "SIGMA": "Σ", "DELTA": "Δ", "LAMBDA": "Λ"}


def draw_bands(path: str | Path, bands: Mapping[str, Any], title: str) -> None:
    """Draw the bands of a document (`BandStructure.as_dict`) into a PNG file.

    Energies count from the valence band top, or from the Fermi level of a metal.  Raises InputError if the file cannot
    be written, ImportError if matplotlib is missing.
    """
    figure = bands_figure(bands, title)
    with replacing(path) as new:
        figure.savefig(new, format="png")


def bands_figure(bands: Mapping[str, Any], title: str) -> "Figure":
    """The picture as matplotlib has it; see `draw_bands`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 5.2), dpi=130)
    axes = figure.subplots()
    figure.subplots_adjust(left=0.1, right=0.98, bottom=0.1, top=0.92)
    eig_skn = np.array(bands["eigenvalues_eV"]) - bands["zero_eV"]
    distance_k, metal = np.array(bands["distance_per_A"]), bands["gap_eV"]["metal"]
    line_k = np.zeros(len(distance_k), dtype=int) if bands["lines"] is None else np.array(bands["lines"])
    colours = [(BLUE, "-", "spin up"), (RUST, "--", "spin down")]
    for eig_kn, (colour, style, name) in zip(eig_skn, colours, strict=False):
        for line in np.unique(line_k):
            on_line = line_k == line
            label = name if line == 0 and len(eig_skn) == 2 else None
            curves = axes.plot(distance_k[on_line], eig_kn[on_line], style, color=colour, linewidth=1.3)
            if label:
                curves[0].set_label(label)
    axes.axhline(0.0, color=QUIET, linewidth=0.9, linestyle=":")
    for place, words in label_places(distance_k, bands["labels"]):
        axes.axvline(place, color=DARK, linewidth=0.6)
        axes.annotate(
            words, (place, 0.0), xycoords=("data", "axes fraction"), textcoords="offset points", xytext=(0, -14),
            ha="center", fontsize=10,
        )  # fmt: skip
    gap = bands["gap_eV"]["gap"]
    about = "metal" if metal else "" if gap is None else f"gap {gap:.3f} eV, {_kind(bands)}"
    plain_axes(axes, f"{title}: {about}" if about else title, "y")
    axes.set_xticks([])
    axes.set_xlim(distance_k[0], max(distance_k[-1], 1e-6))
    axes.set_ylim(max(-BELOW, eig_skn.min() - 0.5), min(ABOVE, eig_skn.max() + 0.5))
    zero = "Fermi level" if metal or bands["gap_eV"]["top"] is None else "valence band top"
    axes.set_ylabel(f"energy from the {zero} (eV)", fontsize=10)
    if len(eig_skn) == 2:
        axes.legend(loc="upper right", fontsize=9, framealpha=0.9)
    return figure


def _kind(bands: Mapping[str, Any]) -> str:
    return "direct" if bands["gap_eV"]["direct"] else "indirect"


def label_places(distance_k: np.ndarray, labels: list[str]) -> list[tuple[float, str]]:
    """Where names stand, both of a jump together: [(distance, "U|K"), ...]."""
    places: dict[float, list[str]] = {}
    for place, label in zip(distance_k.round(9).tolist(), labels, strict=False):
        shown = GREEK.get(label.upper().lstrip("\\"), label)
        if shown and shown not in places.setdefault(place, []):
            places[place].append(shown)
    return [(place, "|".join(names)) for place, names in places.items() if names]
