"""What a process gets that does one calculation and ends: threads that wait briefly, memory that it keeps.

To be called before PyTorch is loaded (no torch here).
"""

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SPIN_COUNT = "10000"
"""Rounds that an idle OpenMP thread of GNU's library looks for work before it sleeps, some 20 microseconds.

Threads that never sleep make a run several times slower where other programs use the same cores: with both cores busy
water takes 12 s in place of 2.  Threads that sleep at once are slower on a quiet machine: 64 silicon atoms take 8.9 s
in place of 7.1.
"""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""From <malloc.h>."""

LARGEST_KEPT = 2**25
"""Bytes of an array; the largest that glibc allows."""

NEVER = 2**31 - 1


def prepare_process() -> None:
    """Both."""
    wait_briefly()
    keep_freed_memory()


def wait_briefly() -> None:
    """Idle threads sleep soon; a user's own OMP_WAIT_POLICY or GOMP_SPINCOUNT stays."""
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)


def keep_freed_memory() -> None:
    """The most that the process holds at a time stays what it is, but it gives nothing back before it ends.

    The C library returns large arrays to the system when they are freed.  Each new one then begins with a page fault
    every 4 KB, in which the system writes zeros: 5 % of a calculation of 64 atoms, 14 % of a molecule in a box.
    """
    if sys.platform.startswith("linux"):
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
        if mallopt is not None:
            mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT)
            mallopt(M_TRIM_THRESHOLD, NEVER)


@contextmanager
def quick_imports() -> Iterator[None]:
    """Inside, garbage is not collected: next to nothing of what is imported is garbage (PyTorch: 0.9 s, not 1.2).

    What was loaded for a first calculation is never looked at again by the collector, whose rounds would pass a million
    objects.
    """
    collected, first = gc.isenabled(), "eigenwerk.dft.runs.run" not in sys.modules
    gc.disable()
    try:
        yield
    finally:
        if first:
            gc.freeze()
        if collected:
            gc.enable()
