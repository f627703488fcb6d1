"""A state comes back from eigenwerk.h5 as it went in; files that cannot be trusted are refused in words."""

import os
import random
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from eigenwerk.errors import InputError
from eigenwerk.io.hdf5 import hdf5_state, hdf5_tree
from eigenwerk.io.hdf5.hdf5_state import LABEL, VERSION, read_header, read_state, seal, write_state


def _state():
    random = np.random.default_rng(3)
    coeff_sknG = random.normal(size=(1, 2, 4, 50)) + 1j * random.normal(size=(1, 2, 4, 50))
    return {
        "structure": {"lattice_cv": np.eye(3) * 5.43, "symbols": ["Si", "Si"], "selective_ac": None},
        "parameters": {"ENCUT": 400.0, "ISPIN": 1, "LASPH": True, "SYSTEM": "bulk silicon, ü", "MAGMOM": [0.0, 0.5]},
        "bands": {"eig_skn": random.normal(size=(1, 2, 4)), "coeff_sknG": coeff_sknG},
        "mixer": {"history": [{"density_g": coeff_sknG[0, 0, 0]}, {"density_g": coeff_sknG[0, 0, 1]}], "step": 7},
        "setups": {"files": ("Si.PBE",), "checksums": ("md5:ee77",), "empty": [], "nested": [(1, 2.0), [None, "x"]]},
    }


def _same(a, b):
    """Equal, and of the same types all the way down; arrays bit by bit."""
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return a == b or (a != a and b != b)


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_state_comes_back_with_types_and_bits(tmp_path, compression):
    write_state(tmp_path / "eigenwerk.h5", _state(), "0.1.0", compression)
    assert _same(read_state(tmp_path / "eigenwerk.h5"), _state())
    assert os.listdir(tmp_path) == ["eigenwerk.h5"]


_TEXT = st.text(st.characters(), max_size=8)
_NAMES = st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
    lambda name: name != "."
)
_DTYPES = st.sampled_from(["?", "i1", "<i4", "<i8", "<u8", "<f4", "<f8", ">f8", "<c8", "<c16"])
_ARRAYS = _DTYPES.flatmap(lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=0, min_side=0, max_side=3)))
_LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), st.complex_numbers(), _TEXT, _ARRAYS
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.dictionaries(_NAMES, _VALUES, max_size=4))
def test_any_nested_state_comes_back(state):
    with tempfile.TemporaryDirectory() as folder:
        write_state(Path(folder) / "x.h5", state, "0.1.0")
        assert _same(read_state(Path(folder) / "x.h5"), state)


def test_numpy_scalars_views_and_strings(tmp_path):
    array = np.arange(24.0).reshape(4, 6)
    state = {"a": np.float64(1.5), "b": [np.int32(3), np.int32(4)], "c": array[::2, ::-3], "d": np.array([["Si", ""]])}
    write_state(tmp_path / "x.h5", state, "0.1.0")
    found = read_state(tmp_path / "x.h5")
    assert _same(found["a"], 1.5) and _same(found["b"], [3, 4]) and found["d"].tolist() == [["Si", ""]]
    np.testing.assert_array_equal(found["c"], array[::2, ::-3])


def test_anything_that_becomes_an_array_can_be_stored(tmp_path):
    class Tensor:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3.0)

    write_state(tmp_path / "x.h5", {"t": Tensor()}, "0.1.0")
    assert _same(read_state(tmp_path / "x.h5"), {"t": np.arange(3.0)})


def test_layout_is_plain_hdf5(tmp_path):
    """Another program finds names, complex numbers and texts where the format page says."""
    write_state(tmp_path / "x.h5", _state(), "0.1.0")
    with h5py.File(tmp_path / "x.h5") as file:
        assert file.attrs["format"] == "eigenwerk-state" and file.attrs["version"] == VERSION
        assert file["bands/coeff_sknG"].dtype == np.complex128 and file["bands/coeff_sknG"].compression is None
        assert file["structure/symbols"].asstr()[:].tolist() == ["Si", "Si"] and file["parameters/ENCUT"][()] == 400.0


def test_header_and_single_groups_can_be_read_alone(tmp_path):
    write_state(tmp_path / "x.h5", _state(), "0.1.0")
    assert list(read_state(tmp_path / "x.h5", only=["parameters", "absent"])) == ["parameters"]
    header = read_header(tmp_path / "x.h5")
    assert header.version == VERSION and header.program_version == "0.1.0" and header.created.endswith("+00:00")


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ({"a/b": 1}, ValueError),
        ({"": 1}, ValueError),
        ({".": 1}, ValueError),
        ({"x": {1: 2}}, ValueError),
        ({"x": np.array(["a\0b"])}, ValueError),
        ({"x": object()}, TypeError),
        ({"x": np.array([object()])}, TypeError),
        ({"x": 2**70}, TypeError),
    ],
)
def test_what_cannot_be_stored_is_refused_and_the_old_file_stays(tmp_path, state, error):
    write_state(tmp_path / "x.h5", {"old": 1}, "0.1.0")
    with pytest.raises(error):
        write_state(tmp_path / "x.h5", {"first": 1} | state, "0.1.0")
    assert read_state(tmp_path / "x.h5") == {"old": 1} and os.listdir(tmp_path) == ["x.h5"]


def test_newer_version_is_refused(tmp_path, monkeypatch):
    with monkeypatch.context() as newer:
        newer.setattr(hdf5_state, "VERSION", VERSION + 1)
        write_state(tmp_path / "x.h5", {"a": 1}, "9.0.0")
    words = rf"version {VERSION + 1} of the format, written by eigenwerk 9\.0\.0.*Update eigenwerk"
    for read in (read_state, read_header):
        with pytest.raises(InputError, match=words):
            read(tmp_path / "x.h5")


def test_label_is_text_that_everybody_can_read(tmp_path):
    write_state(tmp_path / "x.h5", {"a": 1}, "0.2.0", stamp="eigenwerk run 0123456789abcdef, save 4")
    first = (tmp_path / "x.h5").read_bytes()[:LABEL].rstrip(b"\0").decode().splitlines()
    assert first[:2] == [f"eigenwerk-state {VERSION}", "eigenwerk 0.2.0"] and first[3].endswith("save 4")
    assert read_header(tmp_path / "x.h5").stamp == first[3]


def test_strings_that_hdf5_text_cannot_hold_cost_nothing(tmp_path):
    state = {"SYSTEM": "a\0b", "file": "x\udcff", "several": ["plain", "a\0"], "end": "a\0\0"}
    write_state(tmp_path / "x.h5", state, "0.2.0")
    assert _same(read_state(tmp_path / "x.h5"), state)


def test_foreign_and_missing_files_are_refused(tmp_path):
    with h5py.File(tmp_path / "foreign.h5", "w") as file:
        file["a"] = 1
    (tmp_path / "text.h5").write_text("no HDF5")
    (tmp_path / "empty.h5").write_text("")
    for name, words in [
        ("foreign.h5", "not a state of eigenwerk"),
        ("text.h5", "not a whole state"),
        ("empty.h5", "not a whole state"),
        ("absent.h5", "no such file"),
    ]:
        with pytest.raises(InputError, match=words):
            read_state(tmp_path / name)
        with pytest.raises(InputError, match=words):
            read_header(tmp_path / name)


def test_every_truncation_is_found(tmp_path):
    write_state(tmp_path / "x.h5", _state(), "0.1.0")
    whole = (tmp_path / "x.h5").read_bytes()
    for length in range(1, len(whole), len(whole) // 40):
        (tmp_path / "cut.h5").write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"cut off or changed afterwards.*nothing has been changed now"):
            read_state(tmp_path / "cut.h5")


def test_every_changed_byte_is_found_before_hdf5_sees_it(tmp_path, monkeypatch):
    """Half of them in the metadata, where HDF5 can look for something for ever."""
    write_state(tmp_path / "x.h5", _state(), "0.1.0")
    whole, draw = (tmp_path / "x.h5").read_bytes(), random.Random(5)
    monkeypatch.setattr(h5py, "File", None)
    for place in [*range(0, 250, 5), *(draw.randrange(LABEL, len(whole)) for _ in range(200))]:
        data = bytearray(whole)
        data[place] ^= 1 << draw.randrange(8)
        (tmp_path / "x.h5").write_bytes(data)
        with pytest.raises(InputError, match=r"not a whole state|version .* of the format"):
            read_state(tmp_path / "x.h5")


def test_changed_numbers_of_the_second_version_are_found(tmp_path):
    """It had a sum for each array instead of a label."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.attrs.update({"format": "eigenwerk-state", "version": 2, "program_version": "0.1.0", "created": "then"})
        file["coeff_nG"] = np.linspace(1, 2, 1000).reshape(10, 100)
        file["coeff_nG"].attrs["crc32"] = np.uint32(1)
    assert read_header(tmp_path / "x.h5").version == 2
    with pytest.raises(InputError, match="coeff_nG does not fit its checksum"):
        read_state(tmp_path / "x.h5")


def _loop(file):
    file["bands/again"] = file["bands"]


def _elsewhere(file):
    file["parameters/ENCUT2"] = h5py.ExternalLink("/etc/passwd", "/x")


def _hollow(file):
    file.create_dataset("bands/large", shape=(10**6, 10**5), dtype="f8", chunks=(1000, 1000))


def _wrong_kind(file):
    file["parameters/ENCUT"].attrs["kind"] = "int"


CHANGES = [_loop, _elsewhere, _hollow, _wrong_kind]


@pytest.mark.parametrize("change", CHANGES)
def test_what_hdf5_allows_and_a_state_never_holds_is_refused(tmp_path, change):
    write_state(tmp_path / "x.h5", _state(), "0.1.0")
    with h5py.File(tmp_path / "x.h5", "r+") as file:
        change(file)
    seal(tmp_path / "x.h5")
    began = time.monotonic()
    with pytest.raises(InputError, match="not a whole state"):
        read_state(tmp_path / "x.h5")
    assert time.monotonic() - began < 5


@pytest.mark.fast("20000")
@pytest.mark.parametrize("limit", [1000, 20_000, 300_000])
def test_full_disk_leaves_the_old_state_and_says_so(tmp_path, limit):
    """A true failure while HDF5 writes or closes, by a limit on file sizes."""
    write_state(tmp_path / "x.h5", {"old": 1}, "0.1.0")
    program = """
        import resource, signal, sys
        import numpy as np
        from eigenwerk.errors import InputError
        from eigenwerk.io.hdf5.hdf5_state import write_state
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
        try:
            write_state(sys.argv[1], {"a": np.ones(100), "b": np.ones((300, 300)), "c": ["x"] * 1000}, "0.1.0")
        except InputError as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "x.h5"), str(limit)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"cannot write {tmp_path / 'x.h5'}: " in run.stdout and "limit on file sizes" in run.stdout
    assert read_state(tmp_path / "x.h5") == {"old": 1} and os.listdir(tmp_path) == ["x.h5"]


def test_datasets_are_those_of_the_plain_way(tmp_path, monkeypatch):
    def plain(group, name, data, kind):
        if data is None:
            data = h5py.Empty("i1")
        words = not isinstance(data, h5py.Empty) and data.dtype.kind == "O"
        made = group.create_dataset(name, data=data, **({"dtype": h5py.string_dtype()} if words else {}))
        if kind is not None:
            made.attrs["kind"] = kind

    class Noon(hdf5_state.datetime):
        @classmethod
        def now(cls, zone=None):
            return cls(2026, 1, 1, 12, tzinfo=zone)

    tree = {
        "numbers": {"one": 1, "half": 0.5, "i": 1j, "yes": True, "none": None, "list": [1, 2], "pair": (0.5, 1.5)},
        "words": {"word": "ä", "empty": "", "several": ["x", "yy"], "array": np.array(["u", "vv"]), "odd": "\0"},
        "arrays": {
            "turned": np.arange(12.0).reshape(3, 4).T, "nothing": np.zeros((0, 3)), "point": np.array(3.0),
            "flags": np.array([True, False]), "complex": np.ones(3, complex), "big end": np.arange(3, dtype=">i4"),
        },
    }  # fmt: skip
    monkeypatch.setattr(hdf5_state, "datetime", Noon)
    write_state(tmp_path / "fast.h5", tree, "1")
    monkeypatch.setattr(hdf5_tree, "_dataset", plain)
    write_state(tmp_path / "plain.h5", tree, "1")
    assert (tmp_path / "fast.h5").read_bytes() == (tmp_path / "plain.h5").read_bytes()
