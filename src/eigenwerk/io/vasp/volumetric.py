"""Fields on grids in VASP's layout: what CHGCAR, CHG, AECCAR, LOCPOT, ELFCAR and PARCHG hold, and how they are read.

A POSCAR, an empty line, three numbers of points, and the values, x fastest; then, where there are any, the
`augmentation occupancies` of each atom.  A second block is the magnetisation, or the potential of the other spin.
docs/formats/volumetric.md.
"""

import mmap
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.bounded import MEGABYTE, read_bounded, unreadable
from eigenwerk.io.vasp.input.poscar import Poscar, parse_poscar

LARGEST = 4000 * MEGABYTE
"""Bytes of a file that are read."""

HEAD = 20 * MEGABYTE
"""Bytes among which the points of the grid stand, behind the atoms."""

_OCCUPANCIES = b"augmentation occupancies"

_DATA_SETS = re.compile(r"PAW((?: [A-Z][a-z]?:[0-9a-f]{8})+)")
_EMPTY = re.compile(rb"\n[ \t]*\r?\n")
_SIZES = re.compile(rb"^[ \t]*([0-9]{1,9})[ \t]+([0-9]{1,9})[ \t]+([0-9]{1,9})[ \t]*\r?$", re.MULTILINE)
_MARKS = re.compile(
    rb"^[ \t]*(?:augmentation occupancies[ \t]+(?P<atom>[0-9]{1,9})[ \t]+(?P<count>[0-9]{1,9})"
    rb"|(?P<size>[0-9]{1,9}[ \t]+[0-9]{1,9}[ \t]+[0-9]{1,9}))[ \t]*\r?$",
    re.MULTILINE,
)


@dataclass(frozen=True, eq=False)
class GridBlock:
    """One field: its values on the grid, (R, R, R), and numbers for each atom.

    occupancies: what stands under `augmentation occupancies`, one array per atom, or nothing.  moment_a: moments of
    the atoms, which VASP puts between the two blocks of a magnet (behind the first), or None.
    """

    value_R: np.ndarray
    occupancies: tuple[np.ndarray, ...] = ()
    moment_a: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Volumetric:
    """The blocks of one file.

    data_sets: element -> first 8 digits of the checksum of the PAW data that the occupancies belong to; empty in files
    of other programs.
    """

    blocks: tuple[GridBlock, ...]
    data_sets: dict[str, str]


@dataclass(frozen=True, eq=False)
class VolumetricHead:
    """What stands before the values: the structure, the points of the grid, and the data sets of `Volumetric`."""

    poscar: Poscar
    size_c: tuple[int, int, int]
    data_sets: dict[str, str]


def data_set_words(data_sets: dict[str, str]) -> str:
    """The mark of data sets in a file: 'PAW Si:ee77abcd O:0123abcd'."""
    return "PAW" + "".join(f" {symbol}:{digits[:8]}" for symbol, digits in data_sets.items()) if data_sets else ""


def read_head(path: str | Path) -> VolumetricHead:
    """What stands before the values, read without them.  Raises InputError as `read_volumetric` does."""
    path = Path(path)
    try:
        with open(path, "rb") as file:
            data = file.read(HEAD)
    except OSError as error:
        raise unreadable(path, error) from None
    return _head(data, path.name)[0]


def occupancy_counts(path: str | Path) -> tuple[int, ...]:
    """How many augmentation occupancies each atom of the first field has, () without any; values are passed over.

    Raises InputError if the file cannot be read.
    """
    path, counts = Path(path), list[int]()
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            place = data.find(_OCCUPANCIES)
            while place >= 0:
                words = data[place + len(_OCCUPANCIES) : place + 100].split(b"\n")[0].split()
                if len(words) != 2 or not all(word.isdigit() for word in words) or int(words[0]) != len(counts) + 1:
                    break
                counts.append(int(words[1]))
                place = data.find(_OCCUPANCIES, place + 1)
    except (OSError, ValueError) as error:
        raise unreadable(path, error if isinstance(error, OSError) else OSError(str(error))) from None
    return tuple(counts)


def read_volumetric(path: str | Path) -> tuple[VolumetricHead, Volumetric]:
    """Head and content of a file.

    Raises InputError, naming file, line, numbers and remedy, for what is no such file: no structure, no grid, values
    that are missing, too many or no finite numbers, occupancies that are not those of the atoms in their order.
    """
    path = Path(path)
    data = read_bounded(path, LARGEST)
    head, start = _head(data, path.name)
    blocks = list(_blocks(data, head, start, path.name))
    if len(blocks) not in (1, 2, 4):
        raise InputError(f"{path.name}: has {len(blocks)} fields; there are files of 1, 2 or 4. Is it damaged?")
    return head, Volumetric(tuple(blocks), head.data_sets)


def _head(data: bytes, name: str) -> tuple[VolumetricHead, int]:
    """The head, and where the numbers of points stand."""
    empty = _EMPTY.search(data, 0, HEAD)
    if empty is None:
        raise InputError(f"{name}: there is no empty line behind the atoms. Is it a file in VASP's layout, and whole?")
    text = data[: empty.start()].decode("utf-8", "replace")
    poscar = parse_poscar(text, name)
    sizes = _SIZES.match(data, empty.end())
    if sizes is None:
        raise InputError(
            f"{name} line {_line(data, empty.end())}: expected the three numbers of grid points behind the empty line."
        )
    first, second, third = (int(size) for size in sizes.groups())
    if min(first, second, third) < 1:
        raise InputError(f"{name} line {_line(data, empty.end())}: a grid of {first} x {second} x {third} points.")
    found = _DATA_SETS.search(text)
    data_sets = {} if found is None else dict(part.split(":") for part in found[1].split())
    return VolumetricHead(poscar, (first, second, third), data_sets), empty.end()


def _blocks(data: bytes, head: VolumetricHead, start: int, name: str) -> Iterator[GridBlock]:
    """The fields from the first line of numbers of points on."""
    marks = list(_MARKS.finditer(data, start))
    ends = [*(mark.start() for mark in marks[1:]), len(data)]
    atoms, points = len(head.poscar.symbols), prod(head.size_c)
    value_R: np.ndarray | None = None
    occupancies: list[np.ndarray] = []
    moment_a: np.ndarray | None = None
    for mark, end in zip(marks, ends, strict=True):
        line = _line(data, mark.start())
        if mark["size"] is not None:
            if value_R is not None:
                yield _block(value_R, occupancies, moment_a, atoms, name, line)
            size_c = tuple(int(size) for size in mark["size"].split())
            if size_c != head.size_c:
                raise InputError(f"{name} line {line}: a second grid of {size_c} points, the first has {head.size_c}.")
            if 2 * points > end - mark.end() + 1:
                raise InputError(
                    f"{name} line {line}: {points} values are announced, and {end - mark.end()} bytes follow. Is the "
                    "file whole?"
                )
            values, occupancies, moment_a = _numbers(data, mark.end(), end, name, line), [], None
            # a file without occupancies may have the moments behind the values
            if len(values) == points + atoms:
                values, moment_a = values[:points], values[points:]
            _require(len(values) == points, name, line, f"{points} values are announced, and {len(values)} follow")
            value_R = np.ascontiguousarray(values.reshape(head.size_c, order="F"))
            continue
        number, count = int(mark["atom"]), int(mark["count"])
        _require(number == len(occupancies) + 1 <= atoms, name, line, f"occupancies of atom {number} in place of atom "
                 f"{len(occupancies) + 1} of {atoms}")  # fmt: skip
        values = _numbers(data, mark.end(), end, name, line)
        if len(values) == count + atoms and number == atoms:
            values, moment_a = values[:count], values[count:]
        _require(len(values) == count, name, line, f"{count} occupancies are announced, and {len(values)} follow")
        occupancies.append(values)
    if value_R is not None:
        yield _block(value_R, occupancies, moment_a, atoms, name, _line(data, len(data)))


def _block(
    value_R: np.ndarray, occupancies: list[np.ndarray], moment_a: np.ndarray | None, atoms: int, name: str, line: int
) -> GridBlock:
    _require(len(occupancies) in (0, atoms), name, line, f"occupancies of {len(occupancies)} of {atoms} atoms")
    return GridBlock(value_R, tuple(occupancies), moment_a)


def _numbers(data: bytes, start: int, end: int, name: str, line: int) -> np.ndarray:
    """All numbers of a part of the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # of text that is no number
        try:
            values = np.fromstring(data[start:end].decode("latin-1"), dtype=float, sep=" ")
        except (DeprecationWarning, ValueError):
            raise InputError(
                f"{name}: something below line {line} is no number. Is the file damaged, or of another program?"
            ) from None
    _require(bool(np.isfinite(values).all()), name, line, "below this line is a number that is not finite")
    return values


def _require(fine: bool, name: str, line: int, words: str) -> None:
    if not fine:
        raise InputError(f"{name} line {line}: {words}. Is the file whole?")


def _line(data: bytes, place: int) -> int:
    """The line of a place, from 1."""
    return data.count(b"\n", 0, place) + 1
