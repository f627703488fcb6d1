"""Write fields on grids in VASP's layout (`io/vasp/volumetric.py` reads them): CHGCAR, CHG, LOCPOT and their like.

Numbers are written as Fortran's E17.11 and E11.5, 0.12345678901E+02, by arithmetic on whole arrays: a million of them
take a fraction of a second.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.vasp.input.poscar import Poscar, format_poscar
from eigenwerk.io.vasp.output.record import RunRecord
from eigenwerk.io.vasp.volumetric import Volumetric, data_set_words

DIGITS, PER_LINE = 11, 5
SHORT_DIGITS, SHORT_PER_LINE = 5, 10
"""Significant digits and numbers in a line of most files, and of CHG."""

AT_ONCE = 10 * 2**14
"""Numbers that are written together: a multiple of the numbers in a line."""

TINY = 1e-98
"""What is smaller is written as 0: an exponent has two digits."""


def write_volumetric(path: str | Path, record: RunRecord, name: str) -> None:
    """Write the field of this name of a record.  Raises InputError if the file cannot be written."""
    last = record.last
    runs = tuple((species.element, species.count) for species in record.species)
    poscar = Poscar(record.title, last.lattice_cv, record.symbols, last.scaled_ac, runs)
    stamp = "" if record.stamp is None else str(record.stamp)
    write_fields(path, poscar, record.fields[name], stamp, short=name == "CHG")


def write_fields(path: str | Path, poscar: Poscar, field: Volumetric, stamp: str = "", short: bool = False) -> None:
    """The same for a structure.  stamp: words that come with the mark of the data sets; short: in CHG's layout."""
    digits, per_line = (SHORT_DIGITS, SHORT_PER_LINE) if short else (DIGITS, PER_LINE)
    mark = "; ".join(filter(None, [stamp, data_set_words(field.data_sets)]))
    with replacing(path) as new, open(new, "wb") as file:
        file.write(format_poscar(poscar, mark).encode() + b"\n")
        for block in field.blocks:
            file.write(" {:4d} {:4d} {:4d}\n".format(*block.value_R.shape).encode())
            for part in _lines(block.value_R.ravel(order="F"), digits, per_line):
                file.write(part)
            for atom, occupancies in enumerate(block.occupancies, 1):
                file.write(f"augmentation occupancies {atom:3d} {len(occupancies):3d}\n".encode())
                file.write(b"".join(_lines(occupancies, DIGITS, PER_LINE)))
            if block.moment_a is not None:
                file.write(b"".join(_lines(block.moment_a, DIGITS, PER_LINE)))


def bytes_of(points: int, short: bool = False) -> int:
    """Size of the values of so many points in a file."""
    digits, per_line = (SHORT_DIGITS, SHORT_PER_LINE) if short else (DIGITS, PER_LINE)
    return points * (digits + 7) + points // per_line


def _lines(value_x: np.ndarray, digits: int, per_line: int) -> Iterator[bytes]:
    """Lines of numbers, many at once."""
    for start in range(0, len(value_x), AT_ONCE):
        part_x = value_x[start : start + AT_ONCE]
        whole = len(part_x) // per_line * per_line
        for some_x, columns in ((part_x[:whole], per_line), (part_x[whole:], len(part_x) - whole)):
            if len(some_x):
                yield _text(some_x, digits, columns)


def _text(value_x: np.ndarray, digits: int, columns: int) -> bytes:
    """Numbers as ' 0.12345678901E+02' or ' -.12345678901E+02', so many in each line."""
    number_x, power_x, some_x = _decimal(value_x, digits)
    width = digits + 7
    line_yz = np.empty((len(value_x) // columns, columns * width + 1), dtype=np.uint8)
    line_yz[:, -1] = ord("\n")
    strides = line_yz.strides[0], width
    text = np.ndarray((len(line_yz), columns), _layout(digits), line_yz.data, strides=strides)

    def put(name: str, value_x: np.ndarray) -> None:
        text[name] = value_x.reshape(text.shape)

    text["blank"] = ord(" ")
    put("sign", np.where(some_x & (value_x < 0), ord("-"), ord("0")).astype(np.uint8))
    put("exponent", _exponents().take(power_x + 99))
    for place in range(digits // 4 - 1, -1, -1):  # four digits at a time from the last on
        rest_x = number_x // 10_000
        put(f"four{place}", _numbered(4).take(number_x - 10_000 * rest_x))
        number_x = rest_x
    put("first", _numbered(digits % 4, ".").take(number_x))
    return line_yz.tobytes()


def _decimal(value_x: np.ndarray, digits: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Digits as a whole number, powers of ten in front of which the point stands, and which values are not zero."""
    if not np.isfinite(value_x).all():
        raise ValueError("a field has values that are not finite")
    size_x = np.abs(value_x)
    size_x[size_x < TINY] = 0
    some_x = size_x > 0
    power_x = (np.floor(np.log10(np.where(some_x, size_x, 0.1))) + 1).astype(np.int64)
    # in two factors: neither of them, nor their product, leaves the range of numbers
    half_x = (digits - power_x) // 2
    number_x = np.rint(size_x * 10.0**half_x * 10.0 ** (digits - power_x - half_x)).astype(np.int64)
    over_x, under_x = number_x >= 10**digits, some_x & (number_x < 10 ** (digits - 1))
    number_x[over_x] = (number_x[over_x] + 5) // 10
    number_x[under_x] *= 10  # the logarithm of a power of ten was rounded up
    return number_x, power_x + over_x - under_x, some_x


@cache
def _layout(digits: int) -> np.dtype:
    """The characters of one number as integers of one, two or four of them, which are copied as fast as numbers."""
    first = digits % 4 + 1
    formats = {"blank": "u1", "sign": "u1", "first": f"u{first}"}
    formats |= {f"four{place}": "u4" for place in range(digits // 4)} | {"exponent": "u4"}
    return np.dtype(list(formats.items()))


@cache
def _numbered(digits: int, before: str = "") -> np.ndarray:
    """'0000' ... '9999' as integers of as many characters."""
    texts = [f"{before}{n:0{digits}d}" for n in range(10**digits)]
    return np.array(texts, dtype=f"S{digits + len(before)}").view(f"u{digits + len(before)}")


@cache
def _exponents() -> np.ndarray:
    """'E-99' ... 'E+99' in the same way."""
    return np.array([f"E{power:+03d}" for power in range(-99, 100)], dtype="S4").view("u4")
