"""Excitation of the centre of mass, for Lawson's term and as a check of the states; kinetic energy relative to it."""

import numpy as np

from eigenwerk.ncci.interaction.one_body import (
    between_radial_functions,
    identity,
    momentum_over_i,
    position,
    scalar_product,
    sum_over_nucleons,
)
from eigenwerk.ncci.interaction.two_body import PairSpace, TwoBody


def centre_of_mass_quanta(space: PairSpace, nucleons: int) -> TwoBody:
    """N_cm = H_cm/hw - 3/2 as a number of quanta; 0 for states whose centre of mass is at rest (0s).

    H_cm/hw = (1/2A) sum_i (p_i^2 + r_i^2) + (1/A) sum_{i<j} (p_i.p_j + r_i.r_j) in oscillator units.  Lawson's term
    lambda N_cm (Gloeckner and Lawson, Phys. Lett. B 53, 313 (1974)) lifts the others by lambda per quantum.
    """
    quanta = sum_over_nucleons(space, lambda orbitals: np.diag(orbitals.quanta_a + 1.5)) * (1 / (nucleons - 1))
    products = scalar_product(space, position) - scalar_product(space, momentum_over_i)
    pairs = nucleons * (nucleons - 1) / 2
    return (1 / nucleons) * (quanta + products) - (1.5 / pairs) * identity(space)


def intrinsic_kinetic(space: PairSpace, hw: float, nucleons: int) -> TwoBody:
    """T_int = (1/A) sum_{i<j} (p_i - p_j)^2 / 2m in MeV, A = nucleons; hw in MeV.

    = (1/A) sum_{i<j} [p_i^2/2m + p_j^2/2m - p_i.p_j/m], and p^2/2m = (hw/2) p^2 in oscillator units.
    """
    squares = sum_over_nucleons(space, lambda orbitals: between_radial_functions(orbitals, +1))
    products = -1.0 * scalar_product(space, momentum_over_i)
    return (hw / nucleons) * (0.5 * squares - products)
