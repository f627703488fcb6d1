"""Radial calculus against closed forms, on the grids of real data sets and on one that starts above zero."""

from math import prod

import numpy as np
import pytest
from gpaw_data import datapath
from scipy.special import gamma, spherical_jn

from covering import covering
from eigenwerk.dft.paw.radial import (
    derivative,
    equal_step_transform,
    integrate,
    interpolate,
    spherical_bessel,
    spherical_bessel_transform,
)
from eigenwerk.io.paw.paw_xml import read_paw_xml
from eigenwerk.io.paw.radial_grid import RadialGrid


def rational_grid(n):
    """r = a i / (n - i), the grid of most sets of gpaw-data (n = 150 ... 900)."""
    i = np.arange(n)
    return RadialGrid(0.4 * i / (n - i), 0.4 * n / (n - i) ** 2, "r=a*i/(n-i)")


def logarithmic_grid(n):
    i = np.arange(n)
    step = 15 / n
    return RadialGrid(1e-5 * np.exp(step * i), 1e-5 * step * np.exp(step * i), "r=a*exp(d*i)")


GRIDS = {"rational": rational_grid(450), "fine": rational_grid(2000), "logarithmic": logarithmic_grid(1500)}


@pytest.fixture(params=GRIDS)
def grid(request):
    return GRIDS[request.param]


@pytest.mark.parametrize("power", [-2, -1, 0, 1, 2, 4])
def test_integral_of_powers_times_gaussian(grid, power):
    """∫ r^(2+p) exp(-r²) dr = Γ((3+p)/2)/2"""
    exact = gamma((3 + power) / 2) / 2
    assert integrate(grid, np.exp(-(grid.r_g**2)), power) == pytest.approx(exact, rel=2e-5)


def test_integral_is_the_plain_sum_over_points():
    grid = rational_grid(200)
    f_xg = np.array([np.exp(-grid.r_g), grid.r_g * np.exp(-grid.r_g)])
    expected_x = (f_xg * grid.r_g**2 * grid.dr_g).sum(axis=1)
    np.testing.assert_allclose(integrate(grid, f_xg), expected_x, rtol=1e-14)


def test_derivative_is_of_second_order():
    def error(n):
        grid = rational_grid(n)
        inside = slice(2, -2)
        exact_g = -2 * grid.r_g * np.exp(-(grid.r_g**2))
        return np.abs(derivative(grid, np.exp(-(grid.r_g**2))) - exact_g)[inside].max()

    assert error(300) / error(600) == pytest.approx(4, rel=0.15)


def test_derivative_is_the_difference_over_the_grid_derivative():
    grid = rational_grid(100)
    f_g = np.sin(grid.r_g)
    slope_g = derivative(grid, f_g)
    np.testing.assert_allclose(slope_g[1:-1], (f_g[2:] - f_g[:-2]) / 2 / grid.dr_g[1:-1], rtol=1e-14)
    assert slope_g[0] == (f_g[1] - f_g[0]) / grid.dr_g[0]
    assert slope_g[-1] == (f_g[-1] - f_g[-2]) / grid.dr_g[-1]
    np.testing.assert_array_equal(derivative(grid, np.stack([f_g, 2 * f_g])), [slope_g, 2 * slope_g])


def test_interpolation_is_cubic_exact_at_points_and_zero_beyond(grid):
    r_x = np.linspace(grid.r_g[0], 6, 500)
    f_g = np.exp(-(grid.r_g**2)) * (1 + grid.r_g)
    np.testing.assert_allclose(interpolate(grid, f_g, r_x), np.exp(-(r_x**2)) * (1 + r_x), atol=2e-7)
    np.testing.assert_allclose(interpolate(grid, np.stack([f_g, -f_g]), grid.r_g), [f_g, -f_g], atol=1e-14)
    assert interpolate(grid, 1 + f_g, grid.r_g[-1:] + 1e-9) == 0


@pytest.mark.parametrize("l", range(7))
def test_transform_of_gaussians(grid, l):
    """∫ r² j_l(qr) r^l exp(-r²) dr = √π/4 (q/2)^l exp(-q²/4)"""
    q_Q = np.linspace(0, 20, 101)
    exact_Q = np.sqrt(np.pi) / 4 * (q_Q / 2) ** l * np.exp(-(q_Q**2) / 4)
    f_g = grid.r_g**l * np.exp(-(grid.r_g**2))
    np.testing.assert_allclose(spherical_bessel_transform(grid, f_g, l, q_Q), exact_Q, atol=5e-7)


@pytest.mark.parametrize("l", range(7))
def test_transform_at_small_q_is_the_moment(grid, l):
    """F(q) -> q^l / (2l+1)!! ∫ r^(2+l) f dr, nothing cancels; the moment itself has the error of the spline."""
    q_Q = np.array([1e-6, 1e-3])
    f_g = grid.r_g**l * np.exp(-(grid.r_g**2))
    ratio_Q = spherical_bessel_transform(grid, f_g, l, q_Q) / q_Q**l
    assert ratio_Q[0] == pytest.approx(ratio_Q[1], rel=1e-6)
    assert ratio_Q[0] == pytest.approx(gamma(l + 1.5) / 2 / prod(range(1, 2 * l + 2, 2)), rel=2e-5)
    at_zero = spherical_bessel_transform(grid, f_g, l, np.zeros(1))[0]
    assert at_zero == pytest.approx(ratio_Q[0] if l == 0 else 0, rel=1e-9)


def test_transform_of_an_exponential_with_its_cusp():
    """∫ r² j_0(qr) exp(-ar) dr = 2a/(a²+q²)²; wide grid spacing at large r does little harm."""
    grid, q_Q = GRIDS["rational"], np.linspace(0, 40, 81)
    for a in (1.0, 14.0):
        exact_Q = 2 * a / (a**2 + q_Q**2) ** 2
        transform_Q = spherical_bessel_transform(grid, np.exp(-a * grid.r_g), 0, q_Q)
        np.testing.assert_allclose(transform_Q, exact_Q, atol=5e-6 * exact_Q[0])


def test_transform_takes_many_functions_and_any_order_of_q():
    grid = GRIDS["rational"]
    f_jg = np.stack([np.exp(-(grid.r_g**2)), np.exp(-2 * grid.r_g**2), 0 * grid.r_g])
    q_Q = np.array([3.0, 0.0, 7.0])
    both_jQ = spherical_bessel_transform(grid, f_jg, 0, q_Q)
    single_Q = [spherical_bessel_transform(grid, f_jg[1], 0, q_Q[:1] * 0 + q) for q in q_Q]
    np.testing.assert_allclose(both_jQ[1], np.ravel(single_Q), atol=1e-8)
    assert not both_jQ[2].any()


ALTERNATING = [(l, (0.3, 3.0)[l % 2]) for l in range(7)]


@pytest.mark.fast("rational-5-3.0", "fine-3-3.0", "logarithmic-*", "*-0.3")
@pytest.mark.parametrize(
    ("l", "width"), covering(range(7), (0.3, 3.0), fast=lambda l, width: (l, width) in ALTERNATING, together=1)
)
def test_transform_at_equal_steps_equals_the_plain_one(grid, l, width):
    """Functions that end soon are in the part of the power series at small q, wide ones turn a hundred times."""
    f_jg = np.stack([np.exp(-(grid.r_g**2) / width**2), grid.r_g**l * np.exp(-grid.r_g / width)])
    q_Q = 0.02 * np.arange(801)
    plain_jQ = spherical_bessel_transform(grid, f_jg, l, q_Q)
    fast_jQ = equal_step_transform(grid, f_jg, l, 0.02, len(q_Q))
    assert np.abs(fast_jQ - plain_jQ).max() < 2e-14 * np.abs(plain_jQ).max()


@pytest.mark.parametrize("count", [1, 16, 17, 40])
def test_transform_at_equal_steps_takes_any_number_of_them(count):
    grid = GRIDS["rational"]
    for l in range(3):
        f_g = grid.r_g**l * np.exp(-(grid.r_g**2))
        plain_Q = spherical_bessel_transform(grid, f_g, l, 0.5 * np.arange(count))
        np.testing.assert_allclose(equal_step_transform(grid, f_g, l, 0.5, count), plain_Q, atol=1e-14)
    assert not equal_step_transform(grid, np.zeros((2, 450)), 1, 0.5, count).any()


@pytest.mark.fast("O.PBE", "Si.PBE")
@pytest.mark.parametrize("name", ["O.PBE", "Si.PBE", "Ce.PBE"])
def test_transforms_at_equal_steps_of_real_functions(name):
    """The waves of unbound states reach far out: e^{iqr} has turned most there."""
    data = read_paw_xml(datapath() / f"{name}.gz")
    for state, *f_jg in zip(data.states, data.projector_jg, data.pseudo_partial_wave_jg, strict=True):
        plain_jQ = spherical_bessel_transform(data.grid, np.stack(f_jg), state.l, 0.02 * np.arange(300))
        fast_jQ = equal_step_transform(data.grid, np.stack(f_jg), state.l, 0.02, 300)
        error_j = np.abs(fast_jQ - plain_jQ).max(1) / np.abs(plain_jQ).max(1)
        assert error_j.max() < 2e-14, state.id


@pytest.mark.fast("Si.PBE")
@pytest.mark.parametrize("name", ["O.PBE", "Si.PBE", "Ce.PBE"])
def test_transforms_of_real_projectors_keep_their_norm(name):
    """Parseval: 2/π ∫ q² F(q)² dq = ∫ r² p(r)² dr; these projectors are filtered, so q up to 60 is all."""
    data = read_paw_xml(datapath() / f"{name}.gz")
    q_Q, dq = np.linspace(0, 60, 2401, retstep=True)
    for state, p_g in zip(data.states, data.projector_jg, strict=True):
        transform_Q = spherical_bessel_transform(data.grid, p_g, state.l, q_Q)
        norm = 2 / np.pi * dq * (q_Q**2 @ transform_Q**2)
        assert norm == pytest.approx(integrate(data.grid, p_g**2), rel=2e-5), state.id


@pytest.mark.parametrize("l", range(8))
def test_spherical_bessel_functions_are_those_of_scipy(l):
    """On both sides of the change from the series to the recursion, and at zero."""
    x_x = np.concatenate([[0.0, 1e-8], np.linspace(1e-3, 60.0, 4000)])
    np.testing.assert_allclose(spherical_bessel(l, x_x), spherical_jn(l, x_x), atol=2e-15)
