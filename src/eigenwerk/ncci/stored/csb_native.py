"""The product with compressed sparse blocks, and their filling, as compiled loops on a processor.

The product reads every nonzero once for H and for H^T: a row is summed up in a register while the columns of its
nonzeros get their share.  Filling puts every entry where its block and row begin, so that nothing has to be sorted but
the columns of one row, which come as a few rising runs and are merged.  Without a compiler SciPy serves (`csb`), and
sorting (`csb_build`).
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch

from eigenwerk.parallel.kernels.cpu import PRELUDE, Kernel, kernel

C_TYPES = {torch.float64: "double", torch.float32: "float", torch.int32: "int", torch.int64: "long"}

PRODUCT = """
typedef unsigned short u16;
void product(const u16* rows, const u16* columns, const REAL* values, const long* start, const long* corner,
             long first, long last, const REAL* x_rows, const REAL* x_columns, REAL* y_rows, REAL* y_columns)
{
    for (long k = first; k < last; ++k) {
        const long row0 = corner[2 * k] * NV, column0 = corner[2 * k + 1] * NV, end = start[k + 1];
        const REAL *x_row = x_rows + row0, *x_column = x_columns + column0;
        REAL *y_row = y_rows + row0, *y_column = y_columns + column0;
        for (long z = start[k]; z < end;) {
            const long row = rows[z];
            REAL sum[NV], own[NV];
            for (int n = 0; n < NV; ++n) { sum[n] = 0; own[n] = x_row[row * NV + n]; }
            do {
                const REAL value = values[z];
                const REAL* other = x_column + (long)columns[z] * NV;
                REAL* target = y_column + (long)columns[z] * NV;
                for (int n = 0; n < NV; ++n) {
                    if (FORWARD) sum[n] += value * other[n];
                    if (BACK) target[n] += value * own[n];
                }
            } while (++z < end && rows[z] == row);
            if (FORWARD) for (int n = 0; n < NV; ++n) y_row[row * NV + n] += sum[n];
        }
    }
}
"""
"""y_rows += H x_columns (FORWARD) and y_columns += H^T x_rows (BACK) for the blocks first to last and NV interleaved
vectors.  Rows and columns may be those of one vector: columns are less than the row then, so that in a block on the
diagonal the sum of a row is not among the targets of that row."""

FILLING = """
typedef unsigned short u16;

void count(const PLACE* rows, const PLACE* columns, long entries, long bits, long row0, long runs, int* number)
{
    for (long z = 0; z < entries; ++z) ++number[(rows[z] - row0) * runs + (columns[z] >> bits)];
}

void place(const PLACE* rows, const PLACE* columns, const REAL* values, long entries, long bits, long row0, long runs,
           long* next, u16* row_z, u16* column_z, REAL* value_z)
{
    const long mask = (1L << bits) - 1;
    for (long z = 0; z < entries; ++z) {
        const long at = next[(rows[z] - row0) * runs + (columns[z] >> bits)]++;
        row_z[at] = rows[z] & mask;
        column_z[at] = columns[z] & mask;
        value_z[at] = values[z];
    }
}

// merges neighbouring rising runs of columns until one is left
static void merge(u16* c, REAL* v, long size, u16* c_new, REAL* v_new)
{
    for (;;) {
        long runs = 0, i = 0;
        while (i < size) {
            long middle = i + 1, a = i, o = i;
            while (middle < size && c[middle] > c[middle - 1]) ++middle;
            if (middle == size && !runs) return;
            long end = middle + (middle < size), b = middle;
            while (end < size && c[end] > c[end - 1]) ++end;
            while (a < middle || b < end) {
                const int left = b == end || (a < middle && c[a] < c[b]);
                const long from = left ? a++ : b++;
                c_new[o] = c[from];
                v_new[o++] = v[from];
            }
            i = end;
            ++runs;
        }
        for (long k = 0; k < size; ++k) { c[k] = c_new[k]; v[k] = v_new[k]; }
    }
}

void order(const long* end, const int* number, long groups, u16* column_z, REAL* value_z, u16* c_new, REAL* v_new)
{
    for (long g = 0; g < groups; ++g)
        if (number[g] > 1) merge(column_z + end[g] - number[g], value_z + end[g] - number[g], number[g], c_new, v_new);
}
"""
"""Groups are the nonzeros of one row in one block: counted, put behind each other, ordered by column."""


@cache
def _function(source: str, name: str, *macros: str) -> Kernel | None:
    return kernel(PRELUDE + "\n".join(f"#define {macro}" for macro in macros) + source, name)


def product_kernel(dtype: torch.dtype, vectors: int, forward: bool = True, back: bool = True) -> Kernel | None:
    """`product` for so many interleaved vectors, with H, with its transpose or with both; None without a compiler."""
    ways = f"FORWARD {int(forward)}", f"BACK {int(back)}"
    return _function(PRODUCT, "product", f"REAL {C_TYPES[dtype]}", f"NV {vectors}", *ways)


class BlockFiller:
    """The loops that fill blocks, for entries of one number type with places of another."""

    def __init__(self, dtype: torch.dtype, place: torch.dtype) -> None:
        macros = f"REAL {C_TYPES[dtype]}", f"PLACE {C_TYPES[place]}"
        found = [_function(FILLING, name, *macros) for name in ("count", "place", "order")]
        self.loops = None if None in found else [loop for loop in found if loop is not None]

    def __bool__(self) -> bool:
        """Whether they could be compiled."""
        return self.loops is not None

    def count(self, part: tuple[torch.Tensor, ...], bits: int, row0: int, number_rj: np.ndarray) -> None:
        """Adds the entries (rows, columns, values) to the numbers for each row from row0 on and run of columns."""
        assert self.loops is not None
        rows, columns = (array.contiguous() for array in part[:2])
        self.loops[0](
            rows.data_ptr(), columns.data_ptr(), len(rows), bits, row0, number_rj.shape[1], number_rj.ctypes.data
        )

    def place(
        self, part: tuple[torch.Tensor, ...], bits: int, row0: int, next_rj: np.ndarray, stored: Sequence[torch.Tensor]
    ) -> None:
        """Writes entries where next_rj says, and moves that on.  stored: rows, columns and values of all blocks."""
        assert self.loops is not None
        rows, columns, values = (array.contiguous() for array in part)
        self.loops[1](
            rows.data_ptr(), columns.data_ptr(), values.data_ptr(), len(rows), bits, row0, next_rj.shape[1],
            next_rj.ctypes.data, *(array.data_ptr() for array in stored),
        )  # fmt: skip

    def order(self, end_rj: np.ndarray, number_rj: np.ndarray, stored: Sequence[torch.Tensor]) -> None:
        """Orders the nonzeros of every row in every block by their columns."""
        assert self.loops is not None
        most = int(number_rj.max(initial=0))
        c_new, v_new = np.empty(most, np.uint16), torch.empty(most, dtype=stored[2].dtype)
        self.loops[2](
            end_rj.ctypes.data, number_rj.ctypes.data, number_rj.size, stored[1].data_ptr(), stored[2].data_ptr(),
            c_new.ctypes.data, v_new.data_ptr(),
        )  # fmt: skip
