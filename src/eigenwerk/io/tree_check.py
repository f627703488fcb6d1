"""Whether a tree that was read from a file is what its reader takes it for: names, types, shapes, finite numbers.

    STATE = Group({"point_kc": Array("real", "k 3"), "weight_k": Array("real", "k", least=0.0), "words": Text()})
    check(tree, STATE, "/kpoints")

A shape is given by letters, each of one length wherever it stands, and by numbers.  Checksums tell that a file is as it
was written; this tells that whoever wrote it meant the same.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

Sizes = dict[str, int]
"""The lengths of the letters so far."""


class TreeProblem(ValueError):
    """What is wrong, with the place in the tree."""


class Rule(Protocol):
    """What a part of a tree has to be."""

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Raise TreeProblem unless it is."""


def check(tree: Any, rule: Rule, where: str = "") -> Sizes:
    """Raise TreeProblem unless a tree obeys a rule; the lengths of all letters."""
    sizes: Sizes = {}
    rule.check(tree, where, sizes)
    return sizes


KINDS = {"real": "fiu", "whole": "iu", "complex": "c", "truth": "b"}
"""What is asked for, and the kinds of numpy's types that will do."""

SLAB = 2**27
"""Bytes of an array that are looked at together."""

LARGEST = 1e10
"""Numbers of larger magnitude are nobody's."""


@dataclass(frozen=True)
class Array:
    """An array of finite numbers.  shape: letters and numbers parted by blanks, and `...` for any other axes; least,
    most: of each number, or of its magnitude if complex; gaps: whether some may be missing, nan or infinite."""

    kind: str
    shape: str
    least: float = -LARGEST
    most: float = LARGEST
    gaps: bool = False

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """See `Rule`."""
        if not isinstance(value, np.ndarray) or value.dtype.kind not in KINDS[self.kind]:
            found = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
            raise TreeProblem(f"{where} is {found}, not an array of {self.kind} numbers")
        _match(value.shape, self.shape, where, sizes)
        if self.kind != "truth" and not self._within(value):
            raise TreeProblem(f"{where} holds numbers that are not from {self.least:g} to {self.most:g}")

    def _within(self, value: np.ndarray) -> bool:
        """Whether all numbers are finite and within the bounds; large arrays slab by slab."""
        if value.ndim > 1 and value.nbytes > SLAB:
            return all(self._within(part) for part in value)
        size = np.abs(value) if value.dtype.kind == "c" else value
        size = size[np.isfinite(size)] if self.gaps else size
        fine = not size.size or (np.isfinite(size).all() and self.least <= size.min() and size.max() <= self.most)
        return bool(fine)


@dataclass(frozen=True)
class Numbers:
    """A list or tuple of plain numbers, or an array of one axis.  length: a letter."""

    kind: str
    length: str
    least: float = -LARGEST
    most: float = LARGEST

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """See `Rule`."""
        if isinstance(value, list | tuple):
            value = np.array(value if value else [], dtype=None if value else int)
        Array(self.kind, self.length, self.least, self.most).check(value, where, sizes)


@dataclass(frozen=True)
class Number:
    """One plain number.  kind: float (or int), or int; infinite: whether infinity is one, too."""

    kind: type
    least: float = -LARGEST
    most: float = LARGEST
    infinite: bool = False

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """See `Rule`."""
        kinds = (int,) if self.kind is int else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise TreeProblem(f"{where} is {value!r:.40}, not a number")
        if not (self.least <= value <= self.most or (self.infinite and value == math.inf)):
            raise TreeProblem(f"{where} is {value:g}, not from {self.least:g} to {self.most:g}")


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """See `Rule`."""
        if not isinstance(value, bool):
            raise TreeProblem(f"{where} is neither true nor false")


@dataclass(frozen=True)
class Text:
    """A string."""

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """See `Rule`."""
        if not isinstance(value, str):
            raise TreeProblem(f"{where} is a {type(value).__name__}, not a text")


@dataclass(frozen=True)
class Texts:
    """A list or tuple of strings.  length: a letter."""

    length: str

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """See `Rule`."""
        if not isinstance(value, list | tuple) or not all(isinstance(entry, str) for entry in value):
            raise TreeProblem(f"{where} is no list of texts")
        _match((len(value),), self.length, where, sizes)


@dataclass(frozen=True)
class Maybe:
    """None, or what the rule says."""

    rule: Rule

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """See `Rule`."""
        if value is not None:
            self.rule.check(value, where, sizes)


@dataclass(frozen=True)
class GroupRule:
    """A mapping with these parts; others are plain values (`Plain`).  optional: parts that may be missing."""

    parts: Mapping[str, Rule]
    optional: Mapping[str, Rule] = field(default_factory=dict)

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """See `Rule`."""
        _require_mapping(value, where)
        if missing := [name for name in self.parts if name not in value]:
            raise TreeProblem(f"{where} has no {', '.join(missing)}")
        for name, part in value.items():
            (self.parts.get(name) or self.optional.get(name) or Plain()).check(part, f"{where}/{name}", sizes)


@dataclass(frozen=True)
class Each:
    """A mapping of any names to parts of one kind."""

    rule: Rule

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """See `Rule`."""
        _require_mapping(value, where)
        for name, part in value.items():
            self.rule.check(part, f"{where}/{name}", sizes)


@dataclass(frozen=True)
class Plain:
    """Anything that is made of plain values and, if arrays, of finite numbers."""

    arrays: bool = False

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """See `Rule`."""
        if isinstance(value, Mapping):
            for name, part in value.items():
                self.check(part, f"{where}/{name}", sizes)
        elif isinstance(value, list | tuple):
            for number, part in enumerate(value):
                self.check(part, f"{where}/{number}", sizes)
        elif isinstance(value, np.ndarray):
            if not self.arrays or value.dtype.kind not in "biufc" or not np.isfinite(value).all():
                raise TreeProblem(f"{where} is an array that should not be there, or not finite")
        elif isinstance(value, float | complex) and value != value:
            raise TreeProblem(f"{where} is not a number")


def _require_mapping(value: Any, where: str) -> None:
    if not isinstance(value, Mapping):
        raise TreeProblem(f"{where} is a {type(value).__name__}, not a group")


def _match(shape: tuple[int, ...], wanted: str, where: str, sizes: Sizes) -> None:
    """Compare a shape to letters, whose lengths the first array with them says."""
    letters = wanted.split()
    if letters[-1:] == ["..."]:
        letters = letters[:-1]
        shape = shape[: len(letters)]
    known = [int(letter) if letter.isdigit() else sizes.get(letter) for letter in letters]
    if len(shape) != len(letters) or any(size not in (None, here) for size, here in zip(known, shape, strict=True)):
        told = ", ".join(letter if size is None else str(size) for letter, size in zip(letters, known, strict=True))
        raise TreeProblem(f"{where} has the shape {shape}, not ({told})")
    sizes |= {letter: here for letter, here in zip(letters, shape, strict=True) if not letter.isdigit()}
