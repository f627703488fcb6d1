"""Wigner symbols: sum rules, closed forms and known values."""

import numpy as np
import pytest

from eigenwerk.ncci.interaction.angular_algebra import clebsch_gordan, nine_j, six_j


@pytest.mark.parametrize(("j1", "j2"), [(1, 1), (3, 4), (7, 2), (33, 31)])
def test_clebsch_gordan_coefficients_are_orthonormal(j1, j2):
    table = clebsch_gordan(j1, j2).reshape(-1, (j1 + 1) * (j2 + 1))
    total = np.einsum("jx,jx->x", table, table)
    np.testing.assert_allclose(total, 1.0, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ((1, 1, 1, -1, 0), np.sqrt(1 / 2)),
        ((1, -1, 1, 1, 0), -np.sqrt(1 / 2)),
        ((2, 2, 1, -1, 1), np.sqrt(2 / 3)),
        ((2, 0, 1, 1, 1), -np.sqrt(1 / 3)),
        ((4, 0, 4, 0, 4), -np.sqrt(2 / 7)),
        ((3, -1, 2, 2, 3), -np.sqrt(8 / 15)),
    ],
)
def test_clebsch_gordan_coefficients_have_the_signs_of_condon_and_shortley(arguments, value):
    j1, m1, j2, m2, j = arguments  # twice the angular momenta
    table = clebsch_gordan(j1, j2)
    assert table[(j - abs(j1 - j2)) // 2, (m1 + j1) // 2, (m2 + j2) // 2] == pytest.approx(value, abs=1e-14)


def test_six_j_symbols_have_known_values():
    assert six_j(2, 2, 2, 2, 2, 2) == pytest.approx(1 / 6)
    assert six_j(1, 1, 2, 1, 1, 2) == pytest.approx(1 / 6)
    assert six_j(4, 4, 4, 4, 4, 4) == pytest.approx(-3 / 70)
    assert six_j(2, 2, 8, 2, 2, 2) == 0.0


@pytest.mark.parametrize("small", [1, 2, 3])
def test_six_j_symbols_are_orthogonal(small):
    """sum_e (2e+1) {a s e; b c x} {a s e; b c y} = delta_xy / (2x+1) for all x that couple."""
    a, b, c = 30, 24, 14 + small
    e = np.arange(0, 60)
    x = np.arange(b - small, b + small + 1, 2)
    symbol_xe = six_j(a, small, e, b, c, x[:, None])
    overlap = np.einsum("xe,ye,e->xy", symbol_xe, symbol_xe, e + 1.0) * (x + 1.0)
    np.testing.assert_allclose(overlap, np.eye(len(x)), atol=1e-11)


def test_nine_j_symbol_with_a_zero_is_a_six_j_symbol():
    a, b, c, d, e, g = 3, 4, 5, 2, 3, 5
    expected = (-1) ** ((b + c + d + g) // 2) / np.sqrt((c + 1) * (g + 1)) * six_j(a, b, c, e, d, g)
    assert nine_j(a, b, c, d, e, c, g, g, 0) == pytest.approx(float(expected), abs=1e-14)
    assert abs(expected) > 1e-3
