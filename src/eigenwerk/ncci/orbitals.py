"""Oscillator orbitals (n, l, j) and the single-particle states (n, l, j, m) made of them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eigenwerk.errors import InputError


@dataclass(frozen=True)
class SingleStates:
    """All states (orbital, m) of a list of orbitals, ordered by orbital, then by m from -j to j.

    Arrays have one entry per state; orbital_x counts from 0 in the list of `Orbitals`; twice_m_x is 2m;
    quanta_x is 2n + l; parity_x is 0 (even l) or 1 (odd l).
    """

    orbital_x: np.ndarray
    twice_m_x: np.ndarray
    quanta_x: np.ndarray
    parity_x: np.ndarray

    def __len__(self) -> int:
        return len(self.orbital_x)


@dataclass(frozen=True, eq=False)
class Orbitals:
    """Oscillator orbitals of one species of nucleons; a is the orbital.

    Radial functions are positive at the origin, l and s couple to j in this order, n counts from 0.
    """

    n_a: np.ndarray
    l_a: np.ndarray
    twice_j_a: np.ndarray

    def __post_init__(self) -> None:
        for name in ("n_a", "l_a", "twice_j_a"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.int64))
        if len(set(self.labels)) != len(self):
            raise InputError(f"An orbital is named twice in the list {self.names()}. Remove one of them.")
        wrong = (self.n_a < 0) | (self.l_a < 0) | (abs(self.twice_j_a - 2 * self.l_a) != 1) | (self.twice_j_a < 1)
        if wrong.any():
            n, l, twice_j = self.labels[int(np.argmax(wrong))]
            raise InputError(f"n = {n}, l = {l}, 2j = {twice_j} is no orbital: n and l from 0, 2j = 2l - 1 or 2l + 1.")

    def __len__(self) -> int:
        return len(self.n_a)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Orbitals) and self.labels == other.labels

    def __hash__(self) -> int:
        return hash(self.labels)

    @cached_property
    def labels(self) -> tuple[tuple[int, int, int], ...]:
        """(n, l, 2j) of every orbital."""
        return tuple(zip(self.n_a.tolist(), self.l_a.tolist(), self.twice_j_a.tolist(), strict=True))

    @property
    def quanta_a(self) -> np.ndarray:
        """Oscillator quanta 2n + l."""
        return 2 * self.n_a + self.l_a

    def names(self) -> str:
        """The orbitals as people write them: 0s1/2 0p1/2 ..."""
        return " ".join(f"{n}{'spdfghiklmnoqrtuvwxyz'[l] if l < 21 else f'[l={l}]'}{j}/2" for n, l, j in self.labels)

    def states(self) -> SingleStates:
        """All states (orbital, m)."""
        orbital_x = np.repeat(np.arange(len(self)), self.twice_j_a + 1)
        starts = np.concatenate([np.arange(-j, j + 1, 2) for j in self.twice_j_a.tolist()] or [np.zeros(0, np.int64)])
        return SingleStates(orbital_x, starts, self.quanta_a[orbital_x], self.l_a[orbital_x] % 2)


def no_core_orbitals(max_quanta: int) -> Orbitals:
    """All orbitals with 2n + l <= max_quanta in MFDn's order: by quanta, then by j."""
    labels = []
    for quanta in range(max_quanta + 1):
        for twice_j in range(1, 2 * quanta + 2, 2):
            # of the two l with this j, l = j - 1/2 and j + 1/2, one has the parity of the quanta
            l = next(l for l in ((twice_j - 1) // 2, (twice_j + 1) // 2) if (quanta - l) % 2 == 0)
            labels.append(((quanta - l) // 2, l, twice_j))
    n_a, l_a, twice_j_a = np.array(labels, dtype=np.int64).reshape(-1, 3).T
    return Orbitals(n_a, l_a, twice_j_a)
