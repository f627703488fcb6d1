"""Clebsch-Gordan coefficients, 6j and 9j symbols for whole arrays of angular momenta.

All angular momenta are given as 2j, so that they are integers.
"""

from functools import lru_cache

import numpy as np
from scipy.special import gammaln


def six_j(a, b, c, d, e, f) -> np.ndarray:
    """6j symbols {a b c; d e f} of arrays of twice the angular momenta (broadcast together); 0 where forbidden.

    Racah's sum over t of (-1)^t (t+1)! / prod (t - triad)! prod (quad - t)!, in logarithms; relative accuracy 1e-12
    if one argument is small, because then the sum has few terms.  Source: Edmonds, Angular Momentum in Quantum
    Mechanics (1957), eq. 6.3.7.
    """
    a, b, c, d, e, f = np.broadcast_arrays(*(np.asarray(x, dtype=np.int64) for x in (a, b, c, d, e, f)))
    shape = a.shape
    a, b, c, d, e, f = (x.ravel() for x in (a, b, c, d, e, f))
    good = triangle(a, b, c) & triangle(a, e, f) & triangle(d, b, f) & triangle(d, e, c)
    result = np.zeros(len(a))
    if good.any():
        result[good] = _racah(*(x[good] for x in (a, b, c, d, e, f)))
    return result.reshape(shape)


def _racah(a, b, c, d, e, f) -> np.ndarray:
    triads = [(a, b, c), (a, e, f), (d, b, f), (d, e, c)]
    low = np.stack([sum(triad) // 2 for triad in triads])
    high = np.stack([(a + b + d + e) // 2, (b + c + e + f) // 2, (a + c + d + f) // 2])
    prefactor = 0.5 * sum(_log_delta(*triad) for triad in triads)
    first, last = low.max(axis=0), high.min(axis=0)
    total = np.zeros(len(a))
    for step in range(int((last - first).max()) + 1):
        t = np.minimum(first + step, last)
        logs = prefactor + gammaln(t + 2) - gammaln(t - low + 1).sum(axis=0) - gammaln(high - t + 1).sum(axis=0)
        total += np.where(first + step <= last, (1 - 2 * (t % 2)) * np.exp(logs), 0.0)
    return total


def _log_delta(a, b, c) -> np.ndarray:
    parts = (a + b - c, a - b + c, -a + b + c)
    return sum(gammaln(part // 2 + 1) for part in parts) - gammaln((a + b + c) // 2 + 2)


def triangle(a, b, c) -> np.ndarray:
    """Whether twice three angular momenta can couple: |a - b| <= c <= a + b and an even sum."""
    return (abs(a - b) <= c) & (c <= a + b) & ((a + b + c) % 2 == 0) & (np.minimum(np.minimum(a, b), c) >= 0)


def nine_j(a, b, c, d, e, f, g, h, i) -> np.ndarray:
    """9j symbols {a b c; d e f; g h i} of arrays of twice the angular momenta.

    sum_x (-1)^(2x) (2x+1) {a b c; f i x} {d e f; b x h} {g h i; x a d}.  Source: Edmonds, eq. 6.4.3.
    """
    arrays = np.broadcast_arrays(*(np.asarray(x, dtype=np.int64) for x in (a, b, c, d, e, f, g, h, i)))
    a, b, c, d, e, f, g, h, i = arrays
    low = np.maximum(np.maximum(abs(a - i), abs(d - h)), abs(b - f))
    high = np.minimum(np.minimum(a + i, d + h), b + f)
    total = np.zeros(a.shape)
    for step in range(0, int((high - low).max(initial=-1)) + 1, 2):
        x = low + step
        term = six_j(a, b, c, f, i, x) * six_j(d, e, f, b, x, h) * six_j(g, h, i, x, a, d)
        total += np.where(x <= high, (1 - 2 * (x % 2)) * (x + 1) * term, 0.0)
    return total


@lru_cache(maxsize=4096)
def clebsch_gordan(twice_j1: int, twice_j2: int) -> np.ndarray:
    """All coefficients <j1 m1 j2 m2|J M>, M = m1 + m2, as an array [J - |j1 - j2|, m1 + j1, m2 + j2].

    The rows of fixed M are eigenvectors of J^2, a tridiagonal matrix with the eigenvalues J(J+1), which is stable
    for any j; the component of the highest m1 is positive (Condon and Shortley).
    """
    j1, j2 = twice_j1 / 2, twice_j2 / 2
    lowest = abs(twice_j1 - twice_j2) // 2
    table = np.zeros(((twice_j1 + twice_j2) // 2 - lowest + 1, twice_j1 + 1, twice_j2 + 1))
    for twice_m in range(-twice_j1 - twice_j2, twice_j1 + twice_j2 + 1, 2):
        m1 = np.arange(max(-twice_j1, twice_m - twice_j2), min(twice_j1, twice_m + twice_j2) + 1, 2) / 2
        m2 = twice_m / 2 - m1
        diagonal = j1 * (j1 + 1) + j2 * (j2 + 1) + 2 * m1 * m2
        up = np.sqrt((j1 * (j1 + 1) - m1 * (m1 + 1)) * (j2 * (j2 + 1) - m2 * (m2 - 1)))[:-1]
        vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(up, 1) + np.diag(up, -1))[1]
        vectors = vectors * np.where(vectors[-1] < 0, -1.0, 1.0)
        first = max(lowest, abs(twice_m) // 2) - lowest
        rows, columns = (m1 + j1).astype(int), (m2 + j2).astype(int)
        table[first : first + len(m1), rows, columns] = vectors.T
    table.setflags(write=False)
    return table
