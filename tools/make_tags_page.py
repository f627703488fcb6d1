"""Writes what is made of the table of INCAR tags:  python tools/make_tags_page.py

The table in docs/formats/incar.md, and the keywords of `dft.run` with their types, for editors.
"""

from collections.abc import Iterable
from pathlib import Path

from eigenwerk.io.vasp.tags.base import Tag, show
from eigenwerk.io.vasp.tags.table import TAGS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "formats" / "incar.md"
KEYWORDS = PAGE.parents[2] / "src" / "eigenwerk" / "dft" / "runs" / "api" / "keywords.py"
TYPES = {
    "int": "int", "float": "float", "bool": "bool", "str": "str", "word": "str",
    "ints": "Sequence[int] | Mapping[str, int]", "floats": "Sequence[float] | Mapping[str, float]",
    "bools": "Sequence[bool]", "words": "Sequence[str] | str", "bool|word": "bool | str", "float|word": "float | str",
    "variants": "Mapping[str, str]", "functional": "str",
}  # fmt: skip
"""Of a tag's kind, in Python."""

BEGIN = "<!-- the table, written by tools/make_tags_page.py -->\n"


def tags_markdown() -> str:
    """The table as Markdown, one heading per section, for docs/formats/incar.md."""
    sections = list(dict.fromkeys(tag.section for tag in TAGS.values()))
    return "\n".join(_section_markdown(section) for section in sections)


def _section_markdown(section: str) -> str:
    head = f"### {section}\n\n| tag | kind | default | state | meaning |\n|---|---|---|---|---|\n"
    return head + "".join(_row_markdown(tag) for tag in TAGS.values() if tag.section == section)


def _row_markdown(tag: Tag) -> str:
    default = "–" if tag.default is None or tag.default == () else show(tag.default)
    unit = f" ({tag.unit})" if tag.unit else ""
    kind = tag.kind.replace("|", " or ")
    return f"| {tag.name} | {kind} | {default}{unit} | {tag.status} | {_meaning(tag)} |\n"


def _meaning(tag: Tag) -> str:
    """Help, reason and values with a state of their own, in one cell."""
    words = [tag.help]
    if tag.note:
        words.append(f"{tag.note[0].upper()}{tag.note[1:]}.")
    if tag.off_values:
        words.append(f"Accepted when off: {_listed(tag.off_values)}.")
    for status in ("honoured", "inert", "refused"):
        values = [choice.value for choice in tag.choices if (choice.status or tag.status) == status]
        if values and len(tag.choices) > 1:
            words.append(f"{status.capitalize()}: {_listed(values)}.")
    return " ".join(words).replace("|", "\\|")


def _listed(values: Iterable[object]) -> str:
    return ", ".join(f"`{show(value)}`" for value in values)


def page_with_table() -> str:
    """The page as it should be."""
    return PAGE.read_text().split(BEGIN)[0] + f"{BEGIN}\n{tags_markdown()}"


def keywords_module() -> str:
    """The module with the keywords of `dft.run`, one for each honoured tag."""
    head = (
        '"""Keywords of `dft.run`: the honoured tags of INCAR.  Written by tools/make_tags_page.py."""\n\n'
        "from collections.abc import Mapping, Sequence\nfrom typing import TypedDict\n\n\n"
        "class Settings(TypedDict, total=False):\n"
        '    """What each means, its unit and default: docs/formats/incar.md."""\n\n'
    )
    tags = [tag for tag in TAGS.values() if tag.status == "honoured"]
    return head + "".join(_keyword(tag) for tag in tags)


def _keyword(tag: Tag) -> str:
    unit = f"; {tag.unit}" if tag.unit else ""
    help_text = tag.help.split(". ")[0].removesuffix(".")
    words = f"    {tag.name.lower()}: {TYPES[tag.kind]}  # {help_text}{unit}"
    return f"{words if len(words) <= 120 else words[:117] + '...'}\n"


if __name__ == "__main__":
    PAGE.write_text(page_with_table())
    KEYWORDS.write_text(keywords_module())
