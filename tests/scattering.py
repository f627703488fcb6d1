"""Two nucleons: phase shifts and bound states from a potential between momenta; H between oscillator states."""

from typing import NamedTuple

import numpy as np

from eigenwerk.ncci.interaction.relative_motion.relative import Relative
from eigenwerk.units import HBAR_C_MEV_FM


class PhaseShifts(NamedTuple):
    """Degrees: one wave has `first` alone; coupled waves l = J - 1, J + 1 have both and the mixing angle (Stapp)."""

    first: float
    second: float = 0.0
    mixing: float = 0.0


def phase_shifts(potential_xx: np.ndarray, p_x: np.ndarray, weight_x: np.ndarray, mass: float) -> PhaseShifts:
    """Phase shifts at the momentum p_x[-1] (MeV), which stands after the points of the mesh with weights weight_x.

    K(p', k) = V(p', k) + P int dq q^2 V(p', q) m/(k^2 - q^2) K(q, k);  potential_xx (MeV^-2) has one block of len(p_x)
    rows for one wave, and two for coupled waves, J - 1 first.  mass: twice the reduced mass, MeV.  The principal value
    is taken by subtraction of 1/(k^2 - q^2), whose integral to infinity is zero; the rest beyond the mesh is added.
    """
    k, mesh = p_x[-1], p_x[:-1]
    count = len(potential_xx) // len(p_x)
    top = float(weight_x.sum())  # the mesh begins at zero
    factor = mass * weight_x * mesh**2 / (k**2 - mesh**2)
    at_k = -mass * k**2 * (np.sum(weight_x / (k**2 - mesh**2)) - np.log((top + k) / (top - k)) / (2 * k))
    propagator = np.tile(np.append(factor, at_k), count)
    matrix = np.eye(len(potential_xx)) - potential_xx * propagator
    rows = len(p_x) * np.arange(1, count + 1) - 1
    k_matrix = np.linalg.solve(matrix, potential_xx[:, rows])[rows]
    return _stapp(-np.pi / 2 * mass * k * k_matrix)


def _stapp(tangent: np.ndarray) -> PhaseShifts:
    """From tan(delta), or its 2 x 2 matrix between spherical harmonics without i^l, to bar phase shifts.

    S = [[cos(2e) exp(2i d1), i sin(2e) exp(i(d1 + d2))], [.., cos(2e) exp(2i d2)]] in the convention with i^l.  Phases
    are known up to 180 degrees; adding them to one changes the sign of the mixing angle.
    """
    if len(tangent) == 1:
        return PhaseShifts(float(np.degrees(np.arctan(tangent[0, 0]))))
    tangent = tangent * np.array([[1, -1], [-1, 1]])
    s_matrix = np.linalg.solve(np.eye(2) - 1j * tangent, np.eye(2) + 1j * tangent)
    first, second = (float(np.angle(s_matrix[x, x]) / 2) for x in (0, 1))
    mixing = 0.5 * np.arctan2((s_matrix[0, 1] / (1j * np.exp(1j * (first + second)))).real, abs(s_matrix[0, 0]))
    return PhaseShifts(*(float(np.degrees(x)) for x in (first, second, mixing)))


def scattering_length(potential_xx: np.ndarray, p_x: np.ndarray, weight_x: np.ndarray, mass: float) -> float:
    """a = -lim tan(delta)/k in fm of an S wave; p_x[-1] is a small momentum such as 0.01 MeV."""
    phase = phase_shifts(potential_xx, p_x, weight_x, mass)
    return float(-np.tan(np.radians(phase.first)) / p_x[-1] * HBAR_C_MEV_FM)


def bound_state(potential_xx: np.ndarray, p_x: np.ndarray, weight_x: np.ndarray, mass: float):
    """Lowest energy (MeV) and the probability of each wave, from p^2/m + V on the mesh."""
    count = len(potential_xx) // len(p_x)
    root = np.tile(np.sqrt(weight_x) * p_x, count)
    energies, states = np.linalg.eigh(np.diag(np.tile(p_x**2 / mass, count)) + root[:, None] * potential_xx * root)
    return float(energies[0]), (states[:, 0] ** 2).reshape(count, -1).sum(axis=1)


def r_squared(l: int, count: int) -> np.ndarray:
    """<n l|r^2|n' l> in units b^2: 2n + l + 3/2, and -sqrt((n+1)(n+l+3/2)) beside the diagonal."""
    n = np.arange(count)
    beside = -np.sqrt((n[:-1] + 1) * (n[:-1] + l + 1.5))
    return np.diag(2 * n + l + 1.5) + np.diag(beside, 1) + np.diag(beside, -1)


def p_squared(l: int, count: int) -> np.ndarray:
    """<n l|p^2|n' l> in units (hbar/b)^2: as r^2 with the opposite sign beside the diagonal."""
    diagonal = np.diag(np.diag(r_squared(l, count)))
    return 2 * diagonal - r_squared(l, count)


def hamiltonian(relative: Relative, j: int, s: int, waves: tuple[int, ...], count: int) -> np.ndarray:
    """p^2/m + V of two nucleons at rest in the coupled waves l of one J and S; count radial functions each; MeV.

    The first eigenvalue for J = S = 1, waves (0, 2) is the energy of the deuteron.
    """
    blocks = []
    for l in waves:
        row = []
        for lp in waves:
            block = np.zeros((count, count))
            matrix = relative.element(j, s, l, lp)
            if matrix is not None:
                rows, columns = (min(count, size) for size in matrix.shape)
                block[:rows, :columns] = matrix[:rows, :columns]
            row.append(block + (relative.hw / 2 * p_squared(l, count) if l == lp else 0.0))
        blocks.append(row)
    return np.block(blocks)
