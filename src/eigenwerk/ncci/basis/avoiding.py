"""How many determinants of a whole valence space avoid given single-particle states.

Where no weight cuts anything off, determinants of k nucleons are told apart by 2M and parity alone.  With E_k those of
a list of states, and D_k those of the list without a state of 2m and parity p,

    D_0 = E_0,   D_k[2M, P] = E_k[2M, P] - D_(k-1)[2M - 2m, P - p]

which is one pass over k for every state that is left out, however many nucleons there are.  (The series of
`counting`, which serve truncated spaces, have C(k + 4, 4) terms: 46 376 for 30 nucleons.)  Sums are exact also where
they leave 64 bits on the way: whole numbers modulo 2^64.
"""

from functools import lru_cache

import numpy as np

KEPT = 2048
"""Tables without up to three states that are remembered, some 0.1 MB each in the largest shells."""


class WholeSpecies:
    """The determinants of one species of nucleons in all of its orbitals.

    twice_m_x, parity_x: of its single-particle states.  nucleons: of the species.
    """

    def __init__(self, twice_m_x: np.ndarray, parity_x: np.ndarray, nucleons: int) -> None:
        self.nucleons, self.middle = nucleons, int(np.maximum(twice_m_x, 0).sum())
        table_k = np.zeros((nucleons + 1, 2 * self.middle + 1, 2), dtype=np.uint64)
        table_k[0, self.middle, 0] = 1
        for m, parity in zip(twice_m_x.tolist(), parity_x.tolist(), strict=True):
            table_k[1:] += _moved(table_k[:-1], m, parity)
        self.whole = table_k
        self._kept = lru_cache(maxsize=KEPT)(self._without)

    def _without(self, states: tuple[tuple[int, int], ...]) -> np.ndarray:
        """Determinants without states of these (2m, parity), in order: (nucleons, 2M + middle, parity)."""
        if not states:
            return self.whole
        table_k = self._kept(states[:-1]).copy()
        for k in range(1, len(table_k)):
            table_k[k] -= _moved(table_k[k - 1], *states[-1])
        return table_k

    def avoiding(self, states: tuple[tuple[int, int], ...], taken: int) -> np.ndarray:
        """Determinants of all nucleons but `taken` without these states, (2M + middle, parity)."""
        states = tuple(sorted(states))
        table_k = self._kept(states) if len(states) < 4 else self._without(states)
        return table_k[self.nucleons - taken]


def _moved(table: np.ndarray, twice_m: int, parity: int) -> np.ndarray:
    """The same with one more nucleon, along the last two axes; what leaves the axis of 2M cannot be."""
    result = np.zeros_like(table)
    size = table.shape[-2]
    source = slice(max(-twice_m, 0), size - max(twice_m, 0))
    target = slice(max(twice_m, 0), size - max(-twice_m, 0))
    result[..., target, :] = table[..., source, ::-1] if parity else table[..., source, :]
    return result


def together(one: np.ndarray, other: np.ndarray, twice_m: int, parity: int) -> int:
    """Products of determinants of protons and neutrons with this 2M and parity in all."""
    middle_1, middle_2 = one.shape[0] // 2, other.shape[0] // 2
    total = 0
    for p in range(2):
        # one[m1] times other[twice_m - m1]
        place = middle_2 + twice_m - (np.arange(len(one)) - middle_1)
        inside = (place >= 0) & (place < len(other))
        total += int((one[inside, p] * other[place[inside], (parity - p) % 2]).sum(dtype=np.uint64))
    return total
