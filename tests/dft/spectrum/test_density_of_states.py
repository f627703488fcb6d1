"""The density of states counts states and is the derivative of its integral."""

import numpy as np
import pytest

from eigenwerk.dft.spectrum.density_of_states import density_of_states, energy_grid

WEIGHT_K = np.array([0.125, 0.375, 0.5])


@pytest.fixture(params=[1, 2], ids=["unpolarised", "polarised"])
def eig_skn(request):
    return np.random.default_rng(5).normal(size=(request.param, 3, 7))


def test_integral_is_the_number_of_states(eig_skn):
    energies = energy_grid(eig_skn, 0.1, 3001)
    total_sx, integrated_sx = density_of_states(eig_skn, WEIGHT_K, 0.1, energies)
    states = 14 / len(eig_skn)
    np.testing.assert_allclose(np.trapezoid(total_sx, energies, axis=1), states, rtol=1e-10)
    np.testing.assert_allclose(integrated_sx[:, -1], states, rtol=1e-12)
    np.testing.assert_allclose(integrated_sx[:, 0], 0, atol=1e-12)


def test_density_is_the_derivative_of_the_integral(eig_skn):
    energies, h = np.linspace(-2, 2, 41), 1e-4
    total_sx, _ = density_of_states(eig_skn, WEIGHT_K, 0.3, energies)
    above, below = (density_of_states(eig_skn, WEIGHT_K, 0.3, energies + d)[1] for d in (h, -h))
    np.testing.assert_allclose((above - below) / (2 * h), total_sx, atol=1e-6)


def test_single_level_has_its_closed_form():
    total_sx, integrated_sx = density_of_states(np.array([[[1.5]]]), np.ones(1), 0.2, np.array([1.5, 1.7]))
    peak = 2 / (0.2 * np.sqrt(np.pi))
    np.testing.assert_allclose(total_sx[0], [peak, peak / np.e], rtol=1e-12)
    np.testing.assert_allclose(integrated_sx[0], [1.0, 1 + 0.8427007929497149], rtol=1e-12)


def test_blocks_of_energies_change_nothing(eig_skn, monkeypatch):
    energies = energy_grid(eig_skn, 0.1)
    whole = density_of_states(eig_skn, WEIGHT_K, 0.1, energies)
    monkeypatch.setattr("eigenwerk.dft.spectrum.density_of_states._BLOCK", 50)
    np.testing.assert_allclose(density_of_states(eig_skn, WEIGHT_K, 0.1, energies), whole, rtol=1e-12, atol=1e-14)


def test_width_must_be_positive(eig_skn):
    with pytest.raises(ValueError, match="width = 0"):
        density_of_states(eig_skn, WEIGHT_K, 0, np.zeros(2))
