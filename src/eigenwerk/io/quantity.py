"""Numbers of the results: one declaration each, and values by their names."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic, TypeVar

import numpy as np

T = TypeVar("T")


def plain(value: Any, fermi_level: float) -> Any:
    """Numbers and lists of them."""
    return np.asarray(value).tolist()


@dataclass(frozen=True)
class Quantity:
    """One number, or array, of the results.

    name: among values; unit: of files; factor: from the engine's (hartree and bohr) to that; axes: by the letters of
    the vocabulary, "" for a number or something with a class of its own.  key: in the JSON document, "" where that has
    it in a place of its own; document: what stands there, by a value and the Fermi level in the units of files.
    """

    name: str
    unit: str
    factor: float = 1.0
    axes: str = ""
    key: str = ""
    document: Callable[[Any, float], Any] = plain


class Values:
    """Values of quantities, None where something was not computed.

    Raises ValueError where shapes do not fit together: a mistake of the caller, not of the user.
    """

    def __init__(self, found: Mapping[Quantity, Any]) -> None:
        self.found, length = dict(found), {"v": 3}
        self._by_name = {quantity.name: value for quantity, value in found.items()}
        for one, value in found.items():
            if value is None or not one.axes:
                continue
            shape = np.shape(value)
            known = tuple(map(length.setdefault, one.axes, shape))
            if len(shape) != len(one.axes) or known != shape:
                raise ValueError(f"{one.name} has the shape {shape} for the axes {one.axes}, others have {length}")

    def get(self, name: str) -> Any:
        """The value of that name; None also where there is no such quantity."""
        return self._by_name.get(name)

    def __or__(self, other: "Values") -> "Values":
        return Values(self.found | other.found)

    def only(self, quantities: Iterable[Quantity]) -> "Values":
        """Those of some quantities, None for others than are here."""
        return Values({quantity: self.found.get(quantity) for quantity in quantities})

    def in_files(self) -> dict[str, Any]:
        """By names, in the units of files."""
        return {one.name: None if value is None else value * one.factor for one, value in self.found.items()}

    def documents(self, fermi_level: float) -> dict[str, Any]:
        """What the JSON document holds of them, by keys."""
        return {
            one.key: None if value is None else one.document(value, fermi_level) for one, value in self.found.items()
        }


NO_VALUES = Values({})
"""Those of nothing."""


class Inside(Generic[T]):
    """An attribute that stands inside of another one, under the path of its name there: `record.last.forces_av`."""

    def __init__(self, place: str) -> None:
        self._found: Callable[[Any], T] = attrgetter(place)

    def __get__(self, owner: Any, kind: type) -> T:
        return self if owner is None else self._found(owner)  # type: ignore[return-value]
