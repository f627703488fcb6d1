"""What is left of determinants when none, one or two nucleons are taken out of them, and the signs."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from eigenwerk.ncci.basis.determinants import Determinants, Sector, sectors_of


@dataclass(frozen=True, eq=False)
class Annihilated:
    """Every way z to take nucleons out of determinants: a_second a_first |d> = sign |rest>.

    Rests are numbered in the order of 2M, parity, weight (`sectors` are the runs of equal ones).  rest_z, det_z:
    numbers of the rest and of the determinant; first_z < second_z: the states taken (zeros where fewer were taken);
    sign_z: +1 or -1, int8.  Entries are ordered by the rest.
    """

    sectors: list[Sector]
    rest_z: np.ndarray
    det_z: np.ndarray
    first_z: np.ndarray
    second_z: np.ndarray
    sign_z: np.ndarray

    @property
    def rests(self) -> int:
        """How many different rests there are."""
        return self.sectors[-1].stop if self.sectors else 0


def take_none(determinants: Determinants) -> Annihilated:
    """The determinants themselves."""
    every = np.arange(len(determinants))
    zeros = np.zeros(len(determinants), dtype=np.int64)
    return Annihilated(determinants.sectors, every, every, zeros, zeros, np.ones(len(every), dtype=np.int8))


def take_one(determinants: Determinants) -> Annihilated:
    """Each nucleon in turn; the sign counts the nucleons before it."""
    nucleons = determinants.nucleons
    sign_i = (1 - 2 * (np.arange(nucleons) % 2)).astype(np.int8)
    return _take(determinants, [(i,) for i in range(nucleons)], sign_i)


def take_two(determinants: Determinants) -> Annihilated:
    """Each pair i < j in turn.  a_i passes i nucleons, then a_j passes j - 1: the sign is (-1)^(i + j - 1)."""
    places: list[tuple[int, ...]] = list(combinations(range(determinants.nucleons), 2))
    sign_x = np.array([1 - 2 * ((i + j - 1) % 2) for i, j in places], dtype=np.int8)
    return _take(determinants, places, sign_x)


def _take(determinants: Determinants, places: Sequence[tuple[int, ...]], sign_x: np.ndarray) -> Annihilated:
    """Takes the nucleons at the given places; rests are recognised by their keys."""
    if not places or not len(determinants):
        none = np.zeros(0, dtype=np.int64)
        return Annihilated([], none, none, none, none, none.astype(np.int8))
    taken_xdi = np.stack([determinants.occupied_di[:, list(place)] for place in places], axis=1)
    taken_zi = taken_xdi.reshape(-1, len(places[0])).astype(np.int64)
    det_z = np.repeat(np.arange(len(determinants)), len(places))
    state_key = determinants.state_key_x
    key_z = determinants.key_d[det_z] - state_key[taken_zi].sum(axis=1, dtype=np.uint64)
    _, seen, rest_z = np.unique(key_z, return_index=True, return_inverse=True)
    labels = [
        quantity_d[det_z[seen]] - per_state_x[taken_zi[seen]].sum(axis=1)
        for quantity_d, per_state_x in (
            (determinants.twice_m_d, determinants.states.twice_m_x),
            (determinants.parity_d, determinants.states.parity_x),
            (determinants.weight_d, determinants.weight_x),
        )
    ]
    labels[1] %= 2
    # among equals, by the first determinant that has this rest: neighbours then have neighbouring determinants
    order = np.lexsort((seen, labels[2], labels[1], labels[0]))
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    rest_z = number[rest_z]
    by_rest = np.argsort(rest_z, kind="stable")
    return Annihilated(
        sectors_of(*(label[order] for label in labels)),
        rest_z[by_rest],
        det_z[by_rest],
        taken_zi[by_rest, 0],
        taken_zi[by_rest, -1],
        np.tile(sign_x, len(determinants))[by_rest],
    )
