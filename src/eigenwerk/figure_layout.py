"""Titles, legends and numbers of a picture find their room, whatever they say.

matplotlib draws words where they were put, over each other and beyond the edge.  `ready` measures them: titles are
folded, a legend above its panel has as many columns as fit, names along an axis that would touch stand in two or three
rows or upright, and the figure grows by what that takes.
"""

import textwrap
from collections.abc import Sequence
from itertools import pairwise
from math import floor, log10
from typing import TYPE_CHECKING, Any

from eigenwerk.shown import make_plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMALL, TITLE, ABOVE_ALL = 8.5, 10.0, 11.0
"""Size of words in legends, titles of panels and of the whole picture; points."""

GAP, EDGE = 3.0, 10.0
"""Space between words, and of words from the edge; points."""

ABOVE, NAME = "above", "name"
"""Marks of a legend whose columns are chosen here, and of names inside a panel that are left out where they touch."""

ROWS = 3
"""Names along an axis stand in so many rows before they stand upright."""

FIXED = (1e-4, 1e6)
"""Between these, numbers along an axis have no exponent."""


def legend_above(axes: Any) -> None:
    """Between the title and the panel, where it covers nothing; none without labels."""
    if axes.get_legend_handles_labels()[0]:
        _legend(axes, len(axes.get_legend_handles_labels()[0])).set_in_layout(False)  # until its size is known


def _legend(axes: Any, columns: int, labels: Sequence[str] | None = None) -> Any:
    handles, names = axes.get_legend_handles_labels()
    legend = axes.legend(
        handles, labels or names, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, fontsize=SMALL,
        frameon=False, borderpad=0.1, borderaxespad=0.2, columnspacing=1.4, handlelength=1.8,
    )  # fmt: skip
    legend.set_gid(ABOVE)
    return legend


def numbers(ticks: Sequence[float]) -> list[str]:
    """Numbers of an axis, each whole: no factor or offset stands apart, and neighbours differ."""
    steps = [abs(one - other) for one, other in pairwise(sorted(ticks)) if one != other]
    largest = max(map(abs, ticks), default=0.0)
    if largest == 0.0:
        return ["0" for _ in ticks]
    step = min(steps, default=largest)
    if FIXED[0] <= largest < FIXED[1]:
        form = f".{max(0, _digits_after(step))}f"
    else:
        form = f".{max(0, _digits_after(step) + floor(log10(largest)))}e"
    words = [format(tick if abs(tick) > 1e-9 * step else 0.0, form) for tick in ticks]
    return ["0" if float(word) == 0 else word.replace("-", "−").replace("e+", "e") for word in words]


def _digits_after(step: float) -> int:
    """Decimals that a step needs: 1 for 0.5, 2 for 0.25, -2 for 500."""
    first = -floor(log10(step) + 1e-9)
    for more in range(3):
        scaled = step * 10.0 ** (first + more)
        if abs(scaled - round(scaled)) < 1e-3 * scaled:
            return first + more
    return first + 2


def ready(figure: "Figure") -> None:
    """Make a picture fit to be written; once is enough.  No word is a formula."""
    if figure.get_gid() == "ready":
        make_plain(figure)
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    _whole_numbers_and_decades(figure)
    make_plain(figure)
    renderer = FigureCanvasAgg(figure).get_renderer()
    _settle(figure)
    _grow(figure, _heads(figure, renderer), renderer)
    _settle(figure)
    for axes in figure.axes:
        _part(axes, renderer)
        _thin(axes, renderer)
    make_plain(figure)
    figure.set_gid("ready")


def _settle(figure: "Figure") -> None:
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


def _whole_numbers_and_decades(figure: "Figure") -> None:
    """Axes of numbers without factors that stand apart; logarithmic ones from power of ten to power of ten."""
    from matplotlib.ticker import Formatter, ScalarFormatter

    class AxisNumbers(Formatter):
        """`numbers` as matplotlib asks for them."""

        def __call__(self, x: float, pos: int | None = None) -> str:
            return numbers([x])[0]

        def format_ticks(self, values: Sequence[float]) -> list[str]:
            return numbers(list(values))

    for axes in figure.axes:
        for axis, limits, limit in (
            (axes.xaxis, axes.get_xlim, axes.set_xlim), (axes.yaxis, axes.get_ylim, axes.set_ylim),
        ):  # fmt: skip
            if axis.get_scale() == "log" and axes.get_label() != "<colorbar>":
                low, high = sorted(limits())
                if floor(log10(high)) - floor(log10(low)) < 2:  # one power of ten inside says no scale
                    limit(10.0 ** floor(log10(low)), 10.0 ** -floor(-log10(high)))
            elif axis.get_scale() == "linear" and isinstance(axis.get_major_formatter(), ScalarFormatter):
                axis.set_major_formatter(AxisNumbers())


# -- what stands above a panel -----------------------------------------------------------------------------------------


def _heads(figure: "Figure", renderer: Any) -> dict[int, float]:
    """Fold titles, choose columns of legends; for each row of panels what they take beyond one line, pixels."""
    taken: dict[int, float] = {}
    line = renderer.points_to_pixels(GAP)
    for axes in figure.axes:
        words, legend = axes.get_title(loc="left"), axes.get_legend()
        room = _right_of(axes, renderer) - axes.bbox.x0
        height = 0.0
        if legend is not None and legend.get_gid() == ABOVE:
            height = _fit_legend(axes, legend, room, renderer) + line
        if words:
            title = axes.set_title(words, loc="left", fontsize=TITLE, pad=_points(height, renderer) + 4)
            _fold(title, room, renderer)
            height += title.get_window_extent(renderer).height + line
        spec = axes.get_subplotspec()
        if height and spec is not None:
            row = spec.rowspan.start
            taken[row] = max(taken.get(row, 0.0), height)
    return taken


def _points(pixels: float, renderer: Any) -> float:
    return float(pixels / renderer.points_to_pixels(1.0))


def _right_of(axes: Any, renderer: Any) -> float:
    """Where the next panel of the row begins, or the picture ends."""
    edge = axes.figure.bbox.width - renderer.points_to_pixels(EDGE)
    for other in axes.figure.axes:
        beside = other.bbox.x0 >= axes.bbox.x1 and other.bbox.y0 < axes.bbox.y1 and axes.bbox.y0 < other.bbox.y1
        if beside and other.get_label() != "<colorbar>":
            edge = min(edge, other.get_tightbbox(renderer).x0 - renderer.points_to_pixels(EDGE))
    return float(edge)


def _fit_legend(axes: Any, legend: Any, room: float, renderer: Any) -> float:
    columns = len(legend.get_texts())
    labels = [text.get_text() for text in legend.get_texts()]
    while (width := legend.get_window_extent(renderer).width) > room:
        if columns > 1:
            columns = max(1, min(columns - 1, int(columns * room / width)))
        else:
            longest = max(len(line) for label in labels for line in label.split("\n"))
            labels = [_folded(label, max(1, min(longest - 1, int(longest * 0.9 * room / width)))) for label in labels]
            if longest == 1:
                break
        legend = _legend(axes, columns, labels)
    legend.set_in_layout(True)
    return float(legend.get_window_extent(renderer).height)


def _fold(text: Any, room: float, renderer: Any) -> None:
    """In as many lines as a width asks for."""
    words = text.get_text()
    longest = max(len(line) for line in words.split("\n"))
    while (width := text.get_window_extent(renderer).width) > room and longest > 1:
        longest = max(1, min(longest - 1, int(longest * room / width)))
        text.set_text(_folded(words, longest))


def _folded(words: str, most: int) -> str:
    return "\n".join(part for line in words.split("\n") for part in textwrap.wrap(line, most) or [""])


def _grow(figure: "Figure", taken: dict[int, float], renderer: Any) -> None:
    """A figure whose titles and legends take more keeps the size of its panels."""
    width, height = figure.get_size_inches()
    dpi = figure.dpi
    extra = 0.0
    if figure.get_suptitle():
        above = figure.suptitle(figure.get_suptitle(), fontsize=ABOVE_ALL)
        before = above.get_window_extent(renderer).height
        _fold(above, figure.bbox.width - 2 * renderer.points_to_pixels(EDGE), renderer)
        extra += (above.get_window_extent(renderer).height - before) / dpi
    if figure.get_layout_engine() is not None:
        one = renderer.points_to_pixels(14.0)
        extra += sum(max(0.0, head - one) for head in taken.values()) / dpi
        figure.set_size_inches(width, height + extra)
        return
    margins = figure.subplotpars
    need = (taken.get(0, 0.0) + renderer.points_to_pixels(EDGE)) / dpi
    extra += max(0.0, need - (1 - margins.top) * height)
    figure.set_size_inches(width, height + extra)
    figure.subplots_adjust(
        bottom=margins.bottom * height / (height + extra),
        top=1 - ((1 - margins.top) * height + extra) / (height + extra),
    )


# -- along the axis ----------------------------------------------------------------------------------------------------


def _part(axes: Any, renderer: Any) -> None:
    """No two names or numbers along the horizontal axis touch."""
    from matplotlib.ticker import FixedLocator, MaxNLocator

    gap = renderer.points_to_pixels(GAP)
    axis = axes.xaxis
    locator = axis.get_major_locator()
    if isinstance(locator, MaxNLocator):
        for most in (7, 5, 4, 3, 2, 1):
            if not _touch(axis, renderer, gap):
                return
            locator.set_params(nbins=most)
    elif isinstance(locator, FixedLocator) and _touch(axis, renderer, gap):
        places, names = axis.get_ticklocs(), [label.get_text() for label in axis.get_ticklabels()]
        boxes = [label.get_window_extent(renderer) for label in axis.get_ticklabels()]
        size = axis.get_ticklabels()[0].get_fontsize()
        far = axes.transData.transform([(place, 0.0) for place in places])[:, 0]
        room = min((other - one for one, other in pairwise(far)), default=0.0) - gap
        if room > renderer.points_to_pixels(6 * size):
            labels = axis.get_ticklabels()  # asked for again, they would be as before
            for label in labels:
                _fold(label, room, renderer)
            axes.set_xticks(places, [label.get_text() for label in labels], fontsize=size)
            return
        row_of = _rows([(box.x0, box.x1) for box in boxes], gap)
        if max(row_of) < ROWS:
            axes.set_xticks(places, ["\n" * row + name for row, name in zip(row_of, names, strict=True)], fontsize=size)
            return
        kept = _apart(far, renderer.points_to_pixels(1.3 * size))
        axes.set_xticks([places[i] for i in kept], [names[i] for i in kept], fontsize=size, rotation=90)


def _touch(axis: Any, renderer: Any, gap: float) -> bool:
    low, high = sorted(axis.get_view_interval())
    labels = [label for label in axis.get_majorticklabels() if low <= label.get_position()[0] <= high]
    boxes = [label.get_window_extent(renderer) for label in labels if label.get_visible() and label.get_text()]
    return any(one.x1 + gap > other.x0 for one, other in pairwise(sorted(boxes, key=lambda box: float(box.x0))))


def _rows(spans: Sequence[tuple[float, float]], gap: float) -> list[int]:
    """The first row in which each has room behind the one before it."""
    ends: list[float] = []
    found = []
    for begin, end in spans:
        row = next((row for row, last in enumerate(ends) if last + gap <= begin), len(ends))
        ends[row : row + 1] = [end]
        found.append(row)
    return found


def _apart(places: Sequence[float], least: float) -> list[int]:
    """Numbers of places, each at least so far from the one before it."""
    kept: list[int] = []
    for number, place in enumerate(places):
        if not kept or place - places[kept[-1]] >= least:
            kept.append(number)
    return kept


def _thin(axes: Any, renderer: Any) -> None:
    """Of the names inside a panel, those that touch an earlier one or the edge are left out."""
    kept: list[Any] = []
    for name in axes.texts:
        if name.get_gid() == NAME:
            box = name.get_window_extent(renderer)
            inside = box.x0 >= axes.bbox.x0 and box.x1 <= axes.bbox.x1 and box.y1 <= axes.bbox.y1
            name.set_visible(inside and not any(box.overlaps(other) for other in kept))
            kept += [box] if name.get_visible() else []
