"""Energies that fall like an exponential reach their limit, with an error bar; others are not extrapolated."""

import math

import pytest

from eigenwerk.ncci.results.extrapolation import extrapolated


def test_an_exponential_is_found_exactly():
    sizes = [2, 4, 6, 8]
    energies = [-30.0 + 7 * math.exp(-0.4 * size) for size in sizes]
    limit = extrapolated(sizes, energies)
    assert limit.energy == pytest.approx(-30.0, abs=1e-10)
    assert limit.spread == pytest.approx((energies[-1] + 30) / 2), "half of the way, however well the ratios agree"


@pytest.mark.parametrize(
    "energies", [[-5.9384, -7.1981, -7.7963, -8.0776], [-4.9879, -6.4814, -7.2222, -7.5845]], ids=["24 MeV", "40 MeV"]
)
def test_ratios_that_agree_by_chance_do_not_make_a_small_error_bar(energies):
    """3H with NNLOopt, -8.249 MeV (Ekstrom et al. 2013): two ratios alike to a hundredth, the limit 0.1 and 0.3 off."""
    limit = extrapolated([4, 6, 8, 10], energies)
    assert abs(limit.energy + 8.249) < 2 * limit.spread


def test_the_error_bar_is_how_far_the_last_point_moves_the_limit():
    """Steps -4, -2, -0.8: limits -8 - ... by hand: before -26 - 4/2 = -28, last -26.8 - 0.64/1.2."""
    limit = extrapolated([0, 2, 4, 6], [-20.0, -24.0, -26.0, -26.8])
    assert limit.energy == pytest.approx(-26.8 - 0.64 / 1.2) and limit.spread == pytest.approx(28 - 26.8 - 0.64 / 1.2)


@pytest.mark.parametrize(
    ("sizes", "energies", "why"),
    [
        ([2, 4], [-1.0, -2.0], "2 values of Nmax; it takes 4"),
        ([0, 2, 4], [-9.4299, -17.3355, -24.4585], "3 values"),  # 6Li: the formula alone would give -89 MeV
        ([2, 4, 8, 10], [-1.0, -2.0, -2.5, -2.7], "not equally spaced"),
        ([2, 4, 6, 8], [-1.0, -2.0, -3.5, -4.0], r"do not shrink \(each is 1.50, 0.33"),
        ([2, 4, 6, 8], [-1.0, -2.0, -1.5, -1.6], "does not fall"),
        ([0, 2, 4, 6], [0.0, -10.0, -19.0, -25.0], r"error bar of .* MeV is longer than the last step of 6 MeV"),
        ([2, 4, 6, 8], [-23.625, -27.0495, -27.8548, -28.1698], r"ever more slowly \(each is 0.24, 0.39"),  # 4He
    ],
)
def test_there_is_no_limit_without_four_points_whose_steps_shrink_alike(sizes, energies, why):
    found = extrapolated(sizes, energies)
    assert isinstance(found, str)
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(found)
