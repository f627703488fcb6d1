"""Many small Hermitian eigenproblems at once on a GPU: one thread block solves one matrix in its shared memory.

Libraries solve batches of matrices with more than 32 rows one after the other (64 of 64 rows: 49 ms on an H200).

A = Q T Q^H by Householder reflections, T real and tridiagonal; T = Z e Z^T by implicit QL with Wilkinson's shift;
eigenvectors Q Z.  Source: H. Bowdler, R. S. Martin, C. Reinsch and J. H. Wilkinson, Numer. Math. 11, 293 (1968);
R. S. Martin, C. Reinsch and J. H. Wilkinson, ibid. 11, 181 (1968).  The rotations of one QL sweep are found by one
thread while the others turn Z by those of the sweep before.  The plain twin is `torch.linalg.eigh`.
"""

import torch

from eigenwerk.parallel.kernels.cuda import Kernel, can_compile, integer, kernel, pointer

THREADS = 512
SHARED_BYTES = 232448 - 1536
"""Dynamic shared memory that a thread block may have on compute capability 9.0, less what the kernel has fixed."""

SOURCE = r"""
typedef long long i64;
#define ALL 0xffffffffu
#define MOST_SWEEPS 40
#define GO_ON 0
#define DONE 1
#define FAILED 2

struct Complex { double re, im; };
__device__ inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
__device__ inline Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
__device__ inline Complex operator*(Complex a, Complex b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
__device__ inline Complex operator*(double s, Complex a) { return {s * a.re, s * a.im}; }
__device__ inline Complex conj(Complex a) { return {a.re, -a.im}; }
__device__ inline double real(Complex a) { return a.re; }
__device__ inline double imag(Complex a) { return a.im; }
__device__ inline double square(Complex a) { return a.re * a.re + a.im * a.im; }
__device__ inline Complex inverse(Complex a) { double s = 1 / square(a); return {s * a.re, -s * a.im}; }
__device__ inline void put(Complex& a, double re, double im) { a.re = re; a.im = im; }
__device__ inline double across(double a, int d) { return __shfl_xor_sync(ALL, a, d); }
__device__ inline Complex across(Complex a, int d) { return {across(a.re, d), across(a.im, d)}; }
__device__ inline double conj(double a) { return a; }
__device__ inline double real(double a) { return a; }
__device__ inline double imag(double a) { return 0; }
__device__ inline double square(double a) { return a * a; }
__device__ inline double inverse(double a) { return 1 / a; }
__device__ inline void put(double& a, double re, double im) { a = re; }

template <class T> __device__ inline T warp_sum(T a)
{
    for (int d = 16; d; d >>= 1) a = a + across(a, d);
    return a;
}

// Sum over the block of one value of each thread; `room` has a place for every warp.
template <class T> __device__ T block_sum(T a, T* room)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    a = warp_sum(a);
    __syncthreads();
    if (lane == 0) room[warp] = a;
    __syncthreads();
    T none;
    put(none, 0, 0);
    return warp_sum(lane < warps ? room[lane] : none);
}

// Householder reflections to tridiagonal form: d, e; column i of a below the diagonal keeps the vector of reflection i,
// scale[i] its factor.  part: (groups, n) room.
__device__ void tridiagonal(NUMBER* a, int n, int ld, double* d, double* e, NUMBER* scale, NUMBER* y, NUMBER* part)
{
    const int t = threadIdx.x, threads = blockDim.x, rows = (n + 31) & ~31;
    const int groups = threads / rows, r = t % rows, group = t / rows;
    for (int i = 0; i + 1 < n; ++i) {
        // reflection H = 1 - tau v v^H with v[i + 1] = 1 that turns a[i + 1 ..][i] into beta
        double tail = 0;
        for (int j = i + 2 + t; j < n; j += threads) tail += square(a[j + i * ld]);
        __shared__ double room[32];
        tail = block_sum(tail, room);
        const NUMBER alpha = a[i + 1 + i * ld];
        NUMBER tau, factor;
        put(tau, 0, 0);
        put(factor, 0, 0);
        double beta = real(alpha);
        if (tail > 0 || imag(alpha) != 0) {
            beta = -copysign(sqrt(square(alpha) + tail), real(alpha));
            put(tau, (beta - real(alpha)) / beta, -imag(alpha) / beta);
            NUMBER shifted = alpha;
            put(shifted, real(alpha) - beta, imag(alpha));
            factor = inverse(shifted);
        }
        __syncthreads();
        for (int j = i + 2 + t; j < n; j += threads) a[j + i * ld] = a[j + i * ld] * factor;
        if (t == 0) {
            d[i] = real(a[i + i * ld]);
            e[i] = beta;
            scale[i] = tau;
            put(a[i + 1 + i * ld], 1, 0);
        }
        __syncthreads();
        // y = tau A v on the trailing part, by groups of columns
        const NUMBER* v = a + i * ld;
        if (group < groups) {
            NUMBER sum;
            put(sum, 0, 0);
            if (r > i && r < n)
                for (int c = i + 1 + group; c < n; c += groups) sum = sum + a[r + c * ld] * v[c];
            part[group * rows + r] = sum;
        }
        __syncthreads();
        NUMBER along;
        put(along, 0, 0);
        for (int j = i + 1 + t; j < n; j += threads) {
            NUMBER sum = part[j];
            for (int g = 1; g < groups; ++g) sum = sum + part[g * rows + j];
            y[j] = tau * sum;
            along = along + conj(y[j]) * v[j];
        }
        __shared__ NUMBER wide_room[32];
        along = block_sum(along, wide_room);
        const NUMBER half = 0.5 * (tau * along);
        for (int j = i + 1 + t; j < n; j += threads) y[j] = y[j] - half * v[j];
        __syncthreads();
        // A -= v w^H + w v^H
        if (group < groups && r > i && r < n)
            for (int c = i + 1 + group; c < n; c += groups)
                a[r + c * ld] = a[r + c * ld] - (v[r] * conj(y[c]) + y[r] * conj(v[c]));
        __syncthreads();
    }
    if (t == 0) {
        d[n - 1] = real(a[n - 1 + (n - 1) * ld]);
        e[n - 1] = 0;
    }
    __syncthreads();
}

// One sweep of implicit QL by the first warp, for the eigenvalue l or the next one that is not found yet: rotations
// cs = (c, s) of the neighbours first ... last (and one more), downwards from last.  Returns what to do next.
__device__ int sweep(int n, double* d, double* e, double2* cs, int* first, int* last, int* l, int* count)
{
    const int lane = threadIdx.x;
    int low = *l, high = n - 1, sweeps = *count;
    for (; low < n - 1; ++low, sweeps = 0) {
        // the first negligible off-diagonal element from low on
        high = n - 1;
        for (int base = low; base < n - 1; base += 32) {
            const int i = base + lane;
            bool small = false;
            if (i < n - 1) {
                const double size = fabs(d[i]) + fabs(d[i + 1]);
                small = fabs(e[i]) + size == size;
            }
            const unsigned found = __ballot_sync(ALL, small);
            if (found) { high = base + __ffs(found) - 1; break; }
        }
        if (high != low) break;
    }
    if (low == n - 1) return DONE;
    if (sweeps == MOST_SWEEPS) return FAILED;
    __syncwarp();
    if (lane == 0) {
        double g = (d[low + 1] - d[low]) / (2 * e[low]);
        g = d[high] - d[low] + e[low] / (g + copysign(sqrt(g * g + 1), g));
        double s = 1, c = 1, p = 0;
        int i = high - 1;
        for (; i >= low; --i) {
            const double f = s * e[i], b = c * e[i], length = f * f + g * g;
            if (length == 0) {  // the matrix falls apart here
                d[i + 1] -= p;
                e[i + 1] = e[high] = 0;
                break;
            }
            const double over = rsqrt(length);
            e[i + 1] = length * over;
            s = f * over;
            c = g * over;
            g = d[i + 1] - p;
            const double r = (d[i] - g) * s + 2 * c * b;
            p = s * r;
            d[i + 1] = g + p;
            g = c * r - b;
            cs[i] = make_double2(c, s);
        }
        if (i < low) {
            d[low] -= p;
            e[low] = g;
            e[high] = 0;
        }
        *l = low;
        *count = sweeps + 1;
        *first = i + 1;
        *last = high - 1;
    }
    __syncwarp();
    return GO_ON;
}

// in: (k, n, n) by rows, the lower triangle counts.  values: (k, n) ascending; vectors: (k, n, n), row j is the
// eigenvector j.  failed[k]: 1 where QL did not converge.
extern "C" __global__ void __launch_bounds__(512) small_eigh(
    const NUMBER* in, double* values, NUMBER* vectors, int* failed, i64 size)
{
    extern __shared__ double2 memory[];
    const int n = (int)size, ld = n | 1, t = threadIdx.x, threads = blockDim.x, rows = (n + 31) & ~31;
    NUMBER* a = (NUMBER*)memory;
    NUMBER* scale = a + (i64)n * ld;
    NUMBER* y = scale + n;
    double2* rotations = (double2*)(((i64)(y + n) + 15) & ~15ll);
    double* d = (double*)(rotations + 2 * n);
    double* e = d + n;
    double* z = e + n;  // (n, n) by columns; before: room for 512 partial sums
    int* rank = (int*)(z + max(n * n, 1024));
    __shared__ int first[2], last[2], state[2], l, count;
    __shared__ double room[32];

    const NUMBER* source = in + (i64)blockIdx.x * n * n;
    double largest = 0;
    for (int x = t; x < n * n; x += threads) {
        const int r = x / n, c = x - r * n;
        if (c <= r) {
            NUMBER value = source[x];
            if (c == r) put(value, real(value), 0);
            a[r + c * ld] = value;
            a[c + r * ld] = conj(value);
            largest += square(value);
        }
    }
    // unit scale: squares neither overflow nor vanish
    const double norm = sqrt(block_sum(largest, room)), down = norm > 0 ? 1 / norm : 1;
    __syncthreads();
    for (int x = t; x < n * ld; x += threads) a[x] = down * a[x];
    __syncthreads();
    tridiagonal(a, n, ld, d, e, scale, y, (NUMBER*)z);

    for (int x = t; x < n * n; x += threads) z[x] = x / n == x % n;
    if (t == 0) { l = count = 0; first[1] = 1; last[1] = 0; }
    __syncthreads();
    for (int turn = 0;; turn ^= 1) {
        if (t < 32) {
            const int next = sweep(n, d, e, rotations + turn * n, first + turn, last + turn, &l, &count);
            if (t == 0) state[turn] = next;
        } else {  // the sweep before
            const double2* cs = rotations + (turn ^ 1) * n;
            const int low = first[turn ^ 1], high = last[turn ^ 1];
            for (int r = t - 32; r < n && low <= high; r += threads - 32) {
                double upper = z[r + (high + 1) * n];
                for (int i = high; i >= low; --i) {
                    const double2 turned = cs[i];
                    const double lower = z[r + i * n];
                    z[r + (i + 1) * n] = turned.y * lower + turned.x * upper;
                    upper = turned.x * lower - turned.y * upper;
                }
                z[r + low * n] = upper;
            }
        }
        __syncthreads();
        if (state[turn] != GO_ON) {
            if (t == 0) failed[blockIdx.x] = state[turn] == FAILED;
            break;
        }
    }

    for (int j = t; j < n; j += threads) {
        int place = 0;
        for (int i = 0; i < n; ++i) place += d[i] < d[j] || (d[i] == d[j] && i < j);
        rank[j] = place;
        values[(i64)blockIdx.x * n + place] = norm * d[j];
    }
    __syncthreads();
    // Q Z: a warp turns one column at a time, in registers
    const int lane = t & 31, warp = t >> 5, warps = threads >> 5;
    NUMBER* target = vectors + (i64)blockIdx.x * n * n;
    for (int j = warp; j < n; j += warps) {
        NUMBER column[4];
        #pragma unroll
        for (int q = 0; q < 4; ++q) put(column[q], lane + 32 * q < n ? z[lane + 32 * q + j * n] : 0, 0);
        for (int i = n - 2; i >= 0; --i) {
            const NUMBER* v = a + i * ld;
            NUMBER along, part[4];
            put(along, 0, 0);
            #pragma unroll
            for (int q = 0; q < 4; ++q) {
                const int r = lane + 32 * q;
                put(part[q], 0, 0);
                if (r > i && r < n) part[q] = v[r];
                along = along + conj(part[q]) * column[q];
            }
            along = scale[i] * warp_sum(along);
            #pragma unroll
            for (int q = 0; q < 4; ++q) column[q] = column[q] - along * part[q];
        }
        #pragma unroll
        for (int q = 0; q < 4; ++q)
            if (lane + 32 * q < n) target[(i64)rank[j] * n + lane + 32 * q] = column[q];
    }
}
"""


def shared_bytes(size: int, dtype: torch.dtype) -> int:
    """Dynamic shared memory for a matrix of `size` rows."""
    reflections = dtype.itemsize * size * ((size | 1) + 2) + 16
    real_vectors = 8 * 6 * size + 4 * size
    return reflections + real_vectors + 8 * max(size**2, 2 * THREADS)


def fits(size: int, dtype: torch.dtype) -> bool:
    """Whether `solve` takes matrices of so many rows: up to 96 complex and 117 real ones, in double precision."""
    double = dtype in (torch.float64, torch.complex128)
    return double and 1 < size <= 128 and shared_bytes(size, dtype) <= SHARED_BYTES and can_compile()


def program(dtype: torch.dtype, device: torch.device) -> Kernel:
    """The kernel for real or complex matrices, compiled when it is asked for first."""
    return kernel(SOURCE, "small_eigh", device.index or 0, f"NUMBER={'Complex' if dtype.is_complex else 'double'}")


def solve(h_kmm: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(ascending eigenvalues (k, m), columns (k, m, m)) of Hermitian matrices on a GPU; their lower triangles count.

    Raises torch.linalg.LinAlgError where QL does not converge, which means NaN or infinity.
    """
    problems, size, _ = h_kmm.shape
    h_kmm = h_kmm.contiguous()
    eig_km = torch.empty((problems, size), dtype=torch.float64, device=h_kmm.device)
    vector_kjm, failed_k = torch.empty_like(h_kmm), torch.empty(problems, dtype=torch.int32, device=h_kmm.device)
    compiled = program(h_kmm.dtype, h_kmm.device)
    tensors = [pointer(tensor) for tensor in (h_kmm, eig_km, vector_kjm, failed_k)]
    with torch.cuda.device(h_kmm.device):
        compiled.with_shared(shared_bytes(size, h_kmm.dtype))((problems, 1, 1), THREADS, *tensors, integer(size))
    if bool(failed_k.any()):
        bad = failed_k.nonzero()[:, 0].tolist()
        raise torch.linalg.LinAlgError(f"The QL iteration did not converge for the matrices {bad} of {problems}.")
    return eig_km, vector_kjm.mT
