"""Charges of pairs: their integral, transform and derivative by quadrature, and how little lies beyond the sphere."""

from math import prod

import numpy as np
import pytest
from scipy.special import spherical_jn

from eigenwerk.dft.exchange.pairs.pair_shape import PairShape

SHAPE = PairShape(1.6, 8.1)
R_X = np.linspace(0.0, 1.6, 20001)


def integral(f_x):
    return np.trapezoid(f_x, R_X)


@pytest.mark.parametrize("l", [0, 1, 2])
def test_multipole_is_one_and_the_transform_is_that_of_the_charge(l):
    shape_x = SHAPE.radial(l, R_X) * R_X**l
    assert integral(shape_x * R_X ** (l + 2)) == pytest.approx(1.0, rel=1e-7)
    for k in (0.5, 5.0, 8.0, 15.0):
        expected = prod(range(2 * l + 1, 0, -2)) / k**l * integral(shape_x * R_X**2 * spherical_jn(l, k * R_X))
        assert float(SHAPE.transform(l, np.array([k]))[0]) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("l", [0, 1, 2])
def test_slope_is_the_derivative_over_r(l):
    r_x = np.array([0.1, 0.7, 1.5])
    difference_x = (SHAPE.radial(l, r_x + 1e-5) - SHAPE.radial(l, r_x - 1e-5)) / 2e-5
    np.testing.assert_allclose(SHAPE.slope(l, r_x) * r_x, difference_x, rtol=1e-6)
    assert not SHAPE.slope(l, np.array([1.61])).any()


def test_little_is_left_beyond_the_sphere():
    k_x = np.linspace(0.0, 60.0, 60001)
    for l, most in ((0, 2e-7), (1, 5e-6), (2, 1e-4)):
        weight_x = SHAPE.transform(l, k_x) ** 2 * k_x ** (2 * l)
        assert weight_x[k_x > SHAPE.wave].sum() < most * weight_x.sum()
