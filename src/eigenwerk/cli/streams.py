"""Standard streams that may be closed, full, or without a reader: no command stumbles over them, and no file takes
their place.

Loaded before anything else, so by Python's own modules alone.
"""

import io
import os
import resource
import sys
from contextlib import suppress
from typing import Any

LEAST_MEMORY = 256 * 2**20
"""Bytes of address space without which libraries end the process before it can say why."""


class OutputError(OSError):
    """The standard output cannot take what it is given."""


class PatientStream(io.TextIOWrapper):
    """A stream that falls silent when its reader has gone away: a command ends as it would have ended."""

    def write(self, text: str) -> int:
        """Text, or nothing where nobody reads."""
        try:
            return super().write(text)
        except OSError as error:
            self._end(error)
            return len(text)

    def flush(self) -> None:
        """What has been written so far."""
        try:
            super().flush()
        except OSError as error:
            self._end(error)

    def _end(self, error: OSError) -> None:
        """Let everything from here on go nowhere.  Raises OutputError unless the reader is gone."""
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
        if not isinstance(error, BrokenPipeError):
            raise OutputError(error.errno, f"cannot write to the standard output: {error.strerror}") from error


def prepare_streams() -> None:
    """Open what is closed (a file of ours would get its number), and be patient from now on; twice is once."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream: Any = getattr(sys, name)
        if stream is None:
            stream = open(number, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        if isinstance(stream, io.TextIOWrapper) and not isinstance(stream, PatientStream):
            encoding, lines = stream.encoding, stream.line_buffering
            errors = "backslashreplace" if stream.errors == "strict" else stream.errors
            stream = PatientStream(stream.detach(), encoding, errors, line_buffering=lines)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def memory_words(error: BaseException | None = None) -> str | None:
    """Words where the limit on address space is the reason of an error, or too low to begin; None otherwise."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    limited = limit != resource.RLIM_INFINITY
    if error is None:
        short = limited and limit < LEAST_MEMORY
    else:
        said = str(error)
        short = isinstance(error, MemoryError) or "failed to map segment" in said or "Cannot allocate memory" in said
    if not short:
        return None
    remedy = "End other programs, or take another machine."
    if limited:
        remedy = f"The limit of this shell is {limit // 1024} kB (ulimit -v): raise it, or take it away."
    return f"Not enough memory to load what the command needs. {remedy}"
