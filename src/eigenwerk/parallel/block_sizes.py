"""How many bytes are worked on together, by kind of device (no torch: estimates need these numbers too)."""

from math import ceil

CACHE_GRID_BYTES = 2**22
"""Orbitals on the grid at a time on a processor: the passes of an FFT stay in cache (measured: 2^20 to 2^22)."""

CACHE_BLOCK_BYTES = 2**26
"""Coefficients of one block of k-points on a processor: enough to batch small cells, little enough for cache."""

DEVICE_GRID_BYTES = 2**28
"""Orbitals on the grid at a time on a GPU: many times its second-level cache, so that launches cost nothing."""

DEVICE_BLOCK_SHARE = 1 / 40
"""Share of a GPU's memory for the coefficients of one block of k-points; solvers hold some 20 times as much."""


BLOCKS_PER_THREAD = 2
"""Blocks of k-points for each thread, where there are enough: the last to finish is not waited for long."""


def points_in_block(points: int, point_bytes: int, block_bytes: float, threads: int = 1) -> int:
    """How many of the k-points, whose orbitals take point_bytes each, are solved together: one at least.

    threads: how many blocks are solved at the same time; all of them together keep to block_bytes, if they can.
    """
    most = max(1, int(block_bytes // point_bytes // threads))
    if threads > 1:
        most = min(most, ceil(points / (BLOCKS_PER_THREAD * threads)))
    return min(points, most)


def threads_for_blocks(point_bytes: int, block_bytes: float, threads: int) -> int:
    """How many blocks of at least one k-point each may be in memory at the same time."""
    return min(threads, max(1, int(block_bytes // point_bytes)))
