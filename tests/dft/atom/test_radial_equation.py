"""Bound states on the grids of data sets: closed forms without and with relativity, orthonormal orbitals."""

import numpy as np
import pytest

from eigenwerk.dft.atom.radial_equation import INVERSE_C, bound_states
from eigenwerk.errors import InputError
from eigenwerk.io.paw.radial_grid import RadialGrid


def grid_of(points, a=0.4):
    """r = a i/(n - i), that of most data sets."""
    i = np.arange(points)
    return RadialGrid(a * i / (points - i), a * points / (points - i) ** 2.0, "r=a*i/(n-i)")


@pytest.mark.parametrize("l", [0, 1, 2])
def test_hydrogen_like_levels_without_relativity(l):
    grid, charge = grid_of(1500), 3.0
    energy_n, u_ng = bound_states(grid, np.full(1500, -charge), l, 3, relativistic=False)
    np.testing.assert_allclose(energy_n, -(charge**2) / 2 / (l + 1.0 + np.arange(3)) ** 2, rtol=3e-4)
    np.testing.assert_allclose((u_ng * grid.dr_g) @ u_ng.T, np.eye(3), atol=1e-4)
    assert [int((np.diff(np.sign(u_g[np.abs(u_g) > 1e-6])) != 0).sum()) for u_g in u_ng] == [0, 1, 2]


@pytest.mark.parametrize("charge", [20.0, 80.0])
def test_s_levels_are_those_of_dirac(charge):
    """Without an angular momentum there is no spin-orbit term that the scalar-relativistic equation could lack."""
    error = []
    for points in (1000, 2000):
        found = bound_states(grid_of(points), np.full(points, -charge), 0, 2)[0]
        root = np.sqrt(1 - (charge * INVERSE_C) ** 2)
        count_n = np.arange(2)
        exact_n = (1 / np.sqrt(1 + (charge * INVERSE_C / (count_n + root)) ** 2) - 1) / INVERSE_C**2
        error.append(np.abs(found / exact_n - 1).max())
    assert error[1] < 2e-3
    assert error[1] < 0.6 * error[0]


def test_a_grid_without_points_near_the_nucleus_is_refused():
    i = np.arange(30.0)
    with pytest.raises(InputError, match=r"of 30 points is too coarse near the nucleus.*remove CORE_EXCHANGE"):
        bound_states(RadialGrid(i**5, 5 * i**4 + (i == 0), "r=i^5"), np.full(30, -8.0), 0, 1)
