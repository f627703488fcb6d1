// Pair densities, their potentials and what these make of orbitals in three passes over memory, with the Fourier
// transforms inside: planes there, columns there and back, planes back.  Grid of N1 x N2 x N3 points, the last fastest.
//
// A line of N = A B points is transformed by threads in two steps: with n = B a + b and k = k1 + A k2
//     X(k) = sum_b w_N^(b k1) w_B^(b k2) [ sum_a w_A^(a k1) x(n) ],   w_N = exp(-2 pi i / N),
// sums over a and b in registers.  Between the steps numbers change threads through shared memory.
// Between the passes columns along the first axis are kept that the sphere of waves touches, J of N2 N3.
// Macros: REAL, HARMONICS, N1, A1, B1, ..., THREADS, TILE (columns of a block), PITCH (rows from one k1 to the next),
// TOGETHER (planes of as many sources in shared memory: tables of charges and u_t are read once for all).

// Complex numbers and transforms in registers: short_transforms.cu, which stands before this file.

#define ROUNDS(tasks) (((tasks) + THREADS - 1) / THREADS)
#define STRIDE (N3 | 1)  // odd: rows begin in different banks
#define PLANE ((A2 * PITCH > N2 ? A2 * PITCH : N2) * STRIDE)
#ifndef SHARED
#define SHARED(type, name) extern __shared__ __align__(16) char name##_bytes[]; type* name = (type*)name##_bytes
#endif

// w_N^m for m < N; table: those of the three axes, one after the other
__device__ inline void fetch_turns(complex_t* w, const complex_t* table, int count)
{
    for (int i = threadIdx.x; i < count; i += THREADS) w[i] = table[i];
}

// field[n, t, x, j] = planes of conj(u_n) u_t + charges, transformed; blocks (x, t) go through all n.  Charges are put in
// their places first, by threads that follow the list of points i that have any, entries e from begin[i] on; mask: points
// with charges.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) planes_there(
    const REAL* u_n, long long real_sources, const complex_t* u_t, const complex_t* charge, const unsigned char* mask,
    const int* first, const int* address, const int* begin, const int* atom, const REAL* table, const complex_t* phase,
    const long long* q_n, const int* column, const complex_t* turns, complex_t* field, long long J, long long count_n,
    long long count_t, long long A, long long E)
{
    SHARED(complex_t, shared);
    complex_t *planes = shared, *w2 = shared + TOGETHER * PLANE, *w3 = w2 + N2;
    const long long x = blockIdx.x, t = blockIdx.y, R = (long long)N1 * N2 * N3, here = x * N2 * N3;
    fetch_turns(w2, turns + N1, N2 + N3);
    for (long long n0 = 0; n0 < count_n; n0 += TOGETHER) {
        const int count = count_n - n0 < TOGETHER ? (int)(count_n - n0) : TOGETHER;
        __syncthreads();
        for (int i = first[x] + threadIdx.x; i < first[x + 1]; i += THREADS) {
            complex_t v[TOGETHER];
            #pragma unroll
            for (int m = 0; m < TOGETHER; ++m) v[m] = {0, 0};
            const int last = begin[i + 1];
            for (int e = begin[i]; e < last; ++e) {
                REAL g[HARMONICS];
                #pragma unroll
                for (int L = 0; L < HARMONICS; ++L) g[L] = table[L * E + e];
                const long long to = (long long)atom[e] * HARMONICS;
                #pragma unroll
                for (int m = 0; m < TOGETHER; ++m) {
                    const long long n = m < count ? n0 + m : n0;
                    const complex_t* q = charge + (n * count_t + t) * A + to;
                    complex_t sum = {0, 0};
                    #pragma unroll
                    for (int L = 0; L < HARMONICS; ++L) {
                        const complex_t one = q[L];
                        sum.x += one.x * g[L];
                        sum.y += one.y * g[L];
                    }
                    if (phase) sum = times(sum, phase[q_n[n] * E + e]);
                    v[m] = add(v[m], sum);
                }
            }
            #pragma unroll
            for (int m = 0; m < TOGETHER; ++m) planes[m * PLANE + address[i]] = v[m];
        }
        __syncthreads();
        #pragma unroll
        for (int round = 0; round < ROUNDS(N3 * B2); ++round) {
            const int task = threadIdx.x + round * THREADS, b = task / N3, z = task % N3;
            if (b >= B2) break;
            complex_t v[TOGETHER][A2];
            #pragma unroll
            for (int a = 0; a < A2; ++a) {
                const long long r = here + (B2 * a + b) * N3 + z;
                const complex_t ut = u_t[t * R + r];
                const bool charged = mask[r];
                #pragma unroll
                for (int m = 0; m < TOGETHER; ++m) {
                    const long long n = m < count ? n0 + m : n0;
                    if (real_sources) {
                        const REAL un = u_n[n * R + r];
                        v[m][a] = {un * ut.x, un * ut.y};
                    } else v[m][a] = times_conjugate(ut, ((const complex_t*)u_n)[n * R + r]);
                    if (charged) v[m][a] = add(v[m][a], planes[m * PLANE + (a * PITCH + b) * STRIDE + z]);
                }
            }
            #pragma unroll
            for (int m = 0; m < TOGETHER; ++m) {
                Short<A2, -1>::run(v[m]);
                #pragma unroll
                for (int k = 0; k < A2; ++k)
                    planes[m * PLANE + (k * PITCH + b) * STRIDE + z] = k ? times(v[m][k], w2[b * k]) : v[m][k];
            }
        }
        __syncthreads();
        for (int task = threadIdx.x; task < count * N3 * A2; task += THREADS) {
            const int k = task / N3 % A2, z = task % N3;
            complex_t *plane = planes + task / (N3 * A2) * PLANE, v[B2];
            #pragma unroll
            for (int b = 0; b < B2; ++b) v[b] = plane[(k * PITCH + b) * STRIDE + z];
            Short<B2, -1>::run(v);
            #pragma unroll
            for (int b = 0; b < B2; ++b) plane[(k * PITCH + b) * STRIDE + z] = v[b];  // the wave k + A2 b
        }
        __syncthreads();
        for (int task = threadIdx.x; task < count * N2 * B3; task += THREADS) {
            const int b = task / N2 % B3, y = task % N2, row = y % A2 * PITCH + y / A2;
            complex_t *plane = planes + task / (N2 * B3) * PLANE, z[A3];
            #pragma unroll
            for (int a = 0; a < A3; ++a) z[a] = plane[row * STRIDE + B3 * a + b];
            Short<A3, -1>::run(z);
            #pragma unroll
            for (int k = 0; k < A3; ++k) plane[row * STRIDE + B3 * k + b] = k ? times(z[k], w3[b * k]) : z[k];
        }
        __syncthreads();
        for (int task = threadIdx.x; task < count * N2 * A3; task += THREADS) {
            const int k = task / N2 % A3, y = task % N2, row = y % A2 * PITCH + y / A2, m = task / (N2 * A3);
            complex_t *plane = planes + m * PLANE, *out = field + (((n0 + m) * count_t + t) * N1 + x) * J, z[B3];
            #pragma unroll
            for (int b = 0; b < B3; ++b) z[b] = plane[row * STRIDE + B3 * k + b];
            Short<B3, -1>::run(z);
            #pragma unroll
            for (int b = 0; b < B3; ++b) {
                const int j = column[(k + A3 * b) * N2 + y];
                if (j >= 0) out[j] = z[b];
            }
        }
    }
}

// field[n, t, :, j]: transformed, times the interaction of n's wave vector, and back; blocks (columns, n) go through
// targets t0, t0 + step, ...; square[n, t0, x, j], if wanted: sum over these of weight_nt |field|^2 between the transforms
extern "C" __global__ void __launch_bounds__(COLUMN_THREADS) columns(
    complex_t* field, const REAL* interaction, const long long* q_n, const complex_t* turns, const REAL* weight,
    REAL* square, long long J, long long count_t)
{
    SHARED(complex_t, shared);
    complex_t *tile = shared, *w1 = shared + N1 * TILE;
    for (int i = threadIdx.x; i < N1; i += COLUMN_THREADS) w1[i] = turns[i];
    const int lane = threadIdx.x % TILE, row = threadIdx.x / TILE;
    const long long j = (long long)blockIdx.x * TILE + lane, n = blockIdx.z;
    const bool there = j < J;
    REAL v[B1], sum[B1];
    #pragma unroll
    for (int k = 0; k < B1; ++k) sum[k] = 0;
    #pragma unroll
    for (int k = 0; k < B1; ++k)
        v[k] = there && row < A1 ? interaction[(q_n[n] * N1 + row + A1 * k) * J + j] : (REAL)0;
    for (long long t = blockIdx.y; t < count_t; t += gridDim.y) {
        complex_t* line = field + (n * count_t + t) * N1 * J + j;
        __syncthreads();
        if (row < B1) {
            complex_t x[A1];
            #pragma unroll
            for (int a = 0; a < A1; ++a) x[a] = there ? line[(long long)(B1 * a + row) * J] : complex_t{0, 0};
            Short<A1, -1>::run(x);
            #pragma unroll
            for (int k = 0; k < A1; ++k) tile[(k * B1 + row) * TILE + lane] = k ? times(x[k], w1[row * k]) : x[k];
        }
        __syncthreads();
        if (row < A1) {
            complex_t x[B1];
            #pragma unroll
            for (int b = 0; b < B1; ++b) x[b] = tile[(row * B1 + b) * TILE + lane];
            Short<B1, -1>::run(x);
            if (square) {
                const REAL w = weight[n * count_t + t];
                #pragma unroll
                for (int k = 0; k < B1; ++k) sum[k] += w * (x[k].x * x[k].x + x[k].y * x[k].y);
            }
            #pragma unroll
            for (int k = 0; k < B1; ++k) x[k] = {v[k] * x[k].x, v[k] * x[k].y};
            Short<B1, 1>::run(x);
            #pragma unroll
            for (int b = 0; b < B1; ++b)
                tile[(row * B1 + b) * TILE + lane] = b ? times_conjugate(x[b], w1[row * b]) : x[b];
        }
        __syncthreads();
        if (row < B1) {
            complex_t x[A1];
            #pragma unroll
            for (int k = 0; k < A1; ++k) x[k] = tile[(k * B1 + row) * TILE + lane];
            Short<A1, 1>::run(x);
            #pragma unroll
            for (int a = 0; a < A1; ++a) if (there) line[(long long)(B1 * a + row) * J] = x[a];
        }
    }
    if (square && there && row < A1) {
        #pragma unroll
        for (int k = 0; k < B1; ++k) square[((n * gridDim.y + blockIdx.y) * N1 + row + A1 * k) * J + j] = sum[k];
    }
}

// planes of field back to points: out_t += sum_n w_n u_n V, if out is given; partial[n, t, e, L] = sum of g_L conj(phase) V
// over the points of a sphere in a plane; V itself to potential, if that is given.  Blocks (x, t) go through all n.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) planes_back(
    const complex_t* field, const REAL* u_n, long long real_sources, const REAL* weight, const int* column,
    const complex_t* turns, const int* first, const int* points, const int* address, const REAL* table,
    const complex_t* phase, const long long* q_n, complex_t* partial, wide_t* out, complex_t* potential, long long J,
    long long count_n, long long count_t, long long entries, long long E)
{
    SHARED(complex_t, shared);
    complex_t *planes = shared, *w2 = shared + TOGETHER * PLANE, *w3 = w2 + N2;
    const long long x = blockIdx.x, t = blockIdx.y, R = (long long)N1 * N2 * N3, here = x * N2 * N3;
    fetch_turns(w2, turns + N1, N2 + N3);
    complex_t sum[ROUNDS(N3 * B2)][A2];
    #pragma unroll
    for (int round = 0; round < ROUNDS(N3 * B2); ++round)
        #pragma unroll
        for (int a = 0; a < A2; ++a) sum[round][a] = {0, 0};
    for (long long n0 = 0; n0 < count_n; n0 += TOGETHER) {
        const int count = count_n - n0 < TOGETHER ? (int)(count_n - n0) : TOGETHER;
        __syncthreads();
        for (int task = threadIdx.x; task < count * N2 * A3; task += THREADS) {
            const int k = task / N2 % A3, y = task % N2, m = task / (N2 * A3);
            const complex_t* in = field + (((n0 + m) * count_t + t) * N1 + x) * J;
            complex_t *plane = planes + m * PLANE, z[B3];
            #pragma unroll
            for (int b = 0; b < B3; ++b) {
                const int j = column[(k + A3 * b) * N2 + y];
                z[b] = j >= 0 ? in[j] : complex_t{0, 0};
            }
            Short<B3, 1>::run(z);
            #pragma unroll
            for (int b = 0; b < B3; ++b)
                plane[y * STRIDE + B3 * k + b] = b ? times_conjugate(z[b], w3[b * k]) : z[b];
        }
        __syncthreads();
        for (int task = threadIdx.x; task < count * N2 * B3; task += THREADS) {
            const int b = task / N2 % B3, y = task % N2;
            complex_t *plane = planes + task / (N2 * B3) * PLANE, z[A3];
            #pragma unroll
            for (int k = 0; k < A3; ++k) z[k] = plane[y * STRIDE + B3 * k + b];
            Short<A3, 1>::run(z);
            #pragma unroll
            for (int a = 0; a < A3; ++a) plane[y * STRIDE + B3 * a + b] = z[a];
        }
        __syncthreads();
        for (int task = threadIdx.x; task < count * N3 * A2; task += THREADS) {
            const int k = task / N3 % A2, z = task % N3;
            complex_t *plane = planes + task / (N3 * A2) * PLANE, v[B2];
            #pragma unroll
            for (int b = 0; b < B2; ++b) v[b] = plane[(k + A2 * b) * STRIDE + z];
            Short<B2, 1>::run(v);
            #pragma unroll
            for (int b = 0; b < B2; ++b)
                plane[(k + A2 * b) * STRIDE + z] = b ? times_conjugate(v[b], w2[b * k]) : v[b];
        }
        __syncthreads();
        #pragma unroll
        for (int round = 0; round < ROUNDS(N3 * B2); ++round) {
            const int task = threadIdx.x + round * THREADS, b = task / N3, z = task % N3;
            if (b >= B2) break;
            #pragma unroll
            for (int m = 0; m < TOGETHER; ++m) {
                if (m >= count) break;
                const long long n = n0 + m, pair = n * count_t + t;
                const REAL w = weight[n];
                complex_t *plane = planes + m * PLANE, v[A2];
                #pragma unroll
                for (int k = 0; k < A2; ++k) v[k] = plane[(k + A2 * b) * STRIDE + z];
                Short<A2, 1>::run(v);
                #pragma unroll
                for (int a = 0; a < A2; ++a) {
                    const long long r = here + (B2 * a + b) * N3 + z;
                    if (!out) {
                    } else if (real_sources) {
                        const REAL un = w * u_n[n * R + r];
                        sum[round][a].x += un * v[a].x;
                        sum[round][a].y += un * v[a].y;
                    } else {
                        const complex_t un = ((const complex_t*)u_n)[n * R + r], made = times(un, v[a]);
                        sum[round][a].x += w * made.x;
                        sum[round][a].y += w * made.y;
                    }
                    if (potential) potential[pair * R + r] = v[a];
                    plane[(a + A2 * b) * STRIDE + z] = v[a];  // the point y = B2 a + b; `address` knows
                }
            }
        }
        __syncthreads();
        const int L = threadIdx.x % HARMONICS, units = THREADS / HARMONICS, parts = first[x + 1] - first[x];
        for (int unit = threadIdx.x / HARMONICS; unit < parts; unit += units) {
            if (threadIdx.x >= units * HARMONICS) break;
            const int e = first[x] + unit, last = points[e + 1];
            complex_t total[TOGETHER];
            #pragma unroll
            for (int m = 0; m < TOGETHER; ++m) total[m] = {0, 0};
            #pragma unroll 4
            for (int p = points[e]; p < last; ++p) {
                const REAL g = table[(long long)p * HARMONICS + L];
                const int from = address[p];
                #pragma unroll
                for (int m = 0; m < TOGETHER; ++m) {
                    complex_t v = planes[m * PLANE + from];
                    if (phase) v = times_conjugate(v, phase[q_n[m < count ? n0 + m : n0] * E + p]);
                    total[m].x += g * v.x;
                    total[m].y += g * v.y;
                }
            }
            #pragma unroll
            for (int m = 0; m < TOGETHER; ++m)
                if (m < count) partial[(((n0 + m) * count_t + t) * entries + e) * HARMONICS + L] = total[m];
        }
    }
    if (!out) return;
    #pragma unroll
    for (int round = 0; round < ROUNDS(N3 * B2); ++round) {
        const int task = threadIdx.x + round * THREADS, b = task / N3, z = task % N3;
        if (b >= B2) break;
        #pragma unroll
        for (int a = 0; a < A2; ++a) {
            const long long r = t * R + here + (B2 * a + b) * N3 + z;
            out[r].x += sum[round][a].x;
            out[r].y += sum[round][a].y;
        }
    }
}

// out[x, a, L] = scale * sum of the parts of atom a's sphere; parts: which, those of atom a from first[a] on
extern "C" __global__ void whole_spheres(
    const complex_t* partial, const int* first, const int* parts, complex_t* out, long long entries, long long A,
    long long count, double scale)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count * A) return;
    const long long pair = i / A, a = i % A / HARMONICS, L = i % HARMONICS;
    complex_t sum = {0, 0};
    for (int p = first[a]; p < first[a + 1]; ++p)
        sum = add(sum, partial[(pair * entries + parts[p]) * HARMONICS + L]);
    out[i] = {(REAL)(scale * sum.x), (REAL)(scale * sum.y)};
}
