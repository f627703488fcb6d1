"""Random symmetric matrices between pairs of m-states, in place of an interaction."""

import numpy as np

from eigenwerk.ncci.basis_pairs import KINDS, BasisPairs, needed_pairs, select_pairs
from eigenwerk.ncci.interaction.pair_blocks import PairBlock
from eigenwerk.ncci.manybody import ManyBodyBasis


def random_pairs(basis: ManyBodyBasis, seed: int = 1) -> BasisPairs:
    """One block for every 2M and parity of the pairs that the basis needs."""
    generator = np.random.default_rng(seed)
    return select_pairs(basis, {kind: _blocks(basis, kind, generator) for kind in KINDS})


def _twice_j(determinants):
    """2j of every m-state: the largest 2m of its orbital."""
    orbital, twice_m = determinants.states.orbital_x, determinants.states.twice_m_x
    largest = np.zeros(orbital.max() + 1, dtype=np.int64)
    np.maximum.at(largest, orbital, twice_m)
    return largest[orbital]


def _blocks(basis, kind, generator):
    one, two = ({"p": basis.protons, "n": basis.neutrons}[letter] for letter in kind)
    first, second = np.nonzero(needed_pairs(basis, kind))
    twice_M = one.states.twice_m_x[first] + two.states.twice_m_x[second]
    parity = (one.states.parity_x[first] + two.states.parity_x[second]) % 2
    blocks = []
    for m, p in sorted(set(zip(twice_M.tolist(), parity.tolist(), strict=True))):
        chosen = (twice_M == m) & (parity == p)
        matrix = generator.standard_normal((chosen.sum(),) * 2)
        weight = one.weight_x[first[chosen]] + two.weight_x[second[chosen]]
        j_1, j_2 = (_twice_j(side)[states[chosen]] for side, states in ((one, first), (two, second)))
        low, high = abs(j_1 - j_2), j_1 + j_2
        matrix *= (low[:, None] <= high) & (low <= high[:, None])  # no J in common: zero, as in every interaction
        blocks.append(PairBlock(m, p, first[chosen], second[chosen], weight, matrix + matrix.T))
    return blocks
