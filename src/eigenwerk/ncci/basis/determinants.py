"""Slater determinants of one species of nucleons, all within a limit on their weight, enumerated as arrays."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from eigenwerk.ncci.orbitals import SingleStates


class Sector(NamedTuple):
    """A run of determinants with the same 2M, parity and weight: rows start to stop."""

    twice_M: int
    parity: int
    weight: int
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class Determinants:
    """Determinants d of one species, |d> = a+_{o_0} a+_{o_1} ... |0> with o_0 < o_1 < ...

    occupied_di: (d, nucleons) uint16, rising positions in `states`.  weight_x: weight of every state (in no-core spaces
    its oscillator quanta); weight_d is their sum.  key_d: a number that is different for every determinant and
    additive in the occupied states.  Order: 2M, parity, weight, occupied states.
    """

    states: SingleStates
    weight_x: np.ndarray
    occupied_di: np.ndarray
    weight_d: np.ndarray
    twice_m_d: np.ndarray
    parity_d: np.ndarray
    key_d: np.ndarray

    def __len__(self) -> int:
        return len(self.occupied_di)

    @property
    def nucleons(self) -> int:
        """How many nucleons each determinant has."""
        return self.occupied_di.shape[1]

    @property
    def state_key_x(self) -> np.ndarray:
        """What every state adds to key_d, modulo 2^64."""
        return _state_keys(len(self.states))

    @cached_property
    def sectors(self) -> list[Sector]:
        """The runs of equal 2M, parity and weight, in order."""
        return sectors_of(self.twice_m_d, self.parity_d, self.weight_d)

    def find(self, occupied_di: np.ndarray) -> np.ndarray:
        """Positions of determinants given by their occupied states, in any order; -1 where there is none."""
        occupied_di = np.atleast_2d(np.asarray(occupied_di, dtype=np.int64))  # of no nucleons, rows of nothing
        known_di = np.minimum(occupied_di, len(self.states) - 1)
        inside = np.all(known_di == occupied_di, axis=1)
        key = self.state_key_x[known_di].sum(axis=1, dtype=np.uint64)
        order = self._by_key
        place = np.minimum(np.searchsorted(self.key_d, key, sorter=order), len(self) - 1)
        found = order[place]
        return np.where(inside & (self.key_d[found] == key), found, -1)

    @cached_property
    def _by_key(self) -> np.ndarray:
        return np.argsort(self.key_d, kind="stable")


def sectors_of(twice_m_d: np.ndarray, parity_d: np.ndarray, weight_d: np.ndarray) -> list[Sector]:
    """The runs of equal (2M, parity, weight) in arrays sorted by them."""
    if not len(twice_m_d):
        return []
    changes = (np.diff(twice_m_d) != 0) | (np.diff(parity_d) != 0) | (np.diff(weight_d) != 0)
    cuts = [0, *(np.flatnonzero(changes) + 1).tolist(), len(twice_m_d)]
    return [
        Sector(int(twice_m_d[start]), int(parity_d[start]), int(weight_d[start]), start, stop)
        for start, stop in pairwise(cuts)
    ]


def lowest_weight(weight_x: np.ndarray, nucleons: int) -> int:
    """The smallest weight that `nucleons` different states can have together."""
    return int(np.sort(weight_x)[:nucleons].sum())


def all_determinants(states: SingleStates, weight_x: np.ndarray, nucleons: int, max_weight: int) -> Determinants:
    """All determinants of `nucleons` nucleons with weight up to `max_weight`.

    Nucleons are added one after the other to all unfinished determinants at once; in the order of rising weight the
    states that leave room for the nucleons still to come are a range.
    """
    weight_x = np.asarray(weight_x, dtype=np.int64)
    order_x = np.argsort(weight_x, kind="stable")
    occupied_di = order_x[_choose(weight_x[order_x], nucleons, max_weight)]
    occupied_di = np.sort(occupied_di, axis=1) if nucleons else np.zeros((int(max_weight >= 0), 0), np.int64)
    weight_d = weight_x[occupied_di].sum(axis=1)
    twice_m_d = states.twice_m_x[occupied_di].sum(axis=1)
    parity_d = states.parity_x[occupied_di].sum(axis=1) % 2
    order_d = np.lexsort((weight_d, parity_d, twice_m_d))
    occupied_di = occupied_di[order_d].astype(np.uint16)
    key_d = _state_keys(len(states))[occupied_di].sum(axis=1, dtype=np.uint64)
    return Determinants(states, weight_x, occupied_di, weight_d[order_d], twice_m_d[order_d], parity_d[order_d], key_d)


def _choose(weight_x: np.ndarray, nucleons: int, max_weight: int) -> np.ndarray:
    """All choices of `nucleons` positions with weights (rising along weight_x) up to max_weight together."""
    chosen = np.zeros((1, 0), dtype=np.int32)
    last, used = np.full(1, -1), np.zeros(1, dtype=np.int64)
    total = np.concatenate([[0], np.cumsum(weight_x)])
    for left in range(nucleons - 1, -1, -1):
        # weight of a state together with the `left` next ones, the least that choosing it costs
        cost_x = total[left + 1 :] - total[: len(total) - left - 1]
        stop = np.searchsorted(cost_x, max_weight - used, side="right")
        count = np.maximum(stop - last - 1, 0)
        parent = np.repeat(np.arange(len(count)), count)
        rank = np.arange(len(parent)) - np.repeat(np.cumsum(count) - count, count)
        last = last[parent] + 1 + rank
        used = used[parent] + weight_x[last]
        chosen = np.concatenate([chosen[parent], last[:, None].astype(np.int32)], axis=1)
    return chosen


def _state_keys(count: int) -> np.ndarray:
    """One fixed random 64-bit number for every state; their sums modulo 2^64 tell determinants apart.

    Of ten million determinants two have the same sum with a probability of 3e-6.
    """
    return np.random.Generator(np.random.Philox(4)).integers(0, 2**64, size=count, dtype=np.uint64)
