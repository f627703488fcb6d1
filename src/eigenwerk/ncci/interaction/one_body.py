"""Two-body matrix elements of sums over nucleons, h(1) + h(2), and of scalar products, v(1) . v(2)."""

from collections.abc import Callable

import numpy as np

from eigenwerk.ncci.interaction.angular_algebra import six_j
from eigenwerk.ncci.interaction.two_body import SPECIES, PairSpace, TwoBody
from eigenwerk.ncci.orbitals import Orbitals

Direct = Callable[[str, int, np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""(kind, J, a_x, b_x, c_y, d_y) -> <a(1) b(2); J|O|c(1) d(2); J>, not antisymmetrised, as a matrix (x, y)."""


def from_direct(space: PairSpace, direct: Direct) -> TwoBody:
    """The operator sum_{i<j} O(i, j), O symmetric in its nucleons, from its elements between products.

    Like nucleons: [<ab|O|cd> - (-1)^(jc + jd - J) <ab|O|dc>] / sqrt((1 + d_ab)(1 + d_cd)).
    """
    matrices: dict[str, dict[tuple[int, int], np.ndarray]] = {kind: {} for kind in SPECIES}
    for kind in SPECIES:
        first, second = space.orbitals(kind)
        for (j, parity), pair_x2 in space.pairs(kind).items():
            a, b = pair_x2.T
            matrix = direct(kind, j, a, b, a, b)
            if kind != "pn":
                sign = 1.0 - 2.0 * (((first.twice_j_a[a] + second.twice_j_a[b]) // 2 - j) % 2)
                matrix = matrix - sign * direct(kind, j, a, b, b, a)
                norm = np.where(a == b, np.sqrt(0.5), 1.0)
                matrix = matrix * norm[:, None] * norm
            matrices[kind][j, parity] = matrix
    return TwoBody(space, matrices)


def sum_over_nucleons(space: PairSpace, of_orbitals: Callable[[Orbitals], np.ndarray]) -> TwoBody:
    """sum_{i<j} [h(i) + h(j)] = (A - 1) sum_i h(i) of a scalar h, given as its matrix between orbitals."""
    return sum_of_matrices(space, of_orbitals(space.orbitals_p), of_orbitals(space.orbitals_n))


def sum_of_matrices(space: PairSpace, matrix_aa_p: np.ndarray, matrix_aa_n: np.ndarray) -> TwoBody:
    """The same with one matrix for protons and one for neutrons."""
    one = {"p": matrix_aa_p, "n": matrix_aa_n}

    def direct(kind, j, a, b, c, d):
        same_1, same_2 = a[:, None] == c, b[:, None] == d
        return one[kind[0]][np.ix_(a, c)] * same_2 + same_1 * one[kind[1]][np.ix_(b, d)]

    return from_direct(space, direct)


def scalar_product(space: PairSpace, of_orbitals: Callable[[Orbitals], np.ndarray]) -> TwoBody:
    """sum_{i<j} v(i) . v(j) of a vector v, given as its reduced matrix <a||v||c> between orbitals (Edmonds).

    <ab; J|v.v|cd; J> = (-1)^(jb + jc + J) {J jb ja; 1 jc jd} <a||v||c> <b||v||d>.  Source: Edmonds, eq. 7.1.6.
    """
    one = {"p": of_orbitals(space.orbitals_p), "n": of_orbitals(space.orbitals_n)}

    def direct(kind, j, a, b, c, d):
        first, second = space.orbitals(kind)
        product = one[kind[0]][np.ix_(a, c)] * one[kind[1]][np.ix_(b, d)]
        x, y = np.nonzero(product)
        ja, jb, jc, jd = first.twice_j_a[a[x]], second.twice_j_a[b[x]], first.twice_j_a[c[y]], second.twice_j_a[d[y]]
        sign = 1.0 - 2.0 * (((jb + jc) // 2 + j) % 2)
        product[x, y] *= sign * six_j(2 * j, jb, ja, 2, jc, jd)
        return product

    return from_direct(space, direct)


def diagonal(space: PairSpace, value: Callable[[str, int, np.ndarray, np.ndarray], np.ndarray]) -> TwoBody:
    """An operator that is diagonal in pairs; value(kind, J, a_x, b_x)."""
    found: dict[str, dict[tuple[int, int], np.ndarray]] = {}
    for kind in SPECIES:
        lists = space.pairs(kind).items()
        found[kind] = {(j, p): np.diag(value(kind, j, x[:, 0], x[:, 1]) * np.ones(len(x))) for (j, p), x in lists}
    return TwoBody(space, found)


def identity(space: PairSpace) -> TwoBody:
    """sum_{i<j} 1 = A (A - 1)/2."""
    return diagonal(space, lambda kind, j, a, b: np.ones(len(a)))


def position(orbitals: Orbitals) -> np.ndarray:
    """<a||r||c> in units of the oscillator length.

    <n l+1|r|n l> = sqrt(n + l + 3/2), <n-1 l+1|r|n l> = -sqrt(n); <l+1||C1||l> = sqrt(l+1), <l-1||C1||l> = -sqrt(l).
    """
    n, l = orbitals.n_a, orbitals.l_a
    n_a, n_c, l_a, l_c = n[:, None], n[None, :], l[:, None], l[None, :]
    up = np.where(n_a == n_c, np.sqrt(n_c + l_c + 1.5), 0.0) - np.where(n_a == n_c - 1, np.sqrt(n_c), 0.0)
    down = np.where(n_a == n_c, np.sqrt(n_a + l_a + 1.5), 0.0) - np.where(n_c == n_a - 1, np.sqrt(n_a), 0.0)
    radial = np.where(l_a == l_c + 1, up * np.sqrt(l_c + 1), 0.0) - np.where(l_a == l_c - 1, down * np.sqrt(l_c), 0.0)
    return radial * _in_j(orbitals)


def momentum_over_i(orbitals: Orbitals) -> np.ndarray:
    """<a||p||c>/i in units hbar/b: (N_a - N_c) <a||r||c>, from the commutator of r with the oscillator."""
    quanta = orbitals.quanta_a
    return (quanta[:, None] - quanta[None, :]) * position(orbitals)


def orbital_momentum(orbitals: Orbitals) -> np.ndarray:
    """<a||l||c>."""
    l = orbitals.l_a
    return _same_radial(orbitals) * np.sqrt(l * (l + 1.0) * (2 * l + 1)) * _in_j(orbitals)


def spin(orbitals: Orbitals) -> np.ndarray:
    """<a||s||c>; (-1)^(l + 1/2 + ja + 1) ja^ jc^ {1/2 ja l; jc 1/2 1} sqrt(3/2)."""
    l, j = orbitals.l_a, orbitals.twice_j_a
    j_a, j_c, l_c = j[:, None], j[None, :], l[None, :]
    sign = 1.0 - 2.0 * ((l_c + (1 + j_a) // 2 + 1) % 2)
    symbol = six_j(1, j_a, 2 * l_c, j_c, 1, 2)
    return _same_radial(orbitals) * sign * np.sqrt((j_a + 1) * (j_c + 1.0) * 1.5) * symbol


def _same_radial(orbitals: Orbitals) -> np.ndarray:
    n, l = orbitals.n_a, orbitals.l_a
    return (n[:, None] == n[None, :]) & (l[:, None] == l[None, :])


def _in_j(orbitals: Orbitals) -> np.ndarray:
    """<(l s)j||v||(l' s)j'> / <l||v||l'> = (-1)^(l + s + j' + 1) j^ j'^ {l j s; j' l' 1} for v that leaves s alone."""
    l, j = orbitals.l_a, orbitals.twice_j_a
    j_a, j_c, l_a, l_c = j[:, None], j[None, :], l[:, None], l[None, :]
    sign = 1.0 - 2.0 * ((l_a + (1 + j_c) // 2 + 1) % 2)
    return sign * np.sqrt((j_a + 1) * (j_c + 1.0)) * six_j(2 * l_a, j_a, 1, j_c, 2 * l_c, 2)


def between_radial_functions(orbitals: Orbitals, off_diagonal_sign: int) -> np.ndarray:
    """<a|r^2|c> (sign -1) or <a|p^2|c> (sign +1) in units b^2 or (hbar/b)^2."""
    n, l, j = orbitals.n_a, orbitals.l_a, orbitals.twice_j_a
    n_a, n_c = n[:, None], n[None, :]
    same = (l[:, None] == l[None, :]) & (j[:, None] == j[None, :])
    low = np.minimum(n_a, n_c)
    beside = np.where(abs(n_a - n_c) == 1, np.sqrt((low + 1) * (low + l[None, :] + 1.5)), 0.0)
    return same * (np.where(n_a == n_c, 2 * n_c + l[None, :] + 1.5, 0.0) + off_diagonal_sign * beside)
