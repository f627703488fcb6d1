"""Work of the GPU kernel of `pairs`: every task cut into tiles of rests that fit a thread block's shared memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.ncci.matrix_free.pair_tasks import KindProducts, Side
from eigenwerk.ncci.ranks.segments import share_by_cost

BLOCKED = np.iinfo(np.int64).min
"""Code of an occupied label in the left tables; in the right ones it is -1."""

LINE = 8
"""Rows of the matrices begin at multiples of so many elements, and end with zeros."""

MOST_COLUMNS = 1024
"""Columns of a tile at most: rests times vectors."""

WANTED_BYTES = 1 << 16
"""A tile takes more shared memory than this only where 16 columns need it; three thread blocks then share a
multiprocessor."""

MOST_BYTES = 227 << 10
"""Shared memory that one thread block can have on the GPUs this is written for."""

BALANCED_PAIRS = 200.0
"""Pairs of a product whose multiply-adds take about as long as its gathers, by which tiles
are dealt out to ranks; an estimate."""


@dataclass(frozen=True, eq=False)
class TaskTables:
    """All tasks of all kinds in flat arrays.

    task_tf: int64 fields of task t: where its matrix, left table, right table, left and right labels begin; length of
    a matrix line, pairs, left rows, right rows.  A left entry is (what it adds to the number of a state << 1 | sign is
    negative); `matrix_z` holds all matrices, transposed, with lines padded to a multiple of `LINE`.
    """

    task_tf: np.ndarray
    left_z: np.ndarray
    right_z: np.ndarray
    left_label_z: np.ndarray
    right_label_z: np.ndarray
    matrix_z: np.ndarray


@dataclass(frozen=True, eq=False)
class Tiles:
    """Tiles with the same number of columns, 2^log_columns (one launch): task and first rest of each, and the shared
    memory the largest needs."""

    log_columns: int
    shared_bytes: int
    task_i: np.ndarray
    first_i: np.ndarray


def packed(side: Side, dtype: type) -> np.ndarray:
    """Addresses and signs in one number each: address * 2 + (sign < 0), the smallest number or -1 where occupied."""
    code = side.address_z * 2 + (side.sign_z < 0)
    return np.where(side.sign_z == 0, BLOCKED if dtype is np.int64 else -1, code).astype(dtype)


def task_tables(kinds: Sequence[KindProducts]) -> TaskTables:
    """Tables and matrices of all kinds, one behind the other."""
    parts: list[list[np.ndarray]] = [[] for _ in range(5)]
    matrices, left, right, labels_l, labels_r = parts
    rows: list[tuple[int, ...]] = []
    free = np.zeros(5, dtype=np.int64)  # matrix, left, right, left label, right label
    for kind in kinds:
        begin = []
        for block, label_l, label_r in zip(kind.blocks, kind.left_labels, kind.right_labels, strict=True):
            matrix = _padded(block.matrix_xx)
            begin.append((free[0], free[3], free[4], matrix.shape[1]))
            for found, array in ((matrices, matrix), (labels_l, label_l), (labels_r, label_r)):
                found.append(array.ravel())
            free[[0, 3, 4]] += matrix.size, len(label_l), len(label_r)
        for task in kind.tasks:
            matrix_at, label_l, label_r, line = begin[task.block]
            at = (matrix_at, free[1] + task.left_start, free[2] + task.right_start, label_l, label_r)
            rows.append((*at, line, task.pairs, task.left_rows, task.right_rows))
        left.append(packed(kind.left, np.int64))
        right.append(packed(kind.right, np.int32))
        free[[1, 2]] += len(left[-1]), len(right[-1])
    return TaskTables(
        np.array(rows, dtype=np.int64).reshape(-1, 9),
        _joined(left, np.int64),
        _joined(right, np.int32),
        _joined(labels_l, np.int32),
        _joined(labels_r, np.int32),
        _joined(matrices, np.float64),
    )


def _padded(matrix_xx: np.ndarray) -> np.ndarray:
    """The transpose with lines padded by zeros."""
    size = len(matrix_xx)
    padded = np.zeros((size, -(-size // LINE) * LINE))
    padded[:, :size] = matrix_xx.T
    return padded


def _joined(arrays: list[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate(arrays or [np.zeros(0)]).astype(dtype)


def tiles(task_tf: np.ndarray, vectors: int, real_bytes: int, place_bytes: int) -> list[Tiles]:
    """The tiles of all tasks for so many interleaved vectors, by number of columns; tasks keep their order.

    An element takes real_bytes for every vector and place_bytes in shared memory.  Raises InputError where a product
    has more pairs than fit.
    """
    pairs_t, rests_t = task_tf[:, 6], task_tf[:, 7] * task_tf[:, 8]
    column_t = pairs_t * (real_bytes + place_bytes / vectors)  # bytes of one column of a tile
    log_t = _log_columns(column_t, rests_t * vectors, vectors)
    need_t = np.ceil(column_t * 2.0**log_t).astype(np.int64)
    if need_t.max(initial=0) > MOST_BYTES:
        raise InputError(
            f"A product of the matrix-free back end has {int(pairs_t.max())} pairs with {vectors} vectors and needs "
            f"{int(need_t.max())} bytes of a GPU's shared memory; there are {MOST_BYTES}. Take smaller blocks of "
            'vectors or single precision, backend = "csb", or device = "cpu".'
        )
    found = []
    for log in np.unique(log_t).tolist():
        chosen = np.flatnonzero(log_t == log)
        width = (1 << log) // vectors
        count = -(-rests_t[chosen] // width)
        rank = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        task_i = np.repeat(chosen, count).astype(np.int32)
        found.append(Tiles(log, int(need_t[chosen].max()), task_i, rank * width))
    return found


def _log_columns(column_t: np.ndarray, columns_t: np.ndarray, vectors: int) -> np.ndarray:
    """Logarithm of the columns of the tiles of every task: not many more than it has, as memory allows, at least 16
    where they fit, at least 4 and one rest."""
    least = max(4, vectors)
    wanted = np.maximum(np.minimum(columns_t, MOST_COLUMNS), least)
    room = np.maximum(WANTED_BYTES // column_t, np.minimum(16, MOST_BYTES // column_t))
    fits = np.maximum(np.floor(np.log2(np.maximum(room, 1))), np.log2(least))
    return np.minimum(np.ceil(np.log2(wanted)), fits).astype(np.int64)


def own_tiles(part: Tiles, task_tf: np.ndarray, ranks: int, rank: int) -> Tiles:
    """The tiles of a rank, neighbours: about as much work as those of others."""
    pairs_i = task_tf[part.task_i, 6].astype(np.float64)
    own = share_by_cost(pairs_i * (1 + pairs_i / BALANCED_PAIRS), ranks, rank)
    return replace(part, task_i=part.task_i[own], first_i=part.first_i[own])
