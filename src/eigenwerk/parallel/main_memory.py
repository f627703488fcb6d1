"""How much main memory this process may use (no torch here)."""

import os
from pathlib import Path

LIMIT = Path("/sys/fs/cgroup/memory.max")
"""Where Linux says how much a container may have: bytes, or "max"."""


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
