"""One-body operators between m-states agree with integrals and with the algebra of angular momentum."""

import math

import numpy as np
import pytest
from scipy.special import eval_genlaguerre

from eigenwerk.ncci.orbitals import no_core_orbitals
from eigenwerk.ncci.results.tensors import orbital_moment, quadrupole, reduced, spin_moment

ORBITALS = no_core_orbitals(5)


def radial(n, l, r):
    f = r**l * np.exp(-r * r / 2) * eval_genlaguerre(n, l + 0.5, r * r)
    return f / math.sqrt(np.trapezoid(f * f * r * r, r))


def test_orbital_and_spin_moment_add_up_to_m():
    total = orbital_moment(ORBITALS) + spin_moment(ORBITALS)
    assert np.allclose(total, np.diag(ORBITALS.states().twice_m_x / 2), atol=1e-14)


@pytest.mark.parametrize("operator", [orbital_moment, spin_moment, quadrupole])
def test_operators_are_symmetric(operator):
    matrix = operator(ORBITALS)
    assert np.allclose(matrix, matrix.T, atol=1e-13) and np.abs(matrix).max() > 0.4


def test_quadrupole_is_an_integral_of_functions_positive_at_the_origin():
    r = np.linspace(0, 14, 20001)[1:]
    states = ORBITALS.states()
    q = quadrupole(ORBITALS)
    stretched = np.flatnonzero((states.twice_m_x == ORBITALS.twice_j_a[states.orbital_x]) & (states.twice_m_x > 1))
    seen = 0
    for x in stretched:
        for y in stretched:
            a, b = states.orbital_x[[x, y]]
            (n1, l1, j1), (n2, l2, j2) = ORBITALS.labels[a], ORBITALS.labels[b]
            if states.twice_m_x[x] == states.twice_m_x[y] and j1 == 2 * l1 + 1 and j2 == 2 * l2 + 1:
                integral = np.trapezoid(radial(n1, l1, r) * radial(n2, l2, r) * r**4, r)
                # Y_ll has <C_20> = -l / (2l + 3)
                assert q[x, y] == pytest.approx(-integral * l1 / (2 * l1 + 3), abs=1e-6)
                seen += 1
    assert seen > 10


def test_quadrupole_is_a_tensor_of_rank_two():
    """Its elements for all m follow from one reduced element."""
    states, q = ORBITALS.states(), quadrupole(ORBITALS)
    pairs = {}
    for x, y in zip(*np.nonzero(np.abs(q) > 1e-12), strict=True):
        a, b = int(states.orbital_x[x]), int(states.orbital_x[y])
        twice_j = ORBITALS.twice_j_a
        found = reduced(q[x, y], int(twice_j[a]), 2, int(twice_j[b]), int(states.twice_m_x[x]))
        pairs.setdefault((a, b), []).append(found)
    assert len(pairs) > 50
    for values in pairs.values():
        assert np.allclose(values, values[0], atol=1e-11)


def test_reduced_elements_are_those_of_suhonen():
    # <J||J||J> = sqrt(J(J+1)(2J+1)), for every M but 0
    assert reduced(1.5, 3, 1, 3, 3) == pytest.approx(math.sqrt(1.5 * 2.5 * 4))
    assert reduced(0.5, 3, 1, 3, 1) == pytest.approx(math.sqrt(1.5 * 2.5 * 4))
    assert reduced(0.0, 4, 1, 4, 0) is None
