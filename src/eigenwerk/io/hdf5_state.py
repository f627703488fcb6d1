"""eigenwerk.h5: a whole state as a tree of HDF5 groups and datasets, whatever the state consists of.

A nested mapping of arrays, numbers, strings, lists and None goes in; the same comes out.  The file is written under
another name and renamed, so a run killed at any time leaves the last whole state.  docs/formats/eigenwerk_h5.md
describes the layout; version history: 1, first.
"""

import io
import math
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.atomic_write import replacing

FORMAT = "eigenwerk-state"
VERSION = 1

_PLAIN = (bool, int, float, complex)


def write_state(
    path: str | Path, state: Mapping[str, Any], program_version: str, compression: str | None = None
) -> None:
    """Write a nested mapping to an HDF5 file; the old file is replaced only by a whole one.

    Leaves may be numpy arrays (numbers, booleans, strings; anything with `__array__`), bool, int, float, complex, str,
    None, and lists or tuples of all that.  numpy scalars come back as Python numbers.  compression: None (fast; random
    coefficients hardly shrink) or a filter of HDF5 such as 'gzip', for every array that is not a scalar.

    Raises InputError if the file cannot be written, TypeError or ValueError for a leaf or a name that cannot be stored.
    """
    with replacing(path) as new, _PatientFile(new) as raw:
        try:
            with h5py.File(raw, "w", track_order=True) as file:
                file.attrs.update({"format": FORMAT, "version": VERSION, "program": "eigenwerk"})
                file.attrs["program_version"] = program_version
                file.attrs["created"] = datetime.now(UTC).isoformat(timespec="seconds")
                for name, value in state.items():
                    _put(file, name, value, compression)
                    raw.raise_error()
        finally:
            raw.raise_error()  # also in place of what HDF5 says when it misses what was not written


class _PatientFile(io.FileIO):
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


def read_state(path: str | Path, only: Collection[str] | None = None) -> dict[str, Any]:
    """Read a state back, or only its groups of the given names (those that are there).

    Raises InputError if there is no such file, if it is no state of eigenwerk, of a newer version, cut off or damaged.
    """
    with _opened(path) as file:
        names = file.keys() if only is None else [name for name in file if name in only]
        return {name: _get(file[name]) for name in names}


class _DamageFound(Exception):
    """The bytes of a dataset do not fit its checksum."""


_DAMAGE = (_DamageFound, OSError, RuntimeError, LookupError, ValueError, TypeError, AttributeError)
"""What reading damaged bytes can raise: HDF5 and h5py check little."""


@contextmanager
def _opened(path: str | Path) -> Iterator[h5py.File]:
    """An open state file; problems found while opening or reading it become InputError."""
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file. Start without it (ISTART = 0), or give the folder that has it.")
    try:
        with h5py.File(path, "r") as file:
            _check_header(path, file)
            yield file
    except PermissionError as error:
        raise InputError(f"{path}: permission denied. Make the file readable.") from error
    except _DAMAGE as error:
        raise InputError(
            f"{path}: not a whole state ({error}). eigenwerk renames a state only when it is complete, so the file was "
            "cut off or changed afterwards, perhaps by an interrupted copy or a full disk; nothing has been changed "
            "now. Use another copy, or start from scratch with ISTART = 0."
        ) from error


def _check_header(path: str | Path, file: h5py.File) -> None:
    """Raise InputError unless this version of eigenwerk understands the file."""
    if file.attrs.get("format") != FORMAT:
        raise InputError(
            f"{path}: an HDF5 file, but not a state of eigenwerk. Remove or rename it, or give another one."
        )
    version = int(file.attrs["version"])
    if version > VERSION:
        raise InputError(
            f"{path}: version {version} of the format, written by eigenwerk {file.attrs.get('program_version', '?')}; "
            f"this eigenwerk reads up to version {VERSION}. Update eigenwerk, or start from scratch with ISTART = 0."
        )


def _put(group: h5py.Group, name: str, value: Any, compression: str | None) -> None:
    """Store one value under a name; the attribute 'kind' tells how to give it back, none means array or mapping."""
    if not isinstance(name, str) or not name or name == "." or "/" in name or "\0" in name:
        raise ValueError(f"{group.name}: {name!r} cannot be the name of a part of a state")
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, Mapping):
        _put_children(group.create_group(name, track_order=True), value.items(), compression)
    elif isinstance(value, list | tuple):
        _put_sequence(group, name, value, compression)
    elif value is None:
        group.create_dataset(name, data=h5py.Empty("i1")).attrs["kind"] = "none"
    elif isinstance(value, str):
        group.create_dataset(name, data=_checked(value), dtype=h5py.string_dtype()).attrs["kind"] = "string"
    elif isinstance(value, _PLAIN):
        group.create_dataset(name, data=value).attrs["kind"] = type(value).__name__
    elif hasattr(value, "__array__"):
        _put_array(group, name, np.asarray(value), compression)
    else:
        raise TypeError(f"{group.name}/{name}: a {type(value).__name__} cannot be part of a state")


def _put_children(group: h5py.Group, items: Iterable[tuple[str, Any]], compression: str | None) -> None:
    """Store the parts of a mapping or sequence."""
    for name, value in items:
        _put(group, name, value, compression)


def _put_sequence(group: h5py.Group, name: str, value: list[Any] | tuple[Any, ...], compression: str | None) -> None:
    """Store a list: as one dataset if all entries are of one plain type, else as a group named by position."""
    entries = [entry.item() if isinstance(entry, np.generic) else entry for entry in value]
    kinds = {type(entry) for entry in entries}
    kind = next(iter(kinds)) if len(kinds) == 1 else None
    if kind is int and np.array(entries).dtype.kind not in "iu":
        kind = None  # numbers that only fit together as floats
    if kind is str:
        data = np.array([_checked(entry) for entry in entries], dtype=object)
        stored: Any = group.create_dataset(name, data=data, dtype=h5py.string_dtype())
    elif kind in _PLAIN:
        stored = group.create_dataset(name, data=np.array(entries))
    else:
        stored = group.create_group(name, track_order=True)
        _put_children(stored, ((str(i), entry) for i, entry in enumerate(entries)), compression)
    stored.attrs["kind"] = "list" if isinstance(value, list) else "tuple"


def _put_array(group: h5py.Group, name: str, array: np.ndarray, compression: str | None) -> None:
    """Store an array with a checksum of its bytes; strings in the encoding of HDF5."""
    if array.dtype.kind in "UT":
        data = np.array([_checked(str(entry)) for entry in array.ravel()], dtype=object).reshape(array.shape)
        group.create_dataset(name, data=data, dtype=h5py.string_dtype()).attrs["kind"] = "strings"
    elif array.dtype.kind in "biufc":
        stored = group.create_dataset(name, data=array, compression=compression if array.size and array.ndim else None)
        stored.attrs["crc32"] = _checksum(array)
    else:
        raise TypeError(f"{group.name}/{name}: an array of {array.dtype} cannot be part of a state")


def _checked(value: str) -> str:
    """The string itself; ValueError for a NUL or half a surrogate pair, which HDF5 text cannot hold."""
    if "\0" in value:
        raise ValueError(f"{value!r}: a string with a NUL character cannot be part of a state")
    value.encode("utf-8")
    return value


def _checksum(array: np.ndarray) -> np.uint32:
    """CRC-32 of the bytes in row-major order; about 1 GB/s, which no disk of a single node outruns by much."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return np.uint32(zlib.crc32(flat.view(np.uint8).data) if math.prod(array.shape) else 0)


def _get(stored: h5py.Group | h5py.Dataset) -> Any:
    """Give back what `_put` stored."""
    kind = stored.attrs.get("kind")
    if isinstance(stored, h5py.Group):
        if kind is None:
            return {name: _get(child) for name, child in stored.items()}
        entries = [_get(stored[str(i)]) for i in range(len(stored))]
        return entries if kind == "list" else tuple(entries)
    if kind == "none":
        return None
    if kind in ("string", "strings", "list", "tuple"):
        return _get_sequence(stored, kind)
    return _get_array(stored) if kind is None else stored[()].item()


def _get_sequence(stored: h5py.Dataset, kind: str) -> Any:
    """Strings, and lists of one plain type."""
    text = h5py.check_string_dtype(stored.dtype) is not None
    value = stored.asstr()[()] if text else stored[()]
    if kind == "string":
        return str(value)
    if kind == "strings":
        return np.array(value, dtype=np.str_)
    return value.tolist() if kind == "list" else tuple(value.tolist())


def _get_array(stored: h5py.Dataset) -> np.ndarray:
    """An array of numbers, compared to its checksum."""
    array: np.ndarray = stored[...]
    if _checksum(array) != stored.attrs["crc32"]:
        raise _DamageFound(f"{stored.name} does not fit its checksum")
    return array
