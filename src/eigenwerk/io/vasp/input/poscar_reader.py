"""Line by line through a POSCAR file."""

import re
from collections.abc import Callable

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.elements import ELEMENTS, ISOTOPES, element_of
from eigenwerk.io.vasp.fortran import is_int, is_number, leading_numbers, strip_comment, to_bool, to_float
from eigenwerk.io.vasp.problem import Problem

NAMES = ELEMENTS | ISOTOPES.keys()
"""What species may be called."""

_ELEMENT = re.compile(r"([A-Z][a-z]?)(.*)")
_FORMULA = re.compile(r"(?:[A-Z][a-z]?[0-9]*)+")
_PART = re.compile(r"([A-Z][a-z]?)([0-9]*)")
_LARGEST = 1e6
_SHORTEST = 1e-3
_MOST_ATOMS = 20_000
_LEAST_VOLUME = 0.1
"""Cubic Angstrom for each atom; a hydrogen atom in a metal has two."""

_SAME_CELL = 1e-4
"""Largest difference, in Angstrom, of lattice vectors that a file gives twice."""


def _names_only(tokens: list[str]) -> bool:
    return all((match := _ELEMENT.fullmatch(token)) is not None and match[1] in NAMES for token in tokens)


def _counts_only(tokens: list[str]) -> bool:
    return all(map(is_int, tokens))


class PoscarReader:
    """Reads the sections in their order; `position` is the index of the next line."""

    def __init__(self, lines: list[str], file: str) -> None:
        self.lines = lines
        self.file = file
        self.position = 0
        self.first_title = ""
        self.lattice_cv = np.zeros((3, 3))
        self.problems: list[Problem] = []

    def error(self, message: str, line: int | None = None) -> InputError:
        """An InputError about a line (default: the one read last)."""
        return InputError(f"{self.file} line {line or self.position}: {message}")

    def note(self, severity: str, message: str, remedy: str = "") -> None:
        """Remember a finding about the present line that does not stop the reading."""
        self.problems.append(Problem(severity, self.file, self.position, message, remedy=remedy))

    def next(self, what: str) -> str:
        """The next line; raises InputError if the file has ended."""
        if self.position >= len(self.lines):
            raise InputError(f"{self.file}: the file ends after {len(self.lines)} lines, before {what}.")
        self.position += 1
        return self.lines[self.position - 1]

    def peek(self) -> str | None:
        """The next line without moving on; None at the end of the file."""
        return self.lines[self.position] if self.position < len(self.lines) else None

    def numbers(self, what: str, count: int = 3) -> tuple[list[float], list[str]]:
        """`count` numbers at the start of the next line, and the other tokens."""
        tokens = self.next(what).split()
        for token in tokens[:count]:
            if not is_number(token) or abs(to_float(token)) > _LARGEST:
                raise self.error(f"{token} is not a finite number below {_LARGEST:g}; {what} needs {count} numbers.")
        if len(tokens) < count:
            raise self.error(f"there are {len(tokens)} numbers; {what} needs {count}.")
        return [to_float(token) for token in tokens[:count]], tokens[count:]

    def title(self) -> str:
        """The first line."""
        self.first_title = self.next("the title").strip()
        return self.first_title

    def lattice(self) -> tuple[np.ndarray, float | None]:
        """Scale factors and lattice vectors.

        A factor multiplies all vectors; a negative one is minus the volume wanted; three factors
        multiply the components x, y, z.  Returns the factors (3,) and the universal one, None for three.
        """
        factors = leading_numbers(strip_comment(self.next("the scale factor")).split())
        if len(factors) not in (1, 3):
            raise self.error(f"there are {len(factors)} scale factors; write one number, or three.")
        if any(not 1e-9 < abs(factor) < 1e9 or (factor < 0.0 and len(factors) == 3) for factor in factors):
            raise self.error(
                f"the scale factors are {', '.join(f'{factor:g}' for factor in factors)}; "
                "one factor must not be zero, three must be positive."
            )
        vectors = np.array([self.numbers(f"lattice vector {number}")[0] for number in (1, 2, 3)])
        volume = abs(float(np.linalg.det(vectors)))
        if volume < 1e-8 * float(np.prod(np.linalg.norm(vectors, axis=1))) or volume == 0.0:
            raise self.error("the three lattice vectors lie in a plane: the cell has no volume.", 3)
        if factors[0] < 0.0:
            factors = [(-factors[0] / volume) ** (1.0 / 3.0)]
        scales = np.array(factors * (3 // len(factors)))
        self.lattice_cv = vectors * scales
        lengths = np.linalg.norm(self.lattice_cv, axis=1)
        if lengths.min() < _SHORTEST or lengths.max() > _LARGEST:
            shown = ", ".join(f"{length:.3g}" for length in lengths)
            raise self.error(f"with this scale factor the lattice vectors are {shown} Å long. Correct it.", 2)
        return scales, factors[0] if len(factors) == 1 else None

    def species(self, order: tuple[str, ...] | None) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...]]:
        """(symbol, count) of the runs, and what followed the symbols in their names."""
        tokens = strip_comment(self.next("the species")).split()
        named = not (tokens and is_int(tokens[0]))
        names = [*tokens, *self.more(_names_only)] if named else []
        split = [self.element(name) for name in names]
        if named:
            tokens = strip_comment(self.next("the numbers of atoms")).split()
        counts = self.counts([*tokens, *(self.more(_counts_only) if all(map(is_int, tokens)) else [])])
        if named and len(counts) != len(names):
            raise self.error(f"there are {len(counts)} counts for {len(names)} species ({' '.join(names)}).")
        symbols = tuple(symbol for symbol, _ in split)
        if not named:
            symbols = self.unnamed(counts, order)
        elif order is not None and order != symbols:
            raise self.error(
                f"the species are {' '.join(symbols)}, but POTCAR has {' '.join(order)}. "
                "Put both in the same order, or remove POTCAR.", self.position - 1,
            )  # fmt: skip
        suffixes = tuple(suffix for _, suffix in split) if named else ("",) * len(counts)
        return tuple(zip(symbols, counts, strict=True)), suffixes

    def more(self, continues: Callable[[list[str]], bool]) -> list[str]:
        """Tokens of the following lines that continue a list: with many species VASP writes several lines."""
        found: list[str] = []
        while (tokens := strip_comment(self.peek() or "").split()) and continues(tokens):
            found += tokens
            self.position += 1
        return found

    def element(self, name: str) -> tuple[str, str]:
        """Element and rest of a species name: Si_pv, Fe_up, O/abc123, Si1, D (`isotopes`)."""
        match = _ELEMENT.fullmatch(name)
        if match is None or match.group(1) not in NAMES or match.group(2)[:1].isalpha():
            letters = re.split("[^A-Za-z]", name)[0]
            meant = letters.capitalize()
            if meant in ELEMENTS:  # AL, al: symbols are told from labels by their capitals, so none is guessed
                hint = f"did you mean {meant}? Write {meant}{name[len(letters) :]}."
                raise self.error(f"{name} is not a chemical element; {hint}")
            raise self.error(f"{name} is not a chemical element; write a symbol such as Si, or Si_pv.")
        return element_of(match.group(1), match.group(2))

    def counts(self, tokens: list[str]) -> list[int]:
        """The numbers of atoms, up to the first word."""
        found: list[int] = []
        for token in tokens:
            if not is_int(token) and not is_number(token):
                break
            if not is_int(token) or int(token) < 1:
                missing = " If this is a position, a line Direct or Cartesian is missing above it." if found else ""
                raise self.error(f"{token} is not a number of atoms; write whole numbers above zero.{missing}")
            found.append(int(token))
        if not found:
            raise self.error("there are no numbers of atoms; write one whole number for each species.")
        left = len(self.lines) - self.position
        if sum(found) > left:
            raise self.error(f"the counts add up to {sum(found)} atoms, but only {left} lines follow.")
        if sum(found) > _MOST_ATOMS:
            raise self.error(f"the counts add up to {sum(found)} atoms; more than {_MOST_ATOMS} are not computed.")
        return found

    def unnamed(self, counts: list[int], order: tuple[str, ...] | None) -> tuple[str, ...]:
        """Species of a file without a line of names: from POTCAR, labels behind the positions, or the title."""
        for source, symbols in (
            ("the order of POTCAR", order),
            ("the labels behind the positions", self.labels(counts)),
            ("the title", self.title_species(counts)),
        ):
            if symbols is not None and len(symbols) == len(counts):
                self.note("note", f"no line names the species; {' '.join(symbols)} are taken from {source}")
                return symbols
        raise self.error(
            f"no line names the {len(counts)} species, and neither a POTCAR, nor labels behind the positions, nor the "
            "title does. Write the symbols, for example Si O, on a line of their own above the numbers of atoms."
        )

    def labels(self, counts: list[int]) -> tuple[str, ...] | None:
        """Elements named behind the coordinates, if they are there and the same within each run."""
        start = self.position + (1 if (self.peek() or "").strip()[:1] in ("S", "s") else 0) + 1
        symbols: list[str] = []
        for count in counts:
            ends = {(line.split() or [""])[-1] for line in self.lines[start : start + count]}
            if len(ends) != 1 or not ends <= ELEMENTS or start + count > len(self.lines):
                return None
            symbols.append(ends.pop())
            start += count
        return None if set(symbols) <= {"F"} else tuple(symbols)

    def title_species(self, counts: list[int]) -> tuple[str, ...] | None:
        """Elements of a title that is a formula (Fe4P4O16) or a list of symbols and agrees with the counts.

        Several species may stand before a colon (Ce O : slab); one letter there is more likely a label.
        """
        listed = self.first_title.split(":")[0] if len(counts) > 1 else self.first_title
        formula = "".join(listed.split())
        parts = _PART.findall(formula) if _FORMULA.fullmatch(formula) else []
        agree = len(parts) == len(counts) and all(
            symbol in ELEMENTS and number in ("", str(count))
            for (symbol, number), count in zip(parts, counts, strict=True)
        )
        return tuple(symbol for symbol, _ in parts) if agree else None

    def modes(self) -> tuple[bool, bool]:
        """(selective dynamics, Cartesian coordinates), by the first letters of the next lines."""
        line = self.next("Direct or Cartesian").strip()
        selective = line[:1] in ("S", "s")
        if selective:
            line = self.next("Direct or Cartesian").strip()
        if line[:1].isdigit() or is_number(line.split()[0] if line else ""):
            raise self.error(f"Direct or Cartesian is expected here, found {line[:40]}.")
        if line[:1] and line[0] not in "DdCcKkFfRr":
            self.note("warning", f"{line[:40]} is read as Direct", "Write Direct or Cartesian.")
        return selective, line[:1] in ("C", "c", "K", "k")

    def positions(self, symbols: tuple[str, ...], selective: bool) -> tuple[np.ndarray, np.ndarray | None]:
        """Coordinates as written, (a, 3), and the flags of selective dynamics, (a, 3) or None."""
        rows, flags = [], []
        for number, symbol in enumerate(symbols, start=1):
            row, tokens = self.numbers(f"the position of atom {number} of {len(symbols)}")
            rows.append(row)
            flags.append(self.flags(tokens) if selective else [True] * 3)
            self.check_label(tokens[3:] if selective else tokens, symbol, number)
        following = (self.peek() or "").split()
        if len(following) >= 3 and all(is_number(token) for token in following[:3]):
            self.position += 1
            count = len(symbols)
            raise self.error(f"this is the position of an atom {count + 1}, but the counts say {count} atoms.")
        room = abs(float(np.linalg.det(self.lattice_cv))) / len(symbols)
        if room < _LEAST_VOLUME:
            raise self.error(
                f"the cell has {room:.2g} cubic Å for each of its {len(symbols)} atoms, less than {_LEAST_VOLUME}. "
                "Correct the scale factor, the lattice vectors or the numbers of atoms.", 2,
            )  # fmt: skip
        return np.array(rows), np.array(flags) if selective else None

    def flags(self, tokens: list[str]) -> list[bool]:
        """The three flags of selective dynamics; raises InputError if they are not T or F."""
        wanted = "with Selective dynamics three flags, T or F, follow each position."
        if len(tokens) < 3:
            raise self.error(f"there are {len(tokens)} flags; {wanted}")
        try:
            return [to_bool(token) for token in tokens[:3]]
        except ValueError as problem:
            raise self.error(f"{problem}; {wanted}") from None

    def check_label(self, tokens: list[str], symbol: str, number: int) -> None:
        """Warn when a label behind a position names another element than the counts give this atom."""
        if tokens and tokens[0] in ELEMENTS and tokens[0] != symbol and tokens[0] != "F":
            message = f"atom {number} is labelled {tokens[0]}, but by the order of species it is {symbol}"
            self.note("warning", message, "Sort the positions in the order of the species.")

    def lattice_velocities(self) -> np.ndarray | None:
        """Of the block 'Lattice velocities and vectors' of a cell that moves, (3, 3), rows as the lattice vectors.

        None if there is no such block, or if its second line says 0: velocities that nobody has set.
        """
        if (self.peek() or "").strip()[:1] not in ("L", "l"):
            return None
        self.next("the lattice velocities")
        state = self.next("the state of the lattice velocities").split()
        if len(state) != 1 or state[0] not in ("0", "1"):
            raise self.error("below 'Lattice velocities and vectors' a line with 1 (or 0: none are set) is expected.")
        velocity_cv = np.array([self.numbers(f"the velocity of lattice vector {c}")[0] for c in (1, 2, 3)])
        vectors = np.array([self.numbers(f"lattice vector {c} beside its velocity")[0] for c in (1, 2, 3)])
        apart = np.abs(vectors - self.lattice_cv).max()
        if apart > _SAME_CELL:
            message = f"lattice vectors beside their velocities differ from lines 3 to 5 by up to {apart:.4f} Å"
            self.note("warning", message, "Lines 3 to 5 count; remove the block, or make both the same.")
        return velocity_cv if state[0] == "1" else None

    def velocities(self, count: int) -> tuple[np.ndarray | None, bool]:
        """Velocities (a, 3) and whether they are Cartesian (Angstrom/fs); None if the file has none."""
        if not any(line.strip() for line in self.lines[self.position :]):
            return None, True
        mode = self.next("the velocities").strip()
        rows = [self.numbers(f"the velocity of atom {number} of {count}")[0] for number in range(1, count + 1)]
        return np.array(rows), mode[:1] in ("", "C", "c", "K", "k")

    def rest(self) -> str:
        """Everything that is left (predictor-corrector coordinates), as text without blank ends."""
        return "\n".join(self.lines[self.position :]).strip("\n")
