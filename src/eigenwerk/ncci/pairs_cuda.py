"""The product of the back end `pairs` on a GPU: gather and scatter kernels around dense products.

The plain twin is `PairsHamiltonian.apply` on a CPU.  Elements of one left rest after the other are gathered, so that
those in flight lie in few runs of the vector (a proton determinant's run of neutron determinants) and meet in the
cache.  Sums of many threads make the last digits differ from call to call.
"""

from dataclasses import dataclass, field

import numpy as np
import torch

from eigenwerk.errors import InputError
from eigenwerk.ncci.pair_tasks import KindTasks, Side, Task
from eigenwerk.parallel.cuda_kernels import C_REAL, integer, kernel, pointer

CHUNK = 1 << 22
"""Gathered elements at once; two such buffers of fp32 fit the second-level cache of an H200."""

THREADS = 256
BLOCKED = np.iinfo(np.int64).min
SOURCE = r"""
typedef long long i64;
// Tables: (address << 1 | sign bit); the smallest number stands for an occupied label.
__device__ inline bool find(
    i64 l, unsigned x, unsigned r, const i64* left, i64 left_rows, const int* right, i64 right_rows,
    const int* label_l, const int* label_r, i64* place, bool* negative)
{
    i64 a = left[label_l[x] * left_rows + l];
    int b = right[label_r[x] * right_rows + r];
    if (a == (i64)0x8000000000000000ull || b < 0) return false;
    *place = (a >> 1) + (b >> 1);
    *negative = (a ^ b) & 1;
    return true;
}

// out[pair][left rest][right rest][vector] = +-v[state][vector]; `left` starts at the first left rest of the chunk
extern "C" __global__ void gather(
    const REAL* v, REAL* out, const i64* left, i64 left_rows, i64 nl, const int* right, i64 right_rows,
    const int* label_l, const int* label_r, i64 pairs, i64 vectors)
{
    i64 l = blockIdx.y, place;
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, rows = (unsigned)right_rows;  // pairs * rows < 2^31
    if (t >= (unsigned)(pairs * right_rows)) return;
    unsigned x = t / rows, r = t - x * rows;
    bool negative;
    REAL* to = out + (((i64)x * nl + l) * right_rows + r) * vectors;
    bool found = find(l, x, r, left, left_rows, right, right_rows, label_l, label_r, &place, &negative);
    for (i64 n = 0; n < vectors; ++n) {
        REAL value = found ? v[place * vectors + n] : (REAL)0;
        to[n] = negative && found ? -value : value;
    }
}

// w[state][vector] += +-in[pair][left rest][right rest][vector]
extern "C" __global__ void scatter(
    REAL* w, const REAL* in, const i64* left, i64 left_rows, i64 nl, const int* right, i64 right_rows,
    const int* label_l, const int* label_r, i64 pairs, i64 vectors)
{
    i64 l = blockIdx.y, place;
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, rows = (unsigned)right_rows;  // pairs * rows < 2^31
    if (t >= (unsigned)(pairs * right_rows)) return;
    unsigned x = t / rows, r = t - x * rows;
    bool negative;
    if (!find(l, x, r, left, left_rows, right, right_rows, label_l, label_r, &place, &negative)) return;
    const REAL* from = in + (((i64)x * nl + l) * right_rows + r) * vectors;
    for (i64 n = 0; n < vectors; ++n) atomicAdd(w + place * vectors + n, negative ? -from[n] : from[n]);
}
"""


def packed(side: Side, dtype: type) -> np.ndarray:
    """Addresses and signs in one number each: address * 2 + (sign < 0), the smallest number or -1 where occupied."""
    code = side.address_z * 2 + (side.sign_z < 0)
    return np.where(side.sign_z == 0, BLOCKED if dtype is np.int64 else -1, code).astype(dtype)


@dataclass(frozen=True, eq=False)
class _Kind:
    """Tables and matrices of one kind of pairs on the GPU."""

    tasks: list[Task]
    matrices: list[torch.Tensor]
    left_labels: list[torch.Tensor]
    right_labels: list[torch.Tensor]
    left: torch.Tensor
    right: torch.Tensor


@dataclass(frozen=True, eq=False)
class PairsOnGpu:
    """H on a many-body basis on one GPU, nothing of it stored.  Products are recorded once for each number of vectors
    and replayed as one graph of kernels."""

    dimension: int
    dtype: torch.dtype
    device: torch.device
    kinds: list[_Kind]
    chunk: int = CHUNK
    graphs: dict[int, tuple[torch.cuda.CUDAGraph, torch.Tensor, torch.Tensor]] = field(default_factory=dict, repr=False)

    def apply(self, x_nb: torch.Tensor) -> torch.Tensor:
        """H x for every row, (n, b)."""
        vectors = len(x_nb)
        if vectors not in self.graphs:
            self.graphs[vectors] = self._record(vectors)
        graph, x_bn, y_bn = self.graphs[vectors]
        x_bn.copy_(x_nb.T)
        graph.replay()
        return y_bn.T.clone(memory_format=torch.contiguous_format)

    def _record(self, vectors: int) -> tuple[torch.cuda.CUDAGraph, torch.Tensor, torch.Tensor]:
        x_bn, y_bn = (torch.zeros(self.dimension, vectors, dtype=self.dtype, device=self.device) for _ in range(2))
        largest = max((task.pairs * task.right_rows for kind in self.kinds for task in kind.tasks), default=1)
        if largest >= 1 << 31:
            raise InputError(
                f"One step of the matrix-free product would gather {largest} elements; the GPU kernels count to "
                f'{(1 << 31) - 1}. Use backend = "csb", a smaller Nmax, or device = "cpu".'
            )
        size = max(self.chunk, largest) * vectors
        buffers = [torch.empty(size, dtype=self.dtype, device=self.device) for _ in range(2)]
        index = self.device.index or 0
        gather, scatter = (kernel(SOURCE, name, index, f"REAL={C_REAL[self.dtype]}") for name in ("gather", "scatter"))
        with torch.cuda.device(self.device):
            warm = torch.ones(8, 8, dtype=self.dtype, device=self.device)
            torch.mm(warm, warm)  # cuBLAS makes its workspace outside the recording
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y_bn.zero_()
                for kind in self.kinds:
                    for task in kind.tasks:
                        self._task(kind, task, x_bn, y_bn, buffers, gather, scatter)
        return graph, x_bn, y_bn

    def _task(self, kind, task, x_bn, y_bn, buffers, gather, scatter) -> None:
        """One dense product for all rests, in chunks of left rests."""
        vectors, per_left = x_bn.shape[1], task.pairs * task.right_rows
        step = max(1, min(self.chunk // per_left, 65535))
        matrix = kind.matrices[task.block][: task.pairs, : task.pairs]
        labels = pointer(kind.left_labels[task.block]), pointer(kind.right_labels[task.block])
        for start in range(0, task.left_rows, step):
            rows = min(step, task.left_rows - start)
            grid = ((per_left + THREADS - 1) // THREADS, rows, 1)
            tables = (
                pointer(kind.left, task.left_start + start),
                integer(task.left_rows),
                integer(rows),
                pointer(kind.right, task.right_start),
                integer(task.right_rows),
                *labels,
                integer(task.pairs),
                integer(vectors),
            )
            shape = task.pairs, rows * task.right_rows * vectors
            gathered, product = (buffer[: shape[0] * shape[1]].view(shape) for buffer in buffers)
            gather(grid, THREADS, pointer(x_bn), pointer(gathered), *tables)
            torch.mm(matrix, gathered, out=product)
            scatter(grid, THREADS, pointer(y_bn), pointer(product), *tables)


def pairs_on_gpu(dimension: int, kinds: list[KindTasks], dtype: torch.dtype, device: torch.device) -> PairsOnGpu:
    """Moves matrices and packed tables to a GPU."""

    def tensor(array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    moved = [
        _Kind(
            kind.tasks,
            [tensor(block.matrix_xx).to(dtype) for block in kind.blocks],
            [tensor(labels.astype(np.int32)) for labels in kind.left_labels],
            [tensor(labels.astype(np.int32)) for labels in kind.right_labels],
            tensor(packed(kind.left, np.int64)),
            tensor(packed(kind.right, np.int32)),
        )
        for kind in kinds
    ]
    return PairsOnGpu(dimension, dtype, device, moved)
