"""Dimension and number of nonzeros of a many-body basis, counted exactly without building it.

The product of (1 + t x^w y^2m) over all states generates the numbers of determinants with given nucleons, weight w and
2M.  A nonzero off the diagonal is a set of nucleons that stay and one or two that jump, a, b -> c, d.  How many sets
avoid the jumping states follows by division by (1 + t x^w y^2m) of each of them; it depends on their (weight, 2m,
parity) only, so jumping states are grouped into classes by these.
"""

import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations_with_replacement
from math import inf

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.ncci.basis.avoiding import WholeSpecies, together
from eigenwerk.ncci.basis.determinants import lowest_weight
from eigenwerk.ncci.basis.space import ManyBodySpace, Truncation
from eigenwerk.ncci.orbitals import Orbitals


@dataclass(frozen=True)
class Counts:
    """States of a basis and nonzeros of the half matrix with its diagonal (MFDn's numnonzero), and their parts.

    one: pairs of states that differ by one nucleon; pp, nn, pn: by two, if some J can couple both pairs.
    """

    dimension: int
    one: int
    pp: int
    nn: int
    pn: int

    @property
    def nonzeros(self) -> int:
        """All of them, the diagonal included."""
        return self.dimension + self.one + self.pp + self.nn + self.pn


@dataclass(frozen=True, eq=False)
class _Species:
    """States of one species: weight, 2m, parity, 2j, orbital of each."""

    weight_x: np.ndarray
    twice_m_x: np.ndarray
    parity_x: np.ndarray
    twice_j_x: np.ndarray
    orbital_x: np.ndarray
    nucleons: int


@dataclass(frozen=True, eq=False)
class _Counted:
    """A space as the labels of its single-particle states."""

    protons: _Species
    neutrons: _Species
    truncation: Truncation
    twice_M: int
    parity: int


class CountingStopped(Exception):
    """Counting took longer than it may."""


class _Clock:
    """Raises CountingStopped once the process has computed for so many seconds more."""

    def __init__(self, seconds: float) -> None:
        self.end = time.process_time() + seconds

    def look(self) -> None:
        if time.process_time() > self.end:
            raise CountingStopped


def count(space: ManyBodySpace, like_j_even: bool = False, seconds: float = inf) -> Counts:
    """Dimension and nonzeros of the basis of a space.  seconds: raises CountingStopped after so many of one core.

    like_j_even: two like nucleons in the same orbital count as coupled to even J only, as MFDn has it in valence
    spaces; in its no-core runs the plain range of J decides.  Raises InputError where `nonzeros_countable` is False.
    """
    limits = space.truncation
    if not nonzeros_countable(space):
        raise InputError(
            "Nonzeros are counted only where protons and neutrons share one limit on their weight; here the limits "
            f"are {limits.max_p} (protons), {limits.max_n} (neutrons), {limits.max_total} (all). "
            "Ask for the dimension alone."
        )
    counted = _counted(space)
    numbers = _Numbers(counted, _Clock(seconds))
    whole = _Whole(counted) if _is_whole(counted) else None
    one = _one(counted, numbers, whole, "p") + _one(counted, numbers, whole, "n")
    two = [_two(counted, numbers, whole, kind, like_j_even) for kind in ("pp", "nn", "pn")]
    return Counts(numbers.states(), one, *two)


def dimension(space: ManyBodySpace) -> int:
    """The number of states of a space."""
    return _Numbers(_counted(space)).states()


def exceeds(space: ManyBodySpace, most: int) -> bool:
    """Whether there are more states than `most`: told by small parts of a space, if these have more already."""
    limits, least = space.truncation, sum(space.lowest_weights())
    room = 4
    while least + room < limits.max_total:
        part = replace(limits, max_total=least + room)
        if dimension(replace(space, truncation=part)) > most:
            return True
        room += 4
    return dimension(space) > most


def determinant_tables(space: ManyBodySpace) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Of protons and neutrons, for every number of nucleons up to that of the space: determinants by [weight, 2M plus
    the middle of the axis, parity]."""
    numbers = _Numbers(_counted(space))
    return numbers.p, numbers.n


def nonzeros_countable(space: ManyBodySpace) -> bool:
    """Whether the limit of neither species excludes anything that the common limit lets through."""
    limits, (lowest_p, lowest_n) = space.truncation, space.lowest_weights()
    return limits.max_p >= limits.max_total - lowest_n and limits.max_n >= limits.max_total - lowest_p


def _counted(space: ManyBodySpace) -> _Counted:
    protons = _species(space.orbitals_p, space.weight_p_x, space.protons)
    neutrons = _species(space.orbitals_n, space.weight_n_x, space.neutrons)
    return _Counted(protons, neutrons, space.truncation, space.twice_M, space.parity)


def _species(orbitals: Orbitals, weight_x: np.ndarray, nucleons: int) -> _Species:
    states = orbitals.states()
    twice_j_x = orbitals.twice_j_a[states.orbital_x]
    return _Species(weight_x, states.twice_m_x, states.parity_x, twice_j_x, states.orbital_x, nucleons)


def _generate(side: _Species, max_weight: int) -> list[np.ndarray]:
    """For every number of nucleons k up to that of the species: determinants by [weight, 2M + middle, parity]."""
    reach = side.nucleons * int(side.twice_j_x.max(initial=0))
    table_k = [np.zeros((max(max_weight, 0) + 1, 2 * reach + 1, 2), dtype=np.int64) for _ in range(side.nucleons + 1)]
    table_k[0][0, reach, 0] = 1
    for weight, m, parity in zip(side.weight_x.tolist(), side.twice_m_x.tolist(), side.parity_x.tolist(), strict=True):
        if weight > max_weight:
            continue
        for k in range(side.nucleons, 0, -1):
            low, high = max(m, 0), min(m, 0)
            source = table_k[k - 1][: max_weight + 1 - weight, max(-m, 0) : 2 * reach + 1 - low]
            table_k[k][weight:, low : 2 * reach + 1 + high] += source[:, :, ::-1] if parity else source
    return [_trimmed(table) for table in table_k]


def _trimmed(table: np.ndarray) -> np.ndarray:
    """The same without empty outer columns, still centred."""
    used = np.flatnonzero(table.any(axis=(0, 2)))
    middle = table.shape[1] // 2
    reach = int(abs(used - middle).max()) if len(used) else 0
    return table[:, middle - reach : middle + reach + 1]


class _Numbers:
    """How many products of k proton and l neutron determinants leave room for more weight, 2M and parity."""

    def __init__(self, space: _Counted, clock: _Clock | None = None) -> None:
        self.space, self.clock = space, clock or _Clock(inf)
        limits = space.truncation
        self.p = _generate(space.protons, min(limits.max_p, limits.max_total))
        self.n = _generate(space.neutrons, min(limits.max_n, limits.max_total))
        self.table = cache(self._table)

    def states(self) -> int:
        """The dimension."""
        return int(self(len(self.p) - 1, len(self.n) - 1, *(np.zeros(1, dtype=np.int64),) * 3)[0])

    def __call__(self, k: int, l: int, weight: np.ndarray, twice_m: np.ndarray, parity: np.ndarray) -> np.ndarray:
        """Products with total weight <= max_total - weight, 2M = twice_M - twice_m, parity differing by `parity`."""
        self.clock.look()
        table = self.table(k, l)
        column = self.space.twice_M - twice_m + table.shape[1] // 2
        inside = (weight < len(table)) & (column >= 0) & (column < table.shape[1])
        found = table[np.where(inside, weight, 0), np.where(inside, column, 0), (self.space.parity + parity) % 2]
        return np.where(inside, found, 0)

    def _table(self, k: int, l: int) -> np.ndarray:
        """[extra weight, 2M + middle, parity]."""
        one, other = self.p[k], np.cumsum(self.n[l], axis=0)
        total = self.space.truncation.max_total
        table = np.zeros((total + 1, one.shape[1] + other.shape[1] - 1, 2), dtype=np.int64)
        for weight, column, parity in np.argwhere(one).tolist():
            # other[room] for extra weights 0, 1, ...; the room shrinks from total - weight to 0
            room = np.minimum(np.arange(total - weight, -1, -1), len(other) - 1)
            rows = other[room]
            target = table[: len(room), column : column + other.shape[1]]
            target += one[weight, column, parity] * (rows[:, :, ::-1] if parity else rows)
        return table


@dataclass(frozen=True, eq=False)
class _Classes:
    """Weights, 2m and parities (x,) of classes."""

    weight: np.ndarray
    twice_m: np.ndarray
    parity: np.ndarray

    def take(self, chosen: np.ndarray) -> "_Classes":
        return _Classes(self.weight[chosen], self.twice_m[chosen], self.parity[chosen])


def _avoiding(nucleons: int, away: list[_Classes]) -> list[tuple[int, int, np.ndarray, np.ndarray, np.ndarray]]:
    """1 / prod (1 + t x^w y^2m) as terms: sign, degree, and the weight, 2m and parity that each adds."""
    terms = []
    for degree in range(nucleons + 1):
        for choice in combinations_with_replacement(range(len(away)), degree):
            zero = np.zeros_like(away[0].weight)
            weight, m, parity = (
                sum((getattr(away[i], name) for i in choice), zero) for name in ("weight", "twice_m", "parity")
            )
            terms.append(((-1) ** degree, degree, weight, m, parity))
    return terms


def _is_whole(space: _Counted) -> bool:
    """Whether no weight cuts anything off, as in valence spaces."""
    return not (space.protons.weight_x.any() or space.neutrons.weight_x.any())


class _Whole:
    """The same counts in a space without weights, by leaving states out of tables."""

    def __init__(self, space: _Counted) -> None:
        self.space = space
        sides = {"p": space.protons, "n": space.neutrons}
        self.species = {
            name: WholeSpecies(side.twice_m_x, side.parity_x, side.nucleons) for name, side in sides.items()
        }

    def one(self, species: str, twice_m_z: np.ndarray, parity_z: np.ndarray) -> int:
        """Sets of nucleons beside a jump between two states of equal 2m and parity, over all jumps."""
        other = "n" if species == "p" else "p"
        spectators = self.species[other].avoiding((), 0)
        total = 0
        for (m, parity), number in Counter(zip(twice_m_z.tolist(), parity_z.tolist(), strict=True)).items():
            rest = self.species[species].avoiding(((m, parity), (m, parity)), 1)
            total += number * self._together(rest, spectators, m, parity)
        return total

    def two(self, kind: str, ends_1: list[_Classes], ends_2: list[_Classes], times: np.ndarray) -> int:
        """Sets of nucleons beside jumps a, b -> c, d of two, `times` each."""
        labels = [list(zip(end.twice_m.tolist(), end.parity.tolist(), strict=True)) for end in (*ends_1, *ends_2)]
        total = 0
        for a, c, b, d, number in zip(*labels, times.tolist(), strict=True):
            if not number:
                continue
            m, parity = a[0] + b[0], a[1] + b[1]
            if kind == "pn":
                one, other = self.species["p"].avoiding((a, c), 1), self.species["n"].avoiding((b, d), 1)
            else:
                one = self.species[kind[0]].avoiding((a, c, b, d), 2)
                other = self.species["n" if kind == "pp" else "p"].avoiding((), 0)
            total += number * self._together(one, other, m, parity)
        return total

    def _together(self, one: np.ndarray, other: np.ndarray, twice_m: int, parity: int) -> int:
        return together(one, other, self.space.twice_M - twice_m, self.space.parity - parity)


def _one(space: _Counted, numbers: _Numbers, whole: "_Whole | None", species: str) -> int:
    """Unordered pairs of states that differ by one nucleon of the species."""
    side = space.protons if species == "p" else space.neutrons
    if not side.nucleons:
        return 0
    same = (side.twice_m_x[:, None] == side.twice_m_x) & (side.parity_x[:, None] == side.parity_x)
    c, d = np.nonzero(np.triu(same, 1))
    from_c, to_d = (_Classes(side.weight_x[x], side.twice_m_x[x], side.parity_x[x]) for x in (c, d))
    weight = np.maximum(from_c.weight, to_d.weight)
    if whole is not None:
        return whole.one(species, side.twice_m_x[c], side.parity_x[c])
    total, k, l = 0, space.protons.nucleons, space.neutrons.nucleons
    for sign, degree, extra, m, parity in _avoiding(side.nucleons - 1, [from_c, to_d]):
        left = (k - 1 - degree, l) if species == "p" else (k, l - 1 - degree)
        found = numbers(*left, weight + extra, from_c.twice_m + m, from_c.parity + parity)
        total += sign * int(found.sum())
    return total


def _two(space: _Counted, numbers: _Numbers, whole: "_Whole | None", kind: str, like_j_even: bool) -> int:
    """Unordered pairs of states that differ by two nucleons of this kind."""
    one, other = (space.protons if letter == "p" else space.neutrons for letter in kind)
    left = space.protons.nucleons - kind.count("p"), space.neutrons.nucleons - kind.count("n")
    if min(left) < 0:
        return 0
    lowest = lowest_weight(space.protons.weight_x, left[0]) + lowest_weight(space.neutrons.weight_x, left[1])
    fits = np.add.outer(one.weight_x, other.weight_x) <= space.truncation.max_total - lowest
    a, b = np.nonzero(fits if kind == "pn" else np.triu(fits, 1))
    label = (one.twice_m_x[a] + other.twice_m_x[b]) * 2 + (one.parity_x[a] + other.parity_x[b]) % 2
    twice = 0
    for value in np.unique(label):
        numbers.clock.look()
        chosen = np.flatnonzero(label == value)
        twice += _block(numbers, whole, kind, one, other, a[chosen], b[chosen], left, like_j_even)
    return twice // 2


def _block(numbers, whole, kind, one, other, a, b, left, like_j_even) -> int:
    """Ordered pairs of pairs with one 2M and parity, times the sets of nucleons that avoid their four states."""
    a, b, starts = _by_class(kind, one, other, a, b)
    first, second = (
        _Classes(side.weight_x[x[starts]], side.twice_m_x[x[starts]], side.parity_x[x[starts]])
        for side, x in ((one, a), (other, b))
    )
    count_xx = _coupled(kind, one, other, a, b, starts, like_j_even)
    x, y = np.nonzero(np.triu(count_xx))
    times = count_xx[x, y] * np.where(x == y, 1, 2)
    start = first.weight[x] + second.weight[x]
    weight = np.maximum(start, first.weight[y] + second.weight[y])
    m, parity = first.twice_m[x] + second.twice_m[x], first.parity[x] + second.parity[x]
    total = 0
    ends_1, ends_2 = [first.take(x), first.take(y)], [second.take(x), second.take(y)]
    if whole is not None:
        return whole.two(kind, ends_1, ends_2, times)
    if kind != "pn":
        own = left[0] if kind == "pp" else left[1]
        for sign, degree, extra, dm, dp in _avoiding(own, ends_1 + ends_2):
            numbers_left = (left[0] - degree, left[1]) if kind == "pp" else (left[0], left[1] - degree)
            total += sign * int((times * numbers(*numbers_left, weight + extra, m + dm, parity + dp)).sum())
        return total
    terms_n = _avoiding(left[1], ends_2)
    for sign, degree, extra, dm, dp in _avoiding(left[0], ends_1):
        for sign_n, degree_n, extra_n, dm_n, dp_n in terms_n:
            found = numbers(
                left[0] - degree, left[1] - degree_n, weight + extra + extra_n, m + dm + dm_n, parity + dp + dp_n
            )
            total += sign * sign_n * int((times * found).sum())
    return total


def _by_class(kind, one, other, a, b):
    """Pairs ordered so that those with the same classes stand together, and where each group begins."""
    key_a, key_b = (
        (side.weight_x[x] * 4096 + side.twice_m_x[x] + 2048) * 2 + side.parity_x[x]
        for side, x in ((one, a), (other, b))
    )
    if kind != "pn":
        # the order inside a pair of like nucleons does not matter
        swap = key_a > key_b
        a, b, key_a, key_b = np.where(swap, b, a), np.where(swap, a, b), *np.sort([key_a, key_b], axis=0)
    order = np.lexsort((key_b, key_a))
    a, b, key_a, key_b = a[order], b[order], key_a[order], key_b[order]
    changes = (np.diff(key_a, prepend=-1) != 0) | (np.diff(key_b, prepend=-1) != 0)
    return a, b, np.flatnonzero(changes)


def _coupled(kind, one, other, a, b, starts, like_j_even) -> np.ndarray:
    """(groups, groups) how many pairs of pairs have four different states and a J in common."""
    low = (abs(one.twice_j_x[a] - other.twice_j_x[b]) // 2).astype(np.int16)
    high = ((one.twice_j_x[a] + other.twice_j_x[b]) // 2).astype(np.int16)
    a, b = a.astype(np.int16), b.astype(np.int16)
    twins = (one.orbital_x[a] == other.orbital_x[b]) & (kind != "pn") & like_j_even
    high = high - (twins & (high % 2 == 1)).astype(np.int16)  # even J of two nucleons in one orbital
    count_xx = np.zeros((len(starts), len(starts)), dtype=np.int64)
    stops = np.append(starts[1:], len(a))
    step = max(1, (1 << 24) // max(len(a), 1))
    begin = 0
    while begin < len(starts):
        end = max(begin + 1, int(np.searchsorted(starts, starts[begin] + step)))
        rows = slice(starts[begin], stops[end - 1])
        able = (low[rows, None] <= high) & (low <= high[rows, None])
        able &= (a[rows, None] != a) & (b[rows, None] != b)
        if kind != "pn":
            able &= (a[rows, None] != b) & (b[rows, None] != a)
            if like_j_even and twins.any():
                able &= ~_only_odd(low, high, twins, rows)
        # sums over groups of columns, then of rows
        partial = np.add.reduceat(able, starts, axis=1, dtype=np.int32)
        count_xx[begin:end] = np.add.reduceat(partial, starts[begin:end] - starts[begin], axis=0, dtype=np.int64)
        begin = end
    return count_xx


def _only_odd(low, high, twins, rows) -> np.ndarray:
    """Whether the J in common is a single odd one, which a pair of like nucleons in one orbital does not have."""
    low_xx, high_xx = np.maximum(low[rows, None], low), np.minimum(high[rows, None], high)
    return (twins[rows, None] | twins) & (low_xx == high_xx) & (low_xx % 2 == 1)
