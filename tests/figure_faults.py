"""What is wrong with a picture: its words are measured as they will stand in a file."""

from itertools import combinations, pairwise

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.legend import Legend
from matplotlib.transforms import Bbox

from eigenwerk.figure_layout import ready


def words_of(figure):
    """All words that are seen, as (words, box), and what measures them."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()
    seen = [*figure.texts, *([figure._suptitle] if figure._suptitle else [])]
    for axes in figure.axes:
        seen += [axes.title, axes._left_title, *axes.texts]
        if axes.get_legend():
            seen += axes.get_legend().get_texts()
        if axes.axison:
            seen += [axes.xaxis.label, axes.yaxis.label, *marks(axes.xaxis, 0), *marks(axes.yaxis, 1)]
    shown = [text for text in dict.fromkeys(seen) if text.get_visible() and text.get_text().strip()]
    return [(text.get_text(), inked(text.get_text(), text.get_window_extent(renderer))) for text in shown], renderer


def inked(words, box):
    """The box without empty lines at its top."""
    lines = words.split("\n")
    empty = len(lines) - len(words.lstrip("\n").split("\n"))
    return Bbox.from_extents(box.x0, box.y0, box.x1, box.y1 - box.height * empty / len(lines))


def marks(axis, place):
    """Numbers and names along an axis inside of what is shown."""
    low, high = sorted(axis.get_view_interval())
    reach = 1e-9 * (high - low)
    labels = [*axis.get_majorticklabels(), *axis.get_minorticklabels(), axis.get_offset_text()]
    inside = [low - reach <= label.get_position()[place] <= high + reach for label in labels]
    return [label for label, seen in zip(labels, inside, strict=True) if seen and label.get_visible()]


def faults_of(figure):
    """What is wrong with a picture, in words."""
    ready(figure)
    found, renderer = words_of(figure)
    width, height = figure.bbox.width, figure.bbox.height
    faults = [
        f"cut: {text!r} {box}"
        for text, box in found if box.x0 < -0.5 or box.y0 < -0.5 or box.x1 > width + 0.5 or box.y1 > height + 0.5
    ]  # fmt: skip
    shrunk = [
        (text, box.x0 + 0.5, box.x1 - 0.5, box.y0 + 0.08 * box.height, box.y1 - 0.08 * box.height)
        for text, box in found
    ]
    faults += [
        f"overlap: {one[0]!r}, {other[0]!r}"
        for one, other in combinations(shrunk, 2)
        if one[1] < other[2] and other[1] < one[2] and one[3] < other[4] and other[3] < one[4]
    ]
    for legend in figure.findobj(Legend):
        box = legend.get_window_extent(renderer)
        faults += [f"legend on a panel: {legend.get_texts()[0].get_text()!r}" for axes in figure.axes
                   if axes.axison and box.shrunk(0.98, 0.98).overlaps(axes.bbox)]  # fmt: skip
    for axes in figure.axes:
        labels = [label.get_text() for label in marks(axes.yaxis, 1)]
        faults += [f"neighbours look alike: {one}" for one, other in pairwise(labels) if one == other and one]
        for axis in (axes.xaxis, axes.yaxis):
            faults += [f"a factor apart: {words}" for words in [axis.get_offset_text().get_text()] if words]
    return faults
