"""Text made once of things that do not change, and kept as long as those live and there is room.

A file of many ionic steps is written again and again while a run is on its way; only the last of them is new each time.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any
from weakref import WeakKeyDictionary, finalize

LIMIT = 200_000_000
"""Characters kept by all writers of a process together; what comes after that is made anew each time."""


class KeptText:
    """Texts of the parts of one file, by the object that each of them is made of.

    Those that came first stay: a file is written from its first part to its last, so with the first ones thrown out in
    favour of later ones none would ever be there when it is needed.
    """

    held = 0

    def __init__(self) -> None:
        self._texts: WeakKeyDictionary[Any, tuple[Hashable, str]] = WeakKeyDictionary()

    def of(self, thing: object, context: Hashable, make: Callable[[], Iterable[str]]) -> str:
        """The text of a thing that does not change; context: everything else that the text depends on."""
        found = self._texts.get(thing)
        if found is not None and found[0] == context:
            return found[1]
        text = "".join(make())
        if found is None and KeptText.held + len(text) <= LIMIT:
            self._texts[thing] = context, text
            KeptText.held += len(text)
            finalize(thing, _let_go, len(text))
        return text


def _let_go(length: int) -> None:
    KeptText.held -= length
