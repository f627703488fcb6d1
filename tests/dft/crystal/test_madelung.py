"""Point charges in a background: constants of the literature, and what defines the potential."""

import numpy as np
import pytest

from eigenwerk.dft.crystal.madelung import madelung_constant, point_charge_potential

FCC = np.array([[0.0, 1, 1], [1, 0, 1], [1, 1, 0]])
BCC = np.array([[-1.0, 1, 1], [1, -1, 1], [1, 1, -1]])


@pytest.mark.parametrize(
    ("lattice_cv", "alpha"),
    [(np.eye(3), 2.837297479), (FCC, 2.888282119), (BCC, 2.888461503)],
    ids=["sc", "fcc", "bcc"],
)
def test_constants_are_those_of_the_literature_for_any_size_and_vectors(lattice_cv, alpha):
    """Leslie and Gillan, J. Phys. C 18, 973 (1985), table 1, with more digits."""
    assert madelung_constant(7.3 * lattice_cv) == pytest.approx(alpha, abs=1e-9)
    skewed_cv = np.array([[1, 0, 0], [2, 1, 0], [-1, 3, 1]]) @ lattice_cv
    assert madelung_constant(skewed_cv) == pytest.approx(alpha, abs=1e-9)


def test_rock_salt_is_the_difference_of_two_places():
    """1.747565 for the distance of neighbours."""
    difference = point_charge_potential(FCC) - point_charge_potential(FCC, np.array([1.0, 0, 0]))
    assert difference == pytest.approx(-1.7475645946, abs=1e-9)


def test_the_potential_is_periodic_and_has_the_curvature_of_the_background():
    lattice_cv = np.array([[6.0, 0, 0], [1, 7, 0], [0, 2, 9]])
    place_v, step = np.array([1.3, 2.1, -3.0]), 1e-3
    here = point_charge_potential(lattice_cv, place_v)
    image_v = place_v + lattice_cv[1] - 2 * lattice_cv[2]
    assert point_charge_potential(lattice_cv, image_v) == pytest.approx(here, abs=1e-12)
    around = sum(
        point_charge_potential(lattice_cv, place_v + sign * step * unit_v) for unit_v in np.eye(3) for sign in (1, -1)
    )
    curvature = (around - 6 * here) / step**2
    assert curvature == pytest.approx(4 * np.pi / abs(np.linalg.det(lattice_cv)), rel=1e-3)
