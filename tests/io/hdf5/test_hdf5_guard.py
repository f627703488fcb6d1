"""HDF5 sees no file in the process that computes: its crashes and hangs, and what leads elsewhere, are sentences."""

import os
import signal
import threading
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from eigenwerk.errors import EigenwerkError
from eigenwerk.io.hdf5 import hdf5_guard
from eigenwerk.io.hdf5.hdf5_guard import read_guarded
from eigenwerk.io.hdf5.hdf5_tree import DamageFound

LARGE = np.arange(10_000.0).reshape(100, 100)


@pytest.fixture
def read(tmp_path):
    """Writes a file by a function and reads it."""

    def written(fill, job="tree", only=None, **how):
        with h5py.File(tmp_path / "x.h5", "w", **how) as file:
            fill(file)
        with open(tmp_path / "x.h5", "rb") as file:
            return read_guarded(file, job, only)

    return written


@pytest.mark.parametrize("block", [0, 512])
def test_large_arrays_are_read_from_their_place(read, block):
    def fill(file):
        file["large"] = LARGE
        file["turned"] = LARGE.astype(">f4")
        file["i"] = 1j * LARGE
        file["flags"] = LARGE > 5
        file.create_dataset("packed", data=LARGE, compression="gzip", shuffle=True)
        file["empty"] = np.zeros((0, 3))

    found = read(fill, userblock_size=block)["tree"]
    for name, expected in (("large", LARGE), ("turned", LARGE.astype(">f4")), ("i", 1j * LARGE), ("packed", LARGE)):
        np.testing.assert_array_equal(found[name], expected)
        assert found[name].dtype == expected.dtype and found[name].flags.writeable
    assert found["flags"].dtype == bool and found["flags"].sum() == LARGE.size - 6 and found["empty"].shape == (0, 3)


def test_datasets_by_path(read):
    def fill(file):
        file["a/b/value"] = LARGE
        file["a/b/value"].attrs["unit"] = "fs"
        file["a/words"] = "x"

    found = read(fill, "datasets", ["a/b/value", "a/none", "b/value", "a/b"])
    assert list(found) == ["a/b/value"] and found["a/b/value"]["unit"] == "fs"
    with pytest.raises(DamageFound, match="holds no numbers"):
        read(fill, "datasets", ["a/words"])


def _external_link(file):
    file["x"] = h5py.ExternalLink("/etc/passwd", "/")


def _soft_link(file):
    file["a"], file["x"] = 1.0, h5py.SoftLink("/a")


def _external_storage(file):
    file.create_dataset("x", (64,), "u1", external=[("/etc/passwd", 0, 64)])


def _virtual(file):
    layout = h5py.VirtualLayout((64,), "u1")
    layout[:] = h5py.VirtualSource("/etc/passwd", "x", (64,))
    file.create_virtual_dataset("x", layout)


def _foreign_filter(file):
    file.create_dataset("x", data=LARGE, scaleoffset=3)


def _enormous(file):
    file.create_dataset("x", (10**9, 10**6), "f8", chunks=(1000, 1000))


def _without_end(file):
    file["x/a"] = file["/"]


def _reference(file):
    file["a"] = 1.0
    file["x"] = file["a"].ref


@pytest.mark.parametrize(
    "fill",
    [_external_link, _soft_link, _external_storage, _virtual, _foreign_filter, _enormous, _without_end, _reference],
)
def test_what_leads_elsewhere_or_is_not_there_is_refused(read, fill):
    for job, only in (("tree", None), ("datasets", ["x", "x/a"])):
        if fill is _without_end and job == "datasets":
            continue  # there is no dataset
        with pytest.raises(DamageFound):
            read(fill, job, only)


def test_what_hangs_inside_hdf5_ends_in_words(shared_dir):
    """Four changed bytes of a trajectory."""
    path, began = shared_dir / "reference/reported/trajectory_hang/trajectory.h5", time.process_time()
    with open(path, "rb") as file, pytest.raises(DamageFound, match="did not end within 2 seconds of a processor"):
        read_guarded(file, "datasets", ["particles/atoms/position/value", "particles/atoms/velocity/value"])
    assert time.process_time() - began < 2


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_a_crash_is_a_sentence_and_the_next_file_is_read(read, shared_dir, number):
    """A file that hangs holds the fork that reads it until it is killed."""
    read(lambda file: None)
    pid = hdf5_guard._kept.child.process.pid

    done = threading.Event()

    def kill():
        while not done.wait(0.02):
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                os.kill(int(child), number)

    killer = threading.Thread(target=kill)
    killer.start()
    path = shared_dir / "reference/reported/trajectory_hang/trajectory.h5"
    with open(path, "rb") as file, pytest.raises(DamageFound, match=f"HDF5 crashed on it, signal {int(number)}"):
        read_guarded(file, "datasets", ["particles/atoms/position/value", "particles/atoms/velocity/value"])
    done.set()
    killer.join()
    assert read(lambda file: file.__setitem__("a", LARGE))["tree"]["a"].sum() > 0
    assert hdf5_guard._kept.child.process.pid == pid


def test_one_that_had_nothing_to_do_is_started_again(read):
    read(lambda file: None)
    first = hdf5_guard._kept.child.process
    hdf5_guard._kept.child.line.shutdown(1)  # as if it had waited long
    first.wait(timeout=20)
    assert first.returncode == 0
    assert read(lambda file: file.__setitem__("a", LARGE))["tree"]["a"].shape == (100, 100)
    assert hdf5_guard._kept.child.process.pid != first.pid


@pytest.mark.slow
def test_a_fork_has_a_process_of_its_own(read):
    read(lambda file: None)
    own = hdf5_guard._kept.child.process.pid
    pid = os.fork()
    if not pid:
        try:
            read(lambda file: None)
            os._exit(int(hdf5_guard._kept.child.process.pid == own))
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert hdf5_guard._kept.child.process.poll() is None and read(lambda file: None)["tree"] == {}


def test_no_process_can_be_started(read, monkeypatch):
    hdf5_guard._kept.end()

    def refuse(*words, **how):
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(hdf5_guard.subprocess, "Popen", refuse)
    with pytest.raises(EigenwerkError, match="cannot start the process that reads HDF5 files"):
        read(lambda file: None)


def test_the_process_can_open_no_other_file_and_ends_with_its_parent(read):
    read(lambda file: None)
    pid = hdf5_guard._kept.child.process.pid
    limits = Path(f"/proc/{pid}/limits").read_text()
    assert "Max open files            6 " in limits and "Max core file size        0 " in limits
    assert "Max address space         unlimited" not in limits
    hdf5_guard._kept.end()
    assert not os.path.exists(f"/proc/{pid}")
