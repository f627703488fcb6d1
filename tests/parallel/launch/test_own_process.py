"""Freed memory stays with the process, so that arrays made again need no page faults; idle threads go to sleep."""

import os
import subprocess
import sys

import pytest

from eigenwerk.parallel.launch import own_process

FAULTS = """
import ctypes, resource, sys
from eigenwerk.parallel.launch.own_process import keep_freed_memory
if sys.argv[1] == "kept":
    keep_freed_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.memset.argtypes, libc.free.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t], [ctypes.c_void_p]

def some_arrays():
    arrays = [libc.malloc(8 * 2**20) for _ in range(8)]
    for array in arrays:
        libc.memset(array, 1, 8 * 2**20)
    for array in reversed(arrays):
        libc.free(array)

some_arrays()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    some_arrays()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc is told to keep memory")
def test_arrays_made_again_cost_no_page_faults():
    faults = {
        how: int(subprocess.run([sys.executable, "-c", FAULTS, how], capture_output=True, text=True, check=True).stdout)
        for how in ("kept", "given back")
    }
    assert faults["kept"] < 100 < 10_000 < faults["given back"], faults


@pytest.mark.parametrize("own", [{}, {"OMP_WAIT_POLICY": "ACTIVE"}, {"GOMP_SPINCOUNT": "7"}], ids=str)
def test_threads_sleep_after_a_while_unless_the_user_has_another_wish(monkeypatch, own):
    monkeypatch.setattr(os, "environ", dict(own))
    monkeypatch.setattr(own_process, "keep_freed_memory", lambda: None)
    own_process.prepare_process()
    assert os.environ == (own or {"GOMP_SPINCOUNT": own_process.SPIN_COUNT})
