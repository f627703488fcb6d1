"""The step to the lowest place of a quadratic model within a trust radius."""

from collections.abc import Callable

import numpy as np


def bounded_step(
    hessian: np.ndarray, gradient: np.ndarray, metric_z: np.ndarray, size: Callable[[np.ndarray], float], most: float
) -> np.ndarray:
    """s = -(H + λ M)⁻¹ g with the smallest λ ≥ 0 for which size(s) ≤ most.

    hessian: positive definite; metric_z: M, diagonal; size: of a step, Å, growing with its length.
    """
    scale = 1 / np.sqrt(metric_z)
    values, vectors = np.linalg.eigh(hessian * scale * scale[:, None])
    values = np.maximum(values, 1e-6 * values[-1])
    along = vectors.T @ (scale * gradient)

    def step(shift: float) -> np.ndarray:
        return -scale * (vectors @ (along / (values + shift)))

    full = step(0.0)
    if size(full) <= most:
        return full
    low, high = 0.0, values[-1]
    while size(step(high)) > most:
        low, high = high, 4 * high
    for _ in range(60):
        middle = (low + high) / 2
        if size(step(middle)) > most:
            low = middle
        else:
            high = middle
        if high - low < 1e-3 * high:
            break
    return step(high)


NEAR_RADIUS = 0.995
"""Of the trust radius: a step that long goes far enough."""


def searched_step(
    shifted: Callable[[float], np.ndarray], size: Callable[[np.ndarray], float], most: float
) -> np.ndarray:
    """The same where each shift λ takes equations of its own: shifted(λ) = -(H + λM)⁻¹ g.

    The inverse of a step's length is nearly linear in λ, so that few are needed.  Source: J. J. Moré and
    D. C. Sorensen, SIAM J. Sci. Stat. Comput. 4, 553 (1983).
    """
    step = shifted(0.0)
    length = size(step)
    if length <= most:
        return step
    low, low_inverse = 0.0, 1 / length
    high, high_inverse = 0.0, 0.0
    shift = 1.0
    while True:
        step = shifted(shift)
        inverse = 1 / size(step)
        if 1 / most <= inverse <= 1 / (NEAR_RADIUS * most):
            return step
        if inverse < 1 / most:
            low, low_inverse = shift, inverse
        else:
            high, high_inverse = shift, inverse
        if not high:
            shift *= 4
            continue
        middle = 1 / (most * (1 + NEAR_RADIUS) / 2)
        shift = low + (high - low) * min(max((middle - low_inverse) / (high_inverse - low_inverse), 0.1), 0.9)
