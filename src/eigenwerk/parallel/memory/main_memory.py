"""How much main memory this process may use, and what it may do without (no torch here)."""

import ctypes
import os
import sys
from dataclasses import dataclass
from pathlib import Path

LIMIT = Path("/sys/fs/cgroup/memory.max")
"""Where Linux says how much a container may have: bytes, or "max"."""


@dataclass(frozen=True, order=True)
class MemoryShare:
    """Memory of a machine, or of a GPU, as one of the ranks that share it sees it: bytes for each of so many ranks."""

    bytes: float
    ranks: int = 1


def installed_memory() -> int | None:
    """Bytes: what is installed, or less in a container; None if the system does not say."""
    try:
        installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None
    try:
        limit = LIMIT.read_text().strip()
    except OSError:
        return installed
    return min(installed, int(limit)) if limit.isdigit() else installed


def give_back_freed_memory() -> None:
    """After much has been made and thrown away: freed arrays that the C library keeps go back to the system.

    Processes keep what they free (`launch.own_process`), of which others on the machine would get nothing.
    """
    if sys.platform.startswith("linux"):
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)
