"""Dion's kernel from its double integral."""

from math import pi

import numpy as np
import pytest

from eigenwerk.dft.non_local.dion import DionTable, DoubleIntegral


@pytest.fixture(scope="module")
def integral():
    return DoubleIntegral.with_end()


def phi(integral, one, other):
    return integral(integral.frequency(one), integral.frequency(other))


@pytest.mark.parametrize(("one", "other"), [(20.0, 20.0), (15.0, 25.0), (40.0, 40.0), (100.0, 60.0)])
def test_large_distances_have_the_published_asymptote(integral, one, other):
    """-C / (d1² d2² (d1² + d2²)), C = 12 (4 pi/9)³, which a mesh without a smooth end loses."""
    expected = -12 * (4 * pi / 9) ** 3 / (one**2 * other**2 * (one**2 + other**2))
    assert phi(integral, one, other) == pytest.approx(expected, rel=5e-6)


@pytest.mark.parametrize(("one", "other"), [(0.05, 0.05), (1.0, 3.0), (5.0, 5.0), (0.01, 8.0)])
def test_where_the_mesh_ends_does_not_matter(integral, one, other):
    further = phi(DoubleIntegral.with_end(55.0, 10.0), one, other)
    assert phi(integral, one, other) == pytest.approx(further, rel=1e-7)
    assert phi(integral, one, other) == phi(integral, other, one)


def test_values_in_figure_1_of_the_paper(integral):
    """4 pi D² phi at delta = 0 begins at 0, has a maximum of about 1.5 near D = 1, and is negative from 2.5 on."""
    values = {d: 4 * pi * d**2 * phi(integral, d, d) for d in (0.1, 1.0, 2.0, 2.5, 5.0)}
    assert 0 < values[0.1] < 0.2 and values[1.0] == pytest.approx(1.476, abs=0.01)
    assert 0 < values[2.0] < 0.2 and values[2.5] < 0 and values[5.0] < 0


@pytest.mark.slow
def test_the_table_is_the_integral_between_its_nodes_and_beyond(integral):
    table = DionTable(integral)
    for one, other in ((0.0031, 0.7), (0.5, 0.5), (1.7, 3.3), (4.4, 6.1), (12.0, 30.0), (0.02, 57.0), (120.0, 150.0)):
        found = float(table(np.array([one]), np.array([other]))[0])
        assert found == pytest.approx(phi(integral, one, other), rel=2e-5, abs=1e-9)
    small = [float(table(np.array([d]), np.array([d]))[0]) for d in (1e-5, 1e-4, 1e-3)]
    assert small[0] - small[1] == pytest.approx(small[1] - small[2], rel=1e-6)
    assert small[2] == pytest.approx(phi(integral, 1e-3, 1e-3), rel=1e-3)
