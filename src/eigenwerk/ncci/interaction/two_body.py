"""Scalar operators on pairs of nucleons as J-coupled matrix elements, and sums of them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.ncci.h2_data import ordered_pairs
from eigenwerk.ncci.orbitals import Orbitals

SPECIES = ("pp", "nn", "pn")
"""Kinds of pairs: two protons, two neutrons, a proton and a neutron."""

Channel = tuple[int, int]
"""(J, parity) of a pair; parity 0 is even."""


class PairChannel(NamedTuple):
    """Pairs of orbitals (x, 2) with one J and parity, and the symmetric matrix between them."""

    pair_x2: np.ndarray
    matrix_xx: np.ndarray


@dataclass(frozen=True, eq=False)
class PairSpace:
    """Which pairs of orbitals matrix elements exist for.

    Pairs (a, b) have quanta_a + quanta_b up to the limit of their kind.  Two protons or two neutrons: a <= b,
    and J even if a = b; a proton a and a neutron b: all.  Pairs are ordered by a, then by b.
    """

    orbitals_p: Orbitals
    orbitals_n: Orbitals
    max_quanta_pp: float = float("inf")
    max_quanta_nn: float = float("inf")
    max_quanta_pn: float = float("inf")
    weight_p: np.ndarray | None = None  # takes the place of the quanta, if a file says so
    weight_n: np.ndarray | None = None

    def orbitals(self, species: str) -> tuple[Orbitals, Orbitals]:
        """The lists that the first and the second index of a pair count in."""
        first, second = (self.orbitals_p if letter == "p" else self.orbitals_n for letter in species)
        return first, second

    def pairs(self, species: str) -> dict[Channel, np.ndarray]:
        """(J, parity) -> pairs of orbitals (x, 2), J rising, even parity first; empty channels are left out."""
        return self._pairs[species]

    def highest_quanta(self, species: str) -> int:
        """The most quanta that a pair of this kind has."""
        first, second = self.orbitals(species)
        lists = self.pairs(species).values()
        return max((int((first.quanta_a[x[:, 0]] + second.quanta_a[x[:, 1]]).max()) for x in lists), default=0)

    @cached_property
    def _pairs(self) -> dict[str, dict[Channel, np.ndarray]]:
        same = self.orbitals_p == self.orbitals_n and self.max_quanta_pp == self.max_quanta_nn
        same = same and np.array_equal(*self._weights("pn"))
        pp, pn = self._list("pp"), self._list("pn")
        return {"pp": pp, "nn": pp if same else self._list("nn"), "pn": pn}

    def _weights(self, species: str) -> tuple[np.ndarray, np.ndarray]:
        given = {"p": self.weight_p, "n": self.weight_n}
        lists = zip(species, self.orbitals(species), strict=True)
        first, second = (given[k] if given[k] is not None else orbitals.quanta_a for k, orbitals in lists)
        return np.asarray(first), np.asarray(second)

    def _list(self, species: str) -> dict[Channel, np.ndarray]:
        first, second = (np.stack([x.n_a, x.l_a, x.twice_j_a]) for x in self.orbitals(species))
        limit = getattr(self, f"max_quanta_{species}")
        return ordered_pairs((first, second), self._weights(species), limit, species != "pn")


@dataclass(frozen=True, eq=False)
class TwoBody:
    """A scalar operator on a nucleus, written as a sum over its pairs of nucleons.

    O = sum_{i<j} O(i, j);  matrices[kind][J, parity]_xy = <ab; J|O|cd; J> between normalised antisymmetric states
    (pp, nn) or products of a proton and a neutron (pn), for the pairs of `space`.  One-body operators enter divided
    by A - 1.  Energies in MeV.  TwoBody objects on the same pairs can be added and multiplied by numbers.
    """

    space: PairSpace
    matrices: Mapping[str, Mapping[Channel, np.ndarray]]

    @property
    def orbitals_p(self) -> Orbitals:
        """Proton orbitals."""
        return self.space.orbitals_p

    @property
    def orbitals_n(self) -> Orbitals:
        """Neutron orbitals."""
        return self.space.orbitals_n

    @property
    def pp(self) -> dict[Channel, PairChannel]:
        """(J, parity) -> pairs and matrix of two protons."""
        return self.channels("pp")

    @property
    def nn(self) -> dict[Channel, PairChannel]:
        """(J, parity) -> pairs and matrix of two neutrons."""
        return self.channels("nn")

    @property
    def pn(self) -> dict[Channel, PairChannel]:
        """(J, parity) -> pairs and matrix of a proton and a neutron."""
        return self.channels("pn")

    def channels(self, species: str) -> dict[Channel, PairChannel]:
        """(J, parity) -> pairs and matrix of one kind of pairs."""
        matrices = self.matrices[species]
        return {key: PairChannel(pairs, matrices[key]) for key, pairs in self.space.pairs(species).items()}

    def __add__(self, other: "TwoBody") -> "TwoBody":
        if not same_pairs(self.space, other.space):
            raise InputError("Two-body operators on different pairs of orbitals cannot be added. Restrict both first.")
        return self._each(lambda species, key: self.matrices[species][key] + other.matrices[species][key])

    def __sub__(self, other: "TwoBody") -> "TwoBody":
        return self + (-1.0) * other

    def __mul__(self, factor: float) -> "TwoBody":
        return self._each(lambda species, key: factor * self.matrices[species][key])

    __rmul__ = __mul__

    def only(self, *species: str) -> "TwoBody":
        """The same with zeros for all other kinds of pairs."""
        return self._each(lambda kind, key: self.matrices[kind][key] * float(kind in species))

    def _each(self, element: Callable[[str, Channel], np.ndarray]) -> "TwoBody":
        return TwoBody(self.space, {kind: {key: element(kind, key) for key in self.matrices[kind]} for kind in SPECIES})


def same_pairs(one: PairSpace, other: PairSpace) -> bool:
    """Whether both list the same pairs of the same orbitals."""
    if one is other:
        return True
    if one.orbitals_p != other.orbitals_p or one.orbitals_n != other.orbitals_n:
        return False
    return all(
        one.pairs(kind).keys() == other.pairs(kind).keys()
        and all(np.array_equal(one.pairs(kind)[key], other.pairs(kind)[key]) for key in one.pairs(kind))
        for kind in SPECIES
    )


def restrict(two_body: TwoBody, space: PairSpace, name: str = "The interaction") -> TwoBody:
    """The matrix elements of `two_body` for the pairs of `space`, whose orbitals may stand in another order.

    Exchanged labels of like nucleons: <ba; J| = -(-1)^(ja + jb - J) <ab; J|.  Raises InputError if orbitals or
    pairs are missing; `name` is what the message calls the interaction.
    """
    if lack := lacking(two_body.space, space):
        raise InputError(f"{name} {lack}. Use an interaction that has them, or a smaller space.")
    matrices: dict[str, dict[Channel, np.ndarray]] = {}
    for kind in SPECIES:
        matrices[kind] = {}
        for key, (index_x, sign_x) in _places(two_body.space, space, kind):
            matrix = two_body.matrices[kind][key]
            matrices[kind][key] = matrix[np.ix_(index_x, index_x)] * np.multiply.outer(sign_x, sign_x)
    return TwoBody(space, matrices)


def lacking(given: PairSpace, wanted: PairSpace) -> str:
    """Which orbitals or pairs of `wanted` are not in `given`, in words that follow a name; empty if all are there."""
    for kind in SPECIES:
        for needed, there, word in zip(wanted.orbitals(kind), given.orbitals(kind), kind, strict=True):
            if missing := sorted(set(needed.labels) - set(there.labels), key=needed.labels.index):
                species = {"p": "proton", "n": "neutron"}[word]
                need, have = (int(max(x.quanta_a, default=0)) for x in (needed, there))
                return (
                    f"has no matrix elements for the {species} orbitals {Orbitals(*np.array(missing).T).names()}: it "
                    f"reaches shell {have} with {len(there)} orbitals, shell {need} is needed"
                )
        if any((index_x < 0).any() for _, (index_x, _) in _places(given, wanted, kind)):
            need, have = (space.highest_quanta(kind) for space in (wanted, given))
            return f"has {kind} matrix elements for pairs up to {have} quanta only in part; up to {need} are needed"
    return ""


def _places(given: PairSpace, wanted: PairSpace, kind: str) -> Iterator[tuple[Channel, tuple[np.ndarray, np.ndarray]]]:
    """For each channel where its pairs stand in `given`, all orbitals of which are there, and their signs."""
    maps = []
    for needed, there in zip(wanted.orbitals(kind), given.orbitals(kind), strict=True):
        place = {label: position for position, label in enumerate(there.labels)}
        maps.append(np.array([place[label] for label in needed.labels], dtype=np.int64))
    for key, pairs in wanted.pairs(kind).items():
        yield key, _find_pairs(given, kind, key, maps[0][pairs[:, 0]], maps[1][pairs[:, 1]])


def _find_pairs(
    space: PairSpace, kind: str, key: Channel, a_x: np.ndarray, b_x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the pairs in the channel of `space` (-1: missing) and the signs of exchanged labels."""
    first, second = space.orbitals(kind)
    table_ab = np.full((len(first), len(second)), -1, dtype=np.int64)
    pairs = space.pairs(kind).get(key, np.zeros((0, 2), np.int64))
    table_ab[pairs[:, 0], pairs[:, 1]] = np.arange(len(pairs))
    sign_x = np.ones(len(a_x))
    if kind != "pn":
        swapped = a_x > b_x
        exponent = (first.twice_j_a[a_x] + second.twice_j_a[b_x]) // 2 - key[0]
        sign_x = np.where(swapped, 1.0 - 2.0 * ((exponent + 1) % 2), 1.0)
        a_x, b_x = np.where(swapped, b_x, a_x), np.where(swapped, a_x, b_x)
    return table_ab[a_x, b_x], sign_x
