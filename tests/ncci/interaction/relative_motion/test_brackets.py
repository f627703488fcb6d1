"""Brackets of Talmi and Moshinsky against their sum rules and an independent formula."""

from math import sqrt

import numpy as np
import pytest

from eigenwerk.ncci.interaction.angular_algebra import clebsch_gordan, nine_j
from eigenwerk.ncci.interaction.relative_motion.brackets import brackets


def double_factorial(n):
    return float(np.prod(np.arange(n, 0, -2, dtype=float)))


def g(e1, l1, ea, la, eb, lb):
    if not (abs(la - lb) <= l1 <= la + lb) or (la + lb + l1) % 2:
        return 0.0
    coupling = clebsch_gordan(2 * la, 2 * lb)[l1 - abs(la - lb), la, lb]
    upper = double_factorial(e1 - l1) * double_factorial(e1 + l1 + 1)
    lower = 1.0
    for e, l in ((ea, la), (eb, lb)):
        lower *= double_factorial(e - l) * double_factorial(e + l + 1)
    return sqrt((2 * la + 1) * (2 * lb + 1)) * coupling * sqrt(upper / lower)


def bracket_of_kamuntavicius(total, e1, l1, e2, l2, big_e, big_l, e, l):
    """Nucl. Phys. A 695 (2001) 191 for equal masses, brought to radial functions positive at the origin."""
    value = 0.0
    for ea in range(e1 + 1):
        eb, ec = e1 - ea, big_e - ea
        ed = e2 - ec
        if ec < 0 or ed < 0 or eb + ed != e:
            continue
        for la in range(ea % 2, ea + 1, 2):
            for lb in range(eb % 2, eb + 1, 2):
                for lc in range(ec % 2, ec + 1, 2):
                    for ld in range(ed % 2, ed + 1, 2):
                        gs = g(e1, l1, ea, la, eb, lb) * g(e2, l2, ec, lc, ed, ld)
                        gs *= g(big_e, big_l, ea, la, ec, lc) * g(e, l, eb, lb, ed, ld)
                        if gs:
                            twice = [2 * x for x in (la, lb, l1, lc, ld, l2, big_l, l, total)]
                            value += (-1) ** ed * float(nine_j(*twice)) * gs
    phase = (e1 - l1 + e2 - l2 + big_e - big_l + e - l) // 2
    return (-1) ** phase * 2.0 ** (-(e1 + e2) / 2) * value


@pytest.mark.parametrize(("quanta", "total"), [(0, 0), (1, 1), (2, 0), (2, 1), (3, 1), (4, 2), (5, 3)])
def test_brackets_equal_the_sum_of_nine_j_symbols(quanta, total):
    found = brackets(quanta, total)
    states = [(2 * n1 + l1, l1, 2 * n2 + l2, l2) for n1, l1, n2, l2 in found.state_x4.tolist()]
    expected = [[bracket_of_kamuntavicius(total, *x, *y) for y in states] for x in states]
    np.testing.assert_allclose(found.matrix_xx, np.array(expected), atol=1e-12)


@pytest.mark.parametrize(("quanta", "total"), [(7, 2), (12, 4), (16, 5), (20, 3)])
def test_brackets_are_a_symmetric_orthogonal_matrix_for_many_quanta(quanta, total):
    """Exchanging (nucleons) and (centre of mass, relative) is the same reflection: U = U^T and U^2 = 1."""
    matrix = brackets(quanta, total).matrix_xx
    assert len(matrix) > 10
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    np.testing.assert_allclose(matrix @ matrix, np.eye(len(matrix)), atol=1e-12)
