"""Excitation of the centre of mass, for Lawson's term and as a check of the states."""

import numpy as np

from eigenwerk.ncci.interaction.one_body import (
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
