"""Potentials between two nucleons that need no file but a table: JISP16, Minnesota, Coulomb."""

import json
from functools import lru_cache
from pathlib import Path

import numpy as np

from eigenwerk.ncci.interaction.relative_motion.coupling import couple
from eigenwerk.ncci.interaction.relative_motion.relative import Relative, Wave, all_waves, local
from eigenwerk.ncci.interaction.two_body import PairSpace, TwoBody
from eigenwerk.units import COULOMB_MEV_FM, NUCLEON_MASS_MEV


@lru_cache(maxsize=1)
def jisp16() -> Relative:
    """JISP16, 165 oscillator matrix elements at hw = 40 MeV; `Relative.at` and `couple` bring it to any hw.

    Source: A. M. Shirokov, J. P. Vary, A. I. Mazur and T. A. Weber, Phys. Lett. B 644, 33 (2007).  It is the same for
    pp, nn and pn pairs, and vanishes for J > 4.  The table jisp16.json names where the numbers come from.
    """
    table = json.loads(Path(__file__).with_name("jisp16.json").read_text(encoding="utf-8"))
    waves: dict[Wave, list[tuple[int, int, float]]] = {}
    for j, s, l, lp, n, n_new, value in table["elements"]:
        waves.setdefault((j, s, l, lp), []).append((n, n_new, value))
    return Relative(table["hw"], {wave: _matrix(wave, found) for wave, found in waves.items()}, table["nucleon_mass"])


def _matrix(wave: Wave, found: list[tuple[int, int, float]]) -> np.ndarray:
    size = 1 + max(max(n, n_new) for n, n_new, _ in found)
    matrix = np.zeros((size, size))
    for n, n_new, value in found:
        matrix[n, n_new] = value
        if wave[2] == wave[3]:
            matrix[n_new, n] = value
    return matrix


REPULSION = (200.0, 1.487)
"""Strength in MeV and k in fm^-2."""

TRIPLET = (-178.0, 0.639)
SINGLET = (-91.85, 0.465)


def minnesota(hw: float, max_quanta: int, u: float = 1.0, max_l: int | None = None) -> Relative:
    """A sum of three Gaussians for light nuclei and tests, in the basis with 2n + l <= max_quanta; u: exchange mixture.

    V = [V_R + (1 + P_sigma)/2 V_t + (1 - P_sigma)/2 V_s] [u + (2 - u) P_r]/2,  V_x = v_x exp(-k_x r^2).
    Source: D. R. Thompson, M. LeMere and Y. C. Tang, Nucl. Phys. A 286, 53 (1977).
    max_l leaves out higher partial waves, for nuclei of two nucleons.
    """

    def potential(s: int, l: int, r: np.ndarray) -> np.ndarray:
        exchange = 1.0 if l % 2 == 0 else u - 1.0
        (core, k_core), (strength, k) = REPULSION, TRIPLET if s else SINGLET
        return exchange * (core * np.exp(-k_core * r**2) + strength * np.exp(-k * r**2))

    highest = max_quanta if max_l is None else max_l
    waves = [(j, s, l) for j, s, l in all_waves(highest) if l % 2 == 0 or u != 1.0]
    return local(potential, hw, max_quanta, waves)


def coulomb_relative(hw: float, max_quanta: int, nucleon_mass: float = NUCLEON_MASS_MEV) -> Relative:
    """e^2/r between point charges in the relative oscillator basis with 2n + l <= max_quanta."""
    return local(lambda s, l, r: COULOMB_MEV_FM / r, hw, max_quanta, all_waves(max_quanta), nucleon_mass)


def coulomb(space: PairSpace, hw: float, nucleon_mass: float = NUCLEON_MASS_MEV) -> TwoBody:
    """Two-body matrix elements of e^2/r between protons, in MeV."""
    return couple(space, {"pp": coulomb_relative(hw, space.highest_quanta("pp"), nucleon_mass)}, hw)
