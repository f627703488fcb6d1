"""Numbers and tables of the laboratory as plain text."""

from collections.abc import Sequence

import numpy as np

UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1, indent: str = "  ") -> list[str]:
    """Aligned columns; the first `left` of them to the left, the others to the right."""
    lines = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return [indent + "  ".join(_cells(line, widths, left)).rstrip() for line in lines]


def _cells(line: Sequence[str], widths: Sequence[int], left: int) -> list[str]:
    return [
        cell.ljust(width) if column < left else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(line, widths, strict=True))
    ]


def size(count: float) -> str:
    """512 B, 1 KiB, 2.5 MiB."""
    place = 0
    while count >= 1024 and place < len(UNITS) - 1:
        count, place = count / 1024, place + 1
    return f"{count:.0f} {UNITS[place]}" if count >= 100 or not place else f"{count:.3g} {UNITS[place]}"


def seconds(time: float | None) -> str:
    """Seconds with three decimals; nothing where they are not known."""
    return "" if time is None else f"{time:.3f}"


def percent(share: float) -> str:
    """A share with one decimal."""
    return f"{100 * share:.1f} %"


def gigabytes_per_second(rate: float | None) -> str:
    """Billions of bytes per second to two figures or so; nothing where the rate is not known."""
    if rate is None:
        return ""
    if rate < 5e5:
        return "<0.001"
    return f"{rate / 1e9:.3f}" if rate < 1e9 else f"{rate / 1e9:.1f}"


def spread(second_x: np.ndarray) -> list[str]:
    """Smallest, mean and largest, in seconds."""
    return [seconds(float(value)) for value in (second_x.min(), second_x.mean(), second_x.max())]


def bar(share: float, width: int) -> str:
    """A bar of # for a share of the whole; a little is never nothing."""
    return "#" * max(round(share * width), 1 if share > 0 else 0)
