"""Lines of numbers in text files: fields with their line, and errors that name both."""

import re
from collections.abc import Callable, Hashable
from math import isfinite
from pathlib import Path
from typing import NamedTuple, TypeVar

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.textfile import read_text, split_lines

Number = TypeVar("Number", int, float)

LOOKALIKES = {"\u2212": "minus sign", "\u2013": "en dash", "\u2014": "em dash", "\u2010": "hyphen", "\uff0d": "wide"}
"""Characters that look like '-' and come from word processors and PDF files."""

COMMENT = re.compile(r"[!#].*")

WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
REAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d{1,3})?", re.ASCII)
"""Numbers as other programs write them; Python would also take 1_0.0, nan and digits of other scripts."""


TWINS = 1e-12
"""Two values of one element count as equal within this share."""


class NumberLine(NamedTuple):
    """Fields of one line that has any; `file` and `number` say where it stands."""

    file: str
    number: int
    fields: list[str]

    @property
    def place(self) -> str:
        """File and line, as messages begin."""
        return f"{self.file} line {self.number}"

    def integer(self, position: int, what: str) -> int:
        """Field `position` (from 0) as a whole number."""
        return self._convert(position, what, _whole, "a whole number")

    def real(self, position: int, what: str) -> float:
        """Field `position` as a number; 1.0D+00 is read as Fortran means it."""
        return self._convert(position, what, _real, "a number")

    def _convert(self, position: int, what: str, convert: Callable[[str], Number], kind: str) -> Number:
        if position >= len(self.fields):
            message = f"{self.place}: {what} is missing, the line has {len(self.fields)} fields."
            raise InputError(f"{message} Complete the line.")
        text = self.fields[position]
        try:
            return convert(text)
        except ValueError:
            raise InputError(f"{self.place}: {what} is '{text}', which is not {kind}. Correct the field.") from None


def _whole(text: str) -> int:
    if not WHOLE.fullmatch(text):
        raise ValueError
    return int(text)


def _real(text: str) -> float:
    if not REAL.fullmatch(text) or not isfinite(value := float(re.sub("[dD]", "e", text))):
        raise ValueError
    return value


class Labels:
    """Labels that have come, with their lines and values, so that none comes twice with two values."""

    def __init__(self) -> None:
        self.known: dict[Hashable, tuple[int, float | None]] = {}

    def take(self, line: NumberLine, label: Hashable, value: float | None = None) -> bool:
        """Whether the label is new, or the twin of one that came with an equal value.

        Raises InputError, with both lines, where it came with another value, or where no values are given: in formats
        that announce how many elements there are, a twin takes the place of another one.
        """
        if label not in self.known:
            self.known[label] = line.number, value
            return True
        before, first = self.known[label]
        if value is not None and first is not None and abs(value - first) <= TWINS * max(abs(value), abs(first)):
            return False
        values = "" if value is None or first is None else f" with the value {first:g}, here with {value:g}"
        raise InputError(
            f"{line.place}: this element stands in line {before} already, perhaps with its orbitals in another "
            f"order{values}. Remove one of the two lines."
        )


def number_lines(path: str | Path) -> list[NumberLine]:
    """Lines with content, without comments that begin with ! or #.

    Raises InputError if the file cannot be read, is binary, or has typographic minus signs in front of digits.
    """
    text = read_text(path)
    name = Path(path).name
    if "\0" in text[:4096]:
        raise InputError(f"{name}: this is a binary file, a text file is expected. Give the text version.")
    found = []
    for number, line in enumerate(split_lines(text), start=1):
        content = COMMENT.sub("", line)
        for sign, word in LOOKALIKES.items():
            if sign in content:
                raise InputError(
                    f"{name} line {number}: '{sign}' (U+{ord(sign):04X}, {word}) stands where a minus sign belongs. "
                    f"Replace it in the whole file: sed -i 's/{sign}/-/g' {name}"
                )
        if content.split():
            found.append(NumberLine(name, number, content.split()))
    return found


class LineReader:
    """Lines one after the other; the end of the file is an error that says what was expected."""

    def __init__(self, path: str | Path):
        self.file = Path(path).name
        self.lines = number_lines(path)
        self.next = 0

    def take(self, what: str) -> NumberLine:
        """The next line, which holds `what`."""
        if self.next >= len(self.lines):
            last = self.lines[-1].number if self.lines else 0
            raise InputError(f"{self.file}: the file ends after line {last}, {what} is missing. Get the file again.")
        self.next += 1
        return self.lines[self.next - 1]

    def rest(self) -> list[NumberLine]:
        """All lines that are left."""
        return self.lines[self.next :]
