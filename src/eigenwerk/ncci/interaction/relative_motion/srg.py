"""Similarity renormalisation group: a unitary change of a potential that takes strength from high to low momenta.

dH_s/ds = [[T, H_s], H_s] with the kinetic energy T of the relative motion.  Source: S. K. Bogner, R. J. Furnstahl and
R. J. Perry, Phys. Rev. C 75, 061001 (2007).  Energies are counted in units of hbar^2/m, m twice the reduced mass, so
that T = k^2 in fm^-2 and s is in fm^4; lambda = s^(-1/4) in fm^-1 is about the width of what is left of V beside the
diagonal.  Two nucleons keep all their observables; the forces between three that this induces are left out.
"""

from collections.abc import Mapping

import numpy as np
from scipy.integrate import solve_ivp

from eigenwerk.errors import ConvergenceError, InputError
from eigenwerk.ncci.interaction.relative_motion.relative import Wave
from eigenwerk.units import HBAR_C_MEV_FM

RELATIVE, ABSOLUTE = 1e-8, 1e-10
"""Errors allowed in a step of the flow, of elements in fm; the deuteron then keeps its energy to 1e-10 MeV."""


def evolve_waves(
    matrices: Mapping[Wave, np.ndarray], p_x: np.ndarray, weight_x: np.ndarray, mass: float, srg_lambda: float
) -> dict[Wave, np.ndarray]:
    """`evolve` for all partial waves, those that the potential couples together; <p l S J|V|p' l' S J> in MeV^-2."""
    found = {}
    for (j, s, _), coupled in _channels(matrices).items():
        blocks = [[_element(matrices, j, s, l, lp) for lp in coupled] for l in coupled]
        evolved = evolve(np.block(blocks), p_x, weight_x, mass, srg_lambda)
        rows = [np.hsplit(row, len(coupled)) for row in np.vsplit(evolved, len(coupled))]
        pairs = [(a, b) for a in range(len(coupled)) for b in range(a, len(coupled))]
        found.update({(j, s, coupled[a], coupled[b]): rows[a][b] for a, b in pairs})
    return found


def _channels(matrices: Mapping[Wave, np.ndarray]) -> dict[tuple[int, int, int], list[int]]:
    """(J, S, parity) -> the one or two l."""
    found: dict[tuple[int, int, int], list[int]] = {}
    for j, s, l, lp in sorted(matrices):
        if l == lp:
            found.setdefault((j, s, l % 2), []).append(l)
    return found


def _element(matrices: Mapping[Wave, np.ndarray], j: int, s: int, l: int, lp: int) -> np.ndarray:
    return matrices[j, s, l, lp] if l <= lp else matrices[j, s, lp, l].T


def evolve(
    potential_xx: np.ndarray, p_x: np.ndarray, weight_x: np.ndarray, mass: float, srg_lambda: float
) -> np.ndarray:
    """The potential at lambda = srg_lambda (fm^-1) of what is given at lambda = infinity.

    dV_ij/ds = -(k_i^2 - k_j^2)^2 V_ij + sum_q w_q q^2 (k_i^2 + k_j^2 - 2 q^2) V_iq V_qj

    potential_xx (MeV^-2, symmetric) has one block of len(p_x) rows for one wave, and two for coupled waves; p_x in MeV
    with the weights of an integral over p, zero for points beyond the mesh; mass: twice the reduced mass, MeV.
    Raises InputError if srg_lambda is not positive, ConvergenceError if the flow cannot be followed.
    """
    if not srg_lambda > 0:
        raise InputError(f"srg_lambda = {srg_lambda:g} fm^-1, but it has to be positive. Usual are 1.5 to 3.")
    count = len(potential_xx) // len(p_x)
    k_x, weight_x = np.tile(p_x, count) / HBAR_C_MEV_FM, np.tile(weight_x, count) / HBAR_C_MEV_FM
    to_fm = mass * HBAR_C_MEV_FM
    difference_xx = np.subtract.outer(k_x**2, k_x**2)
    measure_x = weight_x * k_x**2

    def slope(_: float, flat: np.ndarray) -> np.ndarray:
        v_xx = flat.reshape(difference_xx.shape)
        generator_xx = difference_xx * v_xx  # [T, V], antisymmetric, so that [[T, V], V] is a product and its transpose
        product_xx = (generator_xx * measure_x) @ v_xx
        return (product_xx + product_xx.T - difference_xx * generator_xx).ravel()

    end = srg_lambda**-4
    start = (potential_xx * to_fm).ravel()
    found = solve_ivp(slope, (0.0, end), start, "DOP853", [end], rtol=RELATIVE, atol=ABSOLUTE)
    if not found.success:
        raise ConvergenceError(
            f"The flow of the potential to srg_lambda = {srg_lambda:g} fm^-1 stopped before its end: {found.message} "
            "Use a larger srg_lambda."
        )
    return found.y[:, -1].reshape(potential_xx.shape) / to_fm
