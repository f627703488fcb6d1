"""Energies that fall like an exponential reach their limit, with an error bar; others are not extrapolated."""

import math

import pytest

from eigenwerk.ncci.results.limits.extrapolation import extrapolated


def test_an_exponential_is_found_exactly():
    sizes = [2, 4, 6, 8]
    energies = [-30.0 + 7 * math.exp(-0.4 * size) for size in sizes]
    limit = extrapolated(sizes, energies)
    assert limit.energy == pytest.approx(-30.0, abs=1e-10)
    assert limit.spread == pytest.approx(2 * (energies[-1] + 30)), "twice the way, however well the ratios agree"


KNOWN = {
    "3H NNLOopt 24 MeV": (-8.249, 4, [-5.9384, -7.1981, -7.7963, -8.0776]),
    "3H NNLOopt 40 MeV": (-8.249, 4, [-4.9879, -6.4814, -7.2222, -7.5845]),
    "3H Daejeon16 20 MeV": (-8.442, 0, [-5.7649, -7.0881, -7.9768, -8.2625, -8.3452]),
    "3H JISP16 40 MeV": (-8.37, 0, [6.9976, -2.4177, -5.6942, -6.8330]),
    "2H Daejeon16 30 MeV": (-2.2246, 2, [-0.2325, -1.0212, -1.4697, -1.7431, -1.8951]),
}
"""Energies of large spaces (MeV), and those of a series from its first Nmax on."""


@pytest.mark.parametrize("name", KNOWN)
def test_an_error_bar_reaches_the_known_energy(name):
    """Two ratios are alike to a hundredth by chance, or energies come to fall more slowly than the exponential."""
    known, first, energies = KNOWN[name]
    limit = extrapolated([first + 2 * step for step in range(len(energies))], energies)
    assert abs(limit.energy - known) < limit.spread


GROWING = {20: [-23.6254, -27.0495, -27.8548, -28.1698], 25: [-24.8388, -27.6891, -28.0816, -28.2468]}
"""4He with JISP16, Nmax 2 to 8: every step is a larger part of the one before."""


@pytest.mark.parametrize("hw", GROWING)
def test_where_ratios_grow_the_error_bar_reaches_what_may_remain(hw):
    """By hand at 20 MeV: ratios 0.235, 0.391, next 0.547: 0.315 0.547 / 0.453 = 0.381 may remain; -28.299 is known."""
    limit = extrapolated([2, 4, 6, 8], GROWING[hw])
    assert limit.energy - limit.spread <= GROWING[hw][-1] - (0.380 if hw == 20 else 0.2)
    assert abs(limit.energy + 28.299) < limit.spread < 0.5


def test_the_error_bar_is_how_far_the_last_point_moves_the_limit():
    """Steps -10, -3, -0.6: limits by hand: before -23 - 9/7, last -23.6 - 0.36/2.4."""
    limit = extrapolated([0, 2, 4, 6], [-10.0, -20.0, -23.0, -23.6])
    last = -23.6 - 0.36 / 2.4
    assert limit.energy == pytest.approx(last) and limit.spread == pytest.approx(last + 23 + 9 / 7)


@pytest.mark.parametrize(
    ("sizes", "energies", "why"),
    [
        ([2, 4], [-1.0, -2.0], "2 values of Nmax; it takes 4"),
        ([0, 2, 4], [-9.4299, -17.3355, -24.4585], "3 values"),  # 6Li: the formula alone would give -89 MeV
        ([2, 4, 8, 10], [-1.0, -2.0, -2.5, -2.7], "not equally spaced"),
        ([2, 4, 6, 8], [-1.0, -2.0, -3.5, -4.0], r"do not shrink \(each is 1.50, 0.33"),
        ([2, 4, 6, 8], [-1.0, -2.0, -1.5, -1.6], "does not fall"),
        ([0, 2, 4, 6], [0.0, -10.0, -19.0, -25.0], "moves by .* MeV, more than twice the last step of 6 MeV"),
        ([2, 4, 6, 8], [-5.1582, -7.4808, -7.9585, -8.2240], r"ever more slowly \(each is 0.21, 0.56"),  # 3H, JISP16
    ],
)
def test_there_is_no_limit_without_four_points_whose_steps_shrink_alike(sizes, energies, why):
    found = extrapolated(sizes, energies)
    assert isinstance(found, str)
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(found)
