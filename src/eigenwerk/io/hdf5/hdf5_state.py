"""eigenwerk.h5: a whole state as a tree of HDF5 groups and datasets, whatever the state consists of.

A nested mapping of arrays, numbers, strings, lists and None goes in; the same comes out.  The file is written under
another name and renamed, so a run killed at any time leaves the last whole state.  A label in front of the HDF5 data
has their checksum: HDF5 believes what it reads, and can follow damaged bytes for ever, so it never gets to see any.
docs/formats/eigenwerk_h5.md describes the layout and its versions.
"""

import io
import os
import re
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import h5py

from eigenwerk.errors import InputError
from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.hdf5.hdf5_guard import read_guarded
from eigenwerk.io.hdf5.hdf5_tree import DamageFound, put

FORMAT = "eigenwerk-state"
VERSION = 3

LABELLED = 3
"""The first version with a label."""

LABEL = 512
"""Bytes of the label, which HDF5 calls user block."""

CHUNK = 1 << 24
"""Bytes that are read at once for the checksum."""

ANEW = "start from scratch with ISTART = 0"
"""How a run of electrons begins without a state."""

_HDF5 = b"\x89HDF\r\n\x1a\n"
"""The first bytes of HDF5 data, and of files of the first two versions."""

_LABEL = re.compile(
    rf"{FORMAT} (?P<version>[0-9]+)\neigenwerk (?P<program>[^\n]*)\ncreated (?P<created>[^\n]*)\n"
    r"(?P<stamp>[^\n]*)\nbytes (?P<bytes>[0-9]+)\ncrc32 (?P<sum>[0-9a-f]{8})\nlabel (?P<own>[0-9a-f]{8})\n\0*"
)


@dataclass(frozen=True)
class StateHeader:
    """Who wrote a state, in which version of the format, and when (ISO 8601, UTC); stamp: what `write_state` got."""

    version: int
    program_version: str
    created: str
    stamp: str = ""


def write_state(
    path: str | Path, state: Mapping[str, Any], program_version: str, compression: str | None = None, stamp: str = ""
) -> None:
    """Write a nested mapping to an HDF5 file; the old file is replaced only by a whole one.

    Leaves may be numpy arrays (numbers, booleans, strings; anything with `__array__`), bool, int, float, complex, str,
    None, and lists or tuples of all that.  numpy scalars come back as Python numbers.  compression: None (fast; random
    coefficients hardly shrink) or a filter of HDF5 such as 'gzip', for every array that is not a scalar.  stamp: a line
    for the label, which says what the file belongs to.

    Raises InputError if the file cannot be written, TypeError or ValueError for a leaf or a name that cannot be stored.
    """
    created = datetime.now(UTC).isoformat(timespec="seconds")
    with replacing(path) as new:
        with PatientFile(new) as raw:
            try:
                with h5py.File(raw, "w", track_order=True, userblock_size=LABEL) as file:
                    file.attrs.update({"format": FORMAT, "version": VERSION, "program": "eigenwerk"})
                    file.attrs.update({"program_version": program_version, "created": created})
                    for name, value in state.items():
                        put(file, name, value, compression)
                        raw.raise_error()
            finally:
                raw.raise_error()  # also in place of what HDF5 says when it misses what was not written
        with new.open("r+b") as file:
            label = _label(StateHeader(VERSION, program_version, created, stamp), *_sum_behind_label(file))
            file.seek(0)
            file.write(label)


def seal(path: str | Path) -> None:
    """Give a file that another program has changed on purpose a label that fits what it holds now.

    Raises InputError if it has no label.
    """
    with _problems(path), open(path, "r+b") as file:
        header = _read_label(path, file.read(LABEL))[0]
        label = _label(header, *_sum_behind_label(file))
        file.seek(0)
        file.write(label)


def _label(header: StateHeader, size: int, crc32: int) -> bytes:
    """The first bytes of a file, which anybody can read: what it is, how long, and the sum of the bytes behind them.

    Its own sum is that of the lines above.
    """
    text = (
        f"{FORMAT} {header.version}\neigenwerk {header.program_version}\ncreated {header.created}\n"
        f"{header.stamp}\nbytes {size}\ncrc32 {crc32:08x}\n"
    )
    text += f"label {zlib.crc32(text.encode()):08x}\n"
    if len(text) > LABEL or _LABEL.fullmatch(text) is None:
        raise ValueError(f"{header.stamp!r} of version {header.program_version!r} does not fit the label of a state")
    return text.encode().ljust(LABEL, b"\0")


def _sum_behind_label(file: BinaryIO) -> tuple[int, int]:
    """The length of a file, and the CRC-32 of all bytes behind the label; about 1 GB/s."""
    crc32 = 0
    file.seek(LABEL)
    while data := file.read(CHUNK):
        crc32 = zlib.crc32(data, crc32)
    return os.fstat(file.fileno()).st_size, crc32


def _read_label(path: str | Path, first: bytes, anew: str = ANEW) -> tuple[StateHeader, int, int]:
    """What the first bytes of a file say: header, length and sum."""
    found = _LABEL.fullmatch(first.decode("ascii", "replace"))
    if found is None or f"{zlib.crc32(first.partition(b'label ')[0]):08x}" != found["own"]:
        raise DamageFound("the label in its first 512 bytes is damaged, or it is no state of eigenwerk")
    header = StateHeader(int(found["version"]), found["program"], found["created"], found["stamp"])
    _refuse_newer(path, header, anew)
    return header, int(found["bytes"]), int(found["sum"], 16)


class PatientFile(io.FileIO):
    """A file that tells HDF5 every write succeeded, and tells us the first that did not.

    HDF5 can crash the whole process when a write fails while it closes a dataset, as on a full disk (seen with the
    library in h5py 3.16).  It reads back what it wrote only rarely, so swallowing the error until the end is safe: the
    file is thrown away then.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, "w+b")
        self.error: OSError | None = None

    def raise_error(self) -> None:
        """Raise the first error of a write, if there was one."""
        if self.error is not None:
            raise self.error

    def write(self, data: Any) -> int:
        """Write all of it; the system takes at most 2 GiB at once."""
        done = 0
        try:
            while done < len(data) and self.error is None:
                done += super().write(data[done:]) or 0
        except OSError as error:
            self.error = error
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        """Set the length of the file."""
        try:
            return super().truncate(size)
        except OSError as error:
            self.error = self.error or error
            return size or 0


def read_state(path: str | Path, only: Collection[str] | None = None, anew: str = ANEW) -> dict[str, Any]:
    """Read a state back, or only its groups of the given names (those that are there).

    anew: for messages, how one begins without it.

    Raises InputError if there is no such file, if it is no state of eigenwerk, of a newer version, cut off or damaged.
    """
    return read_with_header(path, only, anew)[1]


def read_with_header(
    path: str | Path, only: Collection[str] | None = None, anew: str = ANEW
) -> tuple[StateHeader, dict[str, Any]]:
    """The same and its header, from one look at the file."""
    with _problems(path, anew), open(path, "rb") as raw:
        first = raw.read(LABEL)
        labelled = not first.startswith(_HDF5)
        if labelled:
            header, *wanted = _read_label(path, first, anew)
            size, crc32 = _sum_behind_label(raw)
            if [size, crc32] != wanted:
                raise DamageFound(f"{size} bytes with CRC-32 {crc32:08x}, but it had {wanted[0]} with {wanted[1]:08x}")
        # sum and data come from the same open file: another one may get its name meanwhile
        found = read_guarded(raw, "tree", only)
        if not labelled:
            header = _old_header(path, found["header"], anew)
        return header, found["tree"]


def read_header(path: str | Path) -> StateHeader:
    """Read only who wrote a state and when: quick, because what follows the label is not looked at.

    Raises InputError as `read_state` does for a file without a whole label.
    """
    with _problems(path), open(path, "rb") as file:
        first = file.read(LABEL)
        if not first.startswith(_HDF5):
            return _read_label(path, first)[0]
        return _old_header(path, read_guarded(file, "header"))


_DAMAGE = (DamageFound, OSError, LookupError, ValueError, TypeError, AttributeError, MemoryError)
"""What reading damaged bytes can raise."""


@contextmanager
def _problems(path: str | Path, anew: str = ANEW) -> Iterator[None]:
    """Whatever is wrong with a file becomes an InputError."""
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file. Give the folder that has it, or {anew}.")
    try:
        yield
    except PermissionError as error:
        raise InputError(f"{path}: permission denied. Make the file readable.") from error
    except _DAMAGE as error:
        raise InputError(
            f"{path}: not a whole state ({error}). eigenwerk renames a state only when it is complete, so the file was "
            "cut off or changed afterwards, perhaps by an interrupted copy or a full disk; nothing has been changed "
            f"now. Use another copy, or {anew}."
        ) from error


def _old_header(path: str | Path, found: Mapping[str, Any], anew: str = ANEW) -> StateHeader:
    """The header of a file without a label, which only the first two versions may lack."""
    if found.get("format") != FORMAT:
        raise InputError(
            f"{path}: an HDF5 file, but not a state of eigenwerk. Remove or rename it, or give another one."
        )
    program, created = (str(found.get(name, "?")) for name in ("program_version", "created"))
    header = StateHeader(int(found["version"]), program, created)
    _refuse_newer(path, header, anew)
    if header.version >= LABELLED:
        raise DamageFound("its label is missing")
    return header


def _refuse_newer(path: str | Path, header: StateHeader, anew: str) -> None:
    """Raise InputError unless this version of eigenwerk understands the file."""
    if header.version > VERSION:
        raise InputError(
            f"{path}: version {header.version} of the format, written by eigenwerk {header.program_version}; "
            f"this eigenwerk reads up to version {VERSION}. Update eigenwerk, or {anew}."
        )
