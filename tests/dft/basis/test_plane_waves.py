"""Counting plane waves without listing them."""

import numpy as np
import pytest

from eigenwerk.dft.basis.grids import sphere
from eigenwerk.dft.basis.plane_waves import (
    COUNTING_BUDGET,
    columns_in_half_sphere,
    count_plane_waves,
    points_in_sphere,
    sphere_volume_count,
)
from eigenwerk.dft.crystal.structure import Structure

LATTICES = {
    "cubic": 7.0 * np.eye(3),
    "face-centred": np.array([[0.0, 5, 5], [5, 0, 5], [5, 5, 0]]),
    "flat": np.diag([4.0, 5.0, 40.0]),
    "left-handed and oblique": np.array([[6.0, 1, 0], [-2, 5, 1], [3, 0, -9]]),
}
POINTS = [(0, 0, 0), (0.5, 0, 0), (0.5, 0.5, 0.5), (1 / 3, 1 / 3, 0), (-0.125, 0.25, 0.375), (0.123, -0.456, 0.499)]


def crystal(lattice):
    return Structure(lattice, ("Si",), np.zeros((1, 3)))


@pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)
@pytest.mark.parametrize("point", POINTS)
def test_counts_equal_the_lists(lattice, point):
    structure = crystal(lattice)
    for radius in (0.01, 1.3, 3.0, 4.7):
        listed = len(sphere(structure, radius, np.array(point)))
        assert points_in_sphere(structure, radius, np.array(point)) == listed


@pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)
def test_plane_waves_exactly_on_the_surface_count(lattice):
    """Radii of true shells: rounding must not lose, or win, a part of a shell."""
    structure = crystal(lattice)
    for index_c in ((1, 0, 0), (2, -1, 3), (0, 4, -2)):
        for point_c in (np.zeros(3), np.array([0.5, 0.5, 0.0])):
            radius = float(np.linalg.norm((index_c + point_c) @ structure.reciprocal_cv))
            assert points_in_sphere(structure, radius, point_c) == len(sphere(structure, radius, point_c))


@pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)
def test_columns_equal_those_of_the_lists(lattice):
    structure = crystal(lattice)
    for radius in (0.01, 1.3, 3.0, 4.7):
        listed_gc = sphere(structure, radius, np.zeros(3), half=True)
        assert columns_in_half_sphere(structure, radius) == len(np.unique(listed_gc[:, :2], axis=0))


def test_beyond_the_budget_columns_come_from_an_area(monkeypatch):
    structure = crystal(np.array([[16.0, 1, 0], [-2, 15, 1], [3, 0, -19]]))
    counted = columns_in_half_sphere(structure, 9.0)
    monkeypatch.setattr("eigenwerk.dft.basis.plane_waves.COUNTING_BUDGET", 100)
    assert columns_in_half_sphere(structure, 9.0) == pytest.approx(counted, rel=0.02)


@pytest.mark.slow
def test_beyond_the_budget_the_volume_formula_serves_and_says_so():
    structure = crystal(30.0 * np.eye(3))
    points = np.zeros((3, 3))
    few = count_plane_waves(structure, 5.0, points)
    assert few.exact
    assert few.total == 3 * few.fewest == 3 * few.most
    assert few.fewest == pytest.approx(sphere_volume_count(structure, 5.0), rel=5e-3)
    radius = np.sqrt(COUNTING_BUDGET / 2.2) * np.pi / 30  # room for two of three points
    some = count_plane_waves(structure, radius, points)
    assert not some.exact
    assert some.total == pytest.approx(3 * some.most, rel=1e-3)
    huge = count_plane_waves(structure, 40 * radius, points)
    assert not huge.exact
    assert huge.total == 3 * round(sphere_volume_count(structure, 40 * radius))
