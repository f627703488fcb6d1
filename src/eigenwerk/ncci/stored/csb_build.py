"""Building compressed sparse blocks: a pass that counts the nonzeros of every block, one that fills them in."""

import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch

from eigenwerk.ncci.device_arrays import tensor
from eigenwerk.ncci.estimate import LEAST_BAND, SORTED_BYTES
from eigenwerk.ncci.stored.csb_entries import Entries
from eigenwerk.ncci.stored.csb_mixed import Part
from eigenwerk.ncci.stored.csb_native import BlockFiller
from eigenwerk.parallel.memory.device_memory import room_on_gpu
from eigenwerk.parallel.threads import each, threads_for

LINE = 8
"""Nonzeros that are read together on a GPU; the arrays have room for whole lines."""

BAND = 1 << 28
"""Entries that a GPU makes and sorts together, about, at most; `LEAST_BAND` where memory is short."""

Band = tuple[int, int]


Stored = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""Rows, columns and values of nonzeros."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Nonzeros in blocks of 2^bits rows and columns, and seconds for "count" and "fill".

    corner_x2: (blocks, 2) first row and first column of every block that is not empty, int64; start_x: (blocks + 1)
    first nonzero of each, int64.  row_z, column_z: places inside the block, uint16, ordered by row, then column;
    value_z.
    """

    bits: int
    corner_x2: np.ndarray
    start_x: np.ndarray
    row_z: torch.Tensor
    column_z: torch.Tensor
    value_z: torch.Tensor
    seconds: dict[str, float]


def build_blocks(entries: Entries, bits: int, rows: int | None = None, into: Stored | None = None) -> Blocks:
    """Both passes over the bands of proton determinants, `rows` states in each (default: one run of rows; on a GPU
    as many as have `BAND` entries, or fewer, so that what is free beside the blocks is enough to sort them).

    The counts of every band give the place where each band writes in each block, so bands are made in any order, by
    several threads on a CPU, with the same result.  into: room for just as many nonzeros, instead of new memory.
    """
    row_runs, runs = (-(-size // (1 << bits)) for size in entries.shape)
    device = entries.device
    by_rows = rows or device.type == "cpu"
    bands = entries.bands(rows or 1 << bits) if by_rows else entries.even_bands(at_once(entries, into is not None))
    begin = time.perf_counter()
    filling = BlockFiller(entries.dtype, entries.place) if device.type == "cpu" else None
    if filling:
        return _built_natively(entries, bands, bits, filling, begin, into)
    counts = each(lambda band: count_band(entries, band, bits, runs), bands, threads_for(device))
    used, start_x, targets = _places(counts, row_runs * runs)
    middle = time.perf_counter()
    stored = row_z, column_z, value_z = _given_or_new(into, int(start_x[-1]), entries)

    def fill(job: tuple[Band, np.ndarray, np.ndarray]) -> None:
        band, count, target = job
        key, value = sorted_band(entries, band, bits, runs)
        if len(key):
            # where a sorted entry goes: its rank in the band, moved by its block
            shift = tensor(target - (np.cumsum(count) - count), device)
            place = torch.repeat_interleave(shift, tensor(count, device))
            place += torch.arange(len(key), device=device)
            row_z.view(torch.int16)[place] = ((key >> 16) & 0xFFFF).to(torch.int16)
            column_z.view(torch.int16)[place] = (key & 0xFFFF).to(torch.int16)
            value_z[place] = value

    each(fill, zip(bands, [count for _, count in counts], targets, strict=True), threads_for(device))
    seconds = {"count": middle - begin, "fill": time.perf_counter() - middle}
    return Blocks(bits, _corners(used, runs, bits), start_x, *stored, seconds)


def at_once(entries: Entries, there: bool) -> int:
    """Entries that a GPU makes and sorts together; there: whether the blocks have their memory already."""
    blocks = 0 if there else entries.count() * (4 + entries.dtype.itemsize)
    return min(BAND, max(LEAST_BAND, (room_on_gpu(entries.device) - blocks) // SORTED_BYTES))


def _built_natively(
    entries: Entries, bands: list[Band], bits: int, filling: BlockFiller, begin: float, into: Stored | None
) -> Blocks:
    """The same by compiled loops: entries are counted for every row and run of columns, so that their places are known
    without sorting.  Rows and their runs take four bytes for each pair of them."""
    row_runs, runs = (-(-size // (1 << bits)) for size in entries.shape)

    def count(band: Band) -> np.ndarray:
        row0, last = map(entries.row, band)
        number_rj = np.zeros((last - row0, runs), dtype=np.int32)
        for part in entries.band_parts(*band):
            filling.count(part, bits, row0, number_rj)
        return number_rj

    threads = threads_for(entries.device)
    number = each(count, bands, threads)
    heads = [_heads(entries.row(band[0]), len(number_rj), bits) for band, number_rj in zip(bands, number, strict=True)]
    counts = []
    for band, number_rj, head in zip(bands, number, heads, strict=True):
        total_ij = np.add.reduceat(number_rj, head, axis=0, dtype=np.int64) if len(number_rj) else number_rj
        blocks = np.flatnonzero(total_ij)
        counts.append((blocks + (entries.row(band[0]) >> bits) * runs, total_ij.ravel()[blocks]))
    used, start_x, targets = _places(counts, row_runs * runs)
    middle = time.perf_counter()
    stored = _given_or_new(into, int(start_x[-1]), entries)

    def fill(job: tuple[Band, np.ndarray, np.ndarray, np.ndarray, np.ndarray]) -> None:
        band, number_rj, head, blocks, target = job
        row0 = entries.row(band[0])
        first_ij = np.zeros((len(head), runs), dtype=np.int64)
        first_ij.ravel()[blocks - (row0 >> bits) * runs] = target
        next_rj = np.empty(number_rj.shape, dtype=np.int64)
        for i, (low, high) in enumerate(pairwise([*head.tolist(), len(number_rj)])):
            np.cumsum(number_rj[low:high], axis=0, out=next_rj[low:high])
            next_rj[low:high] += first_ij[i] - number_rj[low:high]
        for part in entries.band_parts(*band):
            filling.place(part, bits, row0, next_rj, stored)
        filling.order(next_rj, number_rj, stored)

    blocks_of = [blocks for blocks, _ in counts]
    each(fill, zip(bands, number, heads, blocks_of, targets, strict=True), threads)
    seconds = {"count": middle - begin, "fill": time.perf_counter() - middle}
    return Blocks(bits, _corners(used, runs, bits), start_x, *stored, seconds)


def _corners(used: np.ndarray, runs: int, bits: int) -> np.ndarray:
    """First row and column of blocks with these numbers."""
    return np.stack([used // runs, used % runs], axis=1).astype(np.int64) << bits


def _heads(row0: int, rows: int, bits: int) -> np.ndarray:
    """The first row of each run of rows, counted from row0."""
    run_r = (row0 + np.arange(rows)) >> bits
    return np.flatnonzero(np.diff(run_r, prepend=-1))


def _given_or_new(into: Stored | None, size: int, entries: Entries) -> Stored:
    if into is not None and len(into[0]) != size:
        raise ValueError(f"room for {len(into[0])} nonzeros, but there are {size}")
    return room(size, entries) if into is None else into


def room(size: int, entries: Entries) -> Stored:
    """Of so many nonzeros, not yet written."""
    whole = -(-size // LINE) * LINE
    row_z, column_z = (torch.empty(whole, dtype=torch.uint16, device=entries.device)[:size] for _ in range(2))
    return row_z, column_z, torch.empty(whole, dtype=entries.dtype, device=entries.device)[:size]


def _places(
    counts: list[tuple[np.ndarray, np.ndarray]], blocks: int
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """From the counts of all bands: the blocks that are not empty, the first entry of each and the end of the last,
    and for every band the first entry that it writes into each of its blocks."""
    total = np.zeros(blocks, dtype=np.int64)
    for numbers, count in counts:
        total[numbers] += count
    used = np.flatnonzero(total)
    start_x = np.concatenate([[0], np.cumsum(total[used])])
    free = np.zeros(blocks, dtype=np.int64)
    free[used] = start_x[:-1]
    targets = []
    for numbers, count in counts:
        targets.append(free[numbers].copy())
        free[numbers] += count
    return used, start_x, targets


def count_band(entries: Entries, band: Band, bits: int, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (row run * runs + column run) of the blocks that a band has entries in, rising, and how many."""
    first, last = (entries.row(d) >> bits for d in band)
    room = (last - first + 1) * runs
    total = torch.zeros(room, dtype=torch.int64, device=entries.device)
    for row, column, _ in entries.band_parts(*band):
        if len(row):
            total += torch.bincount(((row >> bits) - first) * runs + (column >> bits), minlength=room)
    count = total.cpu().numpy()
    numbers = np.flatnonzero(count)
    return numbers + first * runs, count[numbers]


def sorted_band(entries: Entries, band: Band, bits: int, runs: int) -> tuple[torch.Tensor, torch.Tensor]:
    """All entries of a band ordered by block, row, column: keys (block << 32 | row << 16 | column), values."""
    parts = [_keyed(part, bits, runs) for part in entries.band_parts(*band)]
    if not parts:
        empty = torch.zeros(0, dtype=torch.int64, device=entries.device)
        return empty, empty.to(entries.dtype)
    key, value = (torch.cat(arrays) for arrays in zip(*parts, strict=True))
    del parts
    if entries.device.type == "cpu":
        order = torch.from_numpy(np.argsort(key.numpy()))  # several times faster than torch.sort
        return key[order], value[order]
    key, order = torch.sort(key)
    return key, value[order]


def _keyed(part: Part, bits: int, runs: int) -> tuple[torch.Tensor, torch.Tensor]:
    row, column, value = part
    mask = (1 << bits) - 1
    block = (row >> bits).long().mul_(runs).add_(column >> bits)
    inside = ((row & mask).long() << 16) | (column & mask)
    return block.bitwise_left_shift_(32).bitwise_or_(inside), value
