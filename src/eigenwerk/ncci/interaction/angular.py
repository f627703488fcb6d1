"""J^2, L^2, S^2 and T^2 of a nucleus as two-body operators."""

import numpy as np

from eigenwerk.ncci.interaction.one_body import (
    diagonal,
    from_direct,
    identity,
    orbital_momentum,
    scalar_product,
    spin,
    sum_over_nucleons,
)
from eigenwerk.ncci.interaction.two_body import PairSpace, TwoBody
from eigenwerk.ncci.orbitals import Orbitals


def total_spin(space: PairSpace, nucleons: int) -> TwoBody:
    """J^2 = sum_{i<j} (j_i + j_j)^2 - (A - 2) sum_i j_i^2; eigenvalues J(J+1)."""
    pairs = diagonal(space, lambda kind, j, a, b: np.full(len(a), j * (j + 1.0)))
    return pairs - _shared(space, nucleons, nucleons - 2, lambda x: x.twice_j_a / 2 * (x.twice_j_a / 2 + 1))


def orbital_spin(space: PairSpace, nucleons: int) -> TwoBody:
    """L^2 = sum_i l_i^2 + 2 sum_{i<j} l_i.l_j; expectation L(L+1) for states of good L."""
    squares = _shared(space, nucleons, 1, lambda x: x.l_a * (x.l_a + 1.0))
    return squares + 2.0 * scalar_product(space, orbital_momentum)


def intrinsic_spin(space: PairSpace, nucleons: int) -> TwoBody:
    """S^2 = sum_i s_i^2 + 2 sum_{i<j} s_i.s_j."""
    squares = _shared(space, nucleons, 1, lambda x: np.full(len(x), 0.75))
    return squares + 2.0 * scalar_product(space, spin)


def isospin(space: PairSpace, nucleons: int) -> TwoBody:
    """T^2 = sum_{i<j} (t_i + t_j)^2 - (A - 2) sum_i t_i^2, for equal lists of proton and neutron orbitals.

    (t_i + t_j)^2 is 2 for like nucleons, and 1 + (exchange of the charges) for a proton and a neutron:
    <ab; J|T^2|cd; J> = d_ac d_bd - (-1)^(jc + jd - J) d_ad d_bc.
    """
    match = _matches(space.orbitals_p, space.orbitals_n)

    def direct(kind, j, a, b, c, d):
        if kind != "pn":
            return 2.0 * (a[:, None] == c) * (b[:, None] == d)
        jc, jd = space.orbitals_p.twice_j_a[c], space.orbitals_n.twice_j_a[d]
        sign = 1.0 - 2.0 * (((jc + jd) // 2 - j) % 2)
        exchanged = match[np.ix_(a, d)] * match[np.ix_(c, b)].T
        return (a[:, None] == c) * (b[:, None] == d) - sign * exchanged

    ones = 2.0 * identity(space)
    return from_direct(space, direct) - ((nucleons - 2) / (nucleons - 1) * 0.75) * ones


def _shared(space: PairSpace, nucleons: int, factor: float, values) -> TwoBody:
    """factor sum_i h(i) for an h that is diagonal with values(orbitals)."""
    return sum_over_nucleons(space, lambda orbitals: np.diag(values(orbitals))) * (factor / (nucleons - 1))


def _matches(protons: Orbitals, neutrons: Orbitals) -> np.ndarray:
    """1 where a proton and a neutron orbital have the same n, l, j."""
    return np.array([[float(a == b) for b in neutrons.labels] for a in protons.labels])
