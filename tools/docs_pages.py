"""What the documentation needs beyond properdocs: equations that a browser draws by itself, docstrings as they stand.

properdocs calls `on_page_content` for each page: LaTeX between dollars becomes MathML, and on pages with formulas n_c
gets its subscript and 2^l its superscript.  mkdocstrings loads `PlainDocstrings`.
"""

import html
import re
from typing import Any

from griffe import Extension, Object
from math_core import LatexToMathML

LATEX = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
# What is not words: code, equations, headings (links refer to them), and tags.
OTHER = re.compile(r"<(code|pre|math|h[123])\b.*?</\1>|<[^>]+>", re.DOTALL)
SUBSCRIPT = re.compile(r"(?<!\w)([Δ∂d]*[^\W\d_][\u0300-\u036f]?)_(?:\{([^}]*)\}|([A-Za-z0-9α-ωΔσ↑↓]+(?:,\w+)*'?))")
SUPERSCRIPT = re.compile(r"\^(?:\(([^()]*)\)|([−-]?[\w½⅓¼¾⅜]+))")
MARKUP = re.compile(r"([\\*_\[\]<>|$#])")
CONVERTER = LatexToMathML()
WITH_INDICES = ("equations/", "guides/", "conventions", "formats/kpoints", "formats/paw_xml")
"""Pages in whose words an underscore is an index; in others it may belong to a name."""


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """The page with its equations; LaTeX that is none raises LatexError, which ends the build."""
    content = LATEX.sub(_mathml, content)
    if not page.file.src_uri.startswith(WITH_INDICES):
        return content
    parts, end = [], 0
    for found in OTHER.finditer(content):
        parts += [_with_indices(content[end : found.start()]), found[0]]
        end = found.end()
    return "".join(parts) + _with_indices(content[end:])


def _mathml(found: re.Match[str]) -> str:
    return CONVERTER.convert_with_local_state(html.unescape(found[2]), displaystyle=found[1] == "div")


def _with_indices(words: str) -> str:
    words = SUBSCRIPT.sub(lambda found: f"{found[1]}<sub>{found[2] or found[3]}</sub>", words)
    return SUPERSCRIPT.sub(lambda found: f"<sup>{found[1] or found[2]}</sup>", words)


class PlainDocstrings(Extension):
    """Docstrings are plain words, not Markdown: markup is no markup, tables and equations keep columns."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = "\n\n".join(map(_as_markdown, obj.docstring.value.split("\n\n")))


def _as_markdown(paragraph: str) -> str:
    if re.search(r"^ |\S   +\S", paragraph, re.MULTILINE):
        return f"```text\n{paragraph}\n```"
    words = re.split(r"(`[^`]*`)", paragraph)
    return "".join(word if word.startswith("`") else MARKUP.sub(r"\\\1", word) for word in words)
