"""Kinetic energy of the nucleons relative to their centre of mass."""

from eigenwerk.ncci.interaction.one_body import (
    between_radial_functions,
    momentum_over_i,
    scalar_product,
    sum_over_nucleons,
)
from eigenwerk.ncci.interaction.two_body import PairSpace, TwoBody


def intrinsic_kinetic(space: PairSpace, hw: float, nucleons: int) -> TwoBody:
    """T_int = (1/A) sum_{i<j} (p_i - p_j)^2 / 2m in MeV, A = nucleons; hw in MeV.

    = (1/A) sum_{i<j} [p_i^2/2m + p_j^2/2m - p_i.p_j/m], and p^2/2m = (hw/2) p^2 in oscillator units.
    """
    squares = sum_over_nucleons(space, lambda orbitals: between_radial_functions(orbitals, +1))
    products = -1.0 * scalar_product(space, momentum_over_i)
    return (hw / nucleons) * (0.5 * squares - products)
