"""The Minnesota potential, a sum of three Gaussians for light nuclei and tests.

V = [V_R + (1 + P_sigma)/2 V_t + (1 - P_sigma)/2 V_s] [u + (2 - u) P_r]/2,  V_x = v_x exp(-k_x r^2).
Source: D. R. Thompson, M. LeMere and Y. C. Tang, Nucl. Phys. A 286, 53 (1977).
"""

import numpy as np

from eigenwerk.ncci.interaction.relative_motion.relative import Relative, all_waves, local

REPULSION = (200.0, 1.487)
"""Strength in MeV and k in fm^-2."""

TRIPLET = (-178.0, 0.639)
SINGLET = (-91.85, 0.465)


def minnesota(hw: float, max_quanta: int, u: float = 1.0, max_l: int | None = None) -> Relative:
    """The potential in the relative oscillator basis with 2n + l <= max_quanta; u: its exchange mixture.

    max_l leaves out higher partial waves, for nuclei of two nucleons.
    """

    def potential(s: int, l: int, r: np.ndarray) -> np.ndarray:
        exchange = 1.0 if l % 2 == 0 else u - 1.0
        (core, k_core), (strength, k) = REPULSION, TRIPLET if s else SINGLET
        return exchange * (core * np.exp(-k_core * r**2) + strength * np.exp(-k * r**2))

    highest = max_quanta if max_l is None else max_l
    waves = [(j, s, l) for j, s, l in all_waves(highest) if l % 2 == 0 or u != 1.0]
    return local(potential, hw, max_quanta, waves)
