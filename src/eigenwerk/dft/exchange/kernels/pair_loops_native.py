"""Loops for pair densities as compiled C; the plain twin is `pair_loops`.  A thread calls them for pairs of its own."""

import torch

from eigenwerk.dft.exchange.kernels.pair_loops import PairLoops
from eigenwerk.dft.exchange.pairs.pair_charges import PairCharges
from eigenwerk.parallel.kernels.cpu import PRELUDE, Kernel, kernel

SOURCE = """
/* out[n, t, r] = conj(u_n[r]) u_t[r] */
void form(const REAL* u_n, const REAL* u_t, REAL* restrict out, long real, long N, long T, long R)
{
    for (long n = 0; n < N; ++n)
        for (long t = 0; t < T; ++t) {
            const REAL* restrict f = u_t + 2 * t * R;
            REAL* restrict o = out + 2 * (n * T + t) * R;
            if (real) {
                const REAL* restrict u = u_n + n * R;
                for (long r = 0; r < R; ++r) { o[2*r] = u[r] * f[2*r]; o[2*r+1] = u[r] * f[2*r+1]; }
            } else {
                const REAL* restrict u = u_n + 2 * n * R;
                for (long r = 0; r < R; ++r) {
                    o[2*r] = u[2*r] * f[2*r] + u[2*r+1] * f[2*r+1];
                    o[2*r+1] = u[2*r] * f[2*r+1] - u[2*r+1] * f[2*r];
                }
            }
        }
}

/* out[x] += sum over L of Q[x, a, L] g_L phase at the points of the spheres of some atoms */
void charge(const REAL* q, const long* index, const REAL* table, const REAL* phase, const long* atom, REAL* out,
            long phased, long atoms, long P, long A, long X, long R)
{
    REAL re[P], im[P];
    for (long x = 0; x < X; ++x)
        for (long a = 0; a < atoms; ++a) {
            const REAL* restrict g = table + a * HARMONICS * P;
            const REAL* restrict c = q + 2 * (x * A + atom[a] * HARMONICS);
            const long* restrict at = index + a * P;
            for (long p = 0; p < P; ++p) {
                REAL sx = 0, sy = 0;
                for (int L = 0; L < HARMONICS; ++L) { sx += c[2*L] * g[L*P+p]; sy += c[2*L+1] * g[L*P+p]; }
                re[p] = sx; im[p] = sy;
            }
            REAL* o = out + 2 * x * R;
            if (phased) {
                const REAL* restrict f = phase + 2 * a * P;
                for (long p = 0; p < P; ++p) {
                    o[2*at[p]] += re[p] * f[2*p] - im[p] * f[2*p+1];
                    o[2*at[p]+1] += re[p] * f[2*p+1] + im[p] * f[2*p];
                }
            } else
                for (long p = 0; p < P; ++p) { o[2*at[p]] += re[p]; o[2*at[p]+1] += im[p]; }
        }
}

/* out[x, a, L] = scale * sum over the points of spheres of g_L conj(phase) V */
void integrate(const REAL* field, const long* index, const REAL* table, const REAL* phase, const long* atom, REAL* out,
               const double* scale, long phased, long atoms, long P, long A, long X, long R)
{
    REAL re[P], im[P];
    for (long x = 0; x < X; ++x)
        for (long a = 0; a < atoms; ++a) {
            const REAL* restrict g = table + a * HARMONICS * P;
            const REAL* v = field + 2 * x * R;
            const long* restrict at = index + a * P;
            for (long p = 0; p < P; ++p) { re[p] = v[2*at[p]]; im[p] = v[2*at[p]+1]; }
            if (phased) {
                const REAL* restrict f = phase + 2 * a * P;
                for (long p = 0; p < P; ++p) {
                    const REAL vx = re[p], vy = im[p];
                    re[p] = vx * f[2*p] + vy * f[2*p+1];
                    im[p] = vy * f[2*p] - vx * f[2*p+1];
                }
            }
            REAL* o = out + 2 * (x * A + atom[a] * HARMONICS);
            for (int L = 0; L < HARMONICS; ++L) {
                const REAL* restrict h = g + L * P;
                REAL sx = 0, sy = 0;
                #pragma omp simd reduction(+:sx, sy)
                for (long p = 0; p < P; ++p) { sx += h[p] * re[p]; sy += h[p] * im[p]; }
                o[2*L] = *scale * sx; o[2*L+1] = *scale * sy;
            }
        }
}

/* slope[a, L, p] += sum over x of Re conj(Q[x, a, L]) conj(phase) V at the points of the spheres of some atoms */
void feel(const REAL* field, const long* index, const REAL* q, const REAL* phase, const long* atom, double* slope,
          long phased, long atoms, long P, long A, long X, long R)
{
    REAL re[P], im[P];
    for (long a = 0; a < atoms; ++a)
        for (long x = 0; x < X; ++x) {
            const REAL* v = field + 2 * x * R;
            const REAL* restrict c = q + 2 * (x * A + atom[a] * HARMONICS);
            const long* restrict at = index + a * P;
            for (long p = 0; p < P; ++p) { re[p] = v[2*at[p]]; im[p] = v[2*at[p]+1]; }
            if (phased) {
                const REAL* restrict f = phase + 2 * a * P;
                for (long p = 0; p < P; ++p) {
                    const REAL vx = re[p], vy = im[p];
                    re[p] = vx * f[2*p] + vy * f[2*p+1];
                    im[p] = vy * f[2*p] - vx * f[2*p+1];
                }
            }
            for (int L = 0; L < HARMONICS; ++L) {
                double* restrict s = slope + (a * HARMONICS + L) * P;
                const REAL cx = c[2*L], cy = c[2*L+1];
                for (long p = 0; p < P; ++p) s[p] += cx * re[p] + cy * im[p];
            }
        }
}

/* out[n, r] += sum over t of u_t[r] conj(V[n, t, r]) */
void mirror(const REAL* field, const REAL* u_t, double* out, long N, long T, long R)
{
    for (long n = 0; n < N; ++n)
        for (long t = 0; t < T; ++t) {
            const REAL* restrict v = field + 2 * (n * T + t) * R;
            const REAL* restrict u = u_t + 2 * t * R;
            double* restrict o = out + 2 * n * R;
            for (long r = 0; r < R; ++r) {
                o[2*r] += u[2*r] * v[2*r] + u[2*r+1] * v[2*r+1];
                o[2*r+1] += u[2*r+1] * v[2*r] - u[2*r] * v[2*r+1];
            }
        }
}

/* out[r] += sum over x of w_x |field[x, r]|^2 */
void squares(const REAL* restrict field, const double* weight, double* restrict out, long X, long R)
{
    for (long x = 0; x < X; ++x) {
        const REAL* restrict v = field + 2 * x * R;
        for (long r = 0; r < R; ++r) out[r] += weight[x] * (v[2*r] * v[2*r] + v[2*r+1] * v[2*r+1]);
    }
}

void multiply(REAL* restrict field, const REAL* restrict kernel, long X, long R)
{
    for (long x = 0; x < X; ++x)
        for (long r = 0; r < R; ++r) { field[2*(x*R+r)] *= kernel[r]; field[2*(x*R+r)+1] *= kernel[r]; }
}

/* out[t, r] += sum over n of w_n u_n[r] V[n, t, r] */
void accumulate(const REAL* field, const REAL* u_n, const REAL* weight, double* out, long real, long N, long T, long R)
{
    for (long n = 0; n < N; ++n)
        for (long t = 0; t < T; ++t) {
            const REAL w = weight[n];
            const REAL* restrict v = field + 2 * (n * T + t) * R;
            double* restrict o = out + 2 * t * R;
            if (real) {
                const REAL* restrict u = u_n + n * R;
                for (long r = 0; r < R; ++r) { o[2*r] += w * u[r] * v[2*r]; o[2*r+1] += w * u[r] * v[2*r+1]; }
            } else {
                const REAL* restrict u = u_n + 2 * n * R;
                for (long r = 0; r < R; ++r) {
                    o[2*r] += w * (u[2*r] * v[2*r] - u[2*r+1] * v[2*r+1]);
                    o[2*r+1] += w * (u[2*r] * v[2*r+1] + u[2*r+1] * v[2*r]);
                }
            }
        }
}
"""

C_REAL = {torch.complex64: "float", torch.complex128: "double"}


class NativeLoops(PairLoops):
    """Those of a compiled library."""

    def __init__(self, source: str):
        names = ("form", "charge", "integrate", "multiply", "accumulate", "feel", "squares", "mirror")
        found = [_found(source, name) for name in names]
        self._form, self._charge, self._integrate, self._multiply, self._accumulate, *others = found
        self._feel, self._squares, self._mirror = others

    def form(
        self, u_nR: torch.Tensor, u_tR: torch.Tensor, charge_xA: torch.Tensor, charges: PairCharges,
        phase_qS: torch.Tensor | None, q_n: torch.Tensor,
    ) -> torch.Tensor:  # fmt: skip
        """As in the plain twin."""
        phase_S = None if phase_qS is None else phase_qS[_only(q_n)]
        count_n, count_t, points = len(u_nR), len(u_tR), u_tR.shape[1]
        grid_xR = u_tR.new_empty((count_n * count_t, points))
        u_nR, u_tR, charge_xA = u_nR.contiguous(), u_tR.contiguous(), charge_xA.contiguous()
        real = int(not u_nR.is_complex())
        self._form(u_nR.data_ptr(), u_tR.data_ptr(), grid_xR.data_ptr(), real, count_n, count_t, points)
        for part in charges.parts:
            atoms, _, count = part.table_aLP.shape
            self._charge(
                charge_xA.data_ptr(), charges.index_S[part.points].data_ptr(), part.table_aLP.data_ptr(),
                0 if phase_S is None else phase_S[part.points].data_ptr(), part.atom_a.data_ptr(), grid_xR.data_ptr(),
                int(phase_S is not None), atoms, count, charge_xA.shape[1], len(charge_xA), points,
            )  # fmt: skip
        return grid_xR

    def multiply(self, grid_xR: torch.Tensor, kernel_qR: torch.Tensor, q_n: torch.Tensor) -> None:
        """As in the plain twin."""
        self._multiply(grid_xR.data_ptr(), kernel_qR[_only(q_n)].data_ptr(), *grid_xR.shape)

    def integrals(
        self, field_xR: torch.Tensor, charges: PairCharges, phase_qS: torch.Tensor | None, q_n: torch.Tensor,
        scale: float,
    ) -> torch.Tensor:  # fmt: skip
        """As in the plain twin."""
        phase_S = None if phase_qS is None else phase_qS[_only(q_n)]
        out_xA = field_xR.new_empty((len(field_xR), charges.atoms * charges.harmonics))
        factor = torch.tensor(scale, dtype=torch.float64)
        for part in charges.parts:
            atoms, _, count = part.table_aLP.shape
            self._integrate(
                field_xR.data_ptr(), charges.index_S[part.points].data_ptr(), part.table_aLP.data_ptr(),
                0 if phase_S is None else phase_S[part.points].data_ptr(), part.atom_a.data_ptr(), out_xA.data_ptr(),
                factor.data_ptr(), int(phase_S is not None), atoms, count, out_xA.shape[1], *field_xR.shape,
            )  # fmt: skip
        return out_xA

    def accumulate(
        self, field_xR: torch.Tensor, u_nR: torch.Tensor, weight_n: torch.Tensor, out_tR: torch.Tensor
    ) -> None:
        """As in the plain twin."""
        u_nR, weight_n = u_nR.contiguous(), weight_n.to(field_xR.real.dtype).contiguous()
        self._accumulate(
            field_xR.data_ptr(), u_nR.data_ptr(), weight_n.data_ptr(), out_tR.data_ptr(), int(not u_nR.is_complex()),
            len(u_nR), len(out_tR), out_tR.shape[1],
        )  # fmt: skip

    def mirror(self, field_xR: torch.Tensor, u_tR: torch.Tensor, out_nR: torch.Tensor) -> None:
        """As in the plain twin."""
        u_tR = u_tR.contiguous()
        self._mirror(field_xR.data_ptr(), u_tR.data_ptr(), out_nR.data_ptr(), len(out_nR), *u_tR.shape)

    def add_squares(
        self, density_xR: torch.Tensor, weight_x: torch.Tensor, q_n: torch.Tensor, out_qR: torch.Tensor
    ) -> None:
        """As in the plain twin."""
        weight_x, out_R = weight_x.contiguous(), out_qR[_only(q_n)]
        self._squares(density_xR.data_ptr(), weight_x.data_ptr(), out_R.data_ptr(), *density_xR.shape)

    def add_table_slopes(
        self, field_xR: torch.Tensor, charge_xA: torch.Tensor, charges: PairCharges, phase_qS: torch.Tensor | None,
        q_n: torch.Tensor, slope_y: torch.Tensor,
    ) -> None:  # fmt: skip
        """As in the plain twin."""
        phase_S = None if phase_qS is None else phase_qS[_only(q_n)]
        charge_xA = charge_xA.contiguous()
        for part in charges.parts:
            atoms, _, count = part.table_aLP.shape
            self._feel(
                field_xR.data_ptr(), charges.index_S[part.points].data_ptr(), charge_xA.data_ptr(),
                0 if phase_S is None else phase_S[part.points].data_ptr(), part.atom_a.data_ptr(),
                part.of_tables(slope_y).data_ptr(), int(phase_S is not None), atoms, count, charge_xA.shape[1],
                *field_xR.shape,
            )  # fmt: skip


def _only(q_n: torch.Tensor) -> int:
    """The wave vector of all sources: on a processor those of one point are taken at a time."""
    q = int(q_n[0])
    assert bool((q_n == q).all())
    return q


def _found(source: str, name: str) -> Kernel:
    function = kernel(source, name)
    assert function is not None
    return function


def loops(device: torch.device, dtype: torch.dtype, harmonics: int) -> NativeLoops | None:
    """Those for complex numbers of this type; None where they cannot be compiled."""
    source = f"{PRELUDE}#define REAL {C_REAL[dtype]}\n#define HARMONICS {harmonics}\n{SOURCE}"
    return None if kernel(source, "form") is None else NativeLoops(source)
