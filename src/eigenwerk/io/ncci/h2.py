"""MFDn's h2 files: both versions as text and binary.

Binary files are little endian and begin with the version as a Fortran record (4, version, 4).  Version 15200 as MFDn
writes it continues without record marks: int32 number of proton and neutron orbitals;  int32 n, l, 2j, 2tz and float32
weight, each an array over all orbitals, protons first;  int32 J0, parity, Tz0;  float32 limits pp, pn, nn;  int64
numbers of elements pp, pn, nn;  float32 elements pp, pn, nn.  Version 15099 has Fortran records: the two numbers; n,
l, 2j, weight of protons, then of neutrons; 2 J0, parity, Tz0; limits of single nucleons; limits pp, nn, pn; 2J limits;
numbers of elements; elements pp, nn, pn.

Text:  version;  numbers of proton and neutron orbitals;  lines `index n l 2j species weight`;  J0, parity, Tz0;  15099
only: limits of single nucleons;  limits of pairs;  15099 only: limits of 2J;  numbers of elements;  lines
`a b c d 2J 2J [11, 22 or 12] element`.  Limits, numbers and elements stand in the order pp nn pn in version 15099 and
pp pn nn in version 15200; inside a kind the elements may stand in any order.
"""

import struct
from pathlib import Path

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.bounded import MEGABYTE, read_bounded
from eigenwerk.io.ncci.h2_data import (
    KINDS,
    MOST_ORBITALS,
    NEW_VERSION,
    OLD_VERSION,
    H2Data,
    H2Header,
    check_header,
    unpack,
)
from eigenwerk.io.ncci.number_text import Labels, LineReader, NumberLine

NEW_ORDER = ("pp", "pn", "nn")
LARGEST = 20_000 * MEGABYTE


def read_h2(path: str | Path) -> H2Data:
    """The matrix elements of an h2 file.

    Raises InputError, with the byte or line, if the file is absent, truncated, of the other byte order, of another
    version, or if its orbitals do not fit its number of elements.
    """
    path = Path(path)
    raw = read_bounded(path, LARGEST)
    start = raw[:4]
    if start == struct.pack("<i", 4):
        return _read_binary(raw, path.name)
    if start == struct.pack(">i", 4):
        raise InputError(
            f"{path.name} byte 0: the file has big-endian numbers (bytes are swapped); h2 files are little endian. "
            "Write it on a little-endian machine, or convert its 4-byte words (counts of version 15200: 8-byte)."
        )
    if not raw.strip():
        raise InputError(f"{path.name}: the file is empty. Get it again.")
    if b"\0" in raw[:4096]:
        raise InputError(
            f"{path.name} byte 0: this is no h2 file, which begins with a record of 4 bytes or with text. Name another."
        )
    return read_h2_text(path)


class _Bytes:
    """Reads arrays from the bytes of a file and keeps count of where it is."""

    def __init__(self, raw: bytes, name: str):
        self.raw, self.name, self.at = raw, name, 0

    def array(self, kind: str, count: int, what: str) -> np.ndarray:
        size = np.dtype(kind).itemsize * count
        if count < 0 or self.at + size > len(self.raw):
            raise InputError(
                f"{self.name} byte {self.at}: {what} need {max(size, 0)} bytes, the file ends after "
                f"{len(self.raw) - self.at}, at {len(self.raw)}: cut off, or damaged before. Get the file again."
            )
        values = np.frombuffer(self.raw, dtype=kind, count=count, offset=self.at)
        self.at += size
        return values

    def record(self, kind: str, count: int, what: str) -> np.ndarray:
        """An array between the two byte counts of a Fortran record."""
        size = np.dtype(kind).itemsize * count
        place = self.at
        first = int(self.array("<i4", 1, what)[0])
        if first != size:
            raise InputError(
                f"{self.name} byte {place}: the record of {what} has {first} bytes, {size} are expected. "
                "The file is damaged or of another version; get it again."
            )
        values = self.array(kind, count, what)
        if int(self.array("<i4", 1, what)[0]) != size:
            raise InputError(
                f"{self.name} byte {self.at - 4}: the record of {what} does not end where it should. "
                "Get the file again."
            )
        return values

    def finish(self) -> None:
        if self.at != len(self.raw):
            extra = len(self.raw) - self.at
            raise InputError(f"{self.name} byte {self.at}: {extra} bytes follow the last element. Get the file again.")


def _read_binary(raw: bytes, name: str) -> H2Data:
    source = _Bytes(raw, name)
    version = int(source.record("<i4", 1, "the version")[0])
    if version == NEW_VERSION:
        # with record marks the next number is the length of the following record, 8
        marked = len(raw) >= 24 and raw[12:16] == struct.pack("<i", 8) == raw[24:28] and len(raw) >= 28
        return _read_new(source, marked)
    if version == OLD_VERSION:
        return _read_old(source)
    raise InputError(f"{name} byte 4: version {version} is not known; {OLD_VERSION} and {NEW_VERSION} are. Convert it.")


def _count_orbitals(numbers: np.ndarray, source: _Bytes) -> tuple[int, int]:
    protons, neutrons = (int(x) for x in numbers)
    if not (0 < protons < MOST_ORBITALS and 0 < neutrons < MOST_ORBITALS):
        raise InputError(
            f"{source.name} byte {source.at - 8}: {protons} and {neutrons} orbitals of protons and neutrons; 1 to "
            f"{MOST_ORBITALS - 1} of each are possible. The file is damaged; get it again."
        )
    return protons, neutrons


def _read_new(source: _Bytes, marked: bool) -> H2Data:
    take = source.record if marked else source.array
    protons, neutrons = _count_orbitals(take("<i4", 2, "the numbers of orbitals"), source)
    total = protons + neutrons
    n, l, twice_j, _ = (take("<i4", total, f"{what} of the orbitals") for what in ("n", "l", "2j", "2tz"))
    weight = take("<f4", total, "weights of the orbitals")
    operator = tuple(int(x) for x in take("<i4", 3, "J0, parity and Tz0"))
    limits = dict(zip(NEW_ORDER, take("<f4", 3, "limits of pairs").astype(float).tolist(), strict=True))
    counts = dict(zip(NEW_ORDER, take("<i4" if marked else "<i8", 3, "numbers of elements").tolist(), strict=True))
    orbitals = np.stack([n, l, twice_j]).astype(np.int64)
    header = H2Header(orbitals[:, :protons], orbitals[:, protons:], weight[:protons], weight[protons:], limits)
    check_header(header, operator, counts, f"{source.name} byte {source.at}")
    elements = {kind: take("<f4", counts[kind], f"{kind} matrix elements") for kind in NEW_ORDER}
    source.finish()
    return unpack(header, elements)


def _read_old(source: _Bytes) -> H2Data:
    lists, weights = [], []
    numbers = _count_orbitals(source.record("<i4", 2, "the numbers of orbitals"), source)
    for count, word in zip(numbers, ("proton", "neutron"), strict=True):
        lists.append(np.stack([source.record("<i4", count, f"{x} of {word} orbitals") for x in ("n", "l", "2j")]))
        weights.append(source.record("<f4", count, f"weights of {word} orbitals"))
    length = int(np.frombuffer(source.raw, "<i4", 1, source.at)[0]) if source.at + 4 <= len(source.raw) else 12
    operator = tuple(int(x) for x in source.record("<i4", 2 if length == 8 else 3, "J0, parity and Tz0"))
    source.record("<f4", 2, "limits of single nucleons")
    limits = dict(zip(KINDS, source.record("<f4", 3, "limits of pairs").astype(float).tolist(), strict=True))
    source.record("<i4", 3, "limits of 2J")
    counts = dict(zip(KINDS, source.record("<i4", 3, "numbers of elements").tolist(), strict=True))
    header = H2Header(lists[0].astype(np.int64), lists[1].astype(np.int64), weights[0], weights[1], limits)
    check_header(header, operator, counts, f"{source.name} byte {source.at}")
    elements = {kind: source.record("<f4", counts[kind], f"{kind} matrix elements") for kind in KINDS}
    source.finish()
    return unpack(header, elements)


SPECIES_CODES = {11: "pp", 22: "nn", 12: "pn"}


def read_h2_text(path: str | Path) -> H2Data:
    """The matrix elements of an h2 file in text form; raises InputError with the line."""
    lines = LineReader(path)
    first = lines.take("the version")
    version = first.integer(0, "the version")
    if version not in (OLD_VERSION, NEW_VERSION):
        raise InputError(
            f"{first.place}: version {version} is not known; {OLD_VERSION} and {NEW_VERSION} are. Convert the file."
        )
    old = version == OLD_VERSION
    order = KINDS if old else ("pp", "pn", "nn")
    numbers = lines.take("the numbers of orbitals")
    orbitals, weights = zip(*[_orbitals(lines, numbers.integer(k, "number of orbitals")) for k in (0, 1)], strict=True)
    operator_line = lines.take("J0, parity and Tz0")
    operator = tuple(operator_line.integer(k, "J0, parity, Tz0") for k in range(len(operator_line.fields)))
    if old:
        lines.take("limits of single nucleons")
    limit_line = lines.take("limits of pairs")
    limits = {kind: limit_line.real(k, "limit of pairs") for k, kind in enumerate(order)}
    if old:
        lines.take("limits of 2J")
    count_line = lines.take("numbers of elements")
    counts = {kind: count_line.integer(k, "number of elements") for k, kind in enumerate(order)}
    header = H2Header(orbitals[0], orbitals[1], weights[0], weights[1], limits)
    check_header(header, operator, counts, count_line.place)
    if sum(counts.values()) > len(lines.rest()):
        raise InputError(
            f"{count_line.place}: {sum(counts.values())} elements are announced, {len(lines.rest())} lines follow. "
            "The file is cut off; get it again."
        )
    data = H2Data(header, {kind: _matrices(lines, header, kind, counts[kind], old) for kind in order})
    if lines.rest():
        raise InputError(
            f"{lines.rest()[0].place}: more lines than the {sum(counts.values())} announced elements. "
            "Correct the counts."
        )
    return data


def _orbitals(lines: LineReader, count: int) -> tuple[np.ndarray, np.ndarray]:
    found = [lines.take(f"orbital {x + 1} of {count}") for x in range(count)]
    names = ("n", "l", "2j")
    labels = [[line.integer(1 + k, f"{name} of the orbital") for k, name in enumerate(names)] for line in found]
    weights = [line.real(5, "weight of the orbital") for line in found]
    return np.array(labels, dtype=np.int64).reshape(-1, 3).T, np.array(weights)


def _matrices(lines: LineReader, header: H2Header, kind: str, count: int, old: bool):
    """Matrices of one kind.  Every element comes once: the count is that of all labels, and none comes twice."""
    place = {
        (int(a), int(b), j): (key, x)
        for key, pairs in header.pairs[kind].items()
        for j in [key[0]]
        for x, (a, b) in enumerate(pairs)
    }
    matrices = {key: np.full((len(x), len(x)), np.nan) for key, x in header.pairs[kind].items()}
    labels = Labels()
    for number in range(count):
        line = lines.take(f"{kind} matrix element {number + 1} of {count}")
        a, b, c, d, twice_j, twice_j_ket = (line.integer(k, "index or 2J") for k in range(6))
        _check_kind(line, kind, old)
        bra, ket = place.get((a - 1, b - 1, twice_j // 2)), place.get((c - 1, d - 1, twice_j_ket // 2))
        if bra is None or ket is None or bra[0] != ket[0]:
            raise InputError(
                f"{line.place}: {a} {b} {c} {d} with 2J = {twice_j}, {twice_j_ket} is no {kind} element of the "
                "orbitals and limits above. Correct the line, or add the missing orbitals to the list."
            )
        matrix = matrices[bra[0]]
        labels.take(line, (bra[0], *sorted((bra[1], ket[1]))))
        matrix[bra[1], ket[1]] = matrix[ket[1], bra[1]] = line.real(7 if old else 6, "the matrix element")
    return matrices


def _check_kind(line: NumberLine, kind: str, old: bool) -> None:
    if old and SPECIES_CODES.get(line.integer(6, "the species code")) != kind:
        raise InputError(
            f"{line.place}: species code {line.fields[6]} stands among {kind} elements. "
            "Write 11 (pp), 22 (nn) or 12 (pn)."
        )
