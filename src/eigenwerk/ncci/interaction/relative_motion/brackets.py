"""Brackets of Talmi and Moshinsky: two nucleons in one oscillator well, seen as centre of mass and relative motion.

With R = (r1 + r2)/sqrt(2) and r = (r1 - r2)/sqrt(2) the pair states |n1 l1, n2 l2; Lambda> and |N L, n l; Lambda> of
equal quanta Q span the same space.  The bracket matrix is U = exp(pi/4 K) (-1)^l with the generator
K = a2+ . a1 - a1+ . a2 of the rotation that mixes the two oscillators.  K is sparse and known in closed form, and the
exponential of an antisymmetric matrix is orthogonal to rounding, which sums of 9j symbols are not for many quanta.
Radial functions are positive at the origin.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.linalg import expm

from eigenwerk.ncci.interaction.angular_algebra import six_j


@dataclass(frozen=True, eq=False)
class Brackets:
    """Brackets of one Q and Lambda.

    state_x4: (n1, l1, n2, l2) of every state, the same list for (N, L, n, l).
    matrix_xx[x, y] = <n1 l1, n2 l2; Lambda|N L, n l; Lambda>, x the pair of nucleons, y centre of mass and relative.
    """

    quanta: int
    total: int
    state_x4: np.ndarray
    matrix_xx: np.ndarray

    def positions(self, n1, l1, n2, l2) -> np.ndarray:
        """Rows of the given states; -1 where l1, l2 do not couple to Lambda."""
        return _table(self.quanta, self.total)[n1, l1, n2, l2]


@lru_cache(maxsize=512)
def brackets(quanta: int, total: int) -> Brackets:
    """All brackets for Q = quanta and Lambda = total."""
    state_x4 = _states(quanta, total)
    parity_y = 1.0 - 2.0 * (state_x4[:, 3] % 2)
    return Brackets(quanta, total, state_x4, expm(np.pi / 4 * _generator(quanta, total)) * parity_y)


def _states(quanta: int, total: int) -> np.ndarray:
    grid = np.indices((quanta // 2 + 1, quanta + 1, quanta // 2 + 1, quanta + 1)).reshape(4, -1)
    n1, l1, n2, l2 = grid
    chosen = (2 * n1 + l1 + 2 * n2 + l2 == quanta) & (abs(l1 - l2) <= total) & (total <= l1 + l2)
    return grid[:, chosen].T


@lru_cache(maxsize=512)
def _table(quanta: int, total: int) -> np.ndarray:
    table = np.full((quanta // 2 + 1, quanta + 1, quanta // 2 + 1, quanta + 1), -1, dtype=np.int64)
    states = _states(quanta, total)
    table[tuple(states.T)] = np.arange(len(states))
    return table


def _generator(quanta: int, total: int) -> np.ndarray:
    """K = B^T - B with B = a1+ . a2 between coupled states.

    <n1' l1' n2' l2'|a1+ . a2|n1 l1 n2 l2> = (-1)^(l1 + l2' + Lambda) {Lambda l2' l1'; 1 l1 l2} <1'||a+||1><2'||a~||2>,
    <n l+1||a+||n l> = sqrt((l+1)(2n+2l+3)), <n+1 l-1||a+||n l> = sqrt(2 l (n+1)), and <x||a~||y> = -<y||a+||x>.
    """
    n1, l1, n2, l2 = _states(quanta, total).T
    column = np.arange(len(n1))
    matrix = np.zeros((len(n1), len(n1)))
    up = [(n1, l1 + 1, (l1 + 1) * (2 * n1 + 2 * l1 + 3)), (n1 + 1, l1 - 1, 2 * l1 * (n1 + 1))]
    down = [(n2, l2 - 1, l2 * (2 * n2 + 2 * l2 + 1)), (n2 - 1, l2 + 1, 2 * n2 * (l2 + 1))]
    for n1_new, l1_new, raise_2 in up:
        for n2_new, l2_new, lower_2 in down:
            good = (l1_new >= 0) & (l2_new >= 0) & (n2_new >= 0) & (raise_2 * lower_2 > 0)
            good &= (abs(l1_new - l2_new) <= total) & (total <= l1_new + l2_new)
            row = _table(quanta, total)[n1_new[good], l1_new[good], n2_new[good], l2_new[good]]
            sign = 1 - 2 * ((l1 + l2_new + total) % 2)
            symbol = six_j(2 * total, 2 * l2_new[good], 2 * l1_new[good], 2, 2 * l1[good], 2 * l2[good])
            matrix[row, column[good]] = -sign[good] * symbol * np.sqrt((raise_2 * lower_2)[good].astype(float))
    return matrix.T - matrix
