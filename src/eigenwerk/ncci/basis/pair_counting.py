"""How large the pairs of a basis and the products of the matrix-free back end are, counted without building them."""

from dataclasses import dataclass

import numpy as np

from eigenwerk.ncci.basis.counting import determinant_tables
from eigenwerk.ncci.basis.needed_pairs import KINDS, needed_pairs
from eigenwerk.ncci.basis.space import ManyBodySpace


@dataclass(frozen=True)
class PairCounts:
    """elements: matrix elements between pairs of m-states; largest: those of the largest block.

    products, gathers, multiplications: dense products, gathered elements and multiply-adds of one product with H, to
    some percent: rests that no state of the other species completes are counted too.  jumps: pairs of determinants of
    one species that differ by one nucleon, whatever their 2M and parity, about.
    """

    elements: int
    largest: int
    products: int
    gathers: int
    multiplications: int
    jumps: int


def count_pairs(space: ManyBodySpace) -> PairCounts:
    """The counts of a space.

    A dense product belongs to a sector (weight, 2M, parity) of what is left of the protons, one of the neutrons, and
    the block of pairs that makes up for both; generating functions say how many determinants a sector has.
    """
    tables_p, tables_n = determinant_tables(space)
    total = np.zeros(6, dtype=np.int64)
    for kind in KINDS:
        left = space.protons - kind.count("p"), space.neutrons - kind.count("n")
        if min(left) < 0:
            continue
        weight_b, size_b, place_b = _blocks(space, kind)
        total[0] += int((size_b[:, -1] ** 2).sum())
        total[1] = max(total[1], int((size_b[:, -1] ** 2).max(initial=0)))
        (w_p, m_p, s_p, n_p), (w_n, m_n, s_n, n_n) = _sectors(tables_p[left[0]]), _sectors(tables_n[left[1]])
        limits = space.truncation
        for w, m, s, number in zip(w_p.tolist(), m_p.tolist(), s_p.tolist(), n_p.tolist(), strict=True):
            room = limits.max_total - w - w_n
            if kind == "pp":
                room = np.minimum(room, limits.max_p - w)
            if kind == "nn":
                room = np.minimum(room, limits.max_n - w_n)
            block = place_b(space.twice_M - m - m_n, (space.parity + s + s_n) % 2)
            step = np.searchsorted(weight_b, room, side="right") - 1
            fits = (block >= 0) & (step >= 0)
            pairs = size_b[block[fits], step[fits]]
            rests = number * n_n[fits]
            total[2] += int((pairs > 0).sum())
            total[3] += int((pairs * rests).sum())
            total[4] += int((pairs**2 * rests).sum())
    total[5] = _jumps(space, tables_p, "p") + _jumps(space, tables_n, "n")
    return PairCounts(*total.tolist())


def _jumps(space: ManyBodySpace, tables: list[np.ndarray], species: str) -> int:
    """Ordered pairs of different states that complete a rest of one nucleon less."""
    if len(tables) < 2:
        return 0
    weight_x = space.weight_p_x if species == "p" else space.weight_n_x
    rests_w = tables[-2].sum(axis=(1, 2))
    room_w = len(tables[-1]) - 1 - np.arange(len(rests_w))
    free_w = np.searchsorted(np.sort(weight_x), room_w, side="right") - (len(tables) - 2)
    return int((rests_w * np.maximum(free_w * (free_w - 1), 0)).sum())


def _blocks(space: ManyBodySpace, kind: str):
    """Weights of pairs, rising; (block, weight) pairs of at most this weight; (2M, parity) -> block or -1."""
    sides = {"p": (space.orbitals_p.states(), space.weight_p_x), "n": (space.orbitals_n.states(), space.weight_n_x)}
    (one, weight_1), (other, weight_2) = (sides[letter] for letter in kind)
    x, y = np.nonzero(needed_pairs(space, kind))
    weight, m = weight_1[x] + weight_2[y], one.twice_m_x[x] + other.twice_m_x[y]
    parity = (one.parity_x[x] + other.parity_x[y]) % 2
    weights = np.unique(weight)
    reach = int(abs(m).max(initial=0))
    keys, block = np.unique((m + reach) * 2 + parity, return_inverse=True)
    size_b = np.zeros((len(keys), len(weights)), dtype=np.int64)
    np.add.at(size_b, (block, np.searchsorted(weights, weight)), 1)

    def place(twice_m: np.ndarray, sign: np.ndarray) -> np.ndarray:
        key = (twice_m + reach) * 2 + sign
        found = np.minimum(np.searchsorted(keys, key), max(len(keys) - 1, 0))
        return np.where((abs(twice_m) <= reach) & (keys[found] == key if len(keys) else False), found, -1)

    return weights, np.cumsum(size_b, axis=1) if len(weights) else np.zeros((0, 1), dtype=np.int64), place


def _sectors(table: np.ndarray) -> tuple[np.ndarray, ...]:
    """Weight, 2M, parity and number of determinants of the sectors that have any."""
    weight, column, parity = np.nonzero(table)
    return weight, column - table.shape[1] // 2, parity, table[weight, column, parity]
