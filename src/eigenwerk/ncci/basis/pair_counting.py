"""How large the pairs of a basis and the products of the matrix-free back end are, counted without building them."""

from dataclasses import dataclass

import numpy as np

from eigenwerk.ncci.basis.counting import determinant_tables
from eigenwerk.ncci.basis.determinants import lowest_weight
from eigenwerk.ncci.basis.space import ManyBodySpace

KINDS = ("pp", "nn", "pn")


def pair_weights(space: ManyBodySpace, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Weights of the m-states of the first and the second nucleon."""
    weights = {"p": space.weight_p_x, "n": space.weight_n_x}
    return weights[kind[0]], weights[kind[1]]


def needed_pairs(space: ManyBodySpace, kind: str) -> np.ndarray:
    """(states, states) True for the pairs that occur together in a state of the truncation."""
    limits = space.truncation
    left = {"p": space.protons - kind.count("p"), "n": space.neutrons - kind.count("n")}
    weight_1, weight_2 = pair_weights(space, kind)
    if min(left.values()) < 0:
        return np.zeros((len(weight_1), len(weight_2)), dtype=bool)
    rest_p, rest_n = lowest_weight(space.weight_p_x, left["p"]), lowest_weight(space.weight_n_x, left["n"])
    pair_xx = np.add.outer(weight_1, weight_2)
    if kind == "pn":
        fits = (weight_1 <= limits.max_p - rest_p)[:, None] & (weight_2 <= limits.max_n - rest_n)
        return fits & (pair_xx <= limits.max_total - rest_p - rest_n)
    own, rest = (limits.max_p, rest_p) if kind == "pp" else (limits.max_n, rest_n)
    return np.triu(pair_xx <= min(own - rest, limits.max_total - rest_p - rest_n), 1)


@dataclass(frozen=True)
class PairCounts:
    """elements: matrix elements between pairs of m-states; largest: those of the largest block.

    products, gathers, multiplications: dense products, gathered elements and multiply-adds of one product with H, to
    some percent: rests that no state of the other species completes are counted too.  one_jumps, two_jumps: pairs of
    determinants of one species that differ by one nucleon, whatever their 2M and parity, and in both orders; by two,
    with equal 2M and parity; about.
    """

    elements: int
    largest: int
    products: int
    gathers: int
    multiplications: int
    one_jumps: int
    two_jumps: int


def count_pairs(space: ManyBodySpace) -> PairCounts:
    """The counts of a space.

    A dense product belongs to a sector (weight, 2M, parity) of what is left of the protons, one of the neutrons, and
    the block of pairs that makes up for both; generating functions say how many determinants a sector has.
    """
    tables_p, tables_n = determinant_tables(space)
    total = np.zeros(5, dtype=np.int64)
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
    jumps = np.sum([_jumps(space, tables_p, "p"), _jumps(space, tables_n, "n")], axis=0)
    return PairCounts(*total.tolist(), *jumps.tolist())


def _jumps(space: ManyBodySpace, tables: list[np.ndarray], species: str) -> list[int]:
    """Jumps of one nucleon of a species, in both directions, and of two that leave 2M and parity, in one.

    Nucleons that stay are a determinant of one or two less; what completes it are all states, or pairs of them, that
    the limit leaves, but for as many of the lowest states as it occupies.
    """
    limits, (lowest_p, lowest_n) = space.truncation, space.lowest_weights()
    most, nucleons = min(limits.max_p, limits.max_total - lowest_n), len(tables) - 1
    weight_x = space.weight_p_x
    if species == "n":
        most, weight_x = min(limits.max_n, limits.max_total - lowest_p), space.weight_n_x
    ones = twos = 0
    if nucleons >= 1:
        rests_w = tables[-2].sum(axis=(1, 2))
        room_w = most - np.arange(len(rests_w))
        free_w = np.searchsorted(np.sort(weight_x), room_w, side="right") - (nucleons - 1)
        ones = int((rests_w * np.maximum(free_w, 0) * np.maximum(free_w - 1, 0)).sum())
    if nucleons >= 2:
        rests_w = tables[-3].sum(axis=(1, 2))
        weights, size_b, *_ = _pair_sizes(space, 2 * species)
        step_w = np.searchsorted(weights, most - np.arange(len(rests_w)), side="right") - 1
        pairs_bw = np.where(step_w >= 0, size_b[:, step_w], 0) if len(weights) else np.zeros((1, len(rests_w)), int)
        twos = int((rests_w * (pairs_bw * (pairs_bw - 1) // 2).sum(axis=0)).sum())
    return [ones, twos]


def _blocks(space: ManyBodySpace, kind: str):
    """Weights of pairs, rising; (block, weight) pairs of at most this weight; (2M, parity) -> block or -1."""
    weights, size_b, m_b, parity_b = _pair_sizes(space, kind)
    reach = int(abs(m_b).max(initial=0))
    keys = (m_b + reach) * 2 + parity_b

    def place(twice_m: np.ndarray, sign: np.ndarray) -> np.ndarray:
        key = (twice_m + reach) * 2 + sign
        found = np.minimum(np.searchsorted(keys, key), max(len(keys) - 1, 0))
        return np.where((abs(twice_m) <= reach) & (keys[found] == key if len(keys) else False), found, -1)

    return weights, size_b, place


def _pair_sizes(space: ManyBodySpace, kind: str) -> tuple[np.ndarray, ...]:
    """Weights of pairs, rising; (block, weight) pairs of at most this weight; 2M and parity of each block."""
    sides = {"p": (space.orbitals_p.states(), space.weight_p_x), "n": (space.orbitals_n.states(), space.weight_n_x)}
    (one, weight_1), (other, weight_2) = (sides[letter] for letter in kind)
    x, y = np.nonzero(needed_pairs(space, kind))
    weight, m = weight_1[x] + weight_2[y], one.twice_m_x[x] + other.twice_m_x[y]
    parity = (one.parity_x[x] + other.parity_x[y]) % 2
    weights = np.unique(weight)
    keys, block = np.unique(m * 2 + parity, return_inverse=True)
    size_b = np.zeros((len(keys), len(weights)), dtype=np.int64)
    np.add.at(size_b, (block, np.searchsorted(weights, weight)), 1)
    sums = np.cumsum(size_b, axis=1) if len(weights) else np.zeros((0, 1), dtype=np.int64)
    return weights, sums, keys // 2, keys % 2


def _sectors(table: np.ndarray) -> tuple[np.ndarray, ...]:
    """Weight, 2M, parity and number of determinants of the sectors that have any."""
    weight, column, parity = np.nonzero(table)
    return weight, column - table.shape[1] // 2, parity, table[weight, column, parity]
