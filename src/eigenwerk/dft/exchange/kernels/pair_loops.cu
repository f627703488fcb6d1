// Loops over the points of the grid for pair densities; REAL, TILE (targets of a thread), SUM_TILE
// (pairs of a block) and FEEL_TILE (pairs in shared memory) are macros.
// Pairs are (n, t), n first; R points of the grid, A = (atom, L) charges, HARMONICS of them for an atom; q_n: the place of
// n's wave vector in tables of several, S points of spheres.

struct complex_t { REAL x, y; };
struct wide_t { double x, y; };

// out[n, t, r] = conj(u_n[r]) u_t[r] + sum over charges at r of Q[n, t, a, L] g_L phase
extern "C" __global__ void form_pairs(
    const REAL* u_n, long long real_sources, const complex_t* u_t, const complex_t* charge, const int* start,
    const int* atom, const int* place, const REAL* table, const complex_t* phase, const long long* q_n, complex_t* out,
    long long R, long long T, long long A, long long S)
{
    const long long r = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= R) return;
    const long long n = blockIdx.z, t0 = (long long)blockIdx.y * TILE;
    const int count = T - t0 < TILE ? (int)(T - t0) : TILE;
    complex_t un;
    if (real_sources) { un.x = u_n[n * R + r]; un.y = 0; }
    else un = ((const complex_t*)u_n)[n * R + r];
    complex_t value[TILE];
    #pragma unroll
    for (int j = 0; j < TILE; ++j) {
        complex_t ut = {0, 0};
        if (j < count) ut = u_t[(t0 + j) * R + r];
        value[j].x = un.x * ut.x + un.y * ut.y;
        value[j].y = un.x * ut.y - un.y * ut.x;
    }
    for (int e = start[r]; e < start[r + 1]; ++e) {
        REAL g[HARMONICS];
        #pragma unroll
        for (int L = 0; L < HARMONICS; ++L) g[L] = table[(long long)e * HARMONICS + L];
        complex_t turn = {1, 0};
        if (phase) turn = phase[q_n[n] * S + place[e]];
        const complex_t* q = charge + (n * T + t0) * A + (long long)atom[e] * HARMONICS;
        #pragma unroll
        for (int j = 0; j < TILE; ++j) {
            if (j < count) {
                complex_t sum = {0, 0};
                #pragma unroll
                for (int L = 0; L < HARMONICS; ++L) {
                    const complex_t one = q[j * A + L];
                    sum.x += one.x * g[L];
                    sum.y += one.y * g[L];
                }
                value[j].x += sum.x * turn.x - sum.y * turn.y;
                value[j].y += sum.x * turn.y + sum.y * turn.x;
            }
        }
    }
    #pragma unroll
    for (int j = 0; j < TILE; ++j)
        if (j < count) out[(n * T + t0 + j) * R + r] = value[j];
}

// field[n, t, r] *= kernel[q, r]
extern "C" __global__ void multiply_pairs(
    complex_t* field, const REAL* kernel, const long long* q_n, long long R, long long T)
{
    const long long r = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= R) return;
    const REAL v = kernel[q_n[blockIdx.y / T] * R + r];
    complex_t* place = field + (long long)blockIdx.y * R + r;
    place->x *= v;
    place->y *= v;
}

// out[t, r] += sum over n of weight_n u_n[r] field[n, t, r]
extern "C" __global__ void accumulate_pairs(
    const complex_t* field, const REAL* u_n, long long real_sources, const REAL* weight, wide_t* out, long long R,
    long long T, long long N)
{
    const long long r = (long long)blockIdx.x * blockDim.x + threadIdx.x, t = blockIdx.y;
    if (r >= R) return;
    complex_t sum = {0, 0};
    for (long long n = 0; n < N; ++n) {
        const complex_t v = field[(n * T + t) * R + r];
        complex_t un = {0, 0};
        if (real_sources) un.x = u_n[n * R + r];
        else un = ((const complex_t*)u_n)[n * R + r];
        const REAL w = weight[n];
        un.x *= w;
        un.y *= w;
        sum.x += un.x * v.x - un.y * v.y;
        sum.y += un.x * v.y + un.y * v.x;
    }
    out[t * R + r].x += sum.x;
    out[t * R + r].y += sum.y;
}

// out[n, r] += sum over t of u_t[r] conj(field[n, t, r])
extern "C" __global__ void mirror_pairs(
    const complex_t* field, const complex_t* u_t, wide_t* out, long long R, long long T)
{
    const long long r = (long long)blockIdx.x * blockDim.x + threadIdx.x, n = blockIdx.y;
    if (r >= R) return;
    complex_t sum = {0, 0};
    #pragma unroll 8
    for (long long t = 0; t < T; ++t) {
        const complex_t v = field[(n * T + t) * R + r], u = u_t[t * R + r];
        sum.x += u.x * v.x + u.y * v.y;
        sum.y += u.y * v.x - u.x * v.y;
    }
    out[n * R + r].x += sum.x;
    out[n * R + r].y += sum.y;
}

// out[x, a, L] = scale * sum over points of the sphere of atom a of g_L conj(phase) field[x]; atoms of one species
extern "C" __global__ void integrate_pairs(
    const complex_t* field, const long long* index, const REAL* table, const complex_t* phase, const long long* q_n,
    const long long* atom, complex_t* out, long long P, long long R, long long A, long long X, long long T, long long S,
    double scale)
{
    const long long a = blockIdx.x, x0 = (long long)blockIdx.y * SUM_TILE;
    const int count = X - x0 < SUM_TILE ? (int)(X - x0) : SUM_TILE;
    REAL re[SUM_TILE][HARMONICS], im[SUM_TILE][HARMONICS];
    #pragma unroll
    for (int j = 0; j < SUM_TILE; ++j)
        #pragma unroll
        for (int L = 0; L < HARMONICS; ++L) { re[j][L] = 0; im[j][L] = 0; }
    for (long long p = threadIdx.x; p < P; p += blockDim.x) {
        const long long place = index[a * P + p];
        REAL g[HARMONICS];
        #pragma unroll
        for (int L = 0; L < HARMONICS; ++L) g[L] = table[(a * HARMONICS + L) * P + p];
        #pragma unroll
        for (int j = 0; j < SUM_TILE; ++j) {
            if (j < count) {
                const complex_t f = field[(x0 + j) * R + place];
                complex_t turn = {1, 0};
                if (phase) turn = phase[q_n[(x0 + j) / T] * S + a * P + p];
                const REAL vx = f.x * turn.x + f.y * turn.y, vy = f.y * turn.x - f.x * turn.y;
                #pragma unroll
                for (int L = 0; L < HARMONICS; ++L) { re[j][L] += g[L] * vx; im[j][L] += g[L] * vy; }
            }
        }
    }
    __shared__ REAL part[32][2 * HARMONICS];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    #pragma unroll
    for (int j = 0; j < SUM_TILE; ++j) {
        #pragma unroll
        for (int L = 0; L < HARMONICS; ++L) {
            REAL sx = re[j][L], sy = im[j][L];
            for (int step = 16; step; step /= 2) {
                sx += __shfl_down_sync(0xffffffff, sx, step);
                sy += __shfl_down_sync(0xffffffff, sy, step);
            }
            if (!lane) { part[warp][2 * L] = sx; part[warp][2 * L + 1] = sy; }
        }
        __syncthreads();
        if (threadIdx.x < 2 * HARMONICS && j < count) {
            REAL sum = 0;
            for (int w = 0; w < warps; ++w) sum += part[w][threadIdx.x];
            ((REAL*)out)[2 * ((x0 + j) * A + atom[a] * HARMONICS) + threadIdx.x] = (REAL)(scale * sum);
        }
        __syncthreads();
    }
}

// slope[a, L, p] += sum over x of Re conj(Q[x, a, L]) conj(phase) field[x] at point p of the sphere of atom a; atoms of one
// species; threads are points
extern "C" __global__ void feel_pairs(
    const complex_t* field, const long long* index, const complex_t* charge, const complex_t* phase,
    const long long* q_n, const long long* atom, double* slope, long long P, long long R, long long A, long long X,
    long long T, long long S)
{
    __shared__ complex_t q[FEEL_TILE][HARMONICS];
    const long long a = blockIdx.x, p = (long long)blockIdx.y * blockDim.x + threadIdx.x;
    const bool there = p < P;
    const long long place = there ? index[a * P + p] : 0;
    double total[HARMONICS];
    #pragma unroll
    for (int L = 0; L < HARMONICS; ++L) total[L] = 0;
    for (long long x0 = 0; x0 < X; x0 += FEEL_TILE) {
        const int count = X - x0 < FEEL_TILE ? (int)(X - x0) : FEEL_TILE;
        __syncthreads();
        for (int i = threadIdx.x; i < count * HARMONICS; i += blockDim.x)
            q[i / HARMONICS][i % HARMONICS] = charge[(x0 + i / HARMONICS) * A + atom[a] * HARMONICS + i % HARMONICS];
        __syncthreads();
        REAL sum[HARMONICS];
        #pragma unroll
        for (int L = 0; L < HARMONICS; ++L) sum[L] = 0;
        #pragma unroll 4
        for (int j = 0; j < count; ++j) {
            if (!there) break;
            const complex_t f = field[(x0 + j) * R + place];
            complex_t turn = {1, 0};
            if (phase) turn = phase[q_n[(x0 + j) / T] * S + a * P + p];
            const REAL vx = f.x * turn.x + f.y * turn.y, vy = f.y * turn.x - f.x * turn.y;
            #pragma unroll
            for (int L = 0; L < HARMONICS; ++L) sum[L] += q[j][L].x * vx + q[j][L].y * vy;
        }
        #pragma unroll
        for (int L = 0; L < HARMONICS; ++L) total[L] += sum[L];
    }
    if (!there) return;
    #pragma unroll
    for (int L = 0; L < HARMONICS; ++L) slope[(a * HARMONICS + L) * P + p] += total[L];
}
