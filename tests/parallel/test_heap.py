"""Freed memory stays with the process: arrays made again need no page faults."""

import subprocess
import sys

import pytest

FAULTS = """
import ctypes, resource, sys
from eigenwerk.parallel.heap import keep_freed_memory
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


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc is told to keep memory")
def test_arrays_made_again_cost_no_page_faults():
    faults = {
        how: int(subprocess.run([sys.executable, "-c", FAULTS, how], capture_output=True, text=True, check=True).stdout)
        for how in ("kept", "given back")
    }
    assert faults["kept"] < 100 < 10_000 < faults["given back"], faults
