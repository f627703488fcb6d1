"""Distances between nucleons and the radii that follow."""

from math import sqrt
from typing import NamedTuple

from eigenwerk.ncci.interaction.one_body import between_radial_functions, position, scalar_product, sum_over_nucleons
from eigenwerk.ncci.interaction.relative_motion import oscillator
from eigenwerk.ncci.interaction.two_body import PairSpace, TwoBody
from eigenwerk.units import NUCLEON_MASS_MEV


class Radii(NamedTuple):
    """Root mean square radii in fm: of point protons, point neutrons and all nucleons about the centre of mass.

    r_pp, r_nn, r_pn: sqrt(<sum r_ij^2>/A^2) of the pairs of each kind, as MFDn prints them.
    """

    proton: float
    neutron: float
    matter: float
    r_pp: float
    r_nn: float
    r_pn: float


def squared_distances(space: PairSpace, hw: float, nucleon_mass: float = NUCLEON_MASS_MEV) -> TwoBody:
    """sum_{i<j} (r_i - r_j)^2 in fm^2; `.only("pp")` and so on is the sum over pairs of one kind."""
    b = oscillator.length(hw, nucleon_mass)
    squares = sum_over_nucleons(space, lambda orbitals: between_radial_functions(orbitals, -1))
    return b**2 * (squares - 2.0 * scalar_product(space, position))


def point_radii(protons: int, neutrons: int, s_pp: float, s_nn: float, s_pn: float) -> Radii:
    """Radii from expectation values of the sums of squared distances over pairs (fm^2).

    r_p^2 = (2 s_pp + s_pn)/(A Z) - s/A^2 with s = s_pp + s_nn + s_pn, r_n^2 likewise, r_matter^2 = s/A^2.
    """
    a = protons + neutrons
    total = (s_pp + s_nn + s_pn) / a**2
    squares = (
        (2 * s_pp + s_pn) / (a * protons) - total if protons else 0.0,
        (2 * s_nn + s_pn) / (a * neutrons) - total if neutrons else 0.0,
        total,
        *(s / a**2 for s in (s_pp, s_nn, s_pn)),
    )
    return Radii(*(sqrt(max(value, 0.0)) for value in squares))
