"""A part of H below the diagonal, or all of it, in compressed sparse blocks, and its product with vectors.

A nonzero takes 2 + 2 bytes for its places in the block and 4 (fp32) or 8 (fp64) for its value.  The products with H and
with its transpose read the blocks once where both are wanted; they may be apart, so that vectors can travel beside each
of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
import torch
from scipy.sparse import coo_array, csr_array

from eigenwerk.ncci.device_arrays import SIZES, tensor
from eigenwerk.ncci.stored.csb_build import Blocks, Stored, build_blocks, room
from eigenwerk.ncci.stored.csb_cuda import GpuProduct
from eigenwerk.ncci.stored.csb_entries import Entries
from eigenwerk.ncci.stored.csb_native import product_kernel
from eigenwerk.parallel.threads import each

BITS, BITS_ON_GPU = 16, 14
"""Size of a run of rows or columns, as a power of two; on a GPU parts of the vectors stay in shared memory."""

SIMPLE = 1 << 24
"""Nonzeros that plain operations take at a time, about."""

Made = TypeVar("Made")


def bits_for(device: torch.device) -> int:
    """The size of runs that is best there."""
    return BITS if device.type == "cpu" else BITS_ON_GPU


@dataclass(frozen=True)
class Rectangle:
    """What is below the diagonal of H in rows and columns from one proton determinant to another.

    at: where its first row and column are in the vectors.
    """

    rows: tuple[int, int]
    columns: tuple[int, int]
    at: tuple[int, int] = (0, 0)


@dataclass(frozen=True, eq=False)
class CsbPart:
    """Blocks, in one run through memory, that turn vectors of shape[1] states into such of shape[0], and back.

    simple: applied by plain operations of PyTorch, on any device, to compare the tuned kernel with.  pointers: where
    each row of a full block begins, made by SciPy's first product; at most a byte per nonzero.
    """

    shape: tuple[int, int]
    blocks: Blocks
    simple: bool = False
    pointers: dict[int, np.ndarray] = field(default_factory=dict, repr=False)

    @property
    def nonzeros(self) -> int:
        """How many are stored."""
        return int(self.blocks.start_x[-1])

    def forward(self, x_nb: torch.Tensor) -> torch.Tensor:
        """H x, (n, columns) -> (n, rows)."""
        y_nb = x_nb.new_zeros(len(x_nb), self.shape[0])
        self.add(None, x_nb, y_nb, None)
        return y_nb

    def back(self, x_nb: torch.Tensor) -> torch.Tensor:
        """H^T x, (n, rows) -> (n, columns)."""
        y_nb = x_nb.new_zeros(len(x_nb), self.shape[1])
        self.add(x_nb, None, None, y_nb)
        return y_nb

    def add(
        self, x_rows: torch.Tensor | None, x_columns: torch.Tensor | None, y_rows: torch.Tensor | None,
        y_columns: torch.Tensor | None,
    ) -> None:  # fmt: skip
        """y_rows += H x_columns and y_columns += H^T x_rows, (n, b); None for both ends of what is not wanted.

        Rows and columns may be the same vectors where both are of the same states.
        """
        given = x_rows, x_columns, y_rows, y_columns
        count = max(len(array) for array in given if array is not None)
        for first in range(0, count, SIZES[-1]):
            some = partial(_rows, first=first)
            self._add(*_each(given[:2], some), *_each(given[2:], some))

    def _add(self, *given: torch.Tensor | None) -> None:
        """The same for as many vectors as kernels are made for."""
        if self.simple:
            return self._simple(*given)
        if self.blocks.value_z.device.type == "cpu" and product_kernel(self.blocks.value_z.dtype, 1) is None:
            return self._by_scipy(*given)
        count = max(len(array) for array in given if array is not None)
        vectors = next(size for size in SIZES if size >= count)
        # one vector is added to where it lies; of more the sums are made apart
        straight = vectors == 1 and all(y_nb is None or y_nb.stride(1) == 1 for y_nb in given[2:])

        def sums(y_nb: torch.Tensor) -> torch.Tensor:
            return y_nb[0, :, None] if straight else y_nb.new_zeros(y_nb.shape[1], vectors)

        x, y = _each(given[:2], lambda x_nb: _interleaved(x_nb, vectors)), _each(given[2:], sums)
        loop = self._on_gpu.add if self.blocks.value_z.device.type == "cuda" else self._native
        loop(*x, *y)
        if not straight:
            _add_all(given[2:], [None if y_bn is None else y_bn[:, :count].T for y_bn in y], y[0] is y[1])
        return None

    @cached_property
    def _on_gpu(self) -> GpuProduct:
        return GpuProduct(self.blocks)

    def _native(self, *vectors: torch.Tensor | None) -> None:
        """One compiled loop for interleaved vectors; threads take runs of blocks, all but one add into their own."""
        x, y = vectors[:2], vectors[2:]
        some = y[0] if y[1] is None else y[1]
        if some is None:
            return
        loop = product_kernel(some.dtype, some.shape[1], y[0] is not None, y[1] is not None)
        assert loop is not None
        threads, blocks = torch.get_num_threads(), self.blocks
        stored = [array.data_ptr() for array in (blocks.row_z, blocks.column_z, blocks.value_z)]
        places = blocks.start_x.ctypes.data, blocks.corner_x2.ctypes.data
        cuts = np.searchsorted(blocks.start_x, np.linspace(0, blocks.start_x[-1], threads + 1))

        def part(k: int) -> Sequence[torch.Tensor | None]:
            sums = y if k == 0 else _each(y, torch.zeros_like)
            ends = [0 if array is None else array.data_ptr() for array in (*x, *sums)]
            loop(*stored, *places, int(cuts[k]), int(cuts[k + 1]), *ends)
            return sums

        _, *others = each(part, range(threads), threads)
        for sums in others:
            _add_all(y, sums, y[0] is y[1])

    def _simple(self, *given: torch.Tensor | None) -> None:
        """Gather, multiply and add by index, some blocks together, with plain operations of PyTorch."""
        x_rows, x_columns, y_rows, y_columns = given
        stored, start_x = self.blocks, self.blocks.start_x
        corner_2x = tensor(stored.corner_x2.T.astype(np.int32), stored.value_z.device)
        size_x = tensor(np.diff(start_x), stored.value_z.device)
        first = 0
        while first < len(size_x):
            last = max(int(np.searchsorted(start_x, start_x[first] + SIMPLE, side="right")) - 1, first + 1)
            part, some = slice(int(start_x[first]), int(start_x[last])), slice(first, last)
            found = zip((stored.row_z, stored.column_z), corner_2x, strict=True)
            size = part.stop - part.start
            row, column = (
                places[part].int() + corner_x[some].repeat_interleave(size_x[some], output_size=size)
                for places, corner_x in found
            )
            for x_nb, source, y_nb, to in ((x_columns, column, y_rows, row), (x_rows, row, y_columns, column)):
                if x_nb is not None and y_nb is not None:
                    for x_b, y_b in zip(x_nb, y_nb, strict=True):  # faster than an axis of one vector
                        y_b.index_add_(0, to, stored.value_z[part] * x_b[source])
            first = last

    def _by_scipy(self, *given: torch.Tensor | None) -> None:
        """The same by a sparse matrix of SciPy for each block."""
        x_rows, x_columns, y_rows, y_columns = given
        run = 1 << self.blocks.bits
        for k, (i, j) in enumerate(self.blocks.corner_x2.tolist()):
            rows, columns = slice(i, min(i + run, self.shape[0])), slice(j, min(j + run, self.shape[1]))
            sparse = self._local(k, rows.stop - rows.start, columns.stop - columns.start)
            if x_columns is not None and y_rows is not None:
                y_rows[:, rows] += torch.from_numpy((sparse @ x_columns[:, columns].numpy().T).T)
            if x_rows is not None and y_columns is not None:
                y_columns[:, columns] += torch.from_numpy((sparse.T @ x_rows[:, rows].numpy().T).T)

    def _local(self, block: int, rows: int, columns: int) -> csr_array | coo_array:
        """One block with 32-bit places, made when it is needed."""
        stored, part = self.blocks, slice(*self.blocks.start_x[block : block + 2].tolist())
        column, value = stored.column_z[part].numpy().astype(np.int32), stored.value_z[part].numpy()
        if len(column) < 4 * rows:
            return coo_array((value, (stored.row_z[part].numpy().astype(np.int32), column)), shape=(rows, columns))
        pointer = self.pointers.get(block)
        if pointer is None:
            number_r = np.bincount(stored.row_z[part].numpy(), minlength=rows)
            pointer = self.pointers[block] = np.append(0, np.cumsum(number_r)).astype(np.int32)
        return csr_array((value, column, pointer), shape=(rows, columns))


def _rows(array_nb: torch.Tensor, first: int) -> torch.Tensor:
    return array_nb[first : first + SIZES[-1]]


def _each(
    ends: Sequence[torch.Tensor | None], make: Callable[[torch.Tensor], Made]
) -> tuple[Made | None, Made | None]:
    """What is made of both; one and the same where they are."""
    rows, columns = ends
    first = None if rows is None else make(rows)
    return first, first if rows is columns else None if columns is None else make(columns)


def _add_all(y: Sequence[torch.Tensor | None], sums: Sequence[torch.Tensor | None], same: bool) -> None:
    """Adds sums to both; once where they are the same."""
    for y_nb, sum_nb in list(zip(y, sums, strict=True))[same:]:
        if y_nb is not None and sum_nb is not None:
            y_nb += sum_nb


def _interleaved(x_nb: torch.Tensor, vectors: int) -> torch.Tensor:
    """(n, b) -> (b, vectors), zeros beyond n; no copy of one vector."""
    if vectors == 1:
        return x_nb[0].contiguous()[:, None]
    x_bn = x_nb.new_zeros(x_nb.shape[1], vectors)
    x_bn[:, : len(x_nb)] = x_nb.T
    return x_bn


def _part(stored: Stored, first: int, last: int) -> Stored:
    row_z, column_z, value_z = (array[first:last] for array in stored)
    return row_z, column_z, value_z


def csb_part(
    entries: Entries, rectangles: Sequence[Rectangle], shape: tuple[int, int], bits: int | None = None
) -> CsbPart:
    """These rectangles behind each other, for vectors of so many states; nothing else is made."""
    bits = bits or bits_for(entries.device)

    inside = [entries.within(rectangle.rows, rectangle.columns) for rectangle in rectangles]
    if len(inside) == 1:
        blocks = build_blocks(inside[0], bits)
        return CsbPart(shape, replace(blocks, corner_x2=blocks.corner_x2 + rectangles[0].at))
    ends = np.cumsum([0, *(part.count() for part in inside)])
    stored, made = room(int(ends[-1]), entries), []
    for part, first, last in zip(inside, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        made.append(build_blocks(part, bits, into=_part(stored, first, last)))
    corners = [blocks.corner_x2 + rectangle.at for blocks, rectangle in zip(made, rectangles, strict=True)]
    starts = [blocks.start_x[:-1] + first for blocks, first in zip(made, ends[:-1], strict=True)]
    seconds = {name: sum(blocks.seconds[name] for blocks in made) for name in ("count", "fill")}
    whole = Blocks(bits, np.concatenate(corners), np.append(np.concatenate(starts), ends[-1]), *stored, seconds)
    return CsbPart(shape, whole)
