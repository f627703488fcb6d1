"""The few XML elements that vasprun.xml is made of: <i>, <v>, <varray>, tables of <r>.

Numbers are always parted by a blank and never overflow into stars, which VASP's own fixed columns do.  Tables are
formatted by one `%` over all numbers, about a microsecond each.
"""

import re
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

GEOMETRY = " %19.12f"
"""Column of lengths, fractional coordinates and weights: more digits than VASP's 8, symmetry finders like them."""

ENERGY = " %15.8f"
"""Column of energies, forces and stresses."""

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def text(value: str) -> str:
    """A string with the three special characters escaped; characters that XML forbids become question marks."""
    return escape(_FORBIDDEN.sub("?", value))


def quoted(value: str) -> str:
    """A string as the value of an attribute, with its quotes."""
    return quoteattr(_FORBIDDEN.sub("?", value))


def number(value: float) -> str:
    """A float in VASP's 16.8f, or with an exponent where that would lose more than six digits (EDIFF = 1e-10)."""
    fixed = f" {value:15.8f}"
    return f" {value:.8E}" if abs(float(fixed) - value) > 1e-6 * abs(value) else fixed


def item(name: str, value: Any, depth: int) -> str:
    """One tag: <i> for a scalar, <v> for a sequence, with the attribute `type` that VASP gives it."""
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    several = isinstance(value, Sequence) and not isinstance(value, str)
    values = list(value) if several else [value]
    kind = _kind(values)
    element, attribute = ("v" if several else "i"), (f'type="{kind}" ' if kind else "")
    body = "".join(_scalar(v, kind) for v in values) if kind != "string" else " ".join(text(str(v)) for v in values)
    return f'{" " * depth}<{element} {attribute}name="{text(name)}">{body}</{element}>\n'


def _kind(values: list[Any]) -> str:
    """VASP's word for the type of some values; the empty word for floats."""
    if any(isinstance(v, str) for v in values):
        return "string"
    if values and all(isinstance(v, bool) for v in values):
        return "logical"
    return "int" if values and all(isinstance(v, int) for v in values) else ""


def _scalar(value: Any, kind: str) -> str:
    """Text of one value of a tag."""
    if kind == "logical":
        return f" {'T' if value else 'F'}  "
    return f" {value:5d}" if kind == "int" else number(float(value))


def table(element: str, rows: np.ndarray, columns: Sequence[str], depth: int) -> str:
    """Rows of numbers, each in one element, e.g. `<r>   -6.0189   1.0000 </r>`; rows: (x, len(columns))."""
    line = f"{' ' * depth}<{element}>{''.join(columns)} </{element}>\n"
    return line * len(rows) % tuple(np.asarray(rows).ravel().tolist())


def varray(name: str, rows: np.ndarray, column: str, depth: int) -> str:
    """A named array of row vectors; rows: (x, columns)."""
    pad = " " * depth
    body = table("v", rows, [column] * rows.shape[1], depth + 1)
    return f'{pad}<varray name="{name}" >\n{body}{pad}</varray>\n'


def block(opening: str, body: str, depth: int) -> str:
    """Wrap a body in an element given with its attributes, e.g. 'set comment="spin 1"'."""
    pad = " " * depth
    return f"{pad}<{opening}>\n{body}{pad}</{opening.split()[0]}>\n"
