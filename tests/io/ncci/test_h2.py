"""MFDn's h2 files: every byte is used, both forms agree, damaged files are refused with the place."""

import struct

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.ncci.h2 import read_h2
from eigenwerk.io.ncci.h2_data import KINDS, H2Data, H2Header
from h2_writing import h2_bytes, pack


@pytest.fixture
def small():
    """0s1/2, 0p1/2, 0p3/2 with pairs up to one quantum and elements 1, 2, 3, ..."""
    orbitals = np.array([[0, 0, 0], [0, 1, 1], [1, 1, 3]])
    weight = np.array([0.0, 1.0, 1.0])
    header = H2Header(orbitals, orbitals, weight, weight, dict.fromkeys(KINDS, 1.0))
    values = iter(range(1, 1000))
    matrices = {}
    for kind in KINDS:
        matrices[kind] = {}
        for key, pairs in header.pairs[kind].items():
            matrix = np.zeros((len(pairs), len(pairs)))
            for x, y in zip(*np.triu_indices(len(pairs)), strict=True):
                matrix[x, y] = matrix[y, x] = next(values)
            matrices[kind][key] = matrix
    return H2Data(header, matrices)


def record(values, kind):
    content = np.asarray(values, kind).tobytes()
    mark = struct.pack("<i", len(content))
    return mark + content + mark


def records_of(data, version):
    """The file as Fortran records, as the descriptions of both versions have it."""
    header = data.header
    counts = {kind: header.count(kind) for kind in KINDS}
    lists = ((header.orbital_3a_p, header.weight_p), (header.orbital_3a_n, header.weight_n))
    content = record([version], "<i4") + record([x.shape[1] for x, _ in lists], "<i4")
    if version == 15099:
        for orbitals, weight in lists:
            content += b"".join(record(row, "<i4") for row in orbitals) + record(weight, "<f4")
        content += record([0, 0], "<i4") + record([1, 1], "<f4") + record([1, 1, 1], "<f4") + record([4, 4, 4], "<i4")
        order = ("pp", "nn", "pn")
    else:
        both = np.concatenate([x for x, _ in lists], axis=1)
        content += b"".join(record(row, "<i4") for row in both) + record([1] * 3 + [-1] * 3, "<i4")
        content += record(np.concatenate([w for _, w in lists]), "<f4")
        content += record([0, 0, 0], "<i4") + record([1, 1, 1], "<f4")
        order = ("pp", "pn", "nn")
    content += record([counts[kind] for kind in order], "<i4")
    return content + b"".join(record(pack(data, kind), "<f4") for kind in order)


def text_of(data, version):
    header = data.header
    old = version == 15099
    order = ("pp", "nn", "pn") if old else ("pp", "pn", "nn")
    lines = [f"{version}", "3 3"]
    for charge in (1, 2 if old else -1):
        lines += [
            f"{x + 1} {n} {l} {j} {charge} {w}"
            for x, (n, l, j, w) in enumerate(zip(*header.orbital_3a_p, header.weight_p, strict=True))
        ]
    lines += ["0 0 0", *(["1.0 1.0"] if old else []), "1.0 1.0 1.0", *(["4 4 4"] if old else [])]
    lines.append(" ".join(str(header.count(kind)) for kind in order))
    for kind in order:
        for (j, _), pairs in header.pairs[kind].items():
            matrix = data.matrices[kind][j, _]
            for x, y in zip(*np.triu_indices(len(pairs)), strict=True):
                labels = " ".join(str(v + 1) for v in (*pairs[x], *pairs[y]))
                code = {"pp": "11", "nn": "22", "pn": "12"}[kind] if old else ""
                lines.append(f"{labels} {2 * j} {2 * j} {code} {matrix[x, y]:+.7e}")
    return "\n".join(lines) + "\n"


def assert_same(one, other):
    for kind in KINDS:
        assert one.matrices[kind].keys() == other.matrices[kind].keys()
        for key, matrix in one.matrices[kind].items():
            np.testing.assert_allclose(matrix, other.matrices[kind][key], atol=1e-6)


@pytest.mark.parametrize("form", ["new", 15200, 15099])
def test_binary_files_come_back_as_they_were_written(tmp_path, small, form):
    path = tmp_path / "small.bin"
    path.write_bytes(h2_bytes(small) if form == "new" else records_of(small, form))
    assert_same(read_h2(path), small)


@pytest.mark.parametrize("version", [15200, 15099])
def test_text_files_come_back_as_they_were_written(tmp_path, small, version):
    path = tmp_path / "small.dat"
    path.write_text(text_of(small, version))
    assert_same(read_h2(path), small)


def test_every_cut_of_a_binary_file_is_refused_with_the_byte(tmp_path, small):
    whole = h2_bytes(small)
    path = tmp_path / "cut.bin"
    for length in range(4, len(whole), 3):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"cut\.bin byte \d+"):
            read_h2(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: np.frombuffer(raw, ">u4").astype("<u4").tobytes(), "big-endian"),
        (lambda raw: raw + b"1234", "4 bytes follow"),
        (lambda raw: raw[:4] + struct.pack("<i", 15100) + raw[8:], "version 15100 is not known"),
        (lambda raw: raw[:12] + struct.pack("<i", -3) + raw[16:], "-3 and 3 orbitals"),
        (lambda raw: raw[:152] + struct.pack("<f", 2.0) + raw[156:], "are announced"),
        (lambda raw: b"", "empty"),
        (lambda raw: raw[8:], "no h2 file|big-endian|record"),
    ],
)
def test_damaged_binary_files_are_refused(tmp_path, small, change, message):
    path = tmp_path / "bad.bin"
    raw = h2_bytes(small)
    path.write_bytes(change(raw))
    with pytest.raises(InputError, match=message):
        read_h2(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("+2.0000000e+00", "\u22122.0", r"line 15: '−' \(U\+2212, minus sign\).*sed"),
        ("+2.0000000e+00", "two", "line 15: the matrix element is 'two'"),
        ("15099", "15098", "line 1: version 15098"),
        ("1 0 0 1 1 0.0", "1 0 0 3 1 0.0", "impossible n, l, 2j"),
        ("1.0 1.0 1.0", "2.0 2.0 2.0", "are announced"),
        ("1 2 1 2 0 0 11", "1 4 1 2 0 0 11", "is no pp element"),
        ("1 2 1 2 0 0 11", "1 1 1 1 0 0 11", "stands in line .* already"),
        ("1 1 1 1 0 0 22", "1 1 1 1 0 0 11", "species code"),
    ],
)
def test_damaged_text_files_are_refused_with_the_line(tmp_path, small, old, new, message):
    text = text_of(small, 15099)
    assert old in text
    path = tmp_path / "bad.dat"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        read_h2(path)


def test_a_text_file_that_ends_early_is_refused(tmp_path, small):
    path = tmp_path / "bad.dat"
    path.write_text("\n".join(text_of(small, 15099).splitlines()[:-3]))
    with pytest.raises(InputError, match=r"elements are announced, .* lines follow"):
        read_h2(path)


@pytest.mark.parametrize("name", ["JISP16-tb-6-20.0.bin", "Daejeon16-tb-6-15.0.bin", "VC-tb-6-20.0.bin"])
def test_files_of_mfdn_are_used_to_the_last_byte(ncci_dir, name):
    path = ncci_dir / "h2-tbme" / name
    assert h2_bytes(read_h2(path)) == path.read_bytes()


def test_text_and_binary_of_jisp16_agree(ncci_dir):
    text = read_h2(ncci_dir / "h2-tbme" / "jisp16_Nmax02_hw20.0_h2v15099.dat")
    binary = read_h2(ncci_dir / "h2-tbme" / "JISP16-tb-6-20.0.bin")
    first = binary.matrices["pp"][0, 0]
    assert text.matrices["pp"][0, 0][0, 0] == pytest.approx(first[0, 0], abs=2e-6)
    assert text.matrices["pn"][3, 0].shape == (3, 3)
