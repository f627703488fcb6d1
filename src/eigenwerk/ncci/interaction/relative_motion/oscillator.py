"""Radial functions of the oscillator, positive at the origin, and what follows from them."""

from functools import lru_cache

import numpy as np
from scipy.special import gammaln, roots_legendre

from eigenwerk.units import HBAR_C_MEV_FM, NUCLEON_MASS_MEV


def length(hw: float, mass: float) -> float:
    """Oscillator length b = hbar c / sqrt(m c^2 hw) in fm; hw and mass (m c^2) in MeV."""
    return HBAR_C_MEV_FM / np.sqrt(mass * hw)


def relative_length(hw: float, nucleon_mass: float = NUCLEON_MASS_MEV) -> float:
    """Oscillator length of the relative motion r1 - r2, whose mass is half that of a nucleon; fm."""
    return length(hw, nucleon_mass / 2)


def radial(max_n: int, l: int, r_x: np.ndarray, b: float) -> np.ndarray:
    """R_nl(r) for n = 0 .. max_n as (n, x), in fm^(-3/2) for r_x and b in fm; int R^2 r^2 dr = 1.

    R_nl = sqrt(2 n!/Gamma(n + l + 3/2)/b^3) (r/b)^l exp(-r^2/2b^2) L_n^(l+1/2)(r^2/b^2), by recursion over n.
    """
    x = np.asarray(r_x, dtype=float) / b
    alpha = l + 0.5
    values = np.zeros((max_n + 1, len(x)))
    log_norm = 0.5 * (np.log(2.0) - gammaln(alpha + 1)) - 1.5 * np.log(b)
    values[0] = np.exp(log_norm + l * np.log(np.where(x > 0, x, 1.0)) - x**2 / 2) * np.where((x > 0) | (l == 0), 1, 0)
    for n in range(max_n):
        values[n + 1] = (2 * n + 1 + alpha - x**2) * values[n]
        if n:
            values[n + 1] -= np.sqrt(n * (n + alpha)) * values[n - 1]
        values[n + 1] /= np.sqrt((n + 1) * (n + 1 + alpha))
    return values


def radial_grid(max_n: int, l: int, b: float, points: int = 1600) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of a Gauss-Legendre rule from 0 to well beyond the last turning point, in fm."""
    reach = 1.25 * b * (np.sqrt(4 * max_n + 2 * l + 3) + 2.5)
    x, weight = _legendre(points)
    return reach * (x + 1) / 2, weight * reach / 2


@lru_cache(maxsize=4)
def _legendre(points: int) -> tuple[np.ndarray, np.ndarray]:
    return roots_legendre(points)


def overlaps(l: int, rows: int, columns: int, b_rows: float, b_columns: float) -> np.ndarray:
    """<n l; b_rows|n' l; b_columns> for n < rows, n' < columns."""
    r, weight = max(radial_grid(rows, l, b_rows), radial_grid(columns, l, b_columns), key=lambda grid: grid[0][-1])
    return (radial(rows - 1, l, r, b_rows) * (weight * r**2)) @ radial(columns - 1, l, r, b_columns).T


def local_potential(potential, l: int, count: int, b: float) -> np.ndarray:
    """<n l|V(r)|n' l> for n, n' < count; potential: MeV as a function of an array of r in fm."""
    r, weight = radial_grid(count, l, b)
    functions = radial(count - 1, l, r, b)
    return (functions * (weight * r**2 * potential(r))) @ functions.T
