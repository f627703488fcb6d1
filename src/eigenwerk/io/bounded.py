"""Files read into memory: regular ones only, and no larger than files of their kind are.

A named pipe would never end, /dev/zero neither, and a few kilobytes of gzip may hold gigabytes; so both sizes are known
before work begins.  docs/guides/check.md has the limits.
"""

import errno
import json
import os
import re
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from eigenwerk.errors import InputError

MEGABYTE = 10**6

PART, MOST_MEMBERS = 1 << 14, 10**5
"""Bytes that are unzipped at once; gzip files in one file, which some programs write side by side."""

_ZEROS = re.compile(b"\\0*")
"""What may fill a gzip file up at its end."""

_REASONS = {
    errno.ENOENT: "there is no such file in {folder}. Correct the name or the path",
    errno.EACCES: "cannot be read from {folder}: permission denied. Make it readable (chmod u+r)",
    errno.EISDIR: "is a folder in {folder}, a file is expected. Move it away, or correct the name",
    errno.ELOOP: "is a symbolic link in {folder} that leads in a circle. Remove it, and put the file in its place",
}


def read_bounded(path: str | Path, largest: int) -> bytes:
    """The bytes of a file; InputError that names it if it cannot be read, is no file, or has more than `largest`."""
    path = Path(path)
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise InputError(
                    f"{path.name}: is a pipe or a device in {path.parent}, and no file. Put a file in its place."
                )
            data = b"".join(_parts(file, largest))
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    if len(data) > largest:
        raise InputError(
            f"{path.name}: has {max(found.st_size, len(data)) / MEGABYTE:.1f} MB; a file of this kind is read up to "
            f"{largest / MEGABYTE:g} MB. Is it the right file, in {path.parent}?"
        )
    return data


def read_json(path: str | Path, largest: int = 100 * MEGABYTE) -> Any:
    """What a JSON document holds.  Raises InputError if it cannot be read or is too large, ValueError if it is none."""
    try:
        return json.loads(read_bounded(path, largest))
    except RecursionError:
        raise ValueError("lists in lists without an end") from None


def _parts(file: IO[bytes], largest: int) -> Iterator[bytes]:
    """The content, up to something beyond a size: a file may grow while it is read."""
    while largest >= 0 and (part := file.read(MEGABYTE)):
        largest -= len(part)
        yield part


def unreadable(path: Path, error: OSError | ValueError) -> InputError:
    """The error for a file that cannot be opened or read; ValueError: a name that no file can have."""
    number = getattr(error, "errno", None) or 0
    reason = _REASONS.get(number, f"cannot be read from {{folder}}: {getattr(error, 'strerror', error)}")
    return InputError(f"{path.name or path}: {reason.format(folder=path.parent)}.")


def gunzipped(data: bytes, largest: int) -> bytes:
    """What gzipped bytes hold; zlib.error or EOFError if they are damaged, OverflowError if they hold more."""
    parts, size, place, members, view = [], 0, 0, 0, memoryview(data)
    while place < len(data):
        unzip, members = zlib.decompressobj(wbits=31), members + 1
        if members > MOST_MEMBERS:
            raise OverflowError(f"more than {MOST_MEMBERS} files")
        while not unzip.eof:
            if place >= len(data):
                raise EOFError("it ends too early")
            some = view[place : place + PART]
            parts.append(unzip.decompress(some, largest + 1 - size))
            size += len(parts[-1])
            if size > largest:
                raise OverflowError(f"more than {largest / MEGABYTE:g} MB")
            place += len(some) - len(unzip.unconsumed_tail) - len(unzip.unused_data)
        place = _ZEROS.match(data, place).end()  # type: ignore[union-attr]  # it matches anything
    return b"".join(parts)
