// Fourier transforms of a few numbers in a thread's registers, and complex numbers; REAL is a macro.

struct complex_t { REAL x, y; };
struct wide_t { double x, y; };

__device__ inline complex_t add(complex_t a, complex_t b) { return {a.x + b.x, a.y + b.y}; }
__device__ inline complex_t less(complex_t a, complex_t b) { return {a.x - b.x, a.y - b.y}; }
__device__ inline complex_t times(complex_t a, complex_t b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
__device__ inline complex_t times_conjugate(complex_t a, complex_t b)  // a b*
{
    return {a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y};
}

// cos and sin of 2 pi k / R, at compile time: by a series, within an eighth of a turn
__device__ constexpr double series(double x, int first)
{
    double term = first ? x : 1, sum = term;
    for (int n = first + 1; n < 24; n += 2) { term *= -x * x / (n * (n + 1)); sum += term; }
    return sum;
}
__device__ constexpr double cosine(int k, int R)
{
    k = (k % R + R) % R;
    if (2 * k > R) k = R - k;
    if (4 * k > R) return -cosine(R - 2 * k, 2 * R);
    if (8 * k > R) return series(6.283185307179586476925286766559 * (R - 4 * k) / (4.0 * R), 1);
    return series(6.283185307179586476925286766559 * k / R, 0);
}
__device__ constexpr double sine(int k, int R) { return cosine(4 * k - R, 4 * R); }

template <int R> struct Roots {
    REAL c[R], s[R];
    __device__ constexpr Roots() : c(), s() { for (int k = 0; k < R; ++k) { c[k] = (REAL)cosine(k, R); s[k] = (REAL)sine(k, R); } }
};

__device__ constexpr int factor_of(int R)
{
    return R % 4 == 0 ? 4 : R % 2 == 0 ? 2 : R % 3 == 0 ? 3 : R % 5 == 0 ? 5 : R % 7 == 0 ? 7 : R;
}

// X(k) = sum_n x(n) exp(SIGN 2 pi i n k / R), in place, in registers
template <int R, int SIGN, int P = factor_of(R)> struct Short {
    static __device__ inline void run(complex_t (&x)[R])
    {
        constexpr int Q = R / P;
        constexpr Roots<R> roots;
        complex_t y[P][Q];
        #pragma unroll
        for (int p = 0; p < P; ++p) {
            #pragma unroll
            for (int q = 0; q < Q; ++q) y[p][q] = x[p + P * q];
            Short<Q, SIGN>::run(y[p]);
        }
        #pragma unroll
        for (int k = 0; k < Q; ++k) {
            complex_t z[P];
            #pragma unroll
            for (int p = 0; p < P; ++p) {
                if (p * k == 0) z[p] = y[p][k];
                else if (4 * p * k == R) z[p] = {-SIGN * y[p][k].y, SIGN * y[p][k].x};
                else z[p] = times(y[p][k], {roots.c[p * k], SIGN * roots.s[p * k]});
            }
            Short<P, SIGN>::run(z);
            #pragma unroll
            for (int p = 0; p < P; ++p) x[k + Q * p] = z[p];
        }
    }
};
template <int SIGN, int P> struct Short<1, SIGN, P> { static __device__ inline void run(complex_t (&)[1]) {} };
template <int SIGN> struct Short<2, SIGN, 2> {
    static __device__ inline void run(complex_t (&x)[2])
    {
        const complex_t a = x[0];
        x[0] = add(a, x[1]);
        x[1] = less(a, x[1]);
    }
};
template <int SIGN> struct Short<4, SIGN, 4> {
    static __device__ inline void run(complex_t (&x)[4])
    {
        const complex_t a = add(x[0], x[2]), b = less(x[0], x[2]), c = add(x[1], x[3]), d = less(x[1], x[3]);
        const complex_t turned = {-SIGN * d.y, SIGN * d.x};
        x[0] = add(a, c);
        x[1] = add(b, turned);
        x[2] = less(a, c);
        x[3] = less(b, turned);
    }
};
template <int R, int SIGN> struct Odd {  // a prime
    static __device__ inline void run(complex_t (&x)[R])
    {
        constexpr int H = R / 2;
        constexpr Roots<R> roots;
        complex_t plus[H + 1], minus[H + 1], sum = x[0];
        #pragma unroll
        for (int j = 1; j <= H; ++j) {
            plus[j] = add(x[j], x[R - j]);
            minus[j] = less(x[j], x[R - j]);
            sum = add(sum, plus[j]);
        }
        complex_t even[H + 1], odd[H + 1];
        #pragma unroll
        for (int k = 1; k <= H; ++k) {
            even[k] = x[0];
            odd[k] = {0, 0};
            #pragma unroll
            for (int j = 1; j <= H; ++j) {
                const REAL c = roots.c[j * k % R], s = roots.s[j * k % R];
                even[k].x += c * plus[j].x;
                even[k].y += c * plus[j].y;
                odd[k].x += s * minus[j].x;
                odd[k].y += s * minus[j].y;
            }
        }
        x[0] = sum;
        #pragma unroll
        for (int k = 1; k <= H; ++k) {  // even + SIGN i odd
            x[k] = {even[k].x - SIGN * odd[k].y, even[k].y + SIGN * odd[k].x};
            x[R - k] = {even[k].x + SIGN * odd[k].y, even[k].y - SIGN * odd[k].x};
        }
    }
};
template <int SIGN> struct Short<3, SIGN, 3> : Odd<3, SIGN> {};
template <int SIGN> struct Short<5, SIGN, 5> : Odd<5, SIGN> {};
template <int SIGN> struct Short<7, SIGN, 7> : Odd<7, SIGN> {};
