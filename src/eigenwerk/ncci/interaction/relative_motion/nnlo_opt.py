"""The chiral nucleon-nucleon interaction NNLOopt, computed from its parameters.

Source: A. Ekström et al., Phys. Rev. Lett. 110, 192502 (2013): pion exchange up to next-to-next-to-leading order,
contacts up to second order, all times exp[-(p/500 MeV)^6 - (p'/500 MeV)^6], spectral cutoff 700 MeV.  The deuteron has
-2.2246 MeV.  Charge dependence: masses of pions, and one contact in 1S0 each for pp, nn and pn.

Partial waves of such a potential, given in momentum space as an operator in spin:

<p' l' S J|V|p l S J> = 8 pi^2/(2J+1) int dz sum_M Y+_{l'SJM}(p'^) V(p', p) Y_{lSJM}(z^), with p along z and p' in the
x-z plane; states <p|p'> = delta(p - p')/p^2 and spherical harmonics without i^l.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np
from scipy.special import roots_legendre, sph_harm_y, spherical_jn

from eigenwerk.ncci.interaction.angular_algebra import clebsch_gordan
from eigenwerk.ncci.interaction.relative_motion import oscillator
from eigenwerk.ncci.interaction.relative_motion.pion_exchange import Components, PionPhysics, one_pion, two_pions
from eigenwerk.ncci.interaction.relative_motion.relative import Relative, Wave
from eigenwerk.ncci.interaction.relative_motion.srg import evolve_waves
from eigenwerk.units import COULOMB_MEV_FM, HBAR_C_MEV_FM


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


PROTON, NEUTRON = 938.272046, 939.565379
MASS = {"pp": PROTON, "nn": NEUTRON, "pn": 2 * PROTON * NEUTRON / (PROTON + NEUTRON)}
"""Twice the reduced mass of a pair, MeV."""

PHYSICS = PionPhysics(
    g_a=1.29,
    f_pi=92.4,
    neutral_pion=134.9766,
    charged_pion=139.57018,
    nucleon=MASS["pn"],
    c1=-0.91863953e-3,
    c3=-3.88868749e-3,
    c4=4.31032716e-3,
    cutoff=700.0,
)
REGULATOR, POWER = 500.0, 6

SINGLET = {"pp": -0.15136604e-2, "nn": -0.15176475e-2, "pn": -0.15214109e-2}
"""Leading contact in 1S0, MeV^-2."""

TRIPLET = -0.15843418e-2
QUADRATIC = {
    (0, 0, 0, 0): 2.40402194e-8,
    (0, 1, 1, 1): 1.26339076e-8,
    (1, 0, 1, 1): 0.41704554e-8,
    (1, 1, 1, 1): -0.78265850e-8,
    (1, 1, 0, 0): 0.92838466e-8,
    (1, 1, 0, 2): -0.61814142e-8,  # the paper takes spherical harmonics with i^l, so with the other sign
    (2, 1, 1, 1): -0.67780851e-8,
}
"""Contacts of second order by (J, S, l, l'), MeV^-4."""

COULOMB_REACH = 10.0
"""Distance (fm) at which the Coulomb repulsion is cut off softly where it is evolved."""

HIGHEST_J = 8
"""Partial waves of higher J are left out."""


def momentum_mesh(points: int = 100, reach: float = 1000.0) -> tuple[np.ndarray, np.ndarray]:
    """Momenta in MeV and weights; the regulator is 1e-28 at 1000 MeV."""
    x, weight = roots_legendre(points)
    return reach * (x + 1) / 2, weight * reach / 2


def waves(max_j: int = HIGHEST_J) -> list[Wave]:
    """(J, S, l, l') with l <= l' up to the highest J."""
    found = []
    for j in range(max_j + 1):
        found += [(j, 0, j, j)] + ([(j, 1, j, j)] if j else [])
        ends = [l for l in (j - 1, j + 1) if l >= 0 and not (j == 0 and l == j - 1)]
        found += [(j, 1, a, b) for a in ends for b in ends if a <= b]
    return found


def momentum_matrices(kind: str, p_x: np.ndarray, wanted: list[Wave]) -> dict[Wave, np.ndarray]:
    """<p l S J|V|p' l' S J> in MeV^-2 for pairs of one kind; waves that like nucleons cannot have are left out."""
    like = kind != "pn"
    found: dict[Wave, np.ndarray] = {}
    z, weight = angles(64)
    relativity = np.sqrt(MASS[kind] / np.sqrt(MASS[kind] ** 2 + p_x**2))
    outer = relativity * np.exp(-((p_x / REGULATOR) ** POWER)) / (2 * np.pi) ** 1.5
    for spin in (0, 1):
        for isospin in (0, 1):
            chosen = [w for w in wanted if w[1] == spin and (w[2] + spin + isospin) % 2 == 1]
            if not chosen or (like and isospin == 0):
                continue
            matrices = spin_matrices(_pions(p_x, z, isospin, like), p_x, z, spin)
            for j, s, l, lp in chosen:
                # rows are p with l and columns p' with l'
                matrix = project(matrices, z, weight, j, l, lp) + _contact(kind, (j, s, l, lp), p_x)
                found[j, s, l, lp] = matrix * outer[:, None] * outer
    return found


def _pions(p_x: np.ndarray, z: np.ndarray, isospin: int, like: bool) -> Components:
    q = momentum_transfer(p_x, z)
    two = two_pions(q, PHYSICS, isospin)
    return two._replace(tensor=two.tensor + one_pion(q, PHYSICS, isospin, like))


def _contact(kind: str, wave: Wave, p_x: np.ndarray) -> np.ndarray:
    """C~ + C (p^2 + p'^2) in S waves, C p p' in P waves, C p'^2 between S and D waves (p' of the D wave)."""
    strength = QUADRATIC.get(wave, 0.0)
    p, p_new = p_x[:, None], p_x[None, :]
    if wave[2:] == (0, 0):
        return (SINGLET[kind] if wave[1] == 0 else TRIPLET) + strength * (p**2 + p_new**2)
    if wave[2:] == (0, 2):
        return strength * p_new**2 * np.ones_like(p)
    return strength * p * p_new


@lru_cache(maxsize=8)
def _on_mesh(kind: str, points: int, srg_lambda: float | None) -> dict[Wave, np.ndarray]:
    p_x, weight = momentum_mesh(points)
    bare = momentum_matrices(kind, p_x, waves())
    return bare if srg_lambda is None else evolve_waves(bare, p_x, weight, MASS[kind], srg_lambda)


@lru_cache(maxsize=16)
def nnlo_opt(kind: str, hw: float, max_quanta: int, srg_lambda: float | None = None, points: int = 100) -> Relative:
    """NNLOopt for "pp", "nn" or "pn" pairs in the relative oscillator basis with 2n + l <= max_quanta.

    srg_lambda: evolved so far by the similarity renormalisation group, fm^-1; None for the potential as published.

    <n l|V|n' l'> = (-1)^(n + n' + (l - l')/2) int int R_nl(p) V(p, p') R_n'l'(p') p^2 p'^2 dp dp' with R(p) positive at
    p = 0, because a function positive at r = 0 is (-i)^l (-1)^n R(p) in momentum space.
    """
    return Relative(hw, _in_oscillator(_on_mesh(kind, points, srg_lambda), hw, max_quanta, points))


def coulomb_left(hw: float, max_quanta: int, srg_lambda: float, points: int = 100) -> Relative:
    """What the evolution to srg_lambda (fm^-1) would make of the Coulomb repulsion of two protons beside NNLOopt, less
    that repulsion: an operator of short range, in the relative oscillator basis with 2n + l <= max_quanta."""
    return Relative(hw, _in_oscillator(_coulomb_left(points, srg_lambda), hw, max_quanta, points))


@lru_cache(maxsize=4)
def _coulomb_left(points: int, srg_lambda: float) -> dict[Wave, np.ndarray]:
    """evolved(V + V_C) - evolved(V) - V_C on the mesh; V_C ends softly at `COULOMB_REACH`, beyond which it is smooth on
    the scale of 1/lambda and stays as it is."""
    p_x, weight = momentum_mesh(points)
    bare = momentum_matrices("pp", p_x, waves())
    repulsion = {
        l: momentum_matrix(lambda r: COULOMB_MEV_FM / r * np.exp(-((r / COULOMB_REACH) ** 6)), l, p_x)
        for l in {wave[2] for wave in bare}
    }
    both = {(j, s, l, lp): part + (repulsion[l] if l == lp else 0.0) for (j, s, l, lp), part in bare.items()}
    evolved = evolve_waves(both, p_x, weight, MASS["pp"], srg_lambda)
    alone = _on_mesh("pp", points, srg_lambda)
    return {wave: evolved[wave] - alone[wave] - (repulsion[wave[2]] if wave[2] == wave[3] else 0.0) for wave in bare}


def momentum_matrix(potential: Callable[[np.ndarray], np.ndarray], l: int, p_x: np.ndarray) -> np.ndarray:
    """<p l|V|p' l> = 2/pi int r^2 j_l(pr) V(r) j_l(p'r) dr of a local potential in MeV that ends before twice
    `COULOMB_REACH`; MeV^-2, p in MeV."""
    x, weight = roots_legendre(400)
    r = COULOMB_REACH * (x + 1)
    bessel_xr = spherical_jn(l, np.outer(p_x, r) / HBAR_C_MEV_FM)
    measure_r = 2 / np.pi * COULOMB_REACH * weight * r**2 * potential(r) / HBAR_C_MEV_FM**3
    return (bessel_xr * measure_r) @ bessel_xr.T


def _in_oscillator(
    on_mesh: Mapping[Wave, np.ndarray], hw: float, max_quanta: int, points: int
) -> dict[Wave, np.ndarray]:
    """Matrices between momenta in the oscillator basis, as `nnlo_opt` says."""
    p_x, weight = momentum_mesh(points)
    scale = HBAR_C_MEV_FM / oscillator.relative_length(hw)
    functions = {}
    for l in range(HIGHEST_J + 2):
        if l <= max_quanta:
            n = np.arange((max_quanta - l) // 2 + 1)
            radial = oscillator.radial(int(n[-1]), l, p_x, scale)
            functions[l] = radial * weight * p_x**2 * (1.0 - 2.0 * (n % 2))[:, None]
    return {
        (j, s, l, lp): (1 - (lp - l)) * (functions[l] @ matrix @ functions[lp].T)  # i^(l' - l): 1 or -1
        for (j, s, l, lp), matrix in on_mesh.items()
        if max(l, lp) <= max_quanta
    }
