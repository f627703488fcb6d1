"""What the process that reads HDF5 tells the one that asked: values as JSON, large arrays by their place in the file.

No pickles: what a damaged or hostile file makes of the reading process must not reach beyond values.
"""

import json
import math
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

LENGTHS = struct.Struct("<qq")
"""In front of a question: bytes of its text, seconds; of an answer: bytes of its text, of the arrays behind it."""

LARGEST_TEXT = 1 << 28
"""Bytes of all values but arrays, as JSON."""


@dataclass(frozen=True)
class StoredArray:
    """An array that lies in the file as it lies in memory: at which byte, of which type and shape."""

    offset: int
    dtype: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Of all numbers."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


def encoded(value: Any) -> tuple[bytes, list[np.ndarray]]:
    """A nested value as JSON, and the arrays that follow it.  Raises TypeError for what is none."""
    arrays: list[np.ndarray | StoredArray] = []
    tree = _encoded(value, arrays)
    table = [
        [one.dtype, one.shape, one.offset] if isinstance(one, StoredArray) else [one.dtype.str, one.shape, None]
        for one in arrays
    ]
    text = json.dumps({"tree": tree, "arrays": table}).encode()
    return text, [np.ascontiguousarray(one) for one in arrays if isinstance(one, np.ndarray)]


def _encoded(value: Any, arrays: list[np.ndarray | StoredArray]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, list):
        return [_encoded(entry, arrays) for entry in value]
    if isinstance(value, tuple):
        return {"tuple": [_encoded(entry, arrays) for entry in value]}
    if isinstance(value, Mapping):
        return {"mapping": {name: _encoded(entry, arrays) for name, entry in value.items()}}
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        return {"words": [value.shape, value.ravel().tolist()]}
    if isinstance(value, StoredArray) or (isinstance(value, np.ndarray) and value.dtype.kind in "biufc"):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    raise TypeError(f"a {type(value).__name__} cannot be told")


class Answer:
    """JSON of `encoded`; `sent` are the arrays that follow, `stored` those that lie in the file."""

    def __init__(self, text: bytes) -> None:
        found = json.loads(text)
        self._tree = found["tree"]
        self._table = [StoredArray(-1 if at is None else at, dtype, tuple(shape)) for dtype, shape,
            at in found["arrays"]]
        self.sent = [one for one in self._table if one.offset < 0]
        self.stored = [one for one in self._table if one.offset >= 0]

    def value(self, arrays: list[np.ndarray], descriptor: int) -> Any:
        """The value: with the arrays that were sent, and those of a file, which are read here."""
        sent = iter(arrays)
        self._arrays = [next(sent) if one.offset < 0 else read_stored(descriptor, one) for one in self._table]
        return self._decoded(self._tree)

    def _decoded(self, tree: Any) -> Any:
        if isinstance(tree, list):
            return [self._decoded(entry) for entry in tree]
        if not isinstance(tree, dict):
            return tree
        ((kind, value),) = tree.items()
        if kind == "mapping":
            return {name: self._decoded(entry) for name, entry in value.items()}
        if kind == "tuple":
            return tuple(self._decoded(entry) for entry in value)
        if kind == "words":
            return np.array(value[1], dtype=np.str_).reshape(value[0])
        return complex(*value) if kind == "complex" else self._arrays[value]


def read_stored(descriptor: int, one: StoredArray) -> np.ndarray:
    """An array of an open file.  Raises EOFError if the file ends before."""
    found: np.ndarray = np.empty(one.shape, np.dtype(one.dtype))
    data, done = found.reshape(-1).view(np.uint8).data, 0
    while done < len(data):
        count = os.preadv(descriptor, [data[done : done + (1 << 30)]], one.offset + done)
        if not count:
            raise EOFError("the file ends within an array")
        done += count
    return found
