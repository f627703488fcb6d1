"""A rectangle of H below the diagonal in compressed sparse blocks, for a rank that has no more.

The product with H and that with its transpose may be apart, so that vectors can travel beside each of them.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy.sparse import coo_array

from eigenwerk.ncci.interleaved import SIZES
from eigenwerk.ncci.stored.csb_build import Blocks, build_blocks
from eigenwerk.ncci.stored.csb_cuda import GpuProduct
from eigenwerk.ncci.stored.csb_entries import Entries
from eigenwerk.ncci.stored.csb_native import product_kernel
from eigenwerk.parallel.threads import each


@dataclass(frozen=True, eq=False)
class CsbPart:
    """Rows and columns count from the corner of the rectangle; see `CsbHamiltonian` for the arrays of `blocks`.

    simple: applied by plain operations of PyTorch, on any device, to compare the tuned kernel with.
    """

    shape: tuple[int, int]
    bits: int
    blocks: Blocks
    simple: bool = False

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

        Both together read the blocks once.  Rows and columns may be the same vectors where the rectangle is square.
        """
        given = x_rows, x_columns, y_rows, y_columns
        count = max(len(array) for array in given if array is not None)
        for first in range(0, count, SIZES[-1]):
            some = slice(first, first + SIZES[-1])
            self._add(*(None if array is None else array[some] for array in given))

    def _add(self, *given: torch.Tensor | None) -> None:
        """The same for as many vectors as kernels are made for."""
        if self.simple:
            return self._simple(*given)
        if self.blocks.value_z.device.type == "cpu" and product_kernel(self.blocks.value_z.dtype, 1) is None:
            return self._by_scipy(*given)
        count = max(len(array) for array in given if array is not None)
        vectors = next(size for size in SIZES if size >= count)
        x_rows, x_columns = (None if x_nb is None else _interleaved(x_nb, vectors) for x_nb in given[:2])
        # one vector is added to where it lies; of more the sums are made apart
        straight = vectors == 1 and all(y_nb is None or y_nb.stride(1) == 1 for y_nb in given[2:])
        y_rows, y_columns = (
            None if y_nb is None else y_nb[0, :, None] if straight else y_nb.new_zeros(y_nb.shape[1], vectors)
            for y_nb in given[2:]
        )
        loop = self._on_gpu.add if self.blocks.value_z.device.type == "cuda" else self._native
        loop(x_rows, x_columns, y_rows, y_columns)
        for y_nb, y_bn in zip(given[2:], (y_rows, y_columns), strict=True):
            if y_nb is not None and y_bn is not None and not straight:
                y_nb += y_bn[:, :count].T
        return None

    @cached_property
    def _on_gpu(self) -> GpuProduct:
        stored = self.blocks.row_z, self.blocks.column_z, self.blocks.value_z
        return GpuProduct(self.blocks.block_x2, self.blocks.start_x, self.bits, *stored)

    def _native(self, *vectors: torch.Tensor | None) -> None:
        """One compiled loop for interleaved vectors; threads take runs of blocks, all but one add into their own."""
        x_rows, x_columns, y_rows, y_columns = vectors
        some = y_rows if y_columns is None else y_columns
        if some is None:
            return
        loop = product_kernel(some.dtype, some.shape[1], y_rows is not None, y_columns is not None)
        assert loop is not None
        threads, places = torch.get_num_threads(), (self.blocks.start_x, self.blocks.block_x2)
        start_x, block_x2 = (np.ascontiguousarray(array, dtype=np.int64) for array in places)
        stored = [array.data_ptr() for array in (self.blocks.row_z, self.blocks.column_z, self.blocks.value_z)]
        cuts = np.searchsorted(start_x, np.linspace(0, start_x[-1], threads + 1))

        def part(k: int) -> list[torch.Tensor | None]:
            sums = [y_bn if k == 0 or y_bn is None else torch.zeros_like(y_bn) for y_bn in (y_rows, y_columns)]
            ends = [0 if array is None else array.data_ptr() for array in (x_rows, x_columns, *sums)]
            blocks = start_x.ctypes.data, block_x2.ctypes.data, int(cuts[k]), int(cuts[k + 1]), self.bits
            loop(*stored, *blocks, *ends)
            return sums

        _, *others = each(part, range(threads), threads)
        for sums in others:
            for y_bn, other_bn in zip((y_rows, y_columns), sums, strict=True):
                if y_bn is not None and other_bn is not None:
                    y_bn += other_bn

    def _simple(self, *given: torch.Tensor | None) -> None:
        """Gather, multiply and add by index, block after block, with plain operations of PyTorch."""
        x_rows, x_columns, y_rows, y_columns = given
        for k, corner in enumerate(self.blocks.block_x2.tolist()):
            part = slice(int(self.blocks.start_x[k]), int(self.blocks.start_x[k + 1]))
            found = zip((self.blocks.row_z, self.blocks.column_z), corner, strict=True)
            row, column = (places[part].int() + (run << self.bits) for places, run in found)
            for x_nb, source, y_nb, to in ((x_columns, column, y_rows, row), (x_rows, row, y_columns, column)):
                if x_nb is not None and y_nb is not None:
                    for x_b, y_b in zip(x_nb, y_nb, strict=True):  # faster than an axis of one vector
                        y_b.index_add_(0, to, self.blocks.value_z[part] * x_b[source])

    def _by_scipy(self, *given: torch.Tensor | None) -> None:
        """The same by a sparse matrix of SciPy for each block."""
        x_rows, x_columns, y_rows, y_columns = given
        run = 1 << self.bits
        for k, (i, j) in enumerate(self.blocks.block_x2.tolist()):
            part = slice(int(self.blocks.start_x[k]), int(self.blocks.start_x[k + 1]))
            places = self.blocks.row_z, self.blocks.column_z
            row, column = (array[part].numpy().astype(np.int32) for array in places)
            rows, columns = slice(i * run, min((i + 1) * run, self.shape[0])), slice(j * run, (j + 1) * run)
            columns = slice(columns.start, min(columns.stop, self.shape[1]))
            shape = rows.stop - rows.start, columns.stop - columns.start
            sparse = coo_array((self.blocks.value_z[part].numpy(), (row, column)), shape=shape)
            if x_columns is not None and y_rows is not None:
                y_rows[:, rows] += torch.from_numpy((sparse @ x_columns[:, columns].numpy().T).T)
            if x_rows is not None and y_columns is not None:
                y_columns[:, columns] += torch.from_numpy((sparse.T @ x_rows[:, rows].numpy().T).T)


def _interleaved(x_nb: torch.Tensor, vectors: int) -> torch.Tensor:
    """(n, b) -> (b, vectors), zeros beyond n; no copy of one vector."""
    if vectors == 1:
        return x_nb[0].contiguous()[:, None]
    x_bn = x_nb.new_zeros(x_nb.shape[1], vectors)
    x_bn[:, : len(x_nb)] = x_nb.T
    return x_bn


def csb_part(entries: Entries, rows: tuple[int, int], columns: tuple[int, int], bits: int) -> CsbPart:
    """The rectangle between these proton determinants, on or below the diagonal; nothing else is made."""
    inside = entries.within(rows, columns)
    return CsbPart(inside.shape, bits, build_blocks(inside, bits))
