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
