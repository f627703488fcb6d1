"""Energies that fall like an exponential reach their limit; others are not extrapolated."""

import math

import pytest

from eigenwerk.ncci.results.extrapolation import extrapolated


def test_an_exponential_is_found_exactly():
    sizes = [2, 4, 6, 8]
    energies = [-30.0 + 7 * math.exp(-0.4 * size) for size in sizes]
    limit = extrapolated(sizes, energies)
    assert limit.energy == pytest.approx(-30.0, abs=1e-10) and limit.spread == pytest.approx(0, abs=1e-9)


def test_three_points_have_no_spread():
    assert extrapolated([2, 4, 6], [-20.0, -26.0, -28.0]).spread is None


@pytest.mark.parametrize(
    ("sizes", "energies"),
    [
        ([2, 4], [-1.0, -2.0]),
        ([2, 4, 8], [-1.0, -2.0, -2.5]),
        ([2, 4, 6], [-1.0, -2.0, -3.5]),
        ([2, 4, 6], [-1.0, -2.0, -1.5]),
    ],
)
def test_what_does_not_fall_ever_more_slowly_is_left_alone(sizes, energies):
    assert extrapolated(sizes, energies) is None
