"""The same as compiled loops of a processor; the plain twin is `plain`.

Vectors are read where they lie, tile after tile of components, and each number is made a double in a register.  Sums
are those of fixed runs of components added in their order: they do not depend on the number of threads.
"""

import torch

from eigenwerk.parallel.kernels.cpu import PRELUDE, Kernel, kernel
from eigenwerk.parallel.threads import each

C_REAL = {torch.float32: "float", torch.float64: "double"}

RUN = 1 << 17
"""Components of one call."""

SOURCE = """
#define TILE 1024    /* components that stay in the cache while all rows of the basis pass by, and pass by again */
#define ROWS 4       /* rows of the basis, and vectors w, that are worked on together */
#define WIDE 8

typedef double wide __attribute__((vector_size(8 * WIDE)));
typedef double loose __attribute__((vector_size(8 * WIDE), aligned(8), may_alias));
typedef REAL narrow __attribute__((vector_size(sizeof(REAL) * WIDE), aligned(sizeof(REAL)), may_alias));

#define IN_DOUBLE(p) __builtin_convertvector(*(const narrow*)(p), wide)

/* out[j, n] += sum over i of a[j, i] w[n, i] for J rows and N vectors */
#define OVERLAPS(J, N) \\
static void overlaps_##J##_##N(const REAL* a, long stride, const double* w, long count, double* out, long n_all) \\
{ \\
    wide sum[J][N]; \\
    for (int j = 0; j < J; ++j) for (int n = 0; n < N; ++n) sum[j][n] = (wide){0}; \\
    long i = 0; \\
    for (; i + WIDE <= count; i += WIDE) { \\
        wide x[N]; \\
        for (int n = 0; n < N; ++n) x[n] = *(const loose*)(w + n * TILE + i); \\
        for (int j = 0; j < J; ++j) { \\
            const wide v = IN_DOUBLE(a + j * stride + i); \\
            for (int n = 0; n < N; ++n) sum[j][n] += v * x[n]; \\
        } \\
    } \\
    for (int j = 0; j < J; ++j) for (int n = 0; n < N; ++n) { \\
        double total = 0; \\
        for (int k = 0; k < WIDE; ++k) total += sum[j][n][k]; \\
        for (long k = i; k < count; ++k) total += (double)a[j * stride + k] * w[n * TILE + k]; \\
        out[j * n_all + n] += total; \\
    } \\
}

/* w[n, i] -= sum over J rows of c[j, n] a[j, i] */
#define TAKE_OUT(J) \\
static void take_out_##J(const REAL* a, long stride, const double* c, long n_all, double* w, long n_here, long count) \\
{ \\
    for (long n = 0; n < n_here; ++n) { \\
        double* x = w + n * TILE; \\
        double f[J]; \\
        for (int j = 0; j < J; ++j) f[j] = c[j * n_all + n]; \\
        long i = 0; \\
        for (; i + WIDE <= count; i += WIDE) { \\
            wide left = *(const loose*)(x + i); \\
            for (int j = 0; j < J; ++j) left -= f[j] * IN_DOUBLE(a + j * stride + i); \\
            *(loose*)(x + i) = left; \\
        } \\
        for (; i < count; ++i) for (int j = 0; j < J; ++j) x[i] -= f[j] * a[j * stride + i]; \\
    } \\
}

OVERLAPS(1, 1) OVERLAPS(4, 1) OVERLAPS(1, 4) OVERLAPS(4, 4) TAKE_OUT(1) TAKE_OUT(4)

static void add_overlaps(const REAL* a, long stride, long m, const double* w, long n_here, long count, double* out,
                         long n_all)
{
    for (long n = 0; n < n_here;) {
        const int four = n_here - n >= ROWS;
        const double* x = w + n * TILE;
        long j = 0;
        for (; j + ROWS <= m; j += ROWS)
            (four ? overlaps_4_4 : overlaps_4_1)(a + j * stride, stride, x, count, out + j * n_all + n, n_all);
        for (; j < m; ++j)
            (four ? overlaps_1_4 : overlaps_1_1)(a + j * stride, stride, x, count, out + j * n_all + n, n_all);
        n += four ? ROWS : 1;
    }
}

/* Components from to to of m rows a and n vectors w: w -= c a where take, then out += <a|w> where sum. */
void project(const REAL* a, REAL* w, const double* c, double* out, long stride, long stride_w, long m, long n,
             long from, long to, long take, long sum)
{
    double x[ROWS * TILE] __attribute__((aligned(64)));
    for (long tile = from; tile < to; tile += TILE) {
        const long count = to - tile < TILE ? to - tile : TILE;
        const REAL* rows = a + tile;
        for (long n0 = 0; n0 < n; n0 += ROWS) {
            const long here = n - n0 < ROWS ? n - n0 : ROWS;
            for (long k = 0; k < here; ++k)
                for (long i = 0; i < count; ++i) x[k * TILE + i] = w[(n0 + k) * stride_w + tile + i];
            if (take) {
                long j = 0;
                for (; j + ROWS <= m; j += ROWS)
                    take_out_4(rows + j * stride, stride, c + j * n + n0, n, x, here, count);
                for (; j < m; ++j) take_out_1(rows + j * stride, stride, c + j * n + n0, n, x, here, count);
                for (long k = 0; k < here; ++k)
                    for (long i = 0; i < count; ++i) {
                        const REAL rounded = x[k * TILE + i];
                        w[(n0 + k) * stride_w + tile + i] = rounded;
                        x[k * TILE + i] = rounded;
                    }
            }
            if (sum) add_overlaps(rows, stride, m, x, here, count, out + n0, n);
        }
    }
}
"""


class NativeProjections:
    """Those of a compiled library, for real vectors whose components lie side by side."""

    def __init__(self, project: Kernel):
        self._project = project

    def overlaps(self, basis_mx: torch.Tensor, w_nx: torch.Tensor) -> torch.Tensor:
        """As in the plain twin."""
        return self._runs(basis_mx, None, w_nx, True)

    def take_out(self, basis_mx: torch.Tensor, c_mn: torch.Tensor, w_nx: torch.Tensor) -> None:
        """As in the plain twin."""
        self._runs(basis_mx, c_mn, w_nx, False)

    def take_out_and_overlap(self, basis_mx: torch.Tensor, c_mn: torch.Tensor, w_nx: torch.Tensor) -> torch.Tensor:
        """As in the plain twin, in one reading of the basis."""
        return self._runs(basis_mx, c_mn, w_nx, True)

    def _runs(
        self, basis_mx: torch.Tensor, c_mn: torch.Tensor | None, w_nx: torch.Tensor, overlap: bool
    ) -> torch.Tensor:
        """Run after run of components; the sums (m, n) where they are asked for."""
        (count_m, size), count_n = basis_mx.shape, len(w_nx)
        starts = range(0, size, RUN)
        sum_rmn = torch.zeros((len(starts) if overlap else 0, count_m, count_n), dtype=torch.float64)
        taken_mn = None if c_mn is None else c_mn.contiguous()

        def run(number: int) -> None:
            self._project(
                basis_mx.data_ptr(), w_nx.data_ptr(), 0 if taken_mn is None else taken_mn.data_ptr(),
                sum_rmn[number].data_ptr() if overlap else 0, basis_mx.stride(0), w_nx.stride(0), count_m, count_n,
                starts[number], min(starts[number] + RUN, size), int(taken_mn is not None), int(overlap),
            )  # fmt: skip

        each(run, range(len(starts)), torch.get_num_threads())
        return sum_rmn.sum(0)


def projections(dtype: torch.dtype) -> NativeProjections | None:
    """Those for vectors of this type; None where they cannot be compiled."""
    found = kernel(f"{PRELUDE}#define REAL {C_REAL[dtype]}\n{SOURCE}", "project")
    return None if found is None else NativeProjections(found)
