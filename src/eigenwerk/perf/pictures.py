"""What the pictures of the laboratory have in common."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenwerk.errors import InputError
from eigenwerk.figure_layout import TITLE, ready
from eigenwerk.io.atomic_write import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, LIGHT, RUST, PALE, QUIET, DARK = "#1b6ca8", "#8fbbda", "#c4572b", "#dbe5ec", "#666666", "#222222"

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#666666")
"""Colours that people tell apart who do not see all: those of Okabe and Ito, and two more."""

SPINS = ((BLUE, "-", "spin up"), (RUST, "--", "spin down"))
"""Colour, line and name of each spin channel."""

SUFFIXES = (".png", ".svg", ".pdf")
"""Of pictures that can be written."""


def require_suffix(path: Path | None, option: str) -> None:
    """Raises InputError for a name that says no kind of picture; None, where nobody gave one, is none."""
    if path is not None and path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{option} {path}: pictures are PNG, SVG or PDF. Give a name that ends in .png, .svg or .pdf.")


def save_figure(figure: "Figure", path: str | Path) -> None:
    """As PNG, or as SVG or PDF if the name of the file ends so.  Raises InputError if it cannot be written."""
    suffix = Path(path).suffix.lower()
    ready(figure)
    with replacing(path) as new:
        figure.savefig(new, format=suffix[1:] if suffix in SUFFIXES else "png")


def plain_axes(axes: Any, title: str, grid: str) -> None:
    """A title to the left, small numbers, faint lines across `grid` ("x", "y" or "" for none), no box."""
    axes.set_title(title, fontsize=TITLE, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.set_axisbelow(True)
    if grid:
        axes.grid(True, axis=grid, color="#dddddd", linewidth=0.7)


def whole_numbers(axis: Any) -> None:
    """Marks at whole numbers only."""
    axis.get_major_locator().set_params(integer=True)
