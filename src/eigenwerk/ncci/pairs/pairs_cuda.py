"""The product of the back end `pairs` on a GPU: gather, dense product and scatter of a tile in one thread block.

Gathered elements and their places stay in shared memory, so memory sees the vectors and small tables only.  The plain
twin is `PairsHamiltonian.apply` on a CPU.  Sums of many threads make the last digits differ from call to call.
"""

from dataclasses import dataclass, field

import numpy as np
import torch

from eigenwerk.ncci.device_arrays import tensor
from eigenwerk.ncci.interleaved import by_blocks
from eigenwerk.ncci.pairs.pair_tasks import KindProducts
from eigenwerk.ncci.pairs.pair_tiles import MOST_BYTES, task_tables, tiles
from eigenwerk.parallel.kernels.cuda import C_REAL, Kernel, integer, kernel, pointer

FEW, MANY = 256, 512
"""Threads of a block; many where it has so much shared memory that a multiprocessor holds no second one."""

SOURCE = r"""
typedef long long i64;
#define ROWS 8                                  // of the matrix for one thread, times 4 columns
#define BLOCKED ((PLACE)-1)
#define OCCUPIED ((i64)0x8000000000000000ull)

struct alignas(sizeof(REAL) * VW) Unit { REAL of[VW]; };   // VW vectors of one state, read and added at once
struct alignas(16) Four { REAL of[4]; };

__device__ inline void add(REAL* to, const Unit& value, REAL sign) {
#if VW == 4 && __CUDA_ARCH__ >= 900
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" :: "l"(to), "f"(sign * value.of[0]),
        "f"(sign * value.of[1]), "f"(sign * value.of[2]), "f"(sign * value.of[3]) : "memory");
#elif VW == 2 && __CUDA_ARCH__ >= 900
    asm volatile("red.global.add.v2.f32 [%0], {%1, %2};"
        :: "l"(to), "f"(sign * value.of[0]), "f"(sign * value.of[1]) : "memory");
#else
    #pragma unroll
    for (int n = 0; n < VW; ++n) atomicAdd(to + n, sign * value.of[n]);
#endif
}

// One tile: x_tile[pair][rest, vector] = +-v[state][vector]; w[state][vector] += +-(matrix x_tile)[pair][rest, vector].
// A column is (rest, vector); rest = left rest * right rows + right rest.  VW of the NV vectors are handled together.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) product(
    const REAL* __restrict__ v, REAL* w, const i64* __restrict__ tasks, const int* __restrict__ tile_task,
    const i64* __restrict__ tile_first, const i64* __restrict__ left, const int* __restrict__ right,
    const int* __restrict__ left_label, const int* __restrict__ right_label, const REAL* __restrict__ matrices,
    i64 log_columns)
{
    extern __shared__ __align__(16) unsigned char memory[];
    const i64* task = tasks + 9 * tile_task[blockIdx.x];
    const REAL* matrix = matrices + task[0];
    const int line = (int)task[5], pairs = (int)task[6], right_rows = (int)task[8];
    const i64 left_rows = task[7], rests = left_rows * right_rows, first = tile_first[blockIdx.x];
    const int columns = 1 << log_columns, width = columns / NV;
    REAL* x_tile = (REAL*)memory;
    PLACE* places = (PLACE*)(x_tile + pairs * columns);
    const int t = threadIdx.x;

    const int units = columns / VW, parts = NV / VW, lanes = min(units, THREADS);
    const int *label_l = left_label + task[3], *label_r = right_label + task[4];
    for (int c = t % lanes; c < units; c += lanes) {
        const int q = c / parts, part = c % parts;
        const i64 rest = first + q, l = rest / right_rows;
        const bool inside = rest < rests;
        const i64* from_l = left + task[1] + l;
        const int* from_r = right + task[2] + (rest - l * right_rows);
        #pragma unroll 4
        for (int x = t / lanes; x < pairs; x += THREADS / lanes) {
            Unit value;
            #pragma unroll
            for (int n = 0; n < VW; ++n) value.of[n] = 0;
            PLACE place = BLOCKED;
            if (inside) {
                const i64 a = from_l[label_l[x] * left_rows];
                const int b = from_r[(i64)label_r[x] * right_rows];
                if (a != OCCUPIED && b >= 0) {
                    const i64 state = (a >> 1) + (b >> 1);
                    const bool negative = (a ^ b) & 1;
                    place = (PLACE)state * 2 + negative;
                    value = *(const Unit*)(v + state * NV + part * VW);
                    #pragma unroll
                    for (int n = 0; n < VW; ++n) value.of[n] = negative ? -value.of[n] : value.of[n];
                }
            }
            *(Unit*)(x_tile + x * columns + c * VW) = value;
            if (part == 0) places[x * width + q] = place;
        }
    }
    __syncthreads();

    // thread: ROWS rows from `row` on, 4 / VW units, `groups` units apart
    const int groups = columns / 4, g = t % min(groups, THREADS);
    for (int row = (t / groups) * ROWS; row < pairs; row += (THREADS / groups) * ROWS) {
        REAL sum[ROWS][4];
        #pragma unroll
        for (int i = 0; i < ROWS; ++i)
            #pragma unroll
            for (int j = 0; j < 4; ++j) sum[i][j] = 0;
        const REAL* from = matrix + row;
        #pragma unroll 2
        for (int x = 0; x < pairs; ++x, from += line) {
            const Four low = *(const Four*)from, high = *(const Four*)(from + 4);
            REAL value[4];
            #pragma unroll
            for (int u = 0; u < 4 / VW; ++u) {
                const Unit unit = *(const Unit*)(x_tile + x * columns + (u * groups + g) * VW);
                #pragma unroll
                for (int n = 0; n < VW; ++n) value[u * VW + n] = unit.of[n];
            }
            #pragma unroll
            for (int i = 0; i < ROWS; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j) sum[i][j] += (i < 4 ? low.of[i % 4] : high.of[i % 4]) * value[j];
        }
        #pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            if (row + i >= pairs) break;
            #pragma unroll
            for (int u = 0; u < 4 / VW; ++u) {
                const int c = (u * groups + g) * VW;
                const PLACE place = places[(row + i) * width + c / NV];
                if (place == BLOCKED) continue;
                Unit unit;
                #pragma unroll
                for (int n = 0; n < VW; ++n) unit.of[n] = sum[i][u * VW + n];
                add(w + (i64)(place >> 1) * NV + c % NV, unit, place & 1 ? (REAL)-1 : (REAL)1);
            }
        }
    }
}
"""


@dataclass(frozen=True, eq=False)
class KernelLaunch:
    """Tiles of one launch on the GPU."""

    log_columns: int
    shared_bytes: int
    threads: int
    task_i: torch.Tensor
    first_i: torch.Tensor


@dataclass(frozen=True, eq=False)
class PairsOnGpu:
    """H on a many-body basis on one GPU, nothing of it stored.

    task_tf: the tasks (`TaskTables.task_tf`); tables: left and right entries, left and right labels; matrices: all of
    them, in the number type of the vectors.  launches: for each number of interleaved vectors, made when it is needed.
    """

    dimension: int
    dtype: torch.dtype
    device: torch.device
    task_tf: np.ndarray
    tasks: torch.Tensor
    tables: tuple[torch.Tensor, ...]
    matrices: torch.Tensor
    launches: dict[int, list[KernelLaunch]] = field(default_factory=dict, repr=False)

    def apply(self, x_nb: torch.Tensor) -> torch.Tensor:
        """H x for every row, (n, b)."""
        return by_blocks(x_nb, self._product)

    def _product(self, x_bn: torch.Tensor) -> torch.Tensor:
        vectors = x_bn.shape[1]
        y_bn = torch.zeros_like(x_bn)
        if vectors not in self.launches:
            self.launches[vectors] = self._plan(vectors)
        with torch.cuda.device(self.device):
            for launch in self.launches[vectors]:
                tensors = (x_bn, y_bn, self.tasks, launch.task_i, launch.first_i, *self.tables, self.matrices)
                arguments = *(pointer(tensor) for tensor in tensors), integer(launch.log_columns)
                run = self._compiled(vectors, launch.threads).with_shared(launch.shared_bytes)
                run((len(launch.task_i), 1, 1), launch.threads, *arguments)
        return y_bn

    @property
    def _place_type(self) -> tuple[str, int]:
        """The number type of places, twice the number of a state and a sign, and its bytes."""
        return ("unsigned", 4) if self.dimension < (1 << 31) - 1 else ("unsigned long long", 8)

    def _plan(self, vectors: int) -> list[KernelLaunch]:
        found = tiles(self.task_tf, vectors, self.matrices.element_size(), self._place_type[1])
        return [
            KernelLaunch(
                part.log_columns,
                part.shared_bytes,
                MANY if 2 * part.shared_bytes > MOST_BYTES else FEW,
                tensor(part.task_i, self.device),
                tensor(part.first_i, self.device),
            )
            for part in found
        ]

    def _compiled(self, vectors: int, threads: int) -> Kernel:
        together = min(vectors, 4) if self.dtype == torch.float32 else 1
        blocks = 1 if threads > FEW else 3 if self.dtype == torch.float32 else 2
        types = f"REAL={C_REAL[self.dtype]}", f"PLACE={self._place_type[0]}"
        macros = *types, f"NV={vectors}", f"VW={together}", f"THREADS={threads}", f"BLOCKS={blocks}"
        return kernel(SOURCE, "product", self.device.index or 0, *macros)


def pairs_on_gpu(dimension: int, kinds: list[KindProducts], dtype: torch.dtype, device: torch.device) -> PairsOnGpu:
    """Moves matrices and packed tables to a GPU."""
    found = task_tables(kinds)
    tables = tuple(tensor(a, device) for a in (found.left_z, found.right_z, found.left_label_z, found.right_label_z))
    matrices = tensor(found.matrix_z, device).to(dtype)
    return PairsOnGpu(dimension, dtype, device, found.task_tf, tensor(found.task_tf, device), tables, matrices)
