"""A fault of eigenwerk itself: what its authors need goes to a file, and a few words to the user.

A missing package is no fault of the program, and words are enough.
"""

import datetime
import os
import platform
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from eigenwerk import __version__
from eigenwerk.errors import InputError
from eigenwerk.io.atomic_write import write_text

CRASH_FILE = "eigenwerk-crash.txt"


def crash_words(error: Exception, arguments: Sequence[str]) -> str:
    """Write the report to a file; words for the user, with the whole report if no file could be written."""
    from eigenwerk.cli.missing import missing_words

    missing = missing_words(error)
    if missing is not None:
        return missing
    report = _crash_report(error, arguments)
    path = _write_crash(report)
    where = f"The details are in {path}." if path else f"No file could be written, so the details follow.\n{report}"
    return (
        f"Internal error of eigenwerk: {type(error).__name__}: {error}\n{where}\n"
        "The fault is in the program, not in your input. Please report it with that text and your input files."
    )


def _crash_report(error: Exception, arguments: Sequence[str]) -> str:
    return (
        f"eigenwerk {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"{datetime.datetime.now().astimezone().isoformat(timespec='seconds')}\n"
        f"eigenwerk {' '.join(arguments)}\n\n"
        f"{''.join(traceback.format_exception(error))}"
    )


def _write_crash(report: str) -> Path | None:
    """Where the report was written: the current folder, else the folder for temporary files, else nowhere."""
    with suppress(OSError, InputError):
        path = Path.cwd() / CRASH_FILE
        write_text(path, report)
        return path
    with suppress(OSError):  # a name that nobody can have taken before
        number, name = tempfile.mkstemp(prefix="eigenwerk-crash-", suffix=".txt")
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(report)
        return Path(name)
    return None
