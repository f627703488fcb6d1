"""One-body operators between m-states: orbital and spin moments, squared radius, quadrupole; reduced matrix elements.

Conventions of Suhonen, From Nucleons to Nucleus (2007): eq. 2.27 for the Wigner-Eckart theorem, 6.52 and 6.53 for the
moments.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from eigenwerk.ncci.interaction.angular_algebra import clebsch_gordan
from eigenwerk.ncci.orbitals import Orbitals


def orbital_moment(orbitals: Orbitals) -> np.ndarray:
    """<x|l_z|y> between all m-states."""
    return _by_spin(orbitals, _same_radial(orbitals), lambda l, m, s: m)


def spin_moment(orbitals: Orbitals) -> np.ndarray:
    """<x|s_z|y> between all m-states."""
    return _by_spin(orbitals, _same_radial(orbitals), lambda l, m, s: np.full(len(l), s))


def quadrupole(orbitals: Orbitals) -> np.ndarray:
    """<x|r^2 C_20|y> between all m-states, C_20 = sqrt(4 pi / 5) Y_20, in units of the oscillator length squared.

    <l m|C_20|l' m> = sqrt((2l'+1)/(2l+1)) <l' m 2 0|l m> <l' 0 2 0|l 0>.
    """
    matrix_xx = np.zeros((len(orbitals.states()),) * 2)
    for step in (-2, 0, 2):
        matrix_xx += _by_spin(orbitals, _radial(orbitals, step), partial(_c20_all, step))
    return matrix_xx


def _c20_all(step: int, l_x: np.ndarray, m_l_x: np.ndarray, _: float) -> np.ndarray:
    """<l m|C_20|l - step, m> for arrays."""
    return np.array([_c20(l, l - step, m) for l, m in zip(l_x.tolist(), m_l_x.tolist(), strict=True)])


def _c20(l: int, other: int, m_l: int) -> float:
    """<l m|C_20|other m>."""
    if other < abs(m_l) or not abs(l - other) <= 2 <= l + other:
        return 0.0
    root = math.sqrt((2 * other + 1) / (2 * l + 1))
    return root * coupling(2 * other, 2 * m_l, 4, 0, 2 * l) * coupling(2 * other, 0, 4, 0, 2 * l)


def coupling(twice_j1: int, twice_m1: int, twice_j2: int, twice_m2: int, twice_j: int) -> float:
    """<j1 m1 j2 m2|J M>; zero where it is not allowed."""
    row = (twice_j - abs(twice_j1 - twice_j2)) // 2
    outside = abs(twice_m1) > twice_j1 or abs(twice_m2) > twice_j2 or abs(twice_m1 + twice_m2) > twice_j
    if outside or row < 0 or twice_j > twice_j1 + twice_j2 or (twice_j1 + twice_j2 + twice_j) % 2:
        return 0.0
    table = clebsch_gordan(twice_j1, twice_j2)
    return float(table[row, (twice_m1 + twice_j1) // 2, (twice_m2 + twice_j2) // 2])


def _by_spin(
    orbitals: Orbitals, radial_aa: np.ndarray, angular: Callable[[np.ndarray, np.ndarray, float], np.ndarray]
) -> np.ndarray:
    """sum over the spin projection s of c_x c_y R_ab A(l_x, m_x - s, s), with |l j m> = sum_s c |l, m - s> |s>."""
    states = orbitals.states()
    l_x, twice_j_x = orbitals.l_a[states.orbital_x], orbitals.twice_j_a[states.orbital_x]
    same_m = states.twice_m_x[:, None] == states.twice_m_x
    total_xx = np.zeros(same_m.shape)
    for twice_s in (-1, 1):
        m_l_x = (states.twice_m_x - twice_s) // 2
        triples = zip(l_x.tolist(), m_l_x.tolist(), twice_j_x.tolist(), strict=True)
        c_x = np.array([coupling(2 * l, 2 * m, 1, twice_s, j) for l, m, j in triples])
        total_xx += np.multiply.outer(c_x * angular(l_x, m_l_x, twice_s / 2), c_x)
    return total_xx * same_m * radial_aa[np.ix_(states.orbital_x, states.orbital_x)]


def _same_radial(orbitals: Orbitals) -> np.ndarray:
    """1 between orbitals of the same n and l."""
    same_n = orbitals.n_a[:, None] == orbitals.n_a
    return (same_n & (orbitals.l_a[:, None] == orbitals.l_a)).astype(float)


def _radial(orbitals: Orbitals, step: int) -> np.ndarray:
    """<n l|r^2|n' l'> with l - l' = step, of functions positive at the origin; zero for other pairs of l.

    From <n, l+1|r|n, l> = sqrt(n+l+3/2) and <n-1, l+1|r|n, l> = -sqrt(n), by two steps.
    """
    labels = list(zip(orbitals.n_a.tolist(), orbitals.l_a.tolist(), strict=True))
    values = [[_r2_of(one, other) for other in labels] for one in labels]
    wanted = orbitals.l_a[:, None] - orbitals.l_a == step
    return np.array(values, dtype=float).reshape(len(labels), len(labels)) * wanted


def _r2_of(one: tuple[int, int], other: tuple[int, int]) -> float:
    (n1, l1), (n2, l2) = one, other
    if l1 == l2:
        return _r2_same(n1, n2, l1)
    return _r2(n2, l2, n1) if l1 > l2 else _r2(n1, l1, n2)


def _r2(n: int, l: int, other: int) -> float:
    """<n l|r^2|other l+2>."""
    if other == n:
        return math.sqrt((n + l + 1.5) * (n + l + 2.5))
    if other == n - 1:
        return -2 * math.sqrt(n * (n + l + 1.5))
    return math.sqrt(n * (n - 1)) if other == n - 2 else 0.0


def _r2_same(n: int, other: int, l: int) -> float:
    """<n l|r^2|other l>."""
    if n == other:
        return 2 * n + l + 1.5
    low = min(n, other)
    return -math.sqrt((low + 1) * (low + l + 1.5)) if abs(n - other) == 1 else 0.0


def reduced(value: float, twice_jf: int, rank: int, twice_ji: int, twice_m: int) -> float | None:
    """<Jf||T_k||Ji> from <Jf M|T_k0|Ji M>; None where the coupling vanishes and M cannot tell.

    <Jf M|T_k0|Ji M> = (-1)^(Jf-M) (Jf k Ji; -M 0 M) <Jf||T||Ji> = <Ji M k 0|Jf M> <Jf||T||Ji> / sqrt(2Jf+1).
    """
    factor = coupling(twice_ji, twice_m, 2 * rank, 0, twice_jf)
    return value * math.sqrt(twice_jf + 1) / factor if abs(factor) > 1e-9 else None
