"""Real solid harmonics, Gaunt coefficients and the quadrature on the sphere."""

from math import pi, sqrt

import numpy as np
import pytest
import torch
from numpy.polynomial.legendre import Legendre

from eigenwerk.dft.crystal.rotations import real_harmonics, real_harmonics_rotation
from eigenwerk.dft.paw.spherical import gaunt, solid_harmonics, solid_harmonics_gradient, sphere_quadrature

LMAX = 6
L_OF = np.array([l for l in range(LMAX + 1) for _ in range(2 * l + 1)])
M_OF = np.array([m for l in range(LMAX + 1) for m in range(-l, l + 1)])


@pytest.fixture(scope="module")
def vector_xv():
    return torch.randn((40, 3), generator=torch.Generator().manual_seed(2), dtype=torch.float64)


@pytest.fixture(scope="module")
def unit_xv(vector_xv):
    return vector_xv / torch.linalg.vector_norm(vector_xv, dim=1, keepdim=True)


def test_harmonics_are_orthonormal_on_the_sphere():
    point_xv, weight_x = sphere_quadrature(2 * LMAX + 1)
    y_xL = solid_harmonics(LMAX, point_xv)
    np.testing.assert_allclose(y_xL.T @ (weight_x[:, None] * y_xL), np.eye(len(L_OF)), atol=1e-13)


def test_addition_theorem(unit_xv):
    """sum_m Y_lm(a) Y_lm(b) = (2l+1)/4pi P_l(a.b)."""
    y_xL = solid_harmonics(LMAX, unit_xv)
    for l in range(LMAX + 1):
        block = slice(l * l, (l + 1) ** 2)
        expected_xx = (2 * l + 1) / (4 * pi) * Legendre.basis(l)((unit_xv @ unit_xv.T).numpy())
        np.testing.assert_allclose(y_xL[:, block] @ y_xL[:, block].T, expected_xx, atol=1e-13)


def test_first_harmonics_are_y_z_x(unit_xv):
    y_xL = solid_harmonics(2, unit_xv)
    x, y, z = unit_xv.T
    np.testing.assert_allclose(y_xL[:, 1:4], sqrt(3 / (4 * pi)) * torch.stack([y, z, x], 1), atol=1e-14)
    d = sqrt(15 / (4 * pi))
    expected = [d * x * y, d * y * z, d / sqrt(12) * (3 * z * z - 1), d * z * x, d / 2 * (x * x - y * y)]
    np.testing.assert_allclose(y_xL[:, 4:9], torch.stack(expected, 1), atol=1e-14)


def test_same_harmonics_as_the_ones_that_symmetry_rotates(unit_xv):
    np.testing.assert_allclose(solid_harmonics(LMAX, unit_xv), real_harmonics(LMAX, unit_xv.numpy()), atol=1e-13)


@pytest.mark.parametrize("improper", [1, -1])
def test_rotation_matrices_turn_the_harmonics(unit_xv, random_rotation, improper):
    """Y_i(R x) = sum_j M_ij Y_j(x)."""
    turn_vv = improper * random_rotation(4)
    turned_xL = solid_harmonics(4, unit_xv @ torch.as_tensor(turn_vv.T))
    here_xL = solid_harmonics(4, unit_xv)
    for l in range(5):
        block = slice(l * l, (l + 1) ** 2)
        matrix = real_harmonics_rotation(l, turn_vv)
        np.testing.assert_allclose(turned_xL[:, block], here_xL[:, block].numpy() @ matrix.T, atol=1e-13)


def test_solid_harmonics_scale_as_powers_of_the_length(vector_xv, unit_xv):
    length_x = torch.linalg.vector_norm(vector_xv, dim=1, keepdim=True)
    expected_xL = solid_harmonics(LMAX, unit_xv) * length_x ** torch.as_tensor(L_OF)
    np.testing.assert_allclose(solid_harmonics(LMAX, vector_xv), expected_xL, rtol=1e-11, atol=1e-12)


def test_solid_harmonics_are_harmonic(vector_xv):
    """The Laplacian of r^l Y_L vanishes: the mean over a sphere around any point is the value at the point."""
    unit_yv, weight_y = sphere_quadrature(11)
    around_xyL = solid_harmonics(LMAX, vector_xv[:, None] + 0.7 * unit_yv)
    mean_xL = torch.einsum("xyL,y->xL", around_xyL, weight_y) / (4 * pi)
    value_xL = solid_harmonics(LMAX, vector_xv)
    np.testing.assert_allclose(mean_xL, value_xL, atol=1e-12 * float(value_xL.abs().max()))


def test_polynomials_are_smooth_at_the_origin():
    zero_xv = torch.zeros((1, 3), dtype=torch.float64)
    value_xL = solid_harmonics(LMAX, zero_xv)
    assert float(value_xL[0, 0]) == pytest.approx(1 / sqrt(4 * pi))
    assert (value_xL[0, 1:] == 0).all()
    slope_Lv = solid_harmonics_gradient(LMAX, zero_xv)[0]
    assert torch.isfinite(slope_Lv).all()
    # only l = 1 is linear: d/d(y, z, x) of (y, z, x)
    np.testing.assert_allclose(slope_Lv[1:4], sqrt(3 / (4 * pi)) * np.eye(3)[[1, 2, 0]], atol=1e-15)
    assert (slope_Lv[4:] == 0).all()


def test_gradient_equals_central_differences(vector_xv):
    step = 1e-4
    slope_xLv = solid_harmonics_gradient(4, vector_xv)
    for v in range(3):
        shift_v = step * torch.eye(3, dtype=torch.float64)[v]
        difference = (solid_harmonics(4, vector_xv + shift_v) - solid_harmonics(4, vector_xv - shift_v)) / (2 * step)
        np.testing.assert_allclose(slope_xLv[..., v], difference, atol=1e-6)


@pytest.mark.parametrize("lmax", range(1, LMAX + 1))
def test_gradient_equals_automatic_differentiation(vector_xv, lmax):
    leaf_xv = vector_xv.clone().requires_grad_()
    slope_xLv = solid_harmonics_gradient(lmax, vector_xv)
    assert slope_xLv.shape == (len(vector_xv), (lmax + 1) ** 2, 3)
    assert (slope_xLv[:, 0] == 0).all()
    for L, harmonic_x in enumerate(solid_harmonics(lmax, leaf_xv).T[1:], 1):
        (expected_xv,) = torch.autograd.grad(harmonic_x.sum(), leaf_xv, retain_graph=True)
        np.testing.assert_allclose(slope_xLv[:, L], expected_xv, atol=1e-14 * max(1, float(expected_xv.abs().max())))


def test_gradient_of_a_constant(vector_xv):
    assert solid_harmonics_gradient(0, vector_xv).shape == (len(vector_xv), 1, 3)
    assert (solid_harmonics_gradient(0, vector_xv) == 0).all()


@pytest.mark.parametrize("degree", [3, 11, 17, 23, 31])
def test_quadrature_is_exact_to_its_degree(degree):
    point_xv, weight_x = sphere_quadrature(degree)
    assert float(weight_x.sum()) == pytest.approx(4 * pi, rel=1e-12)
    integral_L = weight_x @ solid_harmonics(degree, point_xv)
    np.testing.assert_allclose(integral_L[1:], 0, atol=1e-11)


def test_gaunt_coefficients_are_the_products_expansion(unit_xv):
    """Y_a Y_b = sum_L G_abL Y_L, complete when l reaches l_a + l_b."""
    y_xL = solid_harmonics(6, unit_xv).numpy()
    product_xab = np.einsum("xa,xb->xab", y_xL[:, :16], y_xL[:, :16])
    np.testing.assert_allclose(np.einsum("abL,xL->xab", gaunt(3, 6), y_xL), product_xab, atol=1e-12)


def test_gaunt_selection_rules_and_symmetry():
    table = gaunt(3, 6)
    l_a, l_L = L_OF[:16], L_OF
    m_a, m_L = np.abs(M_OF[:16]), np.abs(M_OF)
    total = l_a[:, None, None] + l_a[None, :, None] + l_L
    triangle = (l_L <= l_a[:, None, None] + l_a[None, :, None]) & (l_L >= np.abs(l_a[:, None] - l_a)[:, :, None])
    sum_m, difference_m = m_a[:, None] + m_a, np.abs(m_a[:, None] - m_a)
    allowed_m = (m_L == sum_m[:, :, None]) | (m_L == difference_m[:, :, None])
    forbidden = (total % 2 == 1) | ~triangle | ~allowed_m
    assert np.abs(table[forbidden]).max() < 1e-13
    assert (np.abs(table) > 1e-3).sum() > 300
    np.testing.assert_allclose(table, table.transpose(1, 0, 2), atol=1e-15)
    np.testing.assert_allclose(table[:, :, 0], np.eye(16) / sqrt(4 * pi), atol=1e-14)
