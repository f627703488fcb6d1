"""Back end `csb`: half of H in compressed sparse blocks with 16-bit places; the product with H and H^T in one pass.

Rows and columns are cut into runs of 2^bits states; a block (row run, column run) holds the nonzeros below the diagonal
that fall into it, ordered by row, then column.  A nonzero takes 2 + 2 bytes for its places in the block and 4 (fp32) or
8 (fp64) for its value.  The diagonal is a vector of its own.
"""

import time
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from scipy.sparse import coo_array, csr_array

from eigenwerk.ncci.basis.basis_pairs import BasisPairs
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.diagonal import diagonal
from eigenwerk.ncci.interleaved import by_blocks
from eigenwerk.ncci.stored.csb_build import build_blocks
from eigenwerk.ncci.stored.csb_cuda import GpuProduct
from eigenwerk.ncci.stored.csb_entries import Entries
from eigenwerk.ncci.stored.csb_native import product_kernel
from eigenwerk.parallel.threads import each

BITS, BITS_ON_GPU = 16, 14
"""Default size of a run of rows or columns, as a power of two; on a GPU parts of the vectors stay in shared memory."""


@dataclass(frozen=True, eq=False)
class CsbHamiltonian:
    """H on a many-body basis, stored.

    block_x2: (blocks, 2) row run and column run of every block that is not empty, column run <= row run;
    start_x: (blocks + 1) first nonzero of each, int64.  row_z, column_z: places inside the block, uint16; value_z.
    diagonal_b: (b,).  seconds: what building took: "jumps", "count", "fill".
    pointers: where each row of a full block begins, made by SciPy's first product; at most a byte per nonzero.
    """

    dimension: int
    bits: int
    block_x2: np.ndarray
    start_x: np.ndarray
    row_z: torch.Tensor
    column_z: torch.Tensor
    value_z: torch.Tensor
    diagonal_b: torch.Tensor
    seconds: dict[str, float] = field(default_factory=dict)
    pointers: dict[int, np.ndarray] = field(default_factory=dict, repr=False)

    @property
    def dtype(self) -> torch.dtype:
        """Number type of the stored elements."""
        return self.value_z.dtype

    @property
    def device(self) -> torch.device:
        """Where they lie."""
        return self.value_z.device

    @property
    def nonzeros(self) -> int:
        """Of the half matrix with its diagonal, MFDn's numnonzero."""
        return int(self.start_x[-1]) + self.dimension

    @property
    def bytes(self) -> int:
        """Memory of the matrix."""
        return self.value_z.nbytes + self.row_z.nbytes + self.column_z.nbytes + self.diagonal_b.nbytes

    @cached_property
    def _on_gpu(self) -> GpuProduct:
        return GpuProduct(self.block_x2, self.start_x, self.bits, self.row_z, self.column_z, self.value_z)

    def apply(self, x_nb: torch.Tensor) -> torch.Tensor:
        """H x for every row, (n, b)."""
        if self.device.type == "cuda":
            return self._on_gpu.apply(x_nb, self.diagonal_b)
        return product_on_cpu(self, x_nb)


def csb_hamiltonian(
    basis: ManyBodyBasis,
    pairs: BasisPairs,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
    bits: int | None = None,
) -> CsbHamiltonian:
    """Builds the stored operator: a pass that counts the nonzeros of every block, and one that fills them in."""
    begin = time.perf_counter()
    bits = bits or (BITS if torch.device(device).type == "cpu" else BITS_ON_GPU)
    entries = Entries(basis, pairs, dtype, device)
    jumps = time.perf_counter() - begin
    blocks = build_blocks(entries, bits)
    return CsbHamiltonian(
        basis.dimension,
        bits,
        blocks.block_x2,
        blocks.start_x,
        blocks.row_z,
        blocks.column_z,
        blocks.value_z,
        diagonal(basis, pairs, device).to(dtype),
        {"jumps": jumps, **blocks.seconds},
    )


def product_on_cpu(matrix: CsbHamiltonian, x_nb: torch.Tensor) -> torch.Tensor:
    """(H + H^T + D) x block by block: the part of both vectors that a block touches stays in the cache.

    Threads take runs of blocks with about equally many nonzeros and add into vectors of their own.  One compiled loop,
    or SciPy's products without a compiler.
    """
    if product_kernel(matrix.dtype, 1) is None:
        return product_by_scipy(matrix, x_nb)
    return by_blocks(x_nb, lambda x_bn: _native_product(matrix, x_bn))


def _native_product(matrix: CsbHamiltonian, x_bn: torch.Tensor) -> torch.Tensor:
    """The product with interleaved vectors (b, n)."""
    loop, threads, cuts = product_kernel(matrix.dtype, x_bn.shape[1]), *_threads_and_cuts(matrix)
    assert loop is not None
    start_x, block_x2 = (np.ascontiguousarray(array, dtype=np.int64) for array in (matrix.start_x, matrix.block_x2))
    stored = [array.data_ptr() for array in (matrix.row_z, matrix.column_z, matrix.value_z)]

    def part(k: int) -> torch.Tensor:
        y_bn = torch.zeros_like(x_bn)
        loop(
            *stored, start_x.ctypes.data, block_x2.ctypes.data, int(cuts[k]), int(cuts[k + 1]), matrix.bits,
            *[x_bn.data_ptr()] * 2, *[y_bn.data_ptr()] * 2,
        )  # fmt: skip
        return y_bn

    parts = each(part, range(threads), threads)
    total_bn = parts[0].addcmul_(matrix.diagonal_b[:, None], x_bn)
    for other_bn in parts[1:]:
        total_bn += other_bn
    return total_bn


def _threads_and_cuts(matrix: CsbHamiltonian) -> tuple[int, np.ndarray]:
    """Threads, and the blocks where the work of each begins and ends: about equally many nonzeros."""
    threads = torch.get_num_threads()
    return threads, np.searchsorted(matrix.start_x, np.linspace(0, matrix.start_x[-1], threads + 1))


def product_by_scipy(matrix: CsbHamiltonian, x_nb: torch.Tensor) -> torch.Tensor:
    """The same by sparse matrices of SciPy, made when they are needed."""
    threads, cuts = _threads_and_cuts(matrix)
    x_bn = np.ascontiguousarray(x_nb.numpy().T)
    x_bn = x_bn[:, 0] if len(x_nb) == 1 else x_bn  # SciPy is faster with a plain vector
    parts = each(lambda k: _some_blocks(matrix, x_bn, int(cuts[k]), int(cuts[k + 1])), range(threads), threads)
    total = sum(parts[1:], start=parts[0])
    y_nb = torch.from_numpy(np.ascontiguousarray(total.T)).view_as(x_nb)
    return y_nb.addcmul_(matrix.diagonal_b, x_nb)


def _some_blocks(matrix: CsbHamiltonian, x_bn: np.ndarray, first: int, last: int) -> np.ndarray:
    """Sum over blocks first to last, (b, n)."""
    y_bn = np.zeros_like(x_bn)
    run = 1 << matrix.bits
    for block in range(first, last):
        row, column = matrix.block_x2[block] * run
        sparse = _local(matrix, block, len(x_bn[row : row + run]), len(x_bn[column : column + run]))
        y_bn[row : row + run] += sparse @ x_bn[column : column + run]
        y_bn[column : column + run] += sparse.T @ x_bn[row : row + run]
    return y_bn


def _local(matrix: CsbHamiltonian, block: int, rows: int, columns: int) -> csr_array | coo_array:
    """One block with 32-bit places, made when it is needed."""
    part = slice(int(matrix.start_x[block]), int(matrix.start_x[block + 1]))
    column, value = matrix.column_z[part].numpy().astype(np.int32), matrix.value_z[part].numpy()
    if len(column) < 4 * rows:
        return coo_array((value, (matrix.row_z[part].numpy().astype(np.int32), column)), shape=(rows, columns))
    pointer = matrix.pointers.get(block)
    if pointer is None:
        row = matrix.row_z[part].numpy()
        pointer = np.append(0, np.cumsum(np.bincount(row, minlength=rows))).astype(np.int32)
        matrix.pointers[block] = pointer
    return csr_array((value, column, pointer), shape=(rows, columns))


def product_by_torch(matrix: CsbHamiltonian, x_nb: torch.Tensor) -> torch.Tensor:
    """The same with plain PyTorch on any device: the twin of the CUDA kernel."""
    y_nb = matrix.diagonal_b * x_nb
    run = 1 << matrix.bits
    for block, (i, j) in enumerate(matrix.block_x2.tolist()):
        part = slice(int(matrix.start_x[block]), int(matrix.start_x[block + 1]))
        row, column = (places[part].int() + k * run for places, k in ((matrix.row_z, i), (matrix.column_z, j)))
        y_nb.index_add_(1, row, matrix.value_z[part] * x_nb[:, column])
        y_nb.index_add_(1, column, matrix.value_z[part] * x_nb[:, row])
    return y_nb
