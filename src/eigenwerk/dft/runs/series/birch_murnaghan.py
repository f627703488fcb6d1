"""The equation of state of Birch and Murnaghan, third order, and its fit to energies.

With x = (V0 / V)^(2/3),

    E(V) = E0 + 9/16 V0 B0 [(x - 1)³ B1 + (x - 1)² (6 - 4 x)],
    p(V) = 3/2 B0 (x^(7/2) - x^(5/2)) [1 + 3/4 (B1 - 4) (x - 1)].

Source: F. Birch, Phys. Rev. 71, 809 (1947).  E is a cubic polynomial in V^(-2/3), which gives where the fit begins.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import curve_fit

FEWEST = 5
"""Points for four parameters and an error."""


@dataclass(frozen=True)
class EquationOfState:
    """Parameters of the curve in the units of the energies and volumes that were fitted, B0 in energy by volume.

    b1: derivative of B0 by pressure; error: standard errors of (e0, v0, b0, b1) from the scatter about the curve;
    residual: root mean square of E - E(V).
    """

    e0: float
    v0: float
    b0: float
    b1: float
    error: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    residual: float = 0.0

    def energy(self, volume: np.ndarray) -> np.ndarray:
        """E(V)."""
        return _energy(np.asarray(volume), self.e0, self.v0, self.b0, self.b1)

    def pressure(self, volume: np.ndarray) -> np.ndarray:
        """p(V) = -dE/dV."""
        x = (self.v0 / np.asarray(volume)) ** (2 / 3)
        return np.asarray(1.5 * self.b0 * (x**3.5 - x**2.5) * (1 + 0.75 * (self.b1 - 4) * (x - 1)))


def _energy(volume: np.ndarray, e0: float, v0: float, b0: float, b1: float) -> np.ndarray:
    x = (v0 / volume) ** (2 / 3)
    return np.asarray(e0 + 9 / 16 * v0 * b0 * ((x - 1) ** 3 * b1 + (x - 1) ** 2 * (6 - 4 * x)))


def fit(volume_x: np.ndarray, energy_x: np.ndarray) -> EquationOfState | None:
    """The curve of least squares through at least `FEWEST` points; None if that curve has no minimum."""
    volume_x, energy_x = np.asarray(volume_x, dtype=float), np.asarray(energy_x, dtype=float)
    unit, lowest = float(volume_x.mean()), float(energy_x.min())
    start = _start(volume_x / unit, energy_x - lowest)
    if start is None:
        return None
    found, covariance = curve_fit(_energy, volume_x / unit, energy_x - lowest, p0=start)
    e0, v0, b0, b1 = map(float, found)
    if not (v0 > 0 and b0 > 0):
        return None
    left = energy_x - lowest - _energy(volume_x / unit, *found)
    scale = np.array([1.0, unit, 1 / unit, 1.0])
    e, v, b, d = map(float, np.sqrt(np.diag(covariance)) * scale)
    return EquationOfState(e0 + lowest, v0 * unit, b0 / unit, b1, (e, v, b, d), float(np.sqrt((left**2).mean())))


def _start(volume_x: np.ndarray, energy_x: np.ndarray) -> tuple[float, float, float, float] | None:
    """Parameters of the cubic polynomial in y = V^(-2/3) through the points: its minimum.

    With primes by y, V dy/dV = -2/3 y, so at the minimum B0 = V E'' (dy/dV)² = 4/9 y² E'' / V and
    B1 = 4 + 2/3 y E''' / E''.
    """
    curve = np.polynomial.Polynomial.fit(volume_x ** (-2 / 3), energy_x, 3)
    second, third = curve.deriv(2), curve.deriv(3)
    roots = np.asarray(curve.deriv().roots(), dtype=complex)
    minima = [float(root.real) for root in roots if abs(root.imag) < 1e-9 and root.real > 0 and second(root.real) > 0]
    if not minima:
        return None
    y = min(minima, key=lambda root: abs(root ** (-3 / 2) - volume_x[energy_x.argmin()]))
    v0 = y ** (-3 / 2)
    return float(curve(y)), v0, float(4 / 9 * y**2 * second(y) / v0), float(4 + 2 / 3 * y * third(y) / second(y))
