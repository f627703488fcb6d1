"""Matrix elements of the relative motion of two nucleons in an oscillator basis."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.ncci.interaction.relative_motion import oscillator
from eigenwerk.units import NUCLEON_MASS_MEV

Wave = tuple[int, int, int, int]
"""(J, S, l, l') of a relative partial wave, l <= l'."""


@dataclass(frozen=True, eq=False)
class Relative:
    """A potential as <n l S J|V|n' l' S J> in MeV; isospin follows from l + S + T odd.

    matrices[J, S, l, l'] has n along rows and n' along columns, for l <= l'; what lies outside the tables is zero.
    Oscillator functions belong to hw (MeV) and the reduced mass nucleon_mass/2, positive at the origin.
    """

    hw: float
    matrices: Mapping[Wave, np.ndarray]
    nucleon_mass: float = NUCLEON_MASS_MEV

    def __post_init__(self) -> None:
        for (j, s, l, lp), matrix in self.matrices.items():
            coupled = all(abs(x - s) <= j <= x + s for x in (l, lp)) and l <= lp and (lp - l) % 2 == 0
            if not coupled or s not in (0, 1):
                raise InputError(
                    f"J = {j}, S = {s}, l = {l}, l' = {lp} is no wave of two nucleons with l <= l'. Correct the table."
                )
            if l == lp and not np.allclose(matrix, matrix.T, atol=1e-5):
                raise InputError(f"The matrix of J = {j}, S = {s}, l = {l} is not symmetric. Correct the table.")

    def element(self, j: int, s: int, l: int, lp: int) -> np.ndarray | None:
        """Matrix of n (with l) and n' (with l') in either order of l and l'; None where the potential vanishes."""
        matrix = self.matrices.get((j, s, min(l, lp), max(l, lp)))
        return matrix if matrix is None or l <= lp else matrix.T

    def at(self, hw: float, max_quanta: int) -> "Relative":
        """The same potential in the oscillator basis of another hw, for 2n + l <= max_quanta.

        V(hw2) = O^T V(hw1) O with the overlaps O of radial functions of both lengths.
        """
        b_old, b_new = (oscillator.relative_length(value, self.nucleon_mass) for value in (self.hw, hw))
        table: dict[tuple[int, int, int], np.ndarray] = {}

        def overlap(l: int, rows: int) -> np.ndarray:
            columns = (max_quanta - l) // 2 + 1
            if (l, rows, columns) not in table:
                table[l, rows, columns] = (
                    np.eye(rows, columns) if hw == self.hw else oscillator.overlaps(l, rows, columns, b_old, b_new)
                )
            return table[l, rows, columns]

        matrices = {
            (j, s, l, lp): overlap(l, len(matrix)).T @ matrix @ overlap(lp, matrix.shape[1])
            for (j, s, l, lp), matrix in self.matrices.items()
            if max(l, lp) <= max_quanta
        }
        return Relative(hw, matrices, self.nucleon_mass)


def local(potential, hw: float, max_quanta: int, waves: list[tuple[int, int, int]], mass: float = NUCLEON_MASS_MEV):
    """`Relative` of a central potential(s, l, r_x) in MeV for the waves (J, S, l)."""
    b = oscillator.relative_length(hw, mass)
    radial = {
        (s, l): oscillator.local_potential(lambda r, s=s, l=l: potential(s, l, r), l, (max_quanta - l) // 2 + 1, b)
        for s, l in {(s, l) for _, s, l in waves}
    }
    return Relative(hw, {(j, s, l, l): radial[s, l] for j, s, l in waves}, mass)


def all_waves(max_l: int) -> list[tuple[int, int, int]]:
    """(J, S, l) of all uncoupled partial waves with l <= max_l."""
    return [(j, s, l) for l in range(max_l + 1) for s in (0, 1) for j in range(abs(l - s), l + s + 1)]
