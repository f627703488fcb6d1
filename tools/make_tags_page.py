"""Writes the table of INCAR tags into docs/formats/incar.md:  python tools/make_tags_page.py"""

from collections.abc import Iterable
from pathlib import Path

from eigenwerk.io.vasp.tags.base import Tag, show
from eigenwerk.io.vasp.tags.table import TAGS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "formats" / "incar.md"
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


if __name__ == "__main__":
    PAGE.write_text(page_with_table())
