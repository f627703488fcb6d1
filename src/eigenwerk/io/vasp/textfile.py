"""Lines of a text file as people leave them: any line ending, a byte-order mark, odd encodings."""

from pathlib import Path

from eigenwerk.errors import InputError


def read_text(path: str | Path) -> str:
    """The text of a file; UTF-8 with or without mark, else Latin-1; raises InputError if unreadable."""
    path = Path(path)
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path.name}: there is no such file in {path.parent}.") from None
    except OSError as error:
        raise InputError(f"{path.name}: cannot be read from {path.parent}: {error.strerror}.") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def split_lines(text: str) -> list[str]:
    """The lines of a text, ended by \\n, \\r\\n or \\r; other Unicode separators stay inside a line."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines
