"""Real spherical harmonics and their rotation matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenwerk.dft.crystal.rotations import real_harmonics, real_harmonics_rotation

SEEDS = st.integers(min_value=0, max_value=2**32 - 1)


def random_orthogonal(rng: np.random.Generator, improper: bool) -> np.ndarray:
    rotation_vv, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return rotation_vv * (-1.0 if (np.linalg.det(rotation_vv) < 0) != improper else 1.0)


def test_first_harmonics_are_the_closed_forms():
    x, y, z = 0.36, -0.48, 0.8
    expected = [
        np.sqrt(1 / (4 * np.pi)),
        *(np.sqrt(3 / (4 * np.pi)) * np.array([y, z, x])),
        np.sqrt(15 / (4 * np.pi)) * x * y,
        np.sqrt(15 / (4 * np.pi)) * y * z,
        np.sqrt(5 / (16 * np.pi)) * (3 * z**2 - 1),
        np.sqrt(15 / (4 * np.pi)) * x * z,
        np.sqrt(15 / (16 * np.pi)) * (x**2 - y**2),
    ]
    np.testing.assert_allclose(real_harmonics(2, np.array([[x, y, z]]))[0], expected, atol=1e-14)
    np.testing.assert_allclose(real_harmonics(2, 7.0 * np.array([[x, y, z]]))[0], expected, atol=1e-14)


def test_harmonics_agree_with_scipy_up_to_l_6():
    from scipy.special import sph_harm_y

    vector_xv = np.random.default_rng(1).normal(size=(20, 3))
    theta_x = np.arccos(vector_xv[:, 2] / np.linalg.norm(vector_xv, axis=1))
    phi_x = np.arctan2(vector_xv[:, 1], vector_xv[:, 0])
    ours_xL = real_harmonics(6, vector_xv)
    for l in range(7):
        for m in range(-l, l + 1):
            complex_x = sph_harm_y(l, abs(m), theta_x, phi_x) * (-1) ** abs(m)
            real_x = complex_x.real if m == 0 else np.sqrt(2) * (complex_x.real if m > 0 else complex_x.imag)
            np.testing.assert_allclose(ours_xL[:, l * l + l + m], real_x, atol=1e-13)


def test_zero_vector_has_only_the_constant():
    harmonics_L = real_harmonics(3, np.zeros((1, 3)))[0]
    assert harmonics_L[0] == pytest.approx(1 / np.sqrt(4 * np.pi))
    assert not harmonics_L[1:].any()


@pytest.mark.parametrize("improper", [False, True])
@pytest.mark.parametrize("l", range(7))
def test_rotation_matrix_turns_the_harmonics(l, improper):
    rng = np.random.default_rng(l)
    rotation_vv = random_orthogonal(rng, improper)
    vector_xv = rng.normal(size=(30, 3))
    matrix_mm = real_harmonics_rotation(l, rotation_vv)
    block = slice(l * l, (l + 1) ** 2)
    rotated_xm = real_harmonics(l, vector_xv @ rotation_vv.T)[:, block]
    np.testing.assert_allclose(rotated_xm, real_harmonics(l, vector_xv)[:, block] @ matrix_mm.T, atol=1e-12)


@given(SEEDS, st.integers(min_value=0, max_value=6), st.booleans(), st.booleans())
def test_rotation_matrices_are_an_orthogonal_representation(seed, l, improper_1, improper_2):
    rng = np.random.default_rng(seed)
    first_vv, second_vv = random_orthogonal(rng, improper_1), random_orthogonal(rng, improper_2)
    first_mm, second_mm = real_harmonics_rotation(l, first_vv), real_harmonics_rotation(l, second_vv)
    np.testing.assert_allclose(real_harmonics_rotation(l, first_vv @ second_vv), first_mm @ second_mm, atol=1e-12)
    np.testing.assert_allclose(first_mm @ first_mm.T, np.eye(2 * l + 1), atol=1e-12)


@pytest.mark.parametrize("l", range(7))
def test_inversion_gives_the_parity(l):
    np.testing.assert_allclose(real_harmonics_rotation(l, -np.eye(3)), (-1) ** l * np.eye(2 * l + 1), atol=1e-13)


def test_a_harmonics_function_of_another_order_can_be_passed():
    def reversed_p(lmax, vector_xv):
        harmonics_xL = real_harmonics(lmax, vector_xv)
        harmonics_xL[:, 1:4] = harmonics_xL[:, 3:0:-1]
        return harmonics_xL

    rotation_vv = random_orthogonal(np.random.default_rng(5), False)
    ours_mm = real_harmonics_rotation(1, rotation_vv)
    np.testing.assert_allclose(real_harmonics_rotation(1, rotation_vv, reversed_p), ours_mm[::-1, ::-1], atol=1e-13)
