"""A tiny many-body calculation in the M-scheme for tests: dense matrices and Python loops."""

from collections import defaultdict
from itertools import combinations

import numpy as np

from eigenwerk.ncci.interaction.pair_blocks import pair_blocks


def determinants(states, count, max_quanta):
    """Tuples of states with at most `max_quanta` quanta in all."""
    return [x for x in combinations(range(len(states)), count) if states.quanta_x[list(x)].sum() <= max_quanta]


class DenseMScheme:
    """All determinants of Z protons and N neutrons with quanta N0 + Nmax, N0 + Nmax - 2, ... and a given 2M."""

    def __init__(self, orbitals_p, orbitals_n, protons, neutrons, max_quanta=None, twice_m=0, parity=None):
        self.states = [orbitals_p.states(), orbitals_n.states()]
        shift = len(self.states[0])
        limit = 10**9 if max_quanta is None else max_quanta
        lists = [determinants(s, c, limit) for s, c in zip(self.states, (protons, neutrons), strict=True)]
        totals = [
            [(self.states[k].quanta_x[list(d)].sum(), self.states[k].twice_m_x[list(d)].sum()) for d in lists[k]]
            for k in (0, 1)
        ]
        self.basis = [
            p + tuple(shift + i for i in n)
            for p, (qp, mp) in zip(lists[0], totals[0], strict=True)
            for n, (qn, mn) in zip(lists[1], totals[1], strict=True)
            if qp + qn <= limit and mp + mn == twice_m and (parity is None or (qp + qn - parity) % 2 == 0)
        ]
        self.shift = shift

    def matrix(self, two_body):
        """H_bb of a two-body operator: sum over pairs that two determinants can lose with the same remainder."""
        place = {}
        for kind in ("pp", "nn", "pn"):
            for block in pair_blocks(two_body, kind):
                first = block.first_x + (self.shift if kind == "nn" else 0)
                second = block.second_x + (0 if kind == "pp" else self.shift)
                for at, pair in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
                    place[pair] = (kind, block.twice_M, block.parity, at, block.matrix_xx)
        groups = defaultdict(list)
        for b, determinant in enumerate(self.basis):
            for i, j in combinations(range(len(determinant)), 2):
                kind, m, parity, at, values = place[determinant[i], determinant[j]]
                rest = determinant[:i] + determinant[i + 1 : j] + determinant[j + 1 :]
                groups[rest, kind, m, parity].append((b, at, (-1.0) ** (i + j - 1), values))
        result = np.zeros((len(self.basis), len(self.basis)))
        for members in groups.values():
            b, at, sign = (np.array([member[k] for member in members]) for k in range(3))
            result[np.ix_(b, b)] += sign[:, None] * sign * members[0][3][np.ix_(at, at)]
        return result
