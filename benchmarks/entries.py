"""The one JSON file of a benchmark: entries by name, each on a line of its own, so that a new one changes one line.

    python benchmarks/entries.py benchmarks/device/results.json steps.json     # adds the entries of the second file

Imports the standard library alone: Pythons of other codes use it too.
"""

import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def load(path: Path) -> dict[str, Any]:
    """All entries; none if there is no such file."""
    return json.loads(path.read_text()) if path.exists() else {}


@contextmanager
def changing(path: Path) -> Iterator[dict[str, Any]]:
    """Entries to be changed, written at the end of the block: `with changing(path) as entries: entries[name] = entry`.

    Processes that do so at the same time wait for one another.  Numbers come back to the last bit.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        entries = load(path)
        yield entries
        lines = (f"{json.dumps(name)}: {json.dumps(entries[name])}" for name in sorted(entries))
        new = path.with_name(f".{path.name}.{os.getpid()}")
        new.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        os.replace(new, path)
    finally:
        os.close(folder)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with changing(Path(sys.argv[1])) as known:
        known |= load(Path(sys.argv[2]))
