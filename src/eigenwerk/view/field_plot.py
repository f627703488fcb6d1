"""A picture of the fields of a file: a plane through each, and its averages over planes across an axis."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenwerk.figure_layout import NAME, legend_above
from eigenwerk.perf.pictures import BLUE, DARK, QUIET, RUST, plain_axes
from eigenwerk.view.fields import Field, Plane, atoms_on, on_plane, planar_average, spacing, vacuum_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FLAT = 0.02
"""A potential whose means in both halves of a vacuum differ by less (eV) has one level there."""

NOTHING = 1e-6
"""Fields below this everywhere are zero."""


def field_figure(
    fields: Sequence[Field], plane: Plane, axis: int, title: str, fermi_level: float | None = None
) -> "Figure":
    """A row for each field.

    axis: from 0, across which averages are taken; fermi_level: eV, for potentials.  Raises ImportError if matplotlib is
    missing.
    """
    from matplotlib.figure import Figure

    shown = [field for field in fields if np.abs(field.value_R).max() > NOTHING] or list(fields[:1])
    figure = Figure(figsize=(10.0, 0.7 + 3.7 * len(shown)), dpi=130, layout="constrained")
    figure.suptitle(title, fontsize=11)
    rows = figure.subplots(len(shown), 2, squeeze=False, width_ratios=(1, 1.15))
    for (left, right), field in zip(rows, shown, strict=True):
        _plane(figure, left, field, plane)
        _average(right, field, axis, fermi_level)
    return figure


def _plane(figure: Any, axes: Any, field: Field, plane: Plane) -> None:
    x, y, value_yx = on_plane(field, plane)
    norm, colours, extend = _scale(field, value_yx)
    value_yx = np.maximum(value_yx, norm.vmin) if field.logarithmic else value_yx  # zero has no logarithm
    picture = axes.imshow(
        value_yx, origin="lower", extent=(0, x[-1], 0, y[-1]), norm=norm, cmap=colours, interpolation="bilinear"
    )
    bar = figure.colorbar(picture, ax=axes, extend=extend, shrink=0.86, pad=0.02)
    bar.set_label(f"{field.what} ({field.unit})" if field.unit else field.what, fontsize=9)
    bar.ax.tick_params(labelsize=8)
    for symbol, place, height in atoms_on(field.poscar, plane):
        axes.plot(place, height, "o", markersize=3.2, markerfacecolor="white", markeredgecolor=DARK, clip_on=False)
        axes.annotate(
            symbol, (place, height), textcoords="offset points", xytext=(4, 3), fontsize=8, color="white",
            path_effects=_outlined(), annotation_clip=False, gid=NAME,
        )  # fmt: skip
    axes.set_xlim(0, x[-1])
    axes.set_ylim(0, y[-1])
    axes.set_xlabel("x in the plane (Å)", fontsize=10)
    axes.set_ylabel("y in the plane (Å)", fontsize=10)
    axes.set_title(plane.words, fontsize=10, loc="left")
    axes.tick_params(labelsize=8)


def _outlined() -> list[Any]:
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=2, foreground=DARK)]


def _scale(field: Field, value_yx: np.ndarray) -> tuple[Any, str, str]:
    """How values become colours; deep wells at nuclei do not use up the scale."""
    from matplotlib.colors import LogNorm, Normalize

    if field.signed:
        most = float(np.percentile(np.abs(value_yx), 99.5)) or 1.0
        return Normalize(-most, most), "RdBu_r", "both"
    if field.what.startswith("ELF"):
        return Normalize(0.0, 1.0), "viridis", "neither"
    highest = float(value_yx.max())
    if field.logarithmic and highest > 0:
        lowest = max(float(np.percentile(value_yx, 1)), 1e-3 * highest)
        return LogNorm(min(lowest, 0.5 * highest), highest), "viridis", "min"
    return Normalize(float(np.percentile(value_yx, 3)), highest), "viridis", "min"


def _average(axes: Any, field: Field, axis: int, fermi_level: float | None) -> None:
    place_x, mean_x = planar_average(field, axis)
    whole = spacing(field.poscar, axis)
    axes.plot(np.append(place_x, whole), np.append(mean_x, mean_x[0]), color=BLUE, linewidth=1.4)
    if field.unit == "eV":
        _levels(axes, field, axis, mean_x, fermi_level)
    if field.signed:
        axes.axhline(0.0, color=QUIET, linewidth=0.8)
    axes.set_xlim(0, whole)
    low, high = axes.get_ylim()
    axes.set_ylim(low - 0.09 * (high - low), high)
    for symbol, s in zip(field.poscar.symbols, field.poscar.scaled_ac[:, axis] % 1.0, strict=True):
        x = float(s) * whole
        axes.plot([x, x], [0, 0.03], color=DARK, linewidth=1.0, transform=axes.get_xaxis_transform())
        axes.annotate(
            symbol, (x, 0.035), xycoords=axes.get_xaxis_transform(), ha="center", va="bottom", fontsize=7, color=DARK,
            gid=NAME,
        )  # fmt: skip
    axes.set_xlabel(f"distance across axis {axis + 1} (Å); marks: atoms", fontsize=10)
    unit = f" ({field.unit})" if field.unit else ""
    axes.set_ylabel(f"{field.what},\naverage over planes{unit}", fontsize=10)
    plain_axes(axes, "", "y")


def _levels(axes: Any, field: Field, axis: int, mean_x: np.ndarray, fermi_level: float | None) -> None:
    """The level of a vacuum where it is flat, the Fermi level, and how far they lie apart."""
    vacuum, level = vacuum_of(field.poscar), None
    if fermi_level is not None:
        axes.axhline(fermi_level, color=RUST, linewidth=1.1, linestyle="--", label=f"Fermi level {fermi_level:z.2f} eV")
    if vacuum is not None and vacuum[0] == axis:
        away_x = ((np.arange(len(mean_x)) / len(mean_x) - vacuum[1] + 0.5) % 1.0 - 0.5) * spacing(field.poscar, axis)
        reach = 0.15 * vacuum[2]
        below_x, above_x = (mean_x[(sign * away_x >= 0) & (sign * away_x < reach)] for sign in (-1, 1))
        if len(below_x) and len(above_x) and abs(below_x.mean() - above_x.mean()) < FLAT:
            level = float(mean_x[np.abs(away_x) < reach].mean())
            axes.axhline(level, color=DARK, linewidth=1.1, linestyle=":", label=f"vacuum level {level:z.2f} eV")
    if level is not None and fermi_level is not None:
        axes.plot([], [], " ", label=f"{level - fermi_level:z.2f} eV between them")
    legend_above(axes)
