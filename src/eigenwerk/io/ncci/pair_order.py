"""The order in which pairs of orbitals stand in files of two-body matrix elements."""

import numpy as np


def ordered_pairs(
    orbital_3a: tuple[np.ndarray, np.ndarray], weight: tuple[np.ndarray, np.ndarray], limit: float, like: bool
) -> dict[tuple[int, int], np.ndarray]:
    """(J, parity) -> pairs (x, 2) of positions in two lists of orbitals, J rising, even parity first.

    orbital_3a: rows n, l, 2j of both lists; pairs have a sum of weights up to `limit`.  Two like nucleons: a <= b, and
    J even if a = b; otherwise all pairs.  Ordered by a, then b; channels without pairs are left out.
    """
    (_, l_1, j_1), (_, l_2, j_2) = orbital_3a
    inside = np.asarray(weight[0])[:, None] + np.asarray(weight[1]) <= limit + 1e-5
    a_x, b_x = np.nonzero(np.triu(inside) if like else inside)
    twice_1, twice_2 = j_1[a_x], j_2[b_x]
    parity_x = (l_1[a_x] + l_2[b_x]) % 2
    twin_x = (a_x == b_x) & like
    found = {}
    for j in range(int(max(twice_1 + twice_2, default=-2)) // 2 + 1):
        allowed = (abs(twice_1 - twice_2) <= 2 * j) & (twice_1 + twice_2 >= 2 * j) & ~(twin_x & (j % 2 == 1))
        for parity in (0, 1):
            chosen = allowed & (parity_x == parity)
            if chosen.any():
                found[j, parity] = np.stack([a_x[chosen], b_x[chosen]], axis=1)
    return found
