"""The product of the back end `csb` on a GPU: H and H^T in one reading of the stored blocks.

A thread block works on one run of columns: where they fit, that part of x and the sums for that part of y stay in its
shared memory while the blocks of these columns pass by.  The plain twin is `CsbPart` with `simple`.  Sums of many
threads make the last digits differ from call to call.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from eigenwerk.ncci.device_arrays import tensor
from eigenwerk.ncci.stored.csb_build import Blocks
from eigenwerk.parallel.kernels.cuda import C_REAL, integer, kernel, maybe_pointer, pointer

THREADS = 1024
LEAST_WORK, WORK = 1 << 15, 1 << 19
"""Nonzeros of one thread block, about: so many that each multiprocessor gets `TASKS` of them, within these limits."""

TASKS = 16
"""Of each multiprocessor, where there are nonzeros enough: less are done sooner, more even out better."""

PIECES = 4
"""A thread block takes at most this part of its work from one block of the matrix before others can share the rest."""

BOTH_SHARED, ONE_SHARED = 200 << 10, 128 << 10
"""Shared memory for the columns' parts of x and y together, and for that of y alone, at most; bytes."""

DIRECT = 1
"""Of eight sums of columns so many go to memory at once where the others are kept in shared memory."""

SOURCE = Path(__file__).with_name("csb_product.cu").read_text(encoding="ascii")


@dataclass(frozen=True, eq=False)
class ThreadWork:
    """Who does what: task i has the columns from column0_i on and the pieces piece0_i[i] to piece0_i[i + 1].

    Piece k is nonzeros begin_k to end_k of one block of the matrix, whose rows begin at row0_k.
    """

    piece0_i: np.ndarray
    column0_i: np.ndarray
    begin_k: np.ndarray
    end_k: np.ndarray
    row0_k: np.ndarray


def work_for(nonzeros: int, multiprocessors: int) -> int:
    """Nonzeros of one thread block, about."""
    return min(max(nonzeros // (TASKS * multiprocessors), LEAST_WORK), WORK)


def share_out(corner_x2: np.ndarray, start_x: np.ndarray, work: int, piece: int) -> ThreadWork:
    """Cuts all blocks with the same columns into tasks of about `work` nonzeros, in pieces of at most `piece`.

    Tasks with the same columns follow each other, which reads them from the cache (large ones first: 6 % slower); the
    largest blocks are cut, many small ones share a task.
    """
    order = np.lexsort((corner_x2[:, 0], corner_x2[:, 1]))
    size_x = np.diff(start_x)[order]
    pieces_x = -(-size_x // piece)
    block = np.repeat(order, pieces_x)
    rank = np.arange(len(block)) - np.repeat(np.cumsum(pieces_x) - pieces_x, pieces_x)
    begin_k = start_x[:-1][block] + rank * piece
    end_k = np.minimum(begin_k + piece, start_x[1:][block])
    column_k = corner_x2[block, 1]
    # a task ends with its columns, and where the nonzeros of the pieces before pass a multiple of `work`
    before_k = np.cumsum(end_k - begin_k) - (end_k - begin_k)
    heads = np.flatnonzero(np.diff(column_k, prepend=-1))
    inside_k = before_k - np.repeat(before_k[heads], np.diff(np.append(heads, len(column_k))))
    key_k = np.stack([column_k, inside_k // work])
    first_i = np.flatnonzero(np.any(np.diff(key_k, axis=1, prepend=-1), axis=0))
    return ThreadWork(
        np.append(first_i, len(block)).astype(np.int32),
        column_k[first_i].astype(np.int64),
        begin_k.astype(np.int64),
        end_k.astype(np.int64),
        corner_x2[block, 0].astype(np.int64),
    )


class GpuProduct:
    """The product of stored blocks in one launch; keeps the list of tasks on the GPU."""

    def __init__(self, blocks: Blocks) -> None:
        self.bits = blocks.bits
        self.stored = blocks.row_z, blocks.column_z, blocks.value_z
        about = torch.cuda.get_device_properties(blocks.value_z.device)
        work = work_for(int(blocks.start_x[-1]), about.multi_processor_count)
        found = share_out(blocks.corner_x2, blocks.start_x, work, work // PIECES)
        self.tasks = len(found.column0_i)
        arrays = (found.piece0_i, found.column0_i, found.begin_k, found.end_k, found.row0_k)
        self.work = [tensor(array, blocks.value_z.device) for array in arrays]

    def add(
        self, x_rows: torch.Tensor | None, x_columns: torch.Tensor | None, y_rows: torch.Tensor | None,
        y_columns: torch.Tensor | None,
    ) -> None:  # fmt: skip
        """y_rows += H x_columns and y_columns += H^T x_rows, interleaved (b, n); None for both ends of what is not
        wanted."""
        of_columns = y_columns if x_columns is None else x_columns
        if not self.tasks or of_columns is None:
            return
        vectors, value_z = of_columns.shape[1], self.stored[2]
        slice_bytes = (vectors << self.bits) * value_z.element_size()
        forward, back = x_columns is not None, x_rows is not None
        y_shared = back and slice_bytes <= ONE_SHARED
        x_shared = forward and slice_bytes * (1 + y_shared) <= BOTH_SHARED and (y_shared or not back)
        together = 1 if y_shared or value_z.dtype == torch.float64 else min(vectors, 4)
        types = f"REAL={C_REAL[value_z.dtype]}", f"NV={vectors}", f"VW={together}", f"DIRECT={DIRECT}"
        ways = {"FORWARD": forward, "BACK": back, "X_SHARED": x_shared, "Y_SHARED": y_shared}
        macros = *types, *(f"{name}={int(on)}" for name, on in ways.items())
        run = kernel(SOURCE, "product", value_z.device.index or 0, *macros)
        run = run.with_shared((x_shared + y_shared) * slice_bytes)
        arguments = [pointer(array) for array in (*self.stored, *self.work)]
        arguments += [maybe_pointer(array) for array in (x_rows, x_columns, y_rows, y_columns)]
        with torch.cuda.device(value_z.device):
            run((self.tasks, 1, 1), THREADS, *arguments, integer(len(of_columns)), integer(self.bits))
