"""The fit of Birch and Murnaghan's curve gives back what made the energies."""

import numpy as np
import pytest

from eigenwerk.dft.runs.series.birch_murnaghan import EquationOfState, fit

SILICON = EquationOfState(-10.8, 40.9, 0.552, 4.31)
VOLUMES = 40.9 * np.linspace(0.94, 1.06, 7)


def test_energies_of_the_curve_give_its_parameters():
    found = fit(VOLUMES, SILICON.energy(VOLUMES))
    assert [found.e0, found.v0, found.b0, found.b1] == pytest.approx([-10.8, 40.9, 0.552, 4.31], rel=1e-7)
    assert found.residual < 1e-9 and max(found.error) < 1e-5


def test_a_minimum_outside_the_points_is_extrapolated():
    found = fit(VOLUMES * 0.85, SILICON.energy(VOLUMES * 0.85))
    assert found.v0 == pytest.approx(40.9, rel=1e-5)


def test_pressure_is_minus_the_derivative_of_the_energy_and_b0_that_of_the_pressure():
    step = 1e-4
    slope = (SILICON.energy(VOLUMES + step) - SILICON.energy(VOLUMES - step)) / (2 * step)
    assert SILICON.pressure(VOLUMES) == pytest.approx(-slope, abs=1e-8)
    ends = SILICON.pressure(np.array([40.9 - step, 40.9 + step]))
    assert -40.9 * (ends[1] - ends[0]) / (2 * step) == pytest.approx(0.552, rel=1e-6)


def test_errors_are_the_scatter_of_many_fits_to_noisy_energies():
    random, noise = np.random.default_rng(7), 1e-5
    fits = [fit(VOLUMES, SILICON.energy(VOLUMES) + random.normal(0, noise, 7)) for _ in range(300)]
    scatter = np.std([[one.e0, one.v0, one.b0, one.b1] for one in fits], axis=0)
    told = np.sqrt(np.mean([np.square(one.error) for one in fits], axis=0))
    assert told == pytest.approx(scatter, rel=0.15)


def test_energies_without_a_minimum_give_no_curve():
    assert fit(VOLUMES, -SILICON.energy(VOLUMES)) is None
