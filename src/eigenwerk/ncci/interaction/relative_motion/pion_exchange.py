"""Exchange of one and two pions up to next-to-next-to-leading order of chiral effective field theory.

The potential between nucleons of momenta p and p' (q = p' - p, k = (p' + p)/2) is
V = V_C + V_S s1.s2 + V_T s1.q s2.q + V_LS (-i S.(q x k)), each V standing for V + t1.t2 W.
Source: D. R. Entem and R. Machleidt, Phys. Rev. C 66, 014002 (2002), with the terms in 1/M_N and the correction for the
iteration of one-pion exchange; review: Phys. Rep. 503, 1 (2011).  Loop integrals have a spectral cutoff.  MeV for
momenta and masses, MeV^-2 for V, without (2 pi)^-3.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class PionPhysics:
    """Couplings and masses (MeV): axial coupling, pion decay constant, c_i in MeV^-1, spectral cutoff."""

    g_a: float
    f_pi: float
    neutral_pion: float
    charged_pion: float
    nucleon: float
    c1: float
    c3: float
    c4: float
    cutoff: float

    @property
    def average_pion(self) -> float:
        """Mean mass of the three pions."""
        return (self.neutral_pion + 2 * self.charged_pion) / 3


class Components(NamedTuple):
    """Functions of q that multiply 1, s1.s2, s1.q s2.q and -i S.(q x k)."""

    central: np.ndarray
    spin: np.ndarray
    tensor: np.ndarray
    spin_orbit: np.ndarray


def one_pion(q: np.ndarray, physics: PionPhysics, isospin: int, like: bool) -> np.ndarray:
    """The factor of s1.q s2.q of one-pion exchange, with the masses of neutral and charged pions.

    V(m) = -(g_A/2 f_pi)^2/(q^2 + m^2);  V(m_0) between like nucleons, -V(m_0) -+ 2 V(m_+-) for pn with T = 0, 1.
    """

    def potential(mass: float) -> np.ndarray:
        return -((physics.g_a / (2 * physics.f_pi)) ** 2) / (q**2 + mass**2)

    if like:
        return potential(physics.neutral_pion)
    return -potential(physics.neutral_pion) + (2 if isospin == 1 else -2) * potential(physics.charged_pion)


def two_pions(q: np.ndarray, physics: PionPhysics, isospin: int) -> Components:
    """Two-pion exchange with the average pion mass: leading and subleading order, with the terms in 1/M_N."""
    tau = 2 * isospin * (isospin + 1) - 3
    g, f, m, nucleon = physics.g_a, physics.f_pi, physics.average_pion, physics.nucleon
    w2, v2 = 4 * m**2 + q**2, 2 * m**2 + q**2
    loop_l, loop_a = _loop_l(q, m, physics.cutoff), _loop_a(q, m, physics.cutoff)
    isovector = 4 * m**2 * (5 * g**4 - 4 * g**2 - 1) + q**2 * (23 * g**4 - 10 * g**2 - 1) + 48 * g**4 * m**4 / w2
    central = -tau * loop_l * isovector / (384 * np.pi**2 * f**4)
    tensor = -3 * g**4 * loop_l / (64 * np.pi**2 * f**4)
    # subleading: the couplings c_i of two pions to a nucleon
    isoscalar = 2 * m**2 * (physics.c3 - 2 * physics.c1) + physics.c3 * q**2
    central += 3 * g**2 / (16 * np.pi * f**4) * isoscalar * v2 * loop_a
    tensor += -tau * g**2 / (32 * np.pi * f**4) * physics.c4 * w2 * loop_a
    # and the corrections in 1/M_N, for the iteration of one-pion exchange with minimal relativity
    scale = g**2 / (np.pi * f**4 * nucleon)
    central += 3 * g**2 * scale / 256 * (m**5 / w2 + 3 * q**2 * v2 * loop_a - (m * w2 + v2**2 * loop_a))
    bracket = 3 * g**2 * m**5 / w2 - (4 * m**2 + 2 * q**2 - g**2 * (4 * m**2 + 3 * q**2)) * v2 * loop_a
    central += tau * scale / 128 * (bracket + g**2 * (m * w2 + v2**2 * loop_a))
    tensor += g**2 * scale / 512 * (9 * v2 * loop_a + 3 * (m + w2 * loop_a))
    bracket = -2 * w2 * loop_a + g**2 * (10 * m**2 + 3 * q**2) * loop_a - g**2 * (m + w2 * loop_a)
    tensor += tau * scale / 256 * bracket
    spin_orbit = scale / 32 * (3 * g**2 * v2 + tau * (1 - g**2) * w2) * loop_a
    return Components(central, -(q**2) * tensor, tensor, spin_orbit)


def _loop_l(q: np.ndarray, m: float, cutoff: float) -> np.ndarray:
    """L(q) = (w/2q) ln [(c^2 w^2 + q^2 s^2 + 2 c q w s)/(4 m^2 (c^2 + q^2))], s^2 = c^2 - 4 m^2, cutoff c."""
    w, s = np.sqrt(4 * m**2 + q**2), np.sqrt(cutoff**2 - 4 * m**2)
    inner = (cutoff**2 * w**2 + q**2 * s**2 + 2 * cutoff * q * w * s) / (4 * m**2 * (cutoff**2 + q**2))
    return w / (2 * q) * np.log(inner)


def _loop_a(q: np.ndarray, m: float, cutoff: float) -> np.ndarray:
    """A(q) = (1/2q) arctan [q (c - 2m)/(q^2 + 2 c m)]."""
    return np.arctan(q * (cutoff - 2 * m) / (q**2 + 2 * cutoff * m)) / (2 * q)
