"""Words as they are shown; those of others, such as titles, labels and names of files, as terminals, pictures and pages
may show them.

They may hold commands for a terminal, letters that turn the direction of writing, formulas and tags.  Files keep them
as they are: those escape what their own format asks for.  (No LaTeX is written; mathtext is that of matplotlib.)
"""

from collections.abc import Callable
from functools import partial
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KEPT = "\n\t"
"""What is not printed and does no harm."""


def harmless(words: str) -> str:
    """With a question mark for each letter that nobody can see: controls, directions of writing, half surrogates."""
    if words.isprintable():
        return words
    return "".join(letter if letter.isprintable() or letter in KEPT else "?" for letter in words)


def counted(number: float, noun: str) -> str:
    """1 step, 2 steps, 3.5 electrons."""
    return f"{number if isinstance(number, int) else f'{number:g}'} {noun}{'' if number == 1 else 's'}"


def for_terminal(words: str) -> str:
    """For a terminal, and for logs that people look at in one."""
    return harmless(words)


def for_mathtext(words: str) -> str:
    """For matplotlib, which takes what stands between two dollars for a formula."""
    return harmless(words).replace("$", r"\$")


def for_page(words: str) -> str:
    """For HTML, between tags and in attributes."""
    return escape(harmless(words))


def _harmless_name(name_of: Callable[[float, int | None], str], place: float, number: int | None = None) -> str:
    """What stands at a place along an axis."""
    return harmless(name_of(place, number))


def make_plain(figure: "Figure") -> None:
    """No text of a picture is a formula, but for the numbers that matplotlib itself writes along axes."""
    from matplotlib.text import Text
    from matplotlib.ticker import FuncFormatter, LogFormatter, ScalarFormatter

    numbers: set[object] = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        numbers.add(axis.offsetText)
        both = (
            (axis.get_major_formatter(), axis.get_major_ticks(len(axis.get_majorticklocs()))),
            (axis.get_minor_formatter(), axis.get_minor_ticks(len(axis.get_minorticklocs()))),
        )
        for formatter, ticks in both:
            if isinstance(formatter, LogFormatter | ScalarFormatter):
                numbers.update(label for tick in ticks for label in (tick.label1, tick.label2))
            elif isinstance(formatter, FuncFormatter):  # names at places
                formatter.func = partial(_harmless_name, formatter.func)
    for text in figure.findobj(Text):
        if text not in numbers:
            text.set_text(harmless(text.get_text()))
            text.set_parse_math(False)
