"""Columns of numbers as short text, for JSON files that hold many of them.

A column {"unit": u, "count": n, "packed": text} stands for n numbers, whole multiples of u.  The text is base64 of zlib
of the differences of neighbours (the first one from 0) as little-endian 64-bit integers: moments that rise in small
steps, which is what runs record, take two to four bytes each.
"""

import base64
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

NANOSECOND = 1e-9


def pack(values: Iterable[float], unit: float = NANOSECOND) -> dict[str, Any]:
    """The column of some numbers, rounded to multiples of `unit`.  Raises ValueError if one is not finite."""
    value_x = np.asarray(values if isinstance(values, np.ndarray) else list(values), dtype=np.float64)
    if not np.isfinite(value_x).all():
        raise ValueError("a column holds a number that is not finite")
    whole_x = np.rint(value_x / unit).astype(np.int64)
    raw = np.diff(whole_x, prepend=np.int64(0)).astype("<i8").tobytes()
    return {"unit": unit, "count": len(value_x), "packed": base64.b64encode(zlib.compress(raw, 6)).decode("ascii")}


def unpack(column: Mapping[str, Any]) -> np.ndarray:
    """The numbers of a column, (count,) float64.  Raises ValueError if it is none, or damaged."""
    try:
        raw = zlib.decompress(base64.b64decode(column["packed"], validate=True))
        whole_x = np.cumsum(np.frombuffer(raw, dtype="<i8"))
        count, unit = int(column["count"]), float(column["unit"])
    except (LookupError, TypeError, ValueError, zlib.error) as error:
        raise ValueError(f"a damaged column of numbers ({error})") from error
    if len(whole_x) != count:
        raise ValueError(f"a column of {len(whole_x)} numbers says it has {count}")
    return np.asarray(whole_x * unit)
