"""The one table of INCAR tags: every tag eigenwerk knows, with type, default, unit, state and help.

Sources of names and defaults: the public VASP wiki (tag pages, 2026); states are eigenwerk's own.
The page docs/formats/incar.md carries the table; `tags_markdown` writes it.
"""

import difflib
from collections.abc import Iterable

from eigenwerk.io.vasp.tags import electronic, foreign, functional, ions, output, parallel, spin, start
from eigenwerk.io.vasp.tags.base import Tag, show

_SECTIONS = start, electronic, spin, functional, ions, output, parallel, foreign

TAGS: dict[str, Tag] = {tag.name: tag for module in _SECTIONS for tag in module.TAGS}
"""All rows by name."""


def find_tag(name: str) -> Tag | None:
    """The row of a tag, None if the table has none; the case of the name does not matter."""
    return TAGS.get(name.upper())


def nearest_tag(name: str) -> str | None:
    """The known name that looks most like an unknown one, None when nothing is close."""
    close = difflib.get_close_matches(name.upper(), TAGS, n=1, cutoff=0.7)
    return close[0] if close else None


def family_of(name: str) -> str | None:
    """Why a whole family of tags is not available (ML_…, PLUGINS/…); None for other names."""
    for beginning, reason in foreign.FAMILIES:
        if name.upper().startswith(beginning):
            return reason
    return None


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
