"""MFDn's h2 files: both versions as text and binary.

Binary files are little endian and begin with the version as a Fortran record (4, version, 4).  Version 15200 as MFDn
writes it continues without record marks: int32 number of proton and neutron orbitals;  int32 n, l, 2j, 2tz and float32
weight, each an array over all orbitals, protons first;  int32 J0, parity, Tz0;  float32 limits pp, pn, nn;  int64
numbers of elements pp, pn, nn;  float32 elements pp, pn, nn.  Version 15099 has Fortran records: the two numbers; n,
l, 2j, weight of protons, then of neutrons; 2 J0, parity, Tz0; limits of single nucleons; limits pp, nn, pn; 2J limits;
numbers of elements; elements pp, nn, pn.
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
from eigenwerk.io.ncci.h2_text import read_h2_text

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
