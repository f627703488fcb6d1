"""Radial tables: the values of a cubic spline, and its exact derivatives."""

import numpy as np
import pytest
import torch
from scipy.interpolate import CubicSpline

from eigenwerk.dft.paw.radial import spherical_bessel_transform
from eigenwerk.dft.paw.radial_table import TABLE_STEP, RadialTable, fourier_table
from eigenwerk.parallel.runtime import Runtime

STEP, END = 0.03, 2.4


@pytest.fixture(scope="module")
def spline():
    """Two functions."""
    q_m = STEP * np.arange(round(END / STEP) + 1)
    return CubicSpline(q_m, np.stack([np.exp(-(q_m**2)) * np.cos(9 * q_m), np.sin(5 * q_m)], 1))


@pytest.fixture(scope="module")
def table(spline):
    return RadialTable.of(STEP, spline.c, Runtime())


@pytest.fixture(scope="module")
def q_ky():
    """Anywhere, on knots, beside them, at both ends; two axes."""
    anywhere = np.random.default_rng(1).uniform(0, END, 300)
    knots = STEP * np.arange(0, 80, 3)
    return np.concatenate([anywhere, knots, knots + 1e-9, [0.0, END, END - 1e-12, END + 0.01]]).reshape(-1, 2).T.copy()


def test_values_and_slopes_are_those_of_the_spline(spline, table, q_ky):
    for found, derivative in ((table, 0), (table.slope, 1)):
        expected_xky = np.moveaxis(spline(q_ky, derivative), -1, 0)
        np.testing.assert_allclose(found(torch.tensor(q_ky)), expected_xky, atol=1e-14 * np.abs(expected_xky).max())


def test_autograd_gives_the_derivatives_of_the_spline(spline, table, q_ky):
    q = torch.tensor(q_ky, requires_grad=True)
    for x in range(2):
        (slope_ky,) = torch.autograd.grad(table(q)[x].sum(), q, create_graph=True)
        np.testing.assert_allclose(slope_ky.detach(), spline(q_ky, 1)[..., x], atol=1e-12)
        (bend_ky,) = torch.autograd.grad(slope_ky.sum(), q)
        on_knot = np.abs(q_ky / STEP - np.rint(q_ky / STEP)) < 1e-6  # the third derivative jumps there, not the second
        np.testing.assert_allclose(bend_ky[~on_knot], spline(q_ky, 2)[..., x][~on_knot], atol=1e-10)


@pytest.mark.slow
def test_autograd_is_the_limit_of_finite_differences(table):
    q = torch.linspace(0.1, 2.3, 11, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(table, (q,), eps=1e-6, atol=1e-8)


def test_fourier_tables_of_channels_with_their_own_l(dataset):
    """Several l in one table, each the transform at any q, 0 and the last one included."""
    data = dataset("Fe")
    l_j = tuple(state.l for state in data.states)
    assert len(set(l_j)) == 3
    q_q = np.concatenate([[0.0, 6.0], np.random.default_rng(2).uniform(0, 6.0, 40)])
    table = fourier_table(data.grid, data.projector_jg, l_j, 6.0, Runtime())
    assert table.step == TABLE_STEP
    for l, f_g, value_q in zip(l_j, data.projector_jg, table(torch.tensor(q_q)), strict=True):
        expected_q = spherical_bessel_transform(data.grid, f_g, l, q_q)
        np.testing.assert_allclose(value_q, expected_q, atol=2e-8 * np.abs(expected_q).max())
