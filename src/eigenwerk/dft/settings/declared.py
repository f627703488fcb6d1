"""What a setting is to its user, declared where its value stands: its tag, how it is read from there, and what another
value makes of a state."""

from collections.abc import Callable
from enum import Enum
from typing import Any

from eigenwerk.units import HARTREE_EV


class Changes(Enum):
    """What is another one with another value of a setting; THE_WAY: how it is found; FILLING: which orbitals are found
    and how they are filled, not what a density means; BANDS: what is told of the same density; LESS: the answer with a
    smaller value."""

    NOTHING, THE_WAY, BANDS, LESS, FILLING, THE_ANSWER = range(6)


def setting(
    tag: str, changes: Changes = Changes.THE_ANSWER, reads: Callable[[Any], Any] | None = None
) -> dict[str, Any]:
    """The metadata of a field of settings.

    tag: what users call it; reads: from the value of the tag, or its default, where nothing else has a say in it.
    """
    return {"tag": tag, "changes": changes, "reads": reads}


def hartree(value_eV: float) -> float:
    """An energy in hartree."""
    return value_eV / HARTREE_EV


def is_single(word: str) -> bool:
    """Whether single precision is asked for."""
    return word == "Single"
