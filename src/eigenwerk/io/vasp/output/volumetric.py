"""Write fields on grids in VASP's layout (`io/vasp/volumetric.py` reads them): CHGCAR, CHG, LOCPOT and their like.

Numbers are written as Fortran's E17.11 and E11.5, 0.12345678901E+02, by arithmetic on whole arrays: a million of them
take a fraction of a second.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.vasp.output.record import RunRecord
from eigenwerk.io.vasp.poscar import Poscar, format_poscar
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
        text_xz = _numbers(value_x[start : start + AT_ONCE], digits)
        whole = len(text_xz) // per_line * per_line
        lines = text_xz[:whole].reshape(-1, per_line * text_xz.shape[1])
        yield np.pad(lines, ((0, 0), (0, 1)), constant_values=ord("\n")).tobytes()
        if whole < len(text_xz):
            yield text_xz[whole:].tobytes() + b"\n"


def _numbers(value_x: np.ndarray, digits: int) -> np.ndarray:
    """Each number as ' 0.12345678901E+02' or ' -.12345678901E+02'; characters, (x, digits + 7)."""
    if not np.isfinite(value_x).all():
        raise ValueError("a field has values that are not finite")
    size_x = np.abs(value_x)
    size_x[size_x < TINY] = 0
    some_x = size_x > 0
    power_x = np.zeros(len(size_x), dtype=np.int64)
    power_x[some_x] = np.floor(np.log10(size_x[some_x])).astype(np.int64) + 1
    # in two factors: neither of them, nor their product, leaves the range of numbers
    half_x = (digits - power_x) // 2
    number_x = np.rint(size_x * 10.0**half_x * 10.0 ** (digits - power_x - half_x)).astype(np.int64)
    over_x, under_x = number_x >= 10**digits, some_x & (number_x < 10 ** (digits - 1))
    number_x[over_x] = (number_x[over_x] + 5) // 10
    number_x[under_x] *= 10  # the logarithm of a power of ten was rounded up
    power_x = power_x + over_x - under_x
    text_xz = np.empty((len(value_x), digits + 7), dtype=np.uint8)
    text_xz[:, :3] = np.frombuffer(b" 0.", dtype=np.uint8)
    text_xz[value_x < 0, 1] = ord("-")
    text_xz[size_x == 0, 1] = ord("0")
    for place in range(digits - 1, -1, -3):  # three digits at a time from the last on
        first = max(0, place - 2)
        number_x, last_x = np.divmod(number_x, 1000)
        text_xz[:, 3 + first : 4 + place] = _three_digits()[last_x, 2 - place + first :]
    text_xz[:, 3 + digits] = ord("E")
    text_xz[:, 4 + digits] = np.where(power_x < 0, ord("-"), ord("+"))
    text_xz[:, 5 + digits :] = _three_digits()[np.abs(power_x), 1:]
    return text_xz


@cache
def _three_digits() -> np.ndarray:
    """'000' ... '999' as characters; (1000, 3)."""
    return np.frombuffer("".join(f"{n:03d}" for n in range(1000)).encode(), dtype=np.uint8).reshape(1000, 3)
