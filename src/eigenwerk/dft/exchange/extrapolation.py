"""The next exchange operator from those of earlier orbitals: Pulay's method in the metric of exchange.

E_x[γ] = 1/2 Tr V[γ] γ is quadratic, so what density matrices γ_j, found with the operators of γ̄_j, have to do with each
other is known from X_ij = Tr V[γ_i] γ_j alone.  -Tr V[R] R is never negative for a residual R = γ - γ̄: with
R_j = γ_j - γ̄_j the next operator is that of

    γ̄ = Σ_j a_j γ_j,   |Σ_j a_j R_j|² smallest,  Σ_j a_j = 1;     E_x[γ̄] = 1/2 Σ_ij a_i a_j X_ij.

X is known up to rounding.  Differences of residuals whose square is not well above that say nothing and are left out,
and so is all that came before a last residual that is itself below it.  What is left may still be nearly dependent:
the sum of all |a_j| has a limit, for the energy of a mixture holds the rounding of X times its square.
Source: P. Pulay, Chem. Phys. Lett. 73, 393 (1980).
"""

from collections.abc import Sequence

import numpy as np

from eigenwerk.dft.terms.term import LowRank
from eigenwerk.parallel.memory.block_sizes import EXCHANGE_OPERATORS

SMALLEST = 1e-6
"""Directions whose squared residual is below this share of the largest are left out."""

ABOVE_NOISE = 10.0
"""Those whose squared residual is below this, in units of the rounding of what it is made of, too."""

MOST = 8.0
"""The largest sum of all |a_j|."""


class OperatorHistory:
    """Operators V[γ_j] as rows, what they give for each other's orbitals, and how their inputs were made of them."""

    def __init__(self) -> None:
        self.rows: list[LowRank] = []
        self.inputs: list[np.ndarray | None] = []
        self.overlap_jj = np.zeros((0, 0))

    def add(self, rows: LowRank, overlap_j: list[float], share_j: np.ndarray | None) -> None:
        """A new one.

        overlap_j: Tr V[γ_i] γ of all before and itself, hartree; share_j: how γ̄ was made of those before, None if the
        orbitals are of no operator.
        """
        if len(self.rows) == EXCHANGE_OPERATORS:
            self.rows, self.inputs, self.overlap_jj = [], [], np.zeros((0, 0))
            overlap_j, share_j = overlap_j[-1:], None
        count = len(self.rows) + 1
        overlap_jj = np.zeros((count, count))
        overlap_jj[:-1, :-1] = self.overlap_jj
        overlap_jj[-1] = overlap_jj[:, -1] = overlap_j
        self.overlap_jj = overlap_jj
        self.rows.append(rows)
        self.inputs.append(share_j)

    def next_input(self, noise: float = 0.0) -> np.ndarray:
        """Shares a_j of all γ_j in the next γ̄; noise: rounding of Tr V[γ_i] γ_j, hartree."""
        count = len(self.rows)
        known = [j for j, share_j in enumerate(self.inputs) if share_j is not None]
        residual_xj = np.zeros((len(known), count))
        for x, j in enumerate(known):
            share_j = self.inputs[j]
            assert share_j is not None
            residual_xj[x, j] = 1.0
            residual_xj[x, : len(share_j)] -= share_j
        last_j = np.eye(count)[-1]
        if len(known) < 2:
            return last_j
        # differences to the last residual, the least-squares problem by eigenvectors of their products
        product_xx = -residual_xj @ self.overlap_jj @ residual_xj.T
        if product_xx[-1, -1] <= noise:
            return last_j
        change_xy = np.eye(len(known))[:-1] - np.eye(len(known))[-1]
        square_xx, slope_x = change_xy @ product_xx @ change_xy.T, change_xy @ product_xx[-1]
        value_x, vector_xx = np.linalg.eigh(square_xx)
        used_x = value_x > max(SMALLEST * max(value_x[-1], 0.0), ABOVE_NOISE * noise)
        inverse_x = np.where(used_x, 1 / np.where(used_x, value_x, 1.0), 0.0)
        step_x = -vector_xx @ (inverse_x * (vector_xx.T @ slope_x))
        share_x = limited(step_x @ change_xy)
        share_j = np.zeros(count)
        share_j[known] = share_x
        return share_j

    def restore(
        self, rows: Sequence[LowRank], inputs: Sequence[np.ndarray | None], overlap_jj: np.ndarray | None
    ) -> None:
        """As it was when these were read from it."""
        self.rows, self.inputs = list(rows), list(inputs)
        self.overlap_jj = np.zeros((0, 0)) if overlap_jj is None else overlap_jj

    def energy(self, share_j: np.ndarray) -> float:
        """E_x[γ̄], hartree."""
        return float(0.5 * share_j @ self.overlap_jj @ share_j)


def limited(step_x: np.ndarray) -> np.ndarray:
    """Shares from the last one and a step away from it, of as much of that as keeps the sum of all |a| within MOST."""
    last_x = np.eye(len(step_x))[-1]
    size = float(np.abs(last_x + step_x).sum())
    if size <= MOST:
        return last_x + step_x
    # the sum grows no faster than in proportion
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        within = float(np.abs(last_x + middle * step_x).sum()) <= MOST
        low, high = (middle, high) if within else (low, middle)
    return last_x + low * step_x
