"""Weights of tetrahedra are integrals of linear functions, whatever corner energies are equal."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenwerk.dft.filling.tetrahedra import TetrahedronBands, corner_weights, curvature_weights
from free_electrons import free_electrons

ENERGIES = [
    (0, 1, 2, 3),
    (0, 0, 1, 2),
    (0, 1, 1, 2),
    (0, 1, 2, 2),
    (0, 0, 0, 1),
    (0, 1, 1, 1),
    (0, 0, 1, 1),
    (-0.3, 0.1, 0.2, 5),
]
LEVELS = (0.03, 0.15, 0.5, 1.0, 1.4, 1.97)
corner_energies = st.lists(st.sampled_from([0.0, 1e-13, 0.3, 0.3 + 1e-15, 1.0, 2.5]), min_size=4, max_size=4)


def slow_weights(energy_c, level, lines=400):
    """Integrals over the part below the level: exact along lines to corner 1, Gauss-Legendre across them.

    λ = (1 - t, t u), u on the face of the corners 2 to 4 with weight 3 t² dt; along a line the energy is linear in t.
    """
    x, weight = np.polynomial.legendre.leggauss(lines)
    x, weight = (x + 1) / 2, weight / 2
    first, second = np.meshgrid(x, x, indexing="ij")
    face_pc = np.stack([first, (1 - first) * second, (1 - first) * (1 - second)], axis=-1).reshape(-1, 3)
    area_p = (np.outer(weight, weight) * (1 - first)).reshape(-1) * 2
    slope_p = face_pc @ energy_c[1:] - energy_c[0]
    with np.errstate(divide="ignore"):
        end_p = np.clip(np.where(slope_p > 0, (level - energy_c[0]) / slope_p, 1), 0, 1)
    far_pc = face_pc * (3 * end_p**4 / 4)[:, None]
    return np.concatenate([[area_p @ (end_p**3 - 3 * end_p**4 / 4)], area_p @ far_pc])


@pytest.mark.fast("(0, 1, 2, 2)", "(0, 0, 1, 1)", "(0, 0, 0, 1)", "(0, 1, 1, 1)")
@pytest.mark.parametrize("energies", ENERGIES, ids=str)
def test_weights_are_integrals_over_the_part_below_the_level(energies):
    energy_c = np.array(energies, float)
    for level in [level for level in LEVELS if energy_c[0] < level < energy_c[3]]:
        found_c = corner_weights(energy_c[:, None], level)[:, 0]
        np.testing.assert_allclose(found_c, slow_weights(energy_c, level), atol=3e-6)


@pytest.mark.parametrize("energies", ENERGIES, ids=str)
def test_weights_are_derivatives_of_the_grand_potential(energies):
    """Ω = Σ_c (ε_c - μ) w_c: w_c = ∂Ω/∂ε_c, and the number of states is -∂Ω/∂μ."""
    energy_c, h = np.array(energies, float) + (0, 1e-3, 2e-3, 3e-3), 1e-5

    def potential(energy_c, level):
        return float((energy_c - level) @ corner_weights(energy_c[:, None], level)[:, 0])

    for level in [level for level in LEVELS if energy_c[0] < level < energy_c[3]]:
        weight_c = corner_weights(energy_c[:, None], level)[:, 0]
        moved = [(potential(energy_c + h * e, level) - potential(energy_c - h * e, level)) / (2 * h) for e in np.eye(4)]
        np.testing.assert_allclose(moved, weight_c, atol=1e-8)
        slope = (potential(energy_c, level + h) - potential(energy_c, level - h)) / (2 * h)
        assert -slope == pytest.approx(weight_c.sum(), abs=1e-8)


@pytest.mark.parametrize("energies", ENERGIES, ids=str)
def test_correction_holds_the_density_of_states(energies):
    energy_c, h = np.array(energies, float), 1e-5
    for level in [level + 1e-4 for level in LEVELS if energy_c[0] < level < energy_c[3] - 1e-3]:
        below, above = (corner_weights(energy_c[:, None], level + d).sum() for d in (-h, h))
        expected_c = (above - below) / (2 * h) * (energy_c.sum() - 4 * energy_c) / 40
        np.testing.assert_allclose(curvature_weights(energy_c[:, None], level)[:, 0], expected_c, atol=1e-8)


@given(corner_energies, st.floats(-0.5, 3))
def test_equal_corners_give_finite_weights(energies, level):
    """Sum between 0 and 1, equal corners alike, no correction of the sum, no warning of division by zero."""
    energy_cx = np.sort(np.array(energies))[:, None]
    if not energy_cx[0, 0] < level < energy_cx[3, 0]:
        return
    with np.errstate(all="raise", under="ignore"):
        share_c, change_c = corner_weights(energy_cx, level)[:, 0], curvature_weights(energy_cx, level)[:, 0]
    assert (share_c > -1e-15).all() and (share_c < 0.25 + 1e-15).all() and abs(change_c.sum()) < 1e-13
    assert (np.diff(share_c) < 1e-12).all()  # the lower a corner, the more of it is below
    for c in range(3):
        if energies and np.sort(energies)[c] == np.sort(energies)[c + 1]:
            assert share_c[c] == pytest.approx(share_c[c + 1], abs=1e-13)
            assert change_c[c] == pytest.approx(change_c[c + 1], abs=1e-12)


def test_free_electrons_have_the_volume_of_their_sphere():
    """N(E) = 4π k³/3 per cell of reciprocal volume one; the error of linear bands falls with the square of the step."""
    errors = []
    for points in (8, 16):
        bands = TetrahedronBands.of(*free_electrons(points))
        errors.append([bands.states(k**2 / 2) - 4 * np.pi / 3 * k**3 for k in (0.4, 0.6, 0.8)])
    assert np.abs(errors[1]).max() < 0.015
    assert np.linalg.norm(errors[1]) < 0.3 * np.linalg.norm(errors[0])


def test_correction_is_that_of_the_curvature():
    """Σ w ε against 4π k⁵/10: with the correction the error is smaller by two orders."""
    eig_skn, tetrahedra = free_electrons(12)
    bands, level = TetrahedronBands.of(eig_skn, tetrahedra), 0.25
    exact = 4 * np.pi / 10 * (2 * level) ** 2.5
    missing = bands.states(level) - 4 * np.pi / 3 * (2 * level) ** 1.5
    plain, corrected = (float((bands.weights(level, way) * eig_skn).sum()) - level * missing - exact for way in (0, 1))
    assert abs(corrected) < 0.02 * abs(plain) and plain > 0


def test_full_and_empty_bands_have_whole_weights():
    eig_skn, tetrahedra = free_electrons(4)
    bands = TetrahedronBands.of(eig_skn, tetrahedra)
    np.testing.assert_allclose(bands.weights(99.0, True), 1 / 64, rtol=1e-12)
    assert not bands.weights(-99.0, True).any()
    assert bands.states(99.0) == pytest.approx(12, abs=1e-12) and bands.states(-99.0) == 0
