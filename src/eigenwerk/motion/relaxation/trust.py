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
