"""How many bytes are worked on together, by kind of device (no torch: estimates need these numbers too)."""

from math import ceil

CACHE_GRID_BYTES = 2**22
"""Orbitals on the grid at a time on a processor: the passes of an FFT stay in cache (measured: 2^20 to 2^22)."""

CACHE_BLOCK_BYTES = 2**26
"""Coefficients of the blocks of k-points that are solved at the same time on a processor, all threads together."""

CACHE_BATCH_BYTES = 2**21
"""Coefficients of one of these blocks: enough to batch small cells, little enough for cache (measured: 2^20 to
2^22)."""

DEVICE_GRID_BYTES = 2**28
"""Orbitals on the grid at a time on a GPU: many times its second-level cache, so that launches cost nothing."""

DEVICE_BLOCK_SHARE = 1 / 40
"""Share of a GPU's memory for the coefficients of one block of k-points; solvers hold some 20 times as much."""

EXCHANGE_GRID_BYTES, DEVICE_EXCHANGE_BYTES = 2**27, 2**32
"""Orbitals on the grid that exact exchange is applied to at a time, on a processor and on a GPU."""

EXCHANGE_TABLE_BYTES, DEVICE_EXCHANGE_TABLE_BYTES = 2**28, 2**31
"""Interactions by wave vector that are kept from one application of exact exchange to the next."""

EXCHANGE_SOURCE_BYTES = 2**33
"""Occupied orbitals on the grid that a GPU keeps during an application of exact exchange, if there is room for all."""

EXCHANGE_ONCE_BYTES, DEVICE_EXCHANGE_ONCE_SHARE = 2**30, 0.3
"""Orbitals on the grid, and what exact exchange makes of them, where every pair of them is done once: all at a time, on
a processor, and as a share of a GPU's memory."""

EXCHANGE_PLAIN_SHARE = 0.5
"""Of the points of a mesh that must be irreducible ones, for pairs to be done once."""

EXCHANGE_LEAST_POINTS, DEVICE_EXCHANGE_LEAST_POINTS = 10**5, 10**9
"""Of all grids of pairs between two k-points, for the same: with fewer, calls take longer than grids."""

EXCHANGE_OPERATORS = 6
"""Operators of exact exchange that are kept as rows; then only the last one is, and their way begins anew."""

BATCH_POINTS = 32
"""k-points whose bands are found together in a fixed potential, at most: only theirs are in memory."""

GUARD_SHARE, FEWEST_GUARDS = 8, 4
"""Bands above those wanted in a fixed potential: one for each eight, four at least."""

BLOCKS_PER_THREAD = 2
"""Blocks of k-points for each thread, where there are enough: the last to finish is not waited for long."""


def exchange_bytes(grid_bytes: float) -> tuple[float, float]:
    """Bytes of orbitals that exact exchange is applied to at a time, and of pairs, where orbitals on the grid have
    grid_bytes."""
    on_device = grid_bytes == DEVICE_GRID_BYTES
    return (DEVICE_EXCHANGE_BYTES, 4 * grid_bytes) if on_device else (EXCHANGE_GRID_BYTES, grid_bytes)


def exchange_table_bytes(grid_bytes: float) -> int:
    """Bytes of interactions that are kept, where orbitals on the grid have grid_bytes."""
    return DEVICE_EXCHANGE_TABLE_BYTES if grid_bytes == DEVICE_GRID_BYTES else EXCHANGE_TABLE_BYTES


def pairs_once(plain: int, mesh: int, grids: float, points: int, grid_bytes: float) -> bool:
    """Whether exact exchange does each pair of orbitals once: of `mesh` points most are `plain`, no images of others,
    and a rank's orbitals of two points have enough to do, `grids` of so many points; else several points at a time are
    faster."""
    on_device = grid_bytes == DEVICE_GRID_BYTES
    least = DEVICE_EXCHANGE_LEAST_POINTS if on_device else EXCHANGE_LEAST_POINTS
    return plain >= EXCHANGE_PLAIN_SHARE * mesh and grids * points >= least


def bytes_for_once(own: int, bands: float, occupied: float, points: int, itemsize: int = 8) -> float:
    """Bytes of a rank's orbitals on grids of so many points where each pair comes once: `own` k-points, grids of all
    bands with what is made of them in double precision, and of occupied ones times weights."""
    return own * points * (bands * (16 + itemsize) + occupied * itemsize)


def points_in_block(points: int, point_bytes: int, block_bytes: float) -> int:
    """How many of the k-points, whose orbitals take point_bytes each, are solved together: one at least."""
    return min(points, max(1, int(block_bytes // point_bytes)))


def points_side_by_side(points: int, point_bytes: int, block_bytes: float, threads: int) -> tuple[int, int]:
    """(k-points in a block, blocks at the same time) on a processor.

    The blocks at work together keep to block_bytes, if they can; each of them to what a cache can hold.
    """
    together = min(threads, max(1, int(block_bytes // point_bytes)))
    step = points_in_block(points, point_bytes, min(block_bytes / together, CACHE_BATCH_BYTES))
    return min(step, ceil(points / (BLOCKS_PER_THREAD * together))) if together > 1 else step, together

TOGETHER_ROWS, TOGETHER_MATRICES = 128, 7
"""Hermitian eigenproblems on a GPU are solved together if they have at most so many rows, or are at least so many; else
in turn, which is faster (H200; benchmarks/parts/batched_eigh): two complex ones of 192 rows take 10.5 ms together
and 3.8 in
turn, 36 take 10.8 and 65.5; two of 128 rows take 1.8 and 4.3 on an H100."""


def solved_together(problems: int, rows: int) -> bool:
    """Whether a GPU solves so many Hermitian eigenproblems of one size faster at once than in turn."""
    return problems > 1 if rows <= TOGETHER_ROWS else problems >= TOGETHER_MATRICES
