"""A rectangle of H below the diagonal in compressed sparse blocks, for a rank that has no more; on a processor.

The product with H and that with its transpose are apart, so that vectors can travel beside each of them.
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import coo_array

from eigenwerk.ncci.interleaved import SIZES
from eigenwerk.ncci.stored.csb_build import Blocks, build_blocks
from eigenwerk.ncci.stored.csb_entries import Entries
from eigenwerk.ncci.stored.csb_native import product_kernel
from eigenwerk.parallel.threads import each


@dataclass(frozen=True, eq=False)
class CsbPart:
    """Rows and columns count from the corner of the rectangle; see `CsbHamiltonian` for the arrays of `blocks`."""

    shape: tuple[int, int]
    bits: int
    blocks: Blocks

    @property
    def nonzeros(self) -> int:
        """How many are stored."""
        return int(self.blocks.start_x[-1])

    def forward(self, x_nb: torch.Tensor) -> torch.Tensor:
        """H x, (n, columns) -> (n, rows)."""
        return self._product(x_nb, True)

    def back(self, x_nb: torch.Tensor) -> torch.Tensor:
        """H^T x, (n, rows) -> (n, columns)."""
        return self._product(x_nb, False)

    def _product(self, x_nb: torch.Tensor, forward: bool) -> torch.Tensor:
        size = self.shape[0 if forward else 1]
        if product_kernel(x_nb.dtype, 1) is None:
            return self._by_scipy(x_nb, forward)
        found = [
            self._native(x_nb[first : first + SIZES[-1]], size, forward) for first in range(0, len(x_nb), SIZES[-1])
        ]
        return torch.cat(found)

    def _native(self, x_nb: torch.Tensor, size: int, forward: bool) -> torch.Tensor:
        """One compiled loop; threads take runs of blocks and add into vectors of their own."""
        vectors = next(number for number in SIZES if number >= len(x_nb))
        x_bn = x_nb.new_zeros(x_nb.shape[1], vectors)
        x_bn[:, : len(x_nb)] = x_nb.T
        loop, threads = product_kernel(x_nb.dtype, vectors, forward, not forward), torch.get_num_threads()
        assert loop is not None
        places = self.blocks.start_x, self.blocks.block_x2
        start_x, block_x2 = (np.ascontiguousarray(array, dtype=np.int64) for array in places)
        stored = [array.data_ptr() for array in (self.blocks.row_z, self.blocks.column_z, self.blocks.value_z)]
        cuts = np.searchsorted(start_x, np.linspace(0, start_x[-1], threads + 1))

        def part(k: int) -> torch.Tensor:
            y_bn = x_bn.new_zeros(size, vectors)
            x, y = x_bn.data_ptr(), y_bn.data_ptr()
            vectors_of = (0, x, y, 0) if forward else (x, 0, 0, y)
            blocks = start_x.ctypes.data, block_x2.ctypes.data, int(cuts[k]), int(cuts[k + 1]), self.bits
            loop(*stored, *blocks, *vectors_of)
            return y_bn

        first_bn, *others = each(part, range(threads), threads)
        for other_bn in others:
            first_bn += other_bn
        return first_bn[:, : len(x_nb)].T.contiguous()

    def _by_scipy(self, x_nb: torch.Tensor, forward: bool) -> torch.Tensor:
        """The same by a sparse matrix of SciPy for each block."""
        run, x_bn = 1 << self.bits, x_nb.numpy().T
        y_bn = np.zeros((self.shape[0 if forward else 1], len(x_nb)), dtype=x_bn.dtype)
        for k, (i, j) in enumerate(self.blocks.block_x2.tolist()):
            part = slice(int(self.blocks.start_x[k]), int(self.blocks.start_x[k + 1]))
            places = self.blocks.row_z, self.blocks.column_z
            row, column = (array[part].numpy().astype(np.int32) for array in places)
            rows, columns = slice(i * run, min((i + 1) * run, self.shape[0])), slice(j * run, (j + 1) * run)
            columns = slice(columns.start, min(columns.stop, self.shape[1]))
            shape = rows.stop - rows.start, columns.stop - columns.start
            sparse = coo_array((self.blocks.value_z[part].numpy(), (row, column)), shape=shape)
            if forward:
                y_bn[rows] += sparse @ x_bn[columns]
            else:
                y_bn[columns] += sparse.T @ x_bn[rows]
        return torch.from_numpy(np.ascontiguousarray(y_bn.T))


def csb_part(entries: Entries, rows: tuple[int, int], columns: tuple[int, int], bits: int) -> CsbPart:
    """The rectangle between these proton determinants, on or below the diagonal; nothing else is made."""
    inside = entries.within(rows, columns)
    return CsbPart(inside.shape, bits, build_blocks(inside, bits))
