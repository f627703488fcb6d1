"""Matrix elements between pairs of m-states, the form in which the many-body back ends use an interaction."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from eigenwerk.ncci.interaction.angular_algebra import clebsch_gordan
from eigenwerk.ncci.interaction.two_body import TwoBody
from eigenwerk.ncci.orbitals import Orbitals

PIECE = 1 << 20
"""Elements that are worked on at once."""


@dataclass(frozen=True)
class PairBlock:
    """All pairs of m-states of one kind with the same M and parity, and <x|V|y> between them.

    first_x, second_x: positions in `Orbitals.states()` of the two species; two protons or two neutrons have
    first < second, and the matrix is antisymmetrised but not otherwise normalised: a pair of m-states is one
    two-particle determinant.  Pairs are ordered by their quanta quanta_x, so that a smaller truncation is a leading
    block.
    """

    twice_M: int
    parity: int
    first_x: np.ndarray
    second_x: np.ndarray
    quanta_x: np.ndarray
    matrix_xx: np.ndarray


@dataclass(frozen=True)
class _MPairs:
    """Pairs of m-states: positions of the states, of their orbitals, of m in -j..j, and M, parity, quanta."""

    first_x: np.ndarray
    second_x: np.ndarray
    orbital_x2: np.ndarray
    step_x2: np.ndarray
    twice_m_x: np.ndarray
    parity_x: np.ndarray
    quanta_x: np.ndarray

    def take(self, chosen: np.ndarray) -> "_MPairs":
        return _MPairs(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def pair_blocks(two_body: TwoBody, species: str) -> list[PairBlock]:
    """All blocks of "pp", "nn" or "pn" pairs."""
    return list(each_pair_block(two_body, species))


def each_pair_block(two_body: TwoBody, species: str) -> Iterator[PairBlock]:
    """The same one after the other, for large spaces.

    <ab|V|cd> = sum_J <ja ma jb mb|JM> <jc mc jd md|JM> f_ab f_cd V^J(ab, cd), f = sqrt(2) for two like nucleons
    in the same orbital and 1 otherwise.
    """
    first, second = two_body.space.orbitals(species)
    pairs = _m_pairs(two_body, species)
    order = np.lexsort((pairs.second_x, pairs.first_x, pairs.quanta_x, pairs.twice_m_x, pairs.parity_x))
    pairs = pairs.take(order)
    keys = np.stack([pairs.parity_x, pairs.twice_m_x])
    cuts = np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1
    for chosen in np.split(np.arange(len(pairs.first_x)), cuts):
        if len(chosen):
            part = pairs.take(chosen)
            matrix = _block_matrix(two_body, species, part, first, second)
            m, parity = int(part.twice_m_x[0]), int(part.parity_x[0])
            yield PairBlock(m, parity, part.first_x, part.second_x, part.quanta_x, matrix)


def _m_pairs(two_body: TwoBody, species: str) -> _MPairs:
    """All pairs of m-states whose orbitals form a pair of the space."""
    first, second = two_body.space.orbitals(species)
    states_1, states_2 = first.states(), second.states()
    known_ab = np.zeros((len(first), len(second)), dtype=bool)
    for pair_x2 in two_body.space.pairs(species).values():
        known_ab[pair_x2[:, 0], pair_x2[:, 1]] = True
    allowed = known_ab[np.ix_(states_1.orbital_x, states_2.orbital_x)]
    x, y = np.nonzero(allowed if species == "pn" else np.triu(allowed, 1))
    a, b = states_1.orbital_x[x], states_2.orbital_x[y]
    steps = ((states_1.twice_m_x[x] + first.twice_j_a[a]) // 2, (states_2.twice_m_x[y] + second.twice_j_a[b]) // 2)
    return _MPairs(
        x,
        y,
        np.stack([a, b], axis=1),
        np.stack(steps, axis=1),
        states_1.twice_m_x[x] + states_2.twice_m_x[y],
        (states_1.parity_x[x] + states_2.parity_x[y]) % 2,
        states_1.quanta_x[x] + states_2.quanta_x[y],
    )


def block_elements(two_body: TwoBody, species: str, first_x: np.ndarray, second_x: np.ndarray) -> np.ndarray:
    """<x|O|y> between pairs of m-states that share M and parity, as in `PairBlock`; float64."""
    first, second = two_body.space.orbitals(species)
    sides = zip((first, second), (first_x, second_x), strict=True)
    places = [(orbitals.states(), orbitals, x) for orbitals, x in sides]
    orbital_x2 = np.stack([states.orbital_x[x] for states, _, x in places], axis=1)
    twice_m = [states.twice_m_x[x] for states, _, x in places]
    steps = [
        (m + orbitals.twice_j_a[a]) // 2 for m, (_, orbitals, _), a in zip(twice_m, places, orbital_x2.T, strict=True)
    ]
    parity = sum(states.parity_x[x] for states, _, x in places) % 2
    part = _MPairs(first_x, second_x, orbital_x2, np.stack(steps, axis=1), twice_m[0] + twice_m[1], parity, parity)
    return _block_matrix(two_body, species, part, first, second)


def _block_matrix(two_body: TwoBody, species: str, part: _MPairs, first: Orbitals, second: Orbitals) -> np.ndarray:
    matrix = np.zeros((len(part.first_x), len(part.first_x)))
    a_x, b_x = part.orbital_x2.T
    twice_1, twice_2 = first.twice_j_a[a_x], second.twice_j_a[b_x]
    parity = int(part.parity_x[0])
    norm_x = np.where((a_x == b_x) & (species != "pn"), np.sqrt(2.0), 1.0)
    table_ab = np.empty((len(first), len(second)), dtype=np.int64)
    for j in range(abs(int(part.twice_m_x[0])) // 2, int((twice_1 + twice_2).max()) // 2 + 1):
        pair_x2 = two_body.space.pairs(species).get((j, parity))
        if pair_x2 is None:
            continue
        table_ab.fill(-1)
        table_ab[pair_x2[:, 0], pair_x2[:, 1]] = np.arange(len(pair_x2))
        index = table_ab[a_x, b_x]
        rows = np.flatnonzero(index >= 0)
        index, source = index[rows], two_body.matrices[species][j, parity]
        factor = norm_x[rows] * _couplings(twice_1[rows], twice_2[rows], part.step_x2[rows], j)
        step = max(1, PIECE // max(len(rows), 1))
        for at in range(0, len(rows), step):
            some = slice(at, at + step)
            values = source[index[some, None], index]
            values *= factor[some, None]
            values *= factor
            matrix[rows[some, None], rows] += values
    return matrix


def _couplings(twice_1: np.ndarray, twice_2: np.ndarray, step_x2: np.ndarray, j: int) -> np.ndarray:
    """<j1 m1 j2 m2|J M> for arrays; looked up per pair of j."""
    values = np.zeros(len(twice_1))
    key_x = twice_1 * 4096 + twice_2
    for key in np.unique(key_x):
        chosen = np.flatnonzero(key_x == key)
        j1, j2 = divmod(int(key), 4096)
        table = clebsch_gordan(j1, j2)[j - abs(j1 - j2) // 2]
        values[chosen] = table[step_x2[chosen, 0], step_x2[chosen, 1]]
    return values
