"""Which directions have to be tried, when symmetry gives the answers to the others.

A direction is a vector d on which the operations act by orthogonal matrices M; the answers g of a linear response obey
g(M d) = N g(d) with the matrices N by which the operations act on answers.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

SAME = 1e-3
"""Two directions are the same if they differ by less of their length: lattices are symmetric only within SYMPREC."""

FACTORS = {1: (1,), 2: (1, -1), 4: (2, 1, -1, -2)}
"""By how many steps to go along a direction, for each number of samples (NFREE)."""

_WEIGHTS = {1: {1: 1.0, 0: -1.0}, 2: {1: 1 / 2, -1: -1 / 2}, 4: {2: -1 / 12, 1: 8 / 12, -1: -8 / 12, -2: 1 / 12}}
"""Of the values in the derivative, times the step; 0 is the start."""


@dataclass(frozen=True)
class Direction:
    """The number of a candidate that has to be tried, and of an operation that turns it round, or None."""

    candidate: int
    reverse: int | None

    def factors(self, samples: int) -> tuple[int, ...]:
        """Along it; backward is left to an operation that turns it round."""
        return tuple(x for x in FACTORS[samples] if x > 0 or self.reverse is None)


def independent(candidate_xd: np.ndarray, action_odd: np.ndarray) -> list[Direction]:
    """Candidates in their order, without those that lie in the span of the images of earlier ones."""
    chosen: list[Direction] = []
    basis_yd = np.zeros((0, candidate_xd.shape[1]))
    for x, candidate_d in enumerate(candidate_xd / np.linalg.norm(candidate_xd, axis=1, keepdims=True)):
        if np.linalg.norm(candidate_d - candidate_d @ basis_yd.T @ basis_yd) < SAME:
            continue
        image_od = action_odd @ candidate_d
        back = np.flatnonzero(np.linalg.norm(image_od + candidate_d, axis=1) < SAME)
        chosen.append(Direction(x, int(back[0]) if len(back) else None))
        _, size_y, basis_yd = np.linalg.svd(np.concatenate([basis_yd, image_od]), full_matrices=False)
        basis_yd = basis_yd[size_y > SAME]
    return chosen


def derivative(samples: int, value: Mapping[int, np.ndarray], step: float) -> np.ndarray:
    """By central differences of second (2 samples) or fourth order (4), or by a forward difference.

    value: by steps along the direction; 0, the start, is used by the forward difference only, and not even there if
    there is a value at -1.  Source: B. Fornberg, Math. Comp. 51, 699 (1988).
    """
    weights = _WEIGHTS[2 if samples == 1 and -1 in value else samples]
    total: np.ndarray = sum((weight * value[x] for x, weight in weights.items()), np.zeros_like(value[1]))
    return total / step


def response(direction_yd: np.ndarray, answer_yz: np.ndarray) -> np.ndarray:
    """The matrix (d, z) whose product with the directions comes nearest to the answers.

    With all images of directions and answers it has the symmetry of the operations.
    """
    solved: np.ndarray = np.linalg.lstsq(direction_yd, answer_yz, rcond=1e-8)[0]
    return solved
