"""Weights of earlier states: exact where they should be, with sum one always."""

import numpy as np
import pytest

from eigenwerk.motion.prediction import ASPC, FIT, LONGEST, METHODS, SECOND, fitted, kolafa, polynomial, weights


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_a_polynomial_goes_on_exactly(count):
    values = [float((5 - x) ** (count - 1)) for x in range(1, count + 1)]  # at times 4, 3, 2, ...
    assert polynomial(count) @ values == pytest.approx(5.0 ** (count - 1))


def test_kolafa_s_weights_are_the_published_ones():
    """J. Kolafa, J. Comput. Chem. 25, 335 (2004), table 1: k = 0, 1, 2."""
    np.testing.assert_allclose(kolafa(2), [2, -1])
    np.testing.assert_allclose(kolafa(3), [5 / 2, -2, 1 / 2])
    np.testing.assert_allclose(kolafa(4), [14 / 5, -14 / 5, 6 / 5, -1 / 5])


def test_a_structure_made_of_earlier_ones_gets_the_weights_that_make_it(rng=np.random.default_rng(1)):
    earlier = rng.normal(size=(3, 12))
    wanted = np.array([1.7, -1.1, 0.4]) @ earlier
    np.testing.assert_allclose(fitted(earlier, wanted), [1.7, -1.1, 0.4], atol=1e-10)


def test_a_step_in_a_new_direction_leaves_the_newest_state_as_it_is():
    earlier = np.zeros((2, 3))
    earlier[1, 0] = 1.0
    np.testing.assert_allclose(fitted(earlier, np.array([0.0, 1.0, 0.0])), [1, 0], atol=1e-12)


def test_earlier_structures_that_hardly_differ_get_no_large_weights():
    earlier = np.array([[0.0, 0.0], [1e-4, 0.0], [0.0, 1.0]])
    found = fitted(earlier, np.array([0.5, -1.0]))
    assert np.abs(found).max() < 3 and found.sum() == pytest.approx(1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_weights_have_the_sum_one_and_no_more_states_than_the_method_uses(method, count):
    rng = np.random.default_rng(count)
    found = weights(method, list(rng.normal(size=(count, 4, 3))), rng.normal(size=(4, 3)))
    assert found.sum() == pytest.approx(1) and len(found) <= LONGEST[method]


def test_of_equal_steps_every_method_that_extrapolates_goes_straight_on():
    places = [np.array([[float(x), 0.0, 0.0]]) for x in (3, 2, 1)]
    for method in (SECOND, ASPC, FIT):
        found = weights(method, places, np.array([[4.0, 0.0, 0.0]]))
        assert sum(w * p[0, 0] for w, p in zip(found, places, strict=False)) == pytest.approx(4.0)
