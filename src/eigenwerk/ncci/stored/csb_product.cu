typedef long long i64;
typedef unsigned short u16;
#define ALL 0xffffffffu
#define CHUNK 8                       // neighbouring nonzeros of one lane (of LANES lanes, VW of NV vectors each)
#define LANES (NV / VW)
#define AHEAD (CHUNK / VW)
// FORWARD: H x; BACK: H^T x; X_SHARED, Y_SHARED: the columns' part of x, and of y, in shared memory

struct alignas(sizeof(REAL) * VW) Unit { REAL of[VW]; };
struct alignas(16) Places { u16 of[CHUNK]; };
struct alignas(16) Values { REAL of[CHUNK]; };

__device__ inline void add(REAL* to, const Unit& value) {
#if VW == 4 && __CUDA_ARCH__ >= 900
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
        :: "l"(to), "f"(value.of[0]), "f"(value.of[1]), "f"(value.of[2]), "f"(value.of[3]) : "memory");
#elif VW == 2 && __CUDA_ARCH__ >= 900
    asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" :: "l"(to), "f"(value.of[0]), "f"(value.of[1]) : "memory");
#else
    #pragma unroll
    for (int n = 0; n < VW; ++n) atomicAdd(to + n, value.of[n]);
#endif
}

// what is read once leaves the cache first, so that vectors stay there
template <class T> __device__ inline T streamed(const T* from) {
    T to;
    #pragma unroll
    for (int i = 0; i < (int)(sizeof(T) / 16); ++i) ((int4*)&to)[i] = __ldcs((const int4*)from + i);
    return to;
}

__device__ inline Unit zero() {
    Unit unit;
    #pragma unroll
    for (int n = 0; n < VW; ++n) unit.of[n] = 0;
    return unit;
}

// The nonzeros low to high (WHOLE: all) of one lane: sums of rows that end here go to y_row, what the last row has so
// far stays in `row` and `sum`.  Of every CHUNK terms of columns the last DIRECT go to memory: two units share them.
template <bool WHOLE> __device__ inline void chunk(
    const Places& r, const Places& c, const Values& v, int low, int high, const REAL* x_row, REAL* y_row,
    const REAL* x_column, REAL* y_column, REAL* y_memory, int& row, Unit& sum)
{
    Unit at_row = zero();
    #pragma unroll
    for (int k0 = 0; k0 < CHUNK; k0 += AHEAD) {
        Unit next[AHEAD];
        #pragma unroll
        for (int a = 0; a < AHEAD; ++a) {
            const int k = k0 + a;
            next[a] = zero();
            if (BACK && (WHOLE || (k >= low && k < high)) && (k == low || r.of[k] != r.of[max(k - 1, 0)]))
                next[a] = *(const Unit*)(x_row + (int)r.of[k] * NV);
        }
        #pragma unroll
        for (int a = 0; a < AHEAD; ++a) {
            const int k = k0 + a;
            if (!WHOLE && (k < low || k >= high)) continue;
            if ((int)r.of[k] != row) {
                if (FORWARD && row >= 0) add(y_row + row * NV, sum);
                row = r.of[k];
                sum = zero();
                at_row = next[a];
            }
            const int at = (int)c.of[k] * NV;
#if FORWARD
            const Unit other = *(const Unit*)(x_column + at);
            #pragma unroll
            for (int n = 0; n < VW; ++n) sum.of[n] += v.of[k] * other.of[n];
#endif
#if BACK
            Unit term;
            #pragma unroll
            for (int n = 0; n < VW; ++n) term.of[n] = v.of[k] * at_row.of[n];
#if Y_SHARED
            if (k < CHUNK - DIRECT) {
                #pragma unroll
                for (int n = 0; n < VW; ++n) atomicAdd(y_column + at + n, term.of[n]);
                continue;
            }
#endif
            add(y_memory + at, term);
#endif
        }
    }
}

// y_rows[row] += v x_columns[column] and y_columns[column] += v x_rows[row] for the pieces piece0[i] .. piece0[i + 1]
// of task i, all with columns from column0[i] on.  Piece k: nonzeros begin[k] .. end[k] of one block, ordered by row,
// rows from row0[k] on.  Rows and columns may be those of one vector.
// A lane sums up a row over its chunk; what neighbouring lanes have for the same last row is added up among them.
extern "C" __global__ void __launch_bounds__(1024) product(
    const u16* __restrict__ rows, const u16* __restrict__ columns, const REAL* __restrict__ values,
    const int* __restrict__ piece0, const i64* __restrict__ column0, const i64* __restrict__ begin,
    const i64* __restrict__ end, const i64* __restrict__ row0, const REAL* __restrict__ x_rows,
    const REAL* __restrict__ x_columns, REAL* y_rows, REAL* y_columns, i64 column_count, i64 bits)
{
    const int lane = threadIdx.x & 31, part = lane % LANES * VW, task = blockIdx.x;
    const i64 first_column = column0[task];
    const REAL* x_column = x_columns + first_column * NV;
    REAL *y_memory = y_columns + first_column * NV, *y_column = y_memory;
#if X_SHARED || Y_SHARED
    extern __shared__ __align__(16) unsigned char memory[];
    const int size = (int)min((i64)1 << bits, column_count - first_column) * NV;
#endif
#if Y_SHARED
    y_column = (REAL*)memory;
    for (int i = threadIdx.x; i < size; i += blockDim.x) y_column[i] = 0;
#endif
#if X_SHARED
    REAL* x_shared = (REAL*)memory + Y_SHARED * ((i64)NV << bits);
    for (int i = threadIdx.x; i < size; i += blockDim.x) x_shared[i] = x_column[i];
    x_column = x_shared;
#endif
    __syncthreads();

    for (int piece = piece0[task]; piece < piece0[task + 1]; ++piece) {
        const i64 first = begin[piece], last = end[piece], base = first / CHUNK * CHUNK;
        const REAL* x_row = x_rows + row0[piece] * NV + part;
        REAL* y_row = y_rows + row0[piece] * NV + part;
        for (i64 warp = base + (i64)(threadIdx.x >> 5) * (32 / LANES * CHUNK); warp < last;
             warp += (i64)(blockDim.x / LANES) * CHUNK) {
            const i64 z = warp + lane / LANES * CHUNK;
            int row = -1;
            Unit sum = zero();
            if (z < last) {
                const Places r = streamed((const Places*)(rows + z)), c = streamed((const Places*)(columns + z));
                const Values v = streamed((const Values*)(values + z));
                if (z >= first && z + CHUNK <= last)
                    chunk<true>(r, c, v, 0, CHUNK, x_row, y_row, x_column + part, y_column + part, y_memory + part,
                        row, sum);
                else
                    chunk<false>(r, c, v, (int)max((i64)0, first - z), (int)min((i64)CHUNK, last - z), x_row, y_row,
                        x_column + part, y_column + part, y_memory + part, row, sum);
            }
#if FORWARD
            const int before = __shfl_up_sync(ALL, row, LANES);
            #pragma unroll
            for (int d = LANES; d < 32; d <<= 1) {
                const int other_row = __shfl_down_sync(ALL, row, d);
                #pragma unroll
                for (int n = 0; n < VW; ++n) {
                    const REAL other = __shfl_down_sync(ALL, sum.of[n], d);
                    if (lane + d < 32 && other_row == row) sum.of[n] += other;
                }
            }
            if (row >= 0 && (lane < LANES || before != row)) add(y_row + row * NV, sum);
#endif
        }
    }
#if Y_SHARED
    __syncthreads();
    for (int i = threadIdx.x; i < size; i += blockDim.x)
        if (y_column[i] != 0) atomicAdd(y_memory + i, y_column[i]);
#endif
}
