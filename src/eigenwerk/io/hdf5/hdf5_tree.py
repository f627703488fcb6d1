"""Nested values as groups and datasets of an HDF5 file, and back; files that may be damaged are read with care."""

import math
import zlib
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import h5py
import numpy as np

from eigenwerk.io.hdf5.hdf5_answer import StoredArray

MOST_SHRUNK = 1100
"""How much smaller than its numbers a dataset can be that is compressed; deflate reaches 1032."""

LARGEST_READ = 1 << 30
"""Bytes of an array that is compressed or lies in pieces, so that HDF5 itself has to read it."""

LEAST_STORED = 4096
"""Bytes from which on arrays are told by their place."""

FILTERS = {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32}
"""What may be done to stored numbers; others are code that somebody has brought along."""

_PLAIN = (bool, int, float, complex)


class DamageFound(Exception):
    """The bytes of a file or of a dataset do not fit their checksum, or their kind."""


def put(group: h5py.Group, name: str, value: Any, compression: str | None) -> None:
    """Store one value under a name; the attribute 'kind' tells how to give it back, none means array or mapping."""
    if not isinstance(name, str) or not name or name == "." or "/" in name or "\0" in name:
        raise ValueError(f"{group.name}: {name!r} cannot be the name of a part of a state")
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, Mapping):
        _put_children(group.create_group(name, track_order=True), value.items(), compression)
    elif isinstance(value, list | tuple):
        _put_sequence(group, name, value, compression)
    elif value is None:
        _dataset(group, name, None, "none")
    elif isinstance(value, str) and not _fits(value):
        raw = np.frombuffer(value.encode("utf-8", "surrogatepass"), dtype=np.uint8)
        _dataset(group, name, raw, "utf8")
    elif isinstance(value, str):
        _dataset(group, name, np.array(value, dtype=object), "string")
    elif isinstance(value, _PLAIN):
        _dataset(group, name, np.array(value), type(value).__name__)
    elif hasattr(value, "__array__"):
        _put_array(group, name, np.asarray(value), compression)
    else:
        raise TypeError(f"{group.name}/{name}: a {type(value).__name__} cannot be part of a state")


def _put_children(group: h5py.Group, items: Iterable[tuple[str, Any]], compression: str | None) -> None:
    """Store the parts of a mapping or sequence."""
    for name, value in items:
        put(group, name, value, compression)


def _put_sequence(group: h5py.Group, name: str, value: list[Any] | tuple[Any, ...], compression: str | None) -> None:
    """Store a list: as one dataset if all entries are of one plain type, else as a group named by position."""
    entries = [entry.item() if isinstance(entry, np.generic) else entry for entry in value]
    kinds = {type(entry) for entry in entries}
    kind = next(iter(kinds)) if len(kinds) == 1 else None
    if kind is int and np.array(entries).dtype.kind not in "iu":
        kind = None  # numbers that only fit together as floats
    word = "list" if isinstance(value, list) else "tuple"
    if kind is str and all(map(_fits, entries)):
        _dataset(group, name, np.array(entries, dtype=object), word)
    elif kind in _PLAIN:
        _dataset(group, name, np.array(entries), word)
    else:
        stored = group.create_group(name, track_order=True)
        _put_children(stored, ((str(i), entry) for i, entry in enumerate(entries)), compression)
        stored.attrs["kind"] = word


def _dataset(group: h5py.Group, name: str, data: np.ndarray | None, kind: str | None) -> None:
    """A dataset, None an empty one, with its attribute 'kind', if any; faster than h5py's `create_dataset`.

    data: strings as objects.
    """
    created, text, scalar = _parts()
    space = h5py.h5s.create(h5py.h5s.NULL) if data is None else h5py.h5s.create_simple(data.shape)
    dtype = np.dtype("i1") if data is None else data.dtype
    words = data is not None and dtype.kind == "O" and all(isinstance(entry, str) for entry in data.flat)
    number = text if words else h5py.h5t.py_create(dtype, logical=True)
    made = h5py.h5d.create(group.id, name.encode(), number, space, created)
    if data is not None:
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, _as_text(data) if words else np.asarray(data, order="C"))
    if kind is not None:
        h5py.h5a.create(made, b"kind", text, scalar).write(_as_text(kind))


def _as_text(words: Any) -> np.ndarray:
    """Strings in an array that h5py knows for one."""
    found = np.empty(np.shape(words), dtype=h5py.string_dtype())
    found[...] = words
    return found


@cache
def _parts() -> tuple[Any, Any, Any]:
    """Properties of datasets, without their times; the type of text; the space of one value."""
    created = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    created.set_obj_track_times(False)
    return created, h5py.h5t.py_create(h5py.string_dtype(), logical=True), h5py.h5s.create_simple(())


def _put_array(group: h5py.Group, name: str, array: np.ndarray, compression: str | None) -> None:
    """Store an array; strings in the encoding of HDF5."""
    if array.dtype.kind in "UT":
        data = np.array([str(entry) for entry in array.ravel()], dtype=object).reshape(array.shape)
        for entry in data.ravel():
            if not _fits(entry):
                raise ValueError(f"{group.name}/{name}: {entry!r} cannot be part of an array of strings")
        _dataset(group, name, data, "strings")
    elif array.dtype.kind in "biufc":
        if compression and array.size and array.ndim:
            group.create_dataset(name, data=array, compression=compression)
        else:
            _dataset(group, name, array, None)
    else:
        raise TypeError(f"{group.name}/{name}: an array of {array.dtype} cannot be part of a state")


def _fits(value: str) -> bool:
    """Whether HDF5 text can hold a string; it cannot hold a NUL or half a surrogate pair."""
    return "\0" not in value and not any("\ud800" <= letter <= "\udfff" for letter in value)


def hard(group: h5py.Group, name: str) -> Any:
    """A part of a group that lies in the file itself: links of other kinds may lead anywhere."""
    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise DamageFound(f"{group.name}/{name} is a link to something else")
    return group[name]


def get(group: h5py.Group, name: str, seen: set[int]) -> Any:
    """Give back what `put` stored, large arrays as `StoredArray`; seen: where the parts lie that have been read."""
    stored = hard(group, name)
    place = h5py.h5o.get_info(stored.id).addr
    if place in seen:  # a group inside itself has no end
        raise DamageFound(f"{stored.name} is there twice")
    seen.add(place)
    kind = stored.attrs.get("kind")
    if isinstance(stored, h5py.Group):
        if kind is None:
            return {child: get(stored, child, seen) for child in stored}
        entries = [get(stored, str(i), seen) for i in range(len(stored))]
        return entries if kind == "list" else tuple(entries)
    if kind == "none":
        return None
    _refuse_hollow(stored)
    if kind in ("string", "strings", "list", "tuple"):
        return _get_sequence(stored, kind)
    if kind == "utf8":
        return stored[...].tobytes().decode("utf-8", "surrogatepass")
    return _get_array(stored) if kind is None else _plain(stored, kind)


def _refuse_hollow(stored: h5py.Dataset) -> None:
    """Raise DamageFound for a dataset that is elsewhere, or says it is large and has nothing in the file."""
    there = stored.id.get_storage_size() * (1 if stored.chunks is None else MOST_SHRUNK)
    if stored.is_virtual or stored.external or stored.nbytes > there:
        raise DamageFound(f"{stored.name} should have {stored.nbytes} bytes, which are not in the file")
    made = stored.id.get_create_plist()
    foreign = {made.get_filter(place)[0] for place in range(made.get_nfilters())} - FILTERS
    if foreign:
        raise DamageFound(f"{stored.name} needs filter {min(foreign)} of HDF5, which is not used")


def read_dataset(stored: h5py.Dataset) -> np.ndarray | StoredArray:
    """An array of numbers, or its place if it is large and lies in one piece.  Raises DamageFound for anything else."""
    _refuse_hollow(stored)
    if stored.dtype.kind not in "biufc":
        raise DamageFound(f"{stored.name} holds no numbers")
    made = stored.id.get_create_plist()
    plain = stored.dtype.kind in "iufc" and stored.id.get_type() == h5py.h5t.py_create(stored.dtype)
    if plain and stored.nbytes >= LEAST_STORED and made.get_layout() == h5py.h5d.CONTIGUOUS:
        offset = stored.id.get_offset()
        if offset is not None:
            return StoredArray(offset, stored.dtype.str, stored.shape)
    if stored.nbytes > LARGEST_READ:
        raise DamageFound(f"{stored.name} has {stored.nbytes} bytes that do not lie in one piece")
    array: np.ndarray = stored[...]
    return array


def _get_sequence(stored: h5py.Dataset, kind: str) -> Any:
    """Strings, and lists of one plain type."""
    text = h5py.check_string_dtype(stored.dtype) is not None
    value = stored.asstr()[()] if text else stored[()]
    if kind == "string":
        if not isinstance(value, str):
            raise DamageFound(f"{stored.name} is no string")
        return value
    if kind == "strings":
        return np.array(value, dtype=np.str_)
    if np.ndim(value) != 1:
        raise DamageFound(f"{stored.name} is no list")
    return value.tolist() if kind == "list" else tuple(value.tolist())


def _plain(stored: h5py.Dataset, kind: str) -> bool | int | float | complex:
    """A single number."""
    value = stored[()].item()
    if type(value).__name__ != kind:
        raise DamageFound(f"{stored.name} is no {kind}")
    return value


def _get_array(stored: h5py.Dataset) -> np.ndarray | StoredArray:
    """An array of numbers, compared to its checksum, which versions before the label had for each."""
    if "crc32" not in stored.attrs:
        return read_dataset(stored)
    array: np.ndarray = stored[...]
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data if math.prod(array.shape) else b""
    if zlib.crc32(data) != stored.attrs["crc32"]:
        raise DamageFound(f"{stored.name} does not fit its checksum")
    return array
