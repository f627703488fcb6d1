"""STOPCAR: a file by which people stop a run that is at work.

LSTOP = .TRUE. ends it before the next ionic step, LABORT = .TRUE. after the present electronic one, as in VASP.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.fortran import strip_comment, to_bool
from eigenwerk.io.vasp.textfile import read_text, split_lines

STOP_FILE = "STOPCAR"

_STATEMENT = re.compile(r"(LSTOP|LABORT)\s*=\s*([^\s;]+)", re.IGNORECASE)


def parse_stopcar(text: str) -> frozenset[str]:
    """The switches that a text turns on: the last statement counts, and what is none is passed over."""
    found: dict[str, bool] = {}
    for line in split_lines(text):
        for name, value in _STATEMENT.findall(strip_comment(line)):
            try:
                found[name.upper()] = to_bool(value)
            except ValueError:
                continue
    return frozenset(name for name, on in found.items() if on)


class StopFiles:
    """The STOPCAR of some folders; what lies there at the beginning is left from earlier and does not count."""

    def __init__(self, folders: Iterable[Path]):
        self._paths = list(dict.fromkeys(folder / STOP_FILE for folder in folders))
        self._before = {path: _mark(path) for path in self._paths}

    @property
    def old(self) -> list[Path]:
        """Those that lay there at the beginning, with a switch turned on."""
        return [path for path in self._paths if self._before[path] is not None and _switches(path)]

    def switches(self) -> frozenset[str]:
        """What is asked for now."""
        new = [path for path in self._paths if (mark := _mark(path)) is not None and mark != self._before[path]]
        return frozenset().union(*map(_switches, new))


def _switches(path: Path) -> frozenset[str]:
    try:
        return parse_stopcar(read_text(path)) if path.is_file() else frozenset()
    except InputError:  # it may be removed at any time
        return frozenset()


def _mark(path: Path) -> tuple[int, ...] | None:
    """What changes when a file does; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
