"""Tables of matrix elements of the relative motion of two nucleons, in three layouts.

- plain: lines `J S l l' n n' value`, l <= l', and n <= n' if l = l'; comments begin with #, and one of them may say
  `hbar*omega = 25 MeV`.
- sectors ("JPV"): a line `J S l l' ? count mass hw ?` and the upper triangle of the sector column by column,
  V(0,0) V(0,1) V(1,1) V(0,2) ...; l != l' stand as two sectors, each with its upper triangle,
  in which the row belongs to the second of the two l (as JISP16's table shows); 99999 ends the file.
- RELATIVE LSJT: comments, `1`, `J0 g0 T0min T0max mode`, `Nmax Jmax`, lines `T0 N' l' S' J' T' N l S J T value` with
  quanta N = 2n + l.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.ncci.number_text import Labels, LineReader, NumberLine, number_lines
from eigenwerk.io.vasp.textfile import read_text

Key = tuple[int, int, int, int]
END_MARK = "99999"
LARGEST = 1000
"""J and radial quantum numbers above it are errors; published tables go up to 120."""


@dataclass(frozen=True, eq=False)
class RelativeTable:
    """matrices[J, S, l, l'] between n and n' in MeV, l <= l'; hw and nucleon mass (MeV) where the file names them."""

    matrices: dict[Key, np.ndarray]
    hw: float | None
    nucleon_mass: float | None


def read_relative_table(path: str | Path) -> RelativeTable:
    """The table of any of the three layouts, told apart by its first lines; raises InputError with the line."""
    lines = number_lines(path)
    name = Path(path).name
    if not lines:
        raise InputError(f"{name}: the table is empty. Get the file again.")
    head = read_text(path)[:2000]
    if "RELATIVE LSJT" in head:
        return _read_lsjt(LineReader(path))
    if len(lines[0].fields) == 9:
        return _read_sectors(lines)
    if len(lines[0].fields) == 7:
        named, labels = re.search(r"hbar\*?omega\s*=\s*(\d+\.?\d*)\s*MeV", head), Labels()
        matrices = _matrices([_plain(line, labels) for line in lines])
        return RelativeTable(matrices, float(named[1]) if named else None, None)
    raise InputError(
        f"{lines[0].place}: {len(lines[0].fields)} fields; a table of relative matrix elements begins with 7 (J S l l' "
        "n n' value), 9 (a sector) or the comment RELATIVE LSJT. Convert it to one of these."
    )


Entry = tuple[NumberLine, Key, int, int, float]


def _plain(line: NumberLine, labels: Labels) -> Entry:
    j, s, l, lp, n, n_new = (line.integer(k, what) for k, what in enumerate(("J", "S", "l", "l'", "n", "n'")))
    if len(line.fields) != 7:
        raise InputError(f"{line.place}: {len(line.fields)} fields instead of 7. Correct the line.")
    entry = _ordered(line, (j, s, l, lp), n, n_new, line.real(6, "the matrix element"))
    labels.take(line, (j, s, l, lp, n, n_new), entry[-1])
    return entry


def _ordered(line: NumberLine, key: Key, n: int, n_new: int, value: float) -> Entry:
    j, s, l, lp = key
    if max(n, n_new, j) > LARGEST:
        raise InputError(f"{line.place}: J, n, n' = {j}, {n}, {n_new}; they go up to {LARGEST}. Correct the line.")
    if min(n, n_new) < 0 or s not in (0, 1) or any(not abs(x - s) <= j <= x + s for x in (l, lp)) or (l - lp) % 2:
        raise InputError(f"{line.place}: J S l l' n n' = {j} {s} {l} {lp} {n} {n_new} cannot be. Correct the line.")
    return (line, key, n, n_new, value) if l <= lp else (line, (j, s, lp, l), n_new, n, value)


def _matrices(entries: list[Entry]) -> dict[Key, np.ndarray]:
    sizes: dict[Key, int] = {}
    for _, key, n, n_new, _ in entries:
        sizes[key] = max(sizes.get(key, 0), n + 1, n_new + 1)
    matrices = {key: np.full((size, size), np.nan) for key, size in sizes.items()}
    for line, key, n, n_new, value in entries:
        matrix = matrices[key]
        for x, y in {(n, n_new), (n_new, n)} if key[2] == key[3] else {(n, n_new)}:
            if not np.isnan(matrix[x, y]) and abs(matrix[x, y] - value) > 1e-5 * (1 + abs(value)):
                raise InputError(f"{line.place}: this element stood before with {matrix[x, y]:g}. Remove one of them.")
            matrix[x, y] = value
    return {key: np.nan_to_num(matrix) for key, matrix in matrices.items()}


def _read_sectors(lines: list[NumberLine]) -> RelativeTable:
    entries: list[Entry] = []
    position, mass, hw = 0, 0.0, 0.0
    while position == len(lines) or lines[position].fields != [END_MARK]:
        if position == len(lines):
            raise InputError(f"{lines[-1].place}: the mark {END_MARK} is missing, the file is cut off. Get it again.")
        head = lines[position]
        if len(head.fields) != 9:
            raise InputError(f"{head.place}: a sector is due, with 9 fields: J S l l' ? count mass hw ?.")
        j, s, l, lp, _, count = (head.integer(k, what) for k, what in enumerate(("J", "S", "l", "l'", "cut", "count")))
        if not 0 <= count <= LARGEST:
            raise InputError(f"{head.place}: a sector of {count} functions; 0 to {LARGEST} are read. Correct the line.")
        if position and (head.real(6, "mass"), head.real(7, "hw")) != (mass, hw):
            raise InputError(f"{head.place}: mass or hw differ from {mass:g}, {hw:g} of the first sector. Split it.")
        mass, hw = head.real(6, "the mass"), head.real(7, "hw")
        wanted, found = count * (count + 1) // 2, 0
        position += 1
        columns = [(n, n_new) for n_new in range(count) for n in range(n_new + 1)]
        while found < wanted:
            fields = lines[position].fields if position < len(lines) else [END_MARK]
            if fields == [END_MARK] or len(fields) > wanted - found:
                raise InputError(
                    f"{head.place}: sector J S l l' = {j} {s} {l} {lp} announces {wanted} elements, {found} follow. "
                    "The file is cut off; get it again."
                )
            line = lines[position]
            for k in range(len(line.fields)):
                entries.append(_ordered(head, (j, s, lp, l), *columns[found], line.real(k, "a matrix element")))
                found += 1
            position += 1
    return RelativeTable(_matrices(entries), hw, mass)


def _read_lsjt(lines: LineReader) -> RelativeTable:
    version = lines.take("the version")
    if version.integer(0, "the version") != 1:
        raise InputError(
            f"{version.place}: version {version.fields[0]} of RELATIVE LSJT is not known, only 1 is. Convert the file."
        )
    operator = lines.take("J0 g0 T0min T0max and the phase mode")
    j0, g0, _, t0_max = (operator.integer(k, "J0, g0, T0min, T0max") for k in range(4))
    if j0 or g0 or t0_max:
        raise InputError(
            f"{operator.place}: J0 = {j0}, g0 = {g0}, T0 up to {t0_max}; only isoscalar interactions (0, 0, 0) are "
            "read. Give a charge-independent table; Coulomb is built in."
        )
    truncation = lines.take("Nmax and Jmax")
    labels = Labels()
    entries = [_lsjt(line, labels) for line in lines.rest()]
    nmax, jmax = (truncation.integer(k, "Nmax, Jmax") for k in range(2))
    if len(entries) < (wanted := _lsjt_elements(min(nmax, LARGEST), min(jmax, LARGEST))):
        raise InputError(
            f"{truncation.place}: Nmax = {nmax} and Jmax = {jmax} announce {wanted} elements, {len(entries)} follow. "
            "The file is cut off; get it again."
        )
    return RelativeTable(_matrices(entries), None, None)


def _lsjt_elements(nmax: int, jmax: int) -> int:
    """Elements of a scalar: the upper triangle in n of every J, S and l, and all of l with l + 2."""
    count = 0
    for j in range(jmax + 1):
        for s, l in ((0, j), (1, j - 1), (1, j), (1, j + 1)):
            if not abs(j - s) <= l <= nmax:
                continue
            radial = (nmax - l) // 2 + 1
            count += radial * (radial + 1) // 2
            if l + 2 <= min(j + s, nmax):
                count += radial * (radial - 1)
    return count


def _lsjt(line: NumberLine, labels: Labels) -> Entry:
    names = ("T0", "N'", "l'", "S'", "J'", "T'", "N", "l", "S", "J", "T")
    _, big_1, l_1, s_1, j_1, _, big_2, l_2, s_2, j_2, _ = (line.integer(k, name) for k, name in enumerate(names))
    if (s_1, j_1) != (s_2, j_2) or (big_1 - l_1) % 2 or (big_2 - l_2) % 2:
        raise InputError(f"{line.place}: S and J have to be equal on both sides, and N - l even. Correct the line.")
    key = (j_1, s_1, l_1, l_2)
    labels.take(line, (key, big_1, big_2))
    return _ordered(line, key, (big_1 - l_1) // 2, (big_2 - l_2) // 2, line.real(11, "the matrix element"))
