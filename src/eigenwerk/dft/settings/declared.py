"""What a setting is to its user, declared where its value stands: its tag, how it is read or made and checked, in which
words it is told, and what another value makes of a state.

A group of settings is a dataclass in a file of its own, with the steps that make and check its values;
`parameters.Parameters` is all of them.  The steps run when the rest of the input is understood (`inputs/builder`).
"""

from collections.abc import Callable, Iterator
from dataclasses import MISSING, field, fields
from enum import Enum
from typing import Any

from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.tags.table import TAGS
from eigenwerk.units import HARTREE_EV


class Changes(Enum):
    """What is another one with another value of a setting; THE_WAY: how it is found; FILLING: which orbitals are found
    and how they are filled, not what a density means; BANDS: what is told of the same density; LESS: the answer with a
    smaller value."""

    NOTHING, THE_WAY, BANDS, LESS, FILLING, THE_ANSWER = range(6)


def setting(
    tag: str,
    changes: Changes = Changes.THE_ANSWER,
    *,
    default: Any = MISSING,
    reads: Callable[[Any], Any] | None = None,
    made: Callable[..., Any] | None = None,
    gives: str = "",
    words: tuple[str, Callable[[Any, Any], list[str]]] | None = None,
) -> Any:
    """A field of settings.

    tag: what users call it, '' for what no tag says.  reads: from the value of the tag, which also has the default,
    where nothing else has a say in it; made: else a step of the input (`inputs/builder`), whose problems go to its
    `findings`; gives: what it returns besides, a tag in force, or "tags" for several.  words: a label, and texts made
    of the value and all settings, for the outputs.
    """
    if reads is not None:
        default = reads(TAGS[tag].default) if default is MISSING else default

        def made(incar: Incar) -> Any:
            return reads(incar.get(tag))

    metadata = {"tag": tag, "changes": changes, "made": made, "gives": gives, "words": words}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


def setting_rows(settings: Any) -> Iterator[tuple[str, str]]:
    """Labels and texts of all settings that have words, for outputs."""
    for one in fields(settings):
        if one.metadata.get("words"):
            label, texts = one.metadata["words"]
            yield from ((label, text) for text in texts(getattr(settings, one.name), settings))


def hartree(value_eV: float) -> float:
    """An energy in hartree."""
    return value_eV / HARTREE_EV


def is_single(word: str) -> bool:
    """Whether single precision is asked for."""
    return word == "Single"
