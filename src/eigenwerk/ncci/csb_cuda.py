"""The product of the back end `csb` on a GPU: H and H^T in one reading of the stored blocks.

The plain twin is `product_by_torch` in `csb`.  Sums of many threads make the last digits differ from call to call.
"""

from functools import cache

import numpy as np
import torch

from eigenwerk.parallel.cuda_kernels import C_REAL, kernel, pointer

STRIP = 8192
"""Nonzeros of one thread block."""

THREADS = 256
SOURCE = r"""
typedef long long i64;
typedef unsigned short u16;
#define ALL 0xffffffffu
#define AHEAD (NV >= 4 ? 1 : 4 / NV)

// y[row] += v x[column] and y[column] += v x[row] for the nonzeros begin[i] .. begin[i + 1] of strip i, which lie in
// one block (row0[i], column0[i]) and are ordered by row.  A warp reads 32 neighbours; equal rows are added up among
// its lanes before they go to memory, and a row that fills whole warps is carried on in registers.
extern "C" __global__ void __launch_bounds__(256) product(
    const u16* __restrict__ row, const u16* __restrict__ column, const REAL* __restrict__ value,
    const i64* __restrict__ begin, const i64* __restrict__ row0, const i64* __restrict__ column0,
    const REAL* __restrict__ x, REAL* y)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    const i64 first = begin[blockIdx.x], last = begin[blockIdx.x + 1];
    const i64 share = ((last - first + warps * 32 - 1) / (warps * 32)) * 32;
    const i64 end = min(last, first + (warp + 1) * share);
    const REAL *x_row = x + row0[blockIdx.x] * NV, *x_column = x + column0[blockIdx.x] * NV;
    REAL *y_row = y + row0[blockIdx.x] * NV, *y_column = y + column0[blockIdx.x] * NV;
    REAL carried[NV];
    int carried_row = -1;
    #pragma unroll
    for (int n = 0; n < NV; ++n) carried[n] = 0;

    for (i64 k = first + warp * share; k < end; k += 32 * AHEAD) {
        int r[AHEAD], c[AHEAD];
        REAL v[AHEAD];
        #pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            const i64 z = k + 32 * u + lane;
            const bool active = z < end;
            r[u] = active ? (int)row[z] : 0x10000;
            c[u] = active ? (int)column[z] : 0;
            v[u] = active ? value[z] : (REAL)0;
        }
        #pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            const bool active = r[u] < 0x10000;
            const i64 at_row = active ? (i64)r[u] * NV : 0, at_column = (i64)c[u] * NV;
            REAL sum[NV];
            #pragma unroll
            for (int n = 0; n < NV; ++n) {
                sum[n] = v[u] * x_column[at_column + n];
                if (active) atomicAdd(y_column + at_column + n, v[u] * x_row[at_row + n]);
            }
            const int low = __shfl_sync(ALL, r[u], 0), high = __shfl_sync(ALL, r[u], 31);
            if (low == high && low == carried_row) {
                #pragma unroll
                for (int n = 0; n < NV; ++n) carried[n] += sum[n];
                continue;
            }
            if (carried_row >= 0) {
                #pragma unroll
                for (int n = 0; n < NV; ++n) {
                    for (int d = 16; d; d >>= 1) carried[n] += __shfl_down_sync(ALL, carried[n], d);
                    if (lane == 0) atomicAdd(y_row + (i64)carried_row * NV + n, carried[n]);
                }
                carried_row = -1;
            }
            if (low == high && low < 0x10000) {
                #pragma unroll
                for (int n = 0; n < NV; ++n) carried[n] = sum[n];
                carried_row = low;
                continue;
            }
            const int before = __shfl_up_sync(ALL, r[u], 1);
            const bool head = active && (lane == 0 || before != r[u]);
            #pragma unroll
            for (int d = 1; d < 32; d <<= 1) {
                const int other_row = __shfl_down_sync(ALL, r[u], d);
                #pragma unroll
                for (int n = 0; n < NV; ++n) {
                    const REAL other = __shfl_down_sync(ALL, sum[n], d);
                    if (lane + d < 32 && other_row == r[u]) sum[n] += other;
                }
            }
            #pragma unroll
            for (int n = 0; n < NV; ++n)
                if (head) atomicAdd(y_row + at_row + n, sum[n]);
        }
    }
    if (carried_row >= 0) {
        #pragma unroll
        for (int n = 0; n < NV; ++n) {
            for (int d = 16; d; d >>= 1) carried[n] += __shfl_down_sync(ALL, carried[n], d);
            if (lane == 0) atomicAdd(y_row + (i64)carried_row * NV + n, carried[n]);
        }
    }
}
"""


def strips(block_x2: np.ndarray, start_x: np.ndarray, bits: int, strip: int = STRIP) -> tuple[np.ndarray, ...]:
    """Cuts every block into strips: (begins of all strips and the end, first row, first column of each), int64."""
    size = np.diff(start_x)
    pieces = -(-size // strip)
    block = np.repeat(np.arange(len(size)), pieces)
    rank = np.arange(len(block)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    begin = np.append(start_x[:-1][block] + rank * strip, start_x[-1])
    row0, column0 = (np.ascontiguousarray(block_x2[block, i]).astype(np.int64) << bits for i in (0, 1))
    return begin.astype(np.int64), row0, column0


class GpuProduct:
    """The product of one stored matrix; keeps the list of strips on the GPU."""

    def __init__(
        self,
        block_x2: np.ndarray,
        start_x: np.ndarray,
        bits: int,
        row_z: torch.Tensor,
        column_z: torch.Tensor,
        value_z: torch.Tensor,
    ) -> None:
        self.stored = (row_z, column_z, value_z)
        self.strips = [torch.from_numpy(array).to(value_z.device) for array in strips(block_x2, start_x, bits)]
        self.compiled = cache(self._compiled)

    def _compiled(self, vectors: int):
        value_z = self.stored[2]
        macros = f"REAL={C_REAL[value_z.dtype]}", f"NV={vectors}"
        return kernel(SOURCE, "product", value_z.device.index or 0, *macros)

    def add(self, x_nb: torch.Tensor, y_nb: torch.Tensor) -> torch.Tensor:
        """y + (H + H^T) x without the diagonal, (n, b)."""
        count = len(self.strips[1])
        if not count:
            return y_nb
        x_bn, y_bn = x_nb.T.contiguous(), y_nb.T.contiguous()
        arguments = [pointer(tensor) for tensor in (*self.stored, *self.strips, x_bn, y_bn)]
        with torch.cuda.device(x_nb.device):
            self.compiled(len(x_nb))((count, 1, 1), THREADS, *arguments)
        return y_bn.T.contiguous()
