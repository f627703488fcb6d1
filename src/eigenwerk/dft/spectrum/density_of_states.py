"""Density of states from band energies, broadened by Gaussians."""

import math

import numpy as np
from scipy.special import erf

_BLOCK = 4_000_000
"""Numbers per block of the (energies, states) table, which bounds memory to about 100 MB."""


def density_of_states(
    eig_skn: np.ndarray, weight_k: np.ndarray, width: float, energies: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Density of states and its integral on a grid of energies.

    D_s(E) = g Σ_kn w_k exp(-((E - ε_skn)/σ)²) / (σ √π),   N_s(E) = ∫_{-∞}^{E} D_s = g Σ_kn w_k (1 + erf((E - ε)/σ))/2,
    with g = 2 for one spin row and 1 for two: the broadening that belongs to Gaussian smearing of width σ.
    Source: C.-L. Fu and K.-M. Ho, Phys. Rev. B 28, 5480 (1983).

    eig_skn: (s, k, n); weight_k: (k,) with sum one; width σ and energies: (x,), all in one unit of energy.
    Returns total_sx (states per energy and cell) and integrated_sx (states per cell), both (s, x).
    Raises ValueError if the width is not positive.
    """
    if not width > 0:
        raise ValueError(f"density_of_states: width = {width}, must be positive")
    total_sx, integrated_sx = np.empty((2, len(eig_skn), len(energies)))
    weight_x = np.repeat(weight_k, eig_skn.shape[2]) * (2 / len(eig_skn))
    for s, eig_kn in enumerate(eig_skn):
        total_sx[s], integrated_sx[s] = _one_spin(eig_kn.ravel(), weight_x, width, energies)
    return total_sx, integrated_sx


def energy_grid(eig_skn: np.ndarray, width: float, points: int = 301) -> np.ndarray:
    """Uniform grid from the lowest to the highest band energy and ten widths beyond on both sides, (points,)."""
    return np.linspace(eig_skn.min() - 10 * width, eig_skn.max() + 10 * width, points)


def _one_spin(
    eig_x: np.ndarray, weight_x: np.ndarray, width: float, energies: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sums over the states of one spin, for blocks of energies."""
    total, integrated = np.empty((2, len(energies)))
    step = max(1, _BLOCK // max(1, len(eig_x)))
    for first in range(0, len(energies), step):
        part = slice(first, first + step)
        distance = (energies[part, None] - eig_x) / width
        total[part] = np.exp(-np.minimum(distance**2, 700.0)) @ weight_x / (width * math.sqrt(math.pi))
        integrated[part] = 0.5 * (1 + erf(distance)) @ weight_x
    return total, integrated
