"""What the pictures of the laboratory have in common."""

from typing import Any

BLUE, LIGHT, RUST, PALE, QUIET, DARK = "#1b6ca8", "#8fbbda", "#c4572b", "#dbe5ec", "#666666", "#222222"


def plain_axes(axes: Any, title: str, grid: str) -> None:
    """A title to the left, small numbers, faint lines across `grid` ("x", "y" or "" for none), no box."""
    axes.set_title(title, fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.set_axisbelow(True)
    if grid:
        axes.grid(True, axis=grid, color="#dddddd", linewidth=0.7)


def whole_numbers(axis: Any) -> None:
    """Marks at whole numbers only."""
    axis.get_major_locator().set_params(integer=True)
