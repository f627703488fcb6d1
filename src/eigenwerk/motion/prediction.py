"""Weights with which earlier states predict the next one, Σ_j c_j x_j with Σ_j c_j = 1.

Of equal steps in time a polynomial, or the predictor of J. Kolafa (J. Comput. Chem. 25, 335 (2004)), which is nearly
reversible in time; of any steps the weights by which the earlier structures make the new one in least squares
(T. A. Arias, M. C. Payne, J. D. Joannopoulos, Phys. Rev. B 45, 1538 (1992)).
"""

from collections.abc import Sequence
from math import comb

import numpy as np

NONE, ATOMS, SECOND, ASPC, FIT = "none", "atoms", "second", "aspc", "fit"
"""States as they are; moved with the atoms; a parabola; Kolafa's predictor; a fit of the structures."""

METHODS = (NONE, ATOMS, SECOND, ASPC, FIT)

LONGEST = {NONE: 1, ATOMS: 1, SECOND: 3, ASPC: 4, FIT: 4}
"""Earlier states that each can use."""

SMALLEST_SHARE = 1e-2
"""Directions in which the earlier structures differ by less than this share of the largest are left out of a fit."""


def polynomial(count: int) -> np.ndarray:
    """Of a polynomial through the last `count` values, newest first: 1; 2, -1; 3, -3, 1; ..."""
    return np.array([(-1.0) ** (j + 1) * comb(count, j) for j in range(1, count + 1)])


def kolafa(count: int) -> np.ndarray:
    """B_j = (-1)^(j+1) j C(2k+4, k+2-j) / C(2k+2, k+1) for k = count - 2, newest first: 2, -1; 2.5, -2, 0.5; ..."""
    if count < 2:
        return np.ones(1)
    k = count - 2
    return np.array([(-1.0) ** (j + 1) * j * comb(2 * k + 4, k + 2 - j) for j in range(1, count + 1)]) / comb(
        2 * k + 2, k + 1
    )


def fitted(earlier_xy: np.ndarray, wanted_y: np.ndarray) -> np.ndarray:
    """Weights with sum one that make |wanted - Σ_x c_x earlier_x| smallest; newest first; (x,)."""
    newest_y = earlier_xy[0]
    back_xy = earlier_xy[1:] - newest_y
    if not len(back_xy) or not np.abs(wanted_y - newest_y).any():
        return np.eye(1, len(earlier_xy))[0]
    left_yx, size_x, right_xx = np.linalg.svd(back_xy.T, full_matrices=False)
    kept_x = size_x > SMALLEST_SHARE * max(size_x.max(), np.linalg.norm(wanted_y - newest_y))
    inverse_x = np.divide(1.0, size_x, out=np.zeros_like(size_x), where=kept_x)
    rest_x = right_xx.T @ (inverse_x * (left_yx.T @ (wanted_y - newest_y)))
    return np.concatenate([[1 - rest_x.sum()], rest_x])


def weights(method: str, earlier: Sequence[np.ndarray], wanted: np.ndarray) -> np.ndarray:
    """Of earlier structures, newest first, for the wanted one; (x,)."""
    count = min(len(earlier), LONGEST[method])
    if method == SECOND:
        return polynomial(count)
    if method == ASPC:
        return kolafa(count)
    if method == FIT:
        return fitted(np.array([structure.ravel() for structure in earlier[:count]]), wanted.ravel())
    return np.ones(1)
