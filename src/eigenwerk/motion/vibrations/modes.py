"""Frequencies and eigenvectors of the dynamical matrix at Gamma.

D(x, y) = Φ(x, y) / √(m_x m_y),  D e = ω² e;  an unstable mode has ω² < 0 and is given a negative frequency.
"""

from dataclasses import dataclass

import numpy as np

from eigenwerk.motion.vibrations.force_constants import ForceConstants
from eigenwerk.units import FREQUENCY_THZ, THZ_MEV, THZ_PER_CM


@dataclass(frozen=True, eq=False)
class Modes:
    """Modes n at Gamma, the highest first.

    square_n: ω², eV/(Å² amu), negative if unstable.  vector_nav: (n, a, 3), orthonormal eigenvectors of the
    mass-weighted matrix; u_a = e_a/√m_a.  acoustic_thz_y: frequencies of the modes most like translations before the
    sum rule was imposed, negative if unstable.
    """

    square_n: np.ndarray
    vector_nav: np.ndarray
    acoustic_thz_y: np.ndarray

    @property
    def thz_n(self) -> np.ndarray:
        """Frequencies ω/2π in THz, negative if unstable."""
        return signed_thz(self.square_n)

    @property
    def per_cm_n(self) -> np.ndarray:
        """Frequencies in cm⁻¹."""
        return self.thz_n * THZ_PER_CM

    @property
    def mev_n(self) -> np.ndarray:
        """Energies of quanta in meV."""
        return self.thz_n * THZ_MEV


def modes_of(constants: ForceConstants, masses_a: np.ndarray) -> Modes:
    """Modes of the free coordinates; masses in amu."""
    free_av = constants.free_av
    mass_x = np.broadcast_to(np.asarray(masses_a, dtype=float)[:, None], free_av.shape)[free_av]
    square_n, vector_nx = _solve(constants.matrix_xx, mass_x)
    vector_nav = np.zeros((len(square_n), *free_av.shape))
    vector_nav[:, free_av] = vector_nx
    return Modes(square_n, vector_nav, _raw_acoustic(constants, mass_x))


def _solve(matrix_xx: np.ndarray, mass_x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The highest first; the largest component of each vector is positive."""
    square_n, vector_xn = np.linalg.eigh(matrix_xx / np.sqrt(np.outer(mass_x, mass_x)))
    vector_nx = vector_xn.T[::-1]
    largest_n = vector_nx[np.arange(len(vector_nx)), np.abs(vector_nx.round(8)).argmax(axis=1)]
    return square_n[::-1], vector_nx * np.sign(largest_n)[:, None]


def _raw_acoustic(constants: ForceConstants, mass_x: np.ndarray) -> np.ndarray:
    """Frequencies (THz) of as many modes as there are translations, without the sum rule."""
    square_n, vector_nx = _solve(constants.symmetric_xx, mass_x)
    weighted_yx = constants.translation_yx * np.sqrt(mass_x)
    weight_n = ((vector_nx @ weighted_yx.T) ** 2).sum(axis=1)
    return signed_thz(square_n[np.sort(np.argsort(-weight_n)[: len(weighted_yx)])])


def signed_thz(square: np.ndarray) -> np.ndarray:
    """ω² in eV/(Å² amu) to THz, negative if unstable."""
    return np.sign(square) * np.sqrt(np.abs(square)) * FREQUENCY_THZ
