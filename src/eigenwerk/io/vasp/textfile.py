"""Lines of a text file as people leave them: any line ending, a byte-order mark, odd encodings."""

from pathlib import Path

from eigenwerk.io.bounded import MEGABYTE, read_bounded

LARGEST = {"INCAR": 4 * MEGABYTE, "KPOINTS": 20 * MEGABYTE, "POSCAR": 50 * MEGABYTE}
"""Bytes of a file of this name that are read."""

LARGEST_OTHER = 2000 * MEGABYTE
"""Of any other, as tables of matrix elements."""


def read_text(path: str | Path) -> str:
    """The text of a file; UTF-8 with or without mark, else Latin-1; raises InputError if unreadable or too large."""
    path = Path(path)
    raw = read_bounded(path, LARGEST.get(path.name, LARGEST_OTHER))
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def split_lines(text: str) -> list[str]:
    """The lines of a text, ended by \\n, \\r\\n or \\r; other Unicode separators stay inside a line."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines
