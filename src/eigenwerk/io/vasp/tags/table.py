"""The one table of INCAR tags: every tag eigenwerk knows, with type, default, unit, state and help.

Sources of names and defaults: the public VASP wiki (tag pages, 2026); states are eigenwerk's own.
The page docs/formats/incar.md carries the table; tools/make_tags_page.py writes it.
"""

import difflib

from eigenwerk.io.vasp.tags import (
    dispersion,
    electronic,
    foreign,
    functional,
    further,
    ions,
    output,
    parallel,
    spin,
    start,
)
from eigenwerk.io.vasp.tags.base import Tag

_SECTIONS = start, electronic, spin, functional, dispersion, ions, output, parallel, further, foreign

TAGS: dict[str, Tag] = {tag.name: tag for module in _SECTIONS for tag in module.TAGS}
"""All rows by name."""

ALIASES = {"ENMAX": "ENCUT"}
"""Old names, read as the present ones."""


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
