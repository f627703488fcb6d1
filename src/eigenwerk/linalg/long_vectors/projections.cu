// Inner products of long vectors with the rows of a basis, and their parts taken out: numbers of type REAL in memory,
// arithmetic in double.  Macros: REAL; NW vectors w; PACK numbers of one load; THREADS; TILE components of a tile.
// Every sum is made by one warp in a fixed order, and those of thread blocks are added by the caller: no atomics.

typedef long long i64;
#define ALL 0xffffffffu
#define ROWS 4                          // rows of the basis that a warp takes together
#define WARPS (THREADS / 32)
// threads that share the rows of the basis where these are taken out tile by tile
#define PARTS (THREADS * PACK > TILE ? THREADS * PACK / TILE : 1)

struct alignas(sizeof(REAL) * PACK) Pack { REAL of[PACK]; };

// What the lanes have of COUNT numbers, COUNT a power of two, added up: the sum of number lane / (32 / COUNT).
// Lanes whose bit `BIT` is set go on with the upper half of the numbers, the others with the lower one.
template <int COUNT, int BIT = 16> __device__ inline double folded(const double (&value)[COUNT])
{
    if constexpr (COUNT > 1) {
        const bool upper = threadIdx.x & BIT;
        double half[COUNT / 2];
        #pragma unroll
        for (int k = 0; k < COUNT / 2; ++k) {
            const double give = upper ? value[k] : value[k + COUNT / 2];
            half[k] = (upper ? value[k + COUNT / 2] : value[k]) + __shfl_xor_sync(ALL, give, BIT);
        }
        return folded<COUNT / 2, BIT / 2>(half);
    } else {
        double total = value[0];
        #pragma unroll
        for (int bit = BIT; bit; bit /= 2) total += __shfl_xor_sync(ALL, total, bit);
        return total;
    }
}

// sums[j, n] += sum over i, from to to, of a[j, i] w[n, i] for COUNT rows, by one warp.
template <int COUNT> __device__ inline void add_rows(
    const REAL* __restrict__ a, i64 stride, const double* w, int from, int to, double* sums)
{
    const int lane = threadIdx.x & 31;
    double sum[COUNT * NW];
    #pragma unroll
    for (int k = 0; k < COUNT * NW; ++k) sum[k] = 0;
    #pragma unroll 2
    for (int i = from + lane * PACK; i < to; i += 32 * PACK) {
        Pack v[COUNT];
        #pragma unroll
        for (int j = 0; j < COUNT; ++j) v[j] = *(const Pack*)(a + j * stride + i);
        #pragma unroll
        for (int k = 0; k < PACK; ++k)
            #pragma unroll
            for (int n = 0; n < NW; ++n) {
                const double x = w[n * TILE + i + k];
                #pragma unroll
                for (int j = 0; j < COUNT; ++j) sum[j * NW + n] += (double)v[j].of[k] * x;
            }
    }
    const double total = folded(sum);
    constexpr int width = 32 / (COUNT * NW);
    if (lane % width == 0) sums[lane / width] += total;
}

// sums[slice, m, n] += <a_m|w_n> over the slices of a tile; w in shared memory, `count` components of the tile exist.
__device__ inline void add_tile(
    const REAL* __restrict__ a, i64 stride, int rows, const double* w, int count, int slices, double* sums)
{
    const int groups = (rows + ROWS - 1) / ROWS, length = TILE / slices;
    for (int item = threadIdx.x / 32; item < groups * slices; item += WARPS) {
        const int slice = item / groups, from = slice * length, to = min(from + length, count);
        int m = item % groups * ROWS;
        double* at = sums + (slice * rows + m) * NW;
        const REAL* row = a + m * stride;
        if (rows - m >= ROWS) add_rows<ROWS>(row, stride, w, from, to, at);
        else for (; m < rows; ++m, row += stride, at += NW) add_rows<1>(row, stride, w, from, to, at);
    }
}

// part[block, m, n] = the sum over slices, when all threads have added theirs
__device__ inline void write_part(const double* sums, int numbers, int slices, double* part)
{
    __syncthreads();
    for (int k = threadIdx.x; k < numbers; k += THREADS) {
        double total = 0;
        for (int slice = 0; slice < slices; ++slice) total += sums[slice * numbers + k];
        part[(i64)blockIdx.x * numbers + k] = total;
    }
}

// part[block, m, n] = sum over the tiles of a block of a[m, i] w[n, i]
extern "C" __global__ void __launch_bounds__(THREADS) overlaps(
    const REAL* __restrict__ a, i64 stride, const REAL* __restrict__ w, i64 stride_w, i64 rows, i64 size, i64 slices,
    double* part)
{
    extern __shared__ __align__(16) double memory[];
    double *x = memory, *sums = memory + NW * TILE;
    for (int k = threadIdx.x; k < slices * rows * NW; k += THREADS) sums[k] = 0;
    for (i64 tile = (i64)blockIdx.x * TILE; tile < size; tile += (i64)gridDim.x * TILE) {
        const int count = (int)min((i64)TILE, size - tile);
        __syncthreads();
        #pragma unroll
        for (int n = 0; n < NW; ++n)
            for (int i = threadIdx.x; i < count; i += THREADS) x[n * TILE + i] = w[n * stride_w + tile + i];
        __syncthreads();
        add_tile(a + tile, stride, (int)rows, x, count, (int)slices, sums);
    }
    write_part(sums, (int)rows * NW, (int)slices, part);
}

// left[n, k] -= c[m, n] a[m, k] for the rows first to last; a at the components of this thread
__device__ inline void subtract(
    const REAL* __restrict__ a, i64 stride, const double* c, int first, int last, double (&left)[NW][PACK])
{
    #pragma unroll (NW > 2 ? 4 : 8)
    for (int m = first; m < last; ++m) {
        const Pack v = *(const Pack*)(a + m * stride);
        #pragma unroll
        for (int n = 0; n < NW; ++n)
            #pragma unroll
            for (int k = 0; k < PACK; ++k) left[n][k] -= c[m * NW + n] * (double)v.of[k];
    }
}

// w[n, i] -= sum over m of c[m, n] a[m, i]
extern "C" __global__ void __launch_bounds__(THREADS) take_out(
    const REAL* __restrict__ a, i64 stride, const double* __restrict__ c, REAL* w, i64 stride_w, i64 rows, i64 size)
{
    extern __shared__ __align__(16) double memory[];
    for (int k = threadIdx.x; k < rows * NW; k += THREADS) memory[k] = c[k];
    __syncthreads();
    for (i64 i = ((i64)blockIdx.x * THREADS + threadIdx.x) * PACK; i < size; i += (i64)gridDim.x * THREADS * PACK) {
        double left[NW][PACK];
        #pragma unroll
        for (int n = 0; n < NW; ++n) {
            const Pack old = *(const Pack*)(w + n * stride_w + i);
            #pragma unroll
            for (int k = 0; k < PACK; ++k) left[n][k] = old.of[k];
        }
        subtract(a + i, stride, memory, 0, (int)rows, left);
        #pragma unroll
        for (int n = 0; n < NW; ++n) {
            Pack rounded;
            #pragma unroll
            for (int k = 0; k < PACK; ++k) rounded.of[k] = (REAL)left[n][k];
            *(Pack*)(w + n * stride_w + i) = rounded;
        }
    }
}

// Both for tile after tile: what the second reads of the basis is still in the cache.
extern "C" __global__ void __launch_bounds__(THREADS) take_out_and_overlap(
    const REAL* __restrict__ a, i64 stride, const double* __restrict__ c, REAL* w, i64 stride_w, i64 rows, i64 size,
    i64 slices, double* part)
{
    extern __shared__ __align__(16) double memory[];
    double *x = memory, *factor = x + PARTS * NW * TILE, *sums = factor + rows * NW;   // x[part, n, i]
    for (int k = threadIdx.x; k < slices * rows * NW; k += THREADS) sums[k] = 0;
    for (int k = threadIdx.x; k < rows * NW; k += THREADS) factor[k] = c[k];
    const int share = threadIdx.x / (TILE / PACK), own = threadIdx.x % (TILE / PACK) * PACK;
    const int each = ((int)rows + PARTS - 1) / PARTS, first = share * each, last = min(first + each, (int)rows);
    for (i64 tile = (i64)blockIdx.x * TILE; tile < size; tile += (i64)gridDim.x * TILE) {
        const int count = (int)min((i64)TILE, size - tile);
        __syncthreads();
        if (own < count) {
            double left[NW][PACK];
            #pragma unroll
            for (int n = 0; n < NW; ++n)
                #pragma unroll
                for (int k = 0; k < PACK; ++k) left[n][k] = 0;
            subtract(a + tile + own, stride, factor, first, last, left);
            #pragma unroll
            for (int n = 0; n < NW; ++n)
                #pragma unroll
                for (int k = 0; k < PACK; ++k) x[(share * NW + n) * TILE + own + k] = left[n][k];
        }
        __syncthreads();
        for (int k = threadIdx.x; k < NW * TILE; k += THREADS) {
            const int n = k / TILE, i = k % TILE;
            if (i >= count) continue;
            REAL* place = w + n * stride_w + tile + i;
            double total = *place;
            #pragma unroll
            for (int part = 0; part < PARTS; ++part) total += x[part * NW * TILE + k];
            const REAL rounded = (REAL)total;
            *place = rounded;
            x[k] = rounded;
        }
        __syncthreads();
        add_tile(a + tile, stride, (int)rows, x, count, (int)slices, sums);
    }
    write_part(sums, (int)rows * NW, (int)slices, part);
}
