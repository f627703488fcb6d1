"""Numbers of the results: one declaration each, and values by their names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from operator import attrgetter
from typing import Any, Generic, TypeVar

import numpy as np

T = TypeVar("T")

Entry = Callable[[Any, float], Any]
"""What stands in the JSON document, by a value and the Fermi level in the units of files."""


def plain(value: Any, fermi_level: float) -> Any:
    """Numbers and lists of them."""
    return np.asarray(value).tolist()


@dataclass(frozen=True)
class Quantity:
    """One number, or array, of the results.

    name: among values; unit: of files; factor: from the engine's (hartree and bohr) to that; axes: by the letters of
    the vocabulary, "" for a number or something with a class of its own.  entries: of the JSON document, by their keys.
    """

    name: str
    unit: str
    factor: float = 1.0
    axes: str = ""
    entries: Mapping[str, Entry] = field(default_factory=dict, hash=False)

    def in_files(self, value: Any) -> Any:
        """A value of the engine in the unit of files; None stays."""
        return None if value is None else value if self.factor == 1.0 else value * self.factor


def number(unit: str, factor: float = 1.0, axes: str = "", **entries: Entry) -> dict[str, Any]:
    """The metadata of a field that is a quantity of its class."""
    return {"number": (unit, factor, axes, entries)}


@cache
def numbers_of(kind: type) -> tuple[Quantity, ...]:
    """The quantities among the fields of a class, in their order."""
    return tuple(Quantity(one.name, *one.metadata["number"]) for one in fields(kind) if "number" in one.metadata)


def require_shapes(found: Mapping[Quantity, Any]) -> None:
    """Raise ValueError where shapes do not fit together by the letters of axes: a mistake of the caller."""
    length = {"v": 3, "c": 3}
    for one, value in found.items():
        if value is None or not one.axes:
            continue
        shape = np.shape(value)
        known = tuple(map(length.setdefault, one.axes, shape))
        if len(shape) != len(one.axes) or known != shape:
            raise ValueError(f"{one.name} has the shape {shape} for the axes {one.axes}, others have {length}")


def documents(found: Mapping[Quantity, Any], fermi_level: float) -> dict[str, Any]:
    """What the JSON document holds of values."""
    return {
        key: None if value is None else entry(value, fermi_level)
        for one, value in found.items() for key, entry in one.entries.items()
    }  # fmt: skip


class Values:
    """Values of quantities, None where something was not computed.

    Raises ValueError where shapes do not fit together.
    """

    def __init__(self, found: Mapping[Quantity, Any]) -> None:
        self.found = dict(found)
        self._by_name = {quantity.name: value for quantity, value in found.items()}
        require_shapes(self.found)

    def get(self, name: str) -> Any:
        """The value of that name; None also where there is no such quantity."""
        return self._by_name.get(name)

    def __or__(self, other: "Values") -> "Values":
        return Values(self.found | other.found)


NO_VALUES = Values({})
"""Those of nothing."""


class Inside(Generic[T]):
    """An attribute that stands inside of another one, under the path of its name there: `record.last.forces_av`."""

    def __init__(self, place: str) -> None:
        self._found: Callable[[Any], T] = attrgetter(place)

    def __get__(self, owner: Any, kind: type) -> T:
        return self if owner is None else self._found(owner)  # type: ignore[return-value]
