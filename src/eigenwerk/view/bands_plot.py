"""A picture of bands along a path, from the document bands.json, alone or with densities of states beside it."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenwerk.figure_layout import legend_above
from eigenwerk.perf.pictures import DARK, QUIET, SPINS, plain_axes, save_figure
from eigenwerk.view.dos_plot import DosCurves, draw_dos

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BELOW, ABOVE = 15.0, 10.0
"""What is shown around zero, eV, unless the bands end before."""

GREEK = {"G": "Γ", "GAMMA": "Γ", "SIGMA": "Σ", "DELTA": "Δ", "LAMBDA": "Λ"}
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def draw_bands(path: str | Path, bands: Mapping[str, Any], title: str) -> None:
    """Draw the bands of a document (`BandStructure.as_dict`) into a file.

    Energies count from the valence band top, or from the Fermi level of a metal.  Raises InputError if the file cannot
    be written, ImportError if matplotlib is missing.
    """
    save_figure(bands_figure(bands, title), path)


def bands_figure(
    bands: Mapping[str, Any], title: str, dos: DosCurves | None = None, window: tuple[float, float] | None = None,
    about_dos: str = "",
) -> "Figure":  # fmt: skip
    """The picture as matplotlib has it; see `draw_bands`.

    dos: densities of states to stand beside it; window: energies that are shown, eV from the zero;
    about_dos: words below it.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0 if dos is None else 9.4, 5.2), dpi=130, layout="constrained")
    if dos is None:
        axes = figure.subplots()
    else:
        axes, beside = figure.subplots(1, 2, sharey=True, width_ratios=(2.3, 1))
    low, high = plot_bands(axes, bands, title, window)
    if dos is not None:
        draw_dos(beside, dos, bands["zero_eV"], (low, high), upright=True)
        beside.axhline(0.0, color=QUIET, linewidth=0.9, linestyle=":")
        beside.tick_params(axis="y", length=0)
        beside.annotate(about_dos, (1.04, 0.0), xycoords="axes fraction", fontsize=8, color=QUIET)
        plain_axes(beside, "", "y")
    return figure


def plot_bands(
    axes: Any, bands: Mapping[str, Any], title: str, window: tuple[float, float] | None = None
) -> tuple[float, float]:
    """Into given axes; the energies that are shown, from the zero."""
    worth = _draw(axes, bands)
    axes.set_ylim(*(window or worth))
    plain_axes(axes, f"{title}{_about(bands)}", "y")
    axes.tick_params(axis="x", length=0)
    return window or worth


def zero_words(bands: Mapping[str, Any]) -> str:
    """What the energies of a document count from."""
    return "Fermi level" if bands["gap_eV"]["metal"] or bands["gap_eV"]["top"] is None else "valence band top"


def _draw(axes: Any, bands: Mapping[str, Any]) -> tuple[float, float]:
    """Curves, names of points and the line at zero; the energies that are worth showing."""
    eig_skn = np.array(bands["eigenvalues_eV"]) - bands["zero_eV"]
    distance_k = np.array(bands["distance_per_A"])
    line_k = np.zeros(len(distance_k), dtype=int) if bands["lines"] is None else np.array(bands["lines"])
    for eig_kn, (colour, style, name) in zip(eig_skn, SPINS, strict=False):
        for line in np.unique(line_k):
            on_line = line_k == line
            curves = axes.plot(distance_k[on_line], eig_kn[on_line], style, color=colour, linewidth=1.3)
            if line == 0 and len(eig_skn) == 2:
                curves[0].set_label(name)
    axes.axhline(0.0, color=QUIET, linewidth=0.9, linestyle=":")
    places = label_places(distance_k, bands["labels"])
    for place, _ in places:
        axes.axvline(place, color=DARK, linewidth=0.6)
    axes.set_xticks([place for place, _ in places], [words for _, words in places], fontsize=10)
    axes.set_xlim(distance_k[0], max(distance_k[-1], 1e-6))
    axes.set_ylabel(f"energy from the {zero_words(bands)} (eV)", fontsize=10)
    legend_above(axes)
    return eig_skn[eig_skn > -BELOW].min(initial=0.0) - 0.5, min(ABOVE, eig_skn.max() + 0.5)


def _about(bands: Mapping[str, Any]) -> str:
    gap = bands["gap_eV"]
    words = "metal" if gap["metal"] else ""
    if not gap["metal"] and gap["gap"] is not None:
        words = f"gap {gap['gap']:.3f} eV, {gap['kind']}"
    return f": {words}" if words else ""


def label_places(distance_k: np.ndarray, labels: list[str]) -> list[tuple[float, str]]:
    """Where names stand, both of a jump together: [(distance, "U|K"), ...]."""
    places: dict[float, list[str]] = {}
    for place, label in zip(distance_k.round(9).tolist(), labels, strict=False):
        shown = _shown(label)
        if shown and shown not in places.setdefault(place, []):
            places[place].append(shown)
    return [(place, "|".join(names)) for place, names in places.items() if names]


def _shown(label: str) -> str:
    """With Greek letters, and digits behind _ below the line."""
    name, _, index = label.lstrip("\\").partition("_")
    return GREEK.get(name.upper(), name) + index.strip("{}").translate(SUBSCRIPTS)
