"""C sources compiled at run time: found again, and no kernel where none can be made."""

import resource

import pytest
import torch

from eigenwerk.parallel.kernels import cpu as cpu_kernels
from eigenwerk.parallel.kernels.cache import cache_folder
from eigenwerk.parallel.kernels.cpu import PRELUDE, compiler, kernel

DOUBLED = PRELUDE + "void twice(double* x, long count) { for (long i = 0; i < count; ++i) x[i] *= 2.0; }"


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    """No library of an earlier test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cpu_kernels._library.cache_clear()
    compiler.cache_clear()
    yield
    cpu_kernels._library.cache_clear()
    compiler.cache_clear()


def needs_gcc():
    if compiler() is None:
        pytest.skip("no gcc here")


def doubled(source=DOUBLED):
    value_x = torch.arange(5, dtype=torch.float64)
    kernel(source, "twice")(value_x.data_ptr(), 5)
    return value_x.tolist()


def test_a_source_becomes_a_function():
    needs_gcc()
    assert doubled() == [0, 2, 4, 6, 8]


def test_it_is_compiled_once_for_all_processes(monkeypatch):
    needs_gcc()
    doubled()
    cpu_kernels._library.cache_clear()  # as in the next process
    monkeypatch.setattr(cpu_kernels, "_compiled", lambda source: pytest.fail("it lies on the disk"))
    assert doubled() == [0, 2, 4, 6, 8]


def test_a_source_that_cannot_be_compiled_gives_no_kernel():
    needs_gcc()
    assert kernel(PRELUDE + "void twice(double* x) { no_such_function(x); }", "twice") is None


def test_where_no_file_can_be_written_there_is_no_kernel_and_the_next_process_tries_again():
    """A full disk, or a limit on file sizes: gcc's refusal is not kept."""
    needs_gcc()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, limits[1]))
    try:
        assert kernel(DOUBLED, "twice") is None
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    cpu_kernels._library.cache_clear()
    assert doubled() == [0, 2, 4, 6, 8]


def test_without_gcc_there_is_no_kernel(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert compiler() is None and kernel(DOUBLED, "twice") is None


def test_where_libraries_may_not_be_loaded_there_is_no_kernel(monkeypatch):
    needs_gcc()

    def refused(name):
        raise OSError(f"{name}: failed to map segment from shared object")

    monkeypatch.setattr(cpu_kernels.ctypes, "CDLL", refused)
    assert kernel(DOUBLED, "twice") is None


def test_a_compiler_that_hangs_is_left(monkeypatch, tmp_path):
    slow = tmp_path / "gcc"
    slow.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo slow 1.0 && exit\nexec sleep 30\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(cpu_kernels, "COMPILING_SECONDS", 0.2)
    assert compiler() == "slow 1.0" and kernel(DOUBLED, "twice") is None
    assert not cache_folder().exists(), "the next process tries again"
