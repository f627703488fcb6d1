"""How many bytes are worked on together, by kind of device (no torch: estimates need these numbers too)."""

CACHE_GRID_BYTES = 2**22
"""Orbitals on the grid at a time on a processor: the passes of an FFT stay in cache (measured: 2^20 to 2^22)."""

CACHE_BLOCK_BYTES = 2**26
"""Coefficients of one block of k-points on a processor: enough to batch small cells, little enough for cache."""

DEVICE_GRID_BYTES = 2**28
"""Orbitals on the grid at a time on a GPU: many times its second-level cache, so that launches cost nothing."""

DEVICE_BLOCK_SHARE = 1 / 40
"""Share of a GPU's memory for the coefficients of one block of k-points; solvers hold some 20 times as much."""


def points_in_block(points: int, point_bytes: int, block_bytes: float) -> int:
    """How many of the k-points, whose orbitals take point_bytes each, are solved together: one at least."""
    return min(points, max(1, int(block_bytes // point_bytes)))
