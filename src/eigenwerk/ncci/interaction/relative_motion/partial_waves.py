"""Partial waves of a nucleon-nucleon potential given in momentum space as an operator in spin.

<p' l' S J|V|p l S J> = 8 pi^2/(2J+1) int dz sum_M Y+_{l'SJM}(p'^) V(p', p) Y_{lSJM}(z^), with p along z and p' in the
x-z plane; states <p|p'> = delta(p - p')/p^2 and spherical harmonics without i^l.
"""

from functools import lru_cache

import numpy as np
from scipy.special import roots_legendre, sph_harm_y

from eigenwerk.ncci.interaction.angular_algebra import clebsch_gordan
from eigenwerk.ncci.interaction.relative_motion.pion_exchange import Components


def angles(points: int) -> tuple[np.ndarray, np.ndarray]:
    """cos(theta) between p and p' and weights of a Gauss-Legendre rule."""
    return roots_legendre(points)


def momentum_transfer(p_x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """q = |p' - p| as an array (p', p, z)."""
    p_out, p_in = p_x[:, None, None], p_x[None, :, None]
    return np.sqrt(np.maximum(p_out**2 + p_in**2 - 2 * p_out * p_in * z, 1e-20))


def spin_matrices(components: Components, p_x: np.ndarray, z: np.ndarray, spin: int) -> np.ndarray:
    """<S m'|V|S m> on the grid as an array (m', m, p', p, z), m = S .. -S.

    S = 0: V_C - 3 V_S - q^2 V_T.  S = 1: V_C + V_S + V_T (2 (S.q)^2 - q^2) + V_LS p' p sin(theta) i S_y.
    """
    q2 = momentum_transfer(p_x, z) ** 2
    central, sigma, tensor, spin_orbit = components
    if spin == 0:
        return (central - 3 * sigma - q2 * tensor)[None, None]
    p_out, p_in = p_x[:, None, None], p_x[None, :, None]
    sine = np.sqrt(1 - z**2)
    q_x, q_z = p_out * sine + 0 * q2, p_out * z - p_in
    s_x = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]) / np.sqrt(2)
    s_z = np.diag([1.0, 0.0, -1.0])
    i_s_y = np.array([[0, 1, 0], [-1, 0, 1], [0, -1, 0]]) / np.sqrt(2)
    result = np.zeros((3, 3, *q2.shape))
    along = np.einsum("mk,xyz->mkxyz", s_x, q_x) + np.einsum("mk,xyz->mkxyz", s_z, q_z)
    for row in range(3):
        for column in range(3):
            square = sum(along[row, k] * along[k, column] for k in range(3))
            result[row, column] = 2 * tensor * square + i_s_y[row, column] * p_out * p_in * sine * spin_orbit
        result[row, row] += central + sigma - q2 * tensor
    return result


def project(matrices: np.ndarray, z: np.ndarray, weight: np.ndarray, j: int, l_out: int, l_in: int) -> np.ndarray:
    """<p' l_out S J|V|p l_in S J> as an array (p', p), from `spin_matrices` of spin S."""
    spin = (len(matrices) - 1) // 2
    total = np.zeros(matrices.shape[2:4])
    for row in range(len(matrices)):
        for column in range(len(matrices)):
            factor = _angular(j, spin, l_out, l_in, spin - row, spin - column, tuple(z.tolist()))
            if factor is not None:
                total += matrices[row, column] @ (factor * weight)
    return 8 * np.pi**2 / (2 * j + 1) * total


@lru_cache(maxsize=4096)
def _angular(j: int, spin: int, l_out: int, l_in: int, m_out: int, m_in: int, z: tuple[float, ...]):
    """C(l' M-m' S m'|J M) Y_{l' M-m'}(theta, 0) C(l 0 S m|J M) Y_{l0}(z^), with M = m."""
    m_l = m_in - m_out
    if abs(m_l) > l_out or abs(m_in) > j:
        return None
    out = clebsch_gordan(2 * l_out, 2 * spin)[j - abs(l_out - spin), m_l + l_out, m_out + spin]
    start = clebsch_gordan(2 * l_in, 2 * spin)[j - abs(l_in - spin), l_in, m_in + spin]
    harmonic = sph_harm_y(l_out, m_l, np.arccos(np.array(z)), 0.0).real
    return out * start * np.sqrt((2 * l_in + 1) / (4 * np.pi)) * harmonic
