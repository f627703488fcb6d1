"""What a file of two-body matrix elements in MFDn's h2 format holds, and the order of its elements.

Elements stand in the order of their kind of pairs, then of J, of parity (even first), then the upper triangle of the
matrix row by row, over the pairs of `ordered_pairs`.  Source: nd-nuclear-theory/shell, doc/h2.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eigenwerk.errors import InputError

MOST_ORBITALS, LARGEST_LABEL = 2_000, 1_000
"""Of one species, where those of 61 shells are 1 891; n or l of one."""

KINDS = ("pp", "nn", "pn")
OLD_VERSION, NEW_VERSION = 15099, 15200


@dataclass(frozen=True, eq=False)
class H2Header:
    """Orbitals (rows n, l, 2j) with weights of protons and neutrons, and the largest sum of weights of a pair."""

    orbital_3a_p: np.ndarray
    orbital_3a_n: np.ndarray
    weight_p: np.ndarray
    weight_n: np.ndarray
    limits: dict[str, float]

    @cached_property
    def pairs(self) -> dict[str, dict[tuple[int, int], np.ndarray]]:
        """kind -> (J, parity) -> pairs (x, 2)."""
        orbitals = {"p": self.orbital_3a_p, "n": self.orbital_3a_n}
        weights = {"p": self.weight_p, "n": self.weight_n}
        return {
            kind: ordered_pairs(
                (orbitals[kind[0]], orbitals[kind[1]]),
                (weights[kind[0]], weights[kind[1]]),
                self.limits[kind],
                kind != "pn",
            )
            for kind in KINDS
        }

    def count(self, kind: str) -> int:
        """How many elements (upper triangles) a kind of pairs has."""
        return sum(len(x) * (len(x) + 1) // 2 for x in self.pairs[kind].values())


@dataclass(frozen=True, eq=False)
class H2Data:
    """Header and matrices[kind][J, parity], symmetric, between normalised antisymmetric states, in the file's unit."""

    header: H2Header
    matrices: dict[str, dict[tuple[int, int], np.ndarray]]


def check_header(header: H2Header, operator: tuple[int, ...], counts: dict[str, int], place: str) -> None:
    """Raises InputError if the operator is not scalar or the counts are not those of the orbitals and limits."""
    if any(operator):
        raise InputError(
            f"{place}: the operator has J0, parity, Tz0 = {' '.join(map(str, operator))}; only scalar operators, "
            "0 0 0, are two-body interactions. Give the file of the interaction."
        )
    for orbitals in (header.orbital_3a_p, header.orbital_3a_n):
        n, l, j = orbitals
        if orbitals.shape[1] >= MOST_ORBITALS:
            raise InputError(f"{place}: {orbitals.shape[1]} orbitals; up to {MOST_ORBITALS} are read. It is damaged.")
        if ((n < 0) | (n > LARGEST_LABEL) | (l < 0) | (l > LARGEST_LABEL) | (abs(j - 2 * l) != 1)).any():
            raise InputError(f"{place}: impossible n, l, 2j among the orbitals. The file is damaged; get it again.")
    for kind in KINDS:
        if counts[kind] != header.count(kind):
            raise InputError(
                f"{place}: {counts[kind]} {kind} matrix elements are announced, but the orbitals with pairs up to "
                f"weight {header.limits[kind]:g} have {header.count(kind)}. Orbitals are missing, or it is damaged."
            )


def unpack(header: H2Header, elements: dict[str, np.ndarray]) -> H2Data:
    """Symmetric matrices from the elements of each kind in the order of the file."""
    matrices: dict[str, dict[tuple[int, int], np.ndarray]] = {}
    for kind in KINDS:
        matrices[kind] = {}
        start = 0
        for key, pairs in header.pairs[kind].items():
            rows, columns = np.triu_indices(len(pairs))
            if not np.isfinite(elements[kind][start : start + len(rows)]).all():
                raise InputError(f"The {kind} elements with J = {key[0]} are not all numbers. Get the file again.")
            matrix = np.zeros((len(pairs), len(pairs)))
            matrix[rows, columns] = elements[kind][start : start + len(rows)]
            matrix[columns, rows] = matrix[rows, columns]
            matrices[kind][key] = matrix
            start += len(rows)
    return H2Data(header, matrices)


def ordered_pairs(
    orbital_3a: tuple[np.ndarray, np.ndarray], weight: tuple[np.ndarray, np.ndarray], limit: float, like: bool
) -> dict[tuple[int, int], np.ndarray]:
    """(J, parity) -> pairs (x, 2) of positions in two lists of orbitals, J rising, even parity first.

    orbital_3a: rows n, l, 2j of both lists; pairs have a sum of weights up to `limit`.  Two like nucleons: a <= b, and
    J even if a = b; otherwise all pairs.  Ordered by a, then b; channels without pairs are left out.
    """
    (_, l_1, j_1), (_, l_2, j_2) = orbital_3a
    inside = np.asarray(weight[0])[:, None] + np.asarray(weight[1]) <= limit + 1e-5
    a_x, b_x = np.nonzero(np.triu(inside) if like else inside)
    twice_1, twice_2 = j_1[a_x], j_2[b_x]
    parity_x = (l_1[a_x] + l_2[b_x]) % 2
    twin_x = (a_x == b_x) & like
    found = {}
    for j in range(int(max(twice_1 + twice_2, default=-2)) // 2 + 1):
        allowed = (abs(twice_1 - twice_2) <= 2 * j) & (twice_1 + twice_2 >= 2 * j) & ~(twin_x & (j % 2 == 1))
        for parity in (0, 1):
            chosen = allowed & (parity_x == parity)
            if chosen.any():
                found[j, parity] = np.stack([a_x[chosen], b_x[chosen]], axis=1)
    return found
