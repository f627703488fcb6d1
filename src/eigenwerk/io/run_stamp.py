"""The mark of a run in its files: which run, and which of its saves; files of one save have the same mark.

It stands as words near the beginning of each file, so that it is found without a reader of the format.
"""

import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

NEAR = 4096
"""Bytes from the beginning of a file within which its mark stands."""

_MARK = re.compile(rb"eigenwerk run ([0-9a-f]{16}), save ([0-9]{1,9})\b")


@dataclass(frozen=True)
class RunStamp:
    """run: 16 hexadecimal digits; save: from 1 on."""

    run: str
    save: int

    def __str__(self) -> str:
        """The words in files."""
        return f"eigenwerk run {self.run}, save {self.save}"


def new_run() -> str:
    """An identifier that no other run has."""
    return secrets.token_hex(8)


def stamp_of(path: str | Path) -> RunStamp | None:
    """The mark of a file; None for one without, for one that cannot be read, or for no file."""
    try:
        if not Path(path).is_file():
            return None
        with open(path, "rb") as file:
            found = _MARK.search(file.read(NEAR))
    except OSError:
        return None
    return None if found is None else RunStamp(found[1].decode(), int(found[2]))


def others_of_set(path: str | Path, names: Iterable[str]) -> dict[str, RunStamp]:
    """Files beside a marked one that have another mark: those of these names, with what they have."""
    path = Path(path)
    own = stamp_of(path)
    stamps = {name: stamp_of(path.parent / name) for name in names}
    return {name: stamp for name, stamp in stamps.items() if own is not None and stamp is not None and stamp != own}
