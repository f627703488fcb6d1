"""The density of states counts states, by smearing and by tetrahedra, whole and in parts."""

import numpy as np
import pytest

from eigenwerk.dft.after.density_of_states import (
    SmearedCounting,
    TetrahedronCounting,
    counting,
    density_of_states,
    energy_grid,
)
from eigenwerk.dft.crystal.tetrahedra import Tetrahedra
from eigenwerk.dft.filling.occupations import make_smearing
from eigenwerk.dft.filling.tetrahedra import TetrahedronBands
from free_electrons import free_electrons

WEIGHT_K = np.array([0.125, 0.375, 0.5])
TETRAHEDRA = Tetrahedra(np.array([[0, 1, 2, 2], [1, 1, 2, 2]]), np.array([0.5, 0.5]))
METHODS = {
    "gaussian": SmearedCounting(WEIGHT_K, make_smearing(0), 0.1),
    "fermi": SmearedCounting(WEIGHT_K, make_smearing(-1), 0.01),
    "paxton": SmearedCounting(WEIGHT_K, make_smearing(1), 0.05),
    "narrow": SmearedCounting(WEIGHT_K, make_smearing(0), 1e-9),
    "tetrahedra": TetrahedronCounting(TETRAHEDRA),
}


@pytest.fixture(params=[1, 2], ids=["unpolarised", "polarised"])
def eig_skn(request):
    return np.sort(np.random.default_rng(5).normal(size=(request.param, 3, 7)))


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_sum_over_the_energies_is_the_number_of_states(eig_skn, method):
    """Whatever the step: no narrow peak falls between two energies."""
    energies = energy_grid(eig_skn, 0.1, 50)
    total_sx, integrated_sx = density_of_states(method, eig_skn, energies)
    states = 14 / len(eig_skn)
    np.testing.assert_allclose(total_sx.sum(1) * (energies[1] - energies[0]), states, rtol=1e-10)
    np.testing.assert_allclose(integrated_sx[:, -1], states, rtol=1e-12)
    np.testing.assert_allclose(np.cumsum(total_sx, 1) * (energies[1] - energies[0]), integrated_sx, atol=1e-10)


def test_single_level_has_its_closed_form():
    method = SmearedCounting(np.ones(1), make_smearing(0), 0.2)
    total_sx, integrated_sx = density_of_states(method, np.array([[[1.5]]]), np.array([1.5, 1.500002]))
    assert total_sx[0, 1] == pytest.approx(2 / (0.2 * np.sqrt(np.pi)), rel=1e-8)
    assert integrated_sx[0, 0] == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_parts_add_up_to_the_whole(eig_skn, method):
    """Projections (atom, lm) by the same method; each is linear in its weights."""
    energies = energy_grid(eig_skn, 0.1, 40)
    part_sknal = np.random.default_rng(2).random((*eig_skn.shape, 2, 4))
    part_sknal /= part_sknal.sum((3, 4), keepdims=True)
    whole_sx, integral_sx = density_of_states(method, eig_skn, energies)
    density_sxal, integral_sxal = density_of_states(method, eig_skn, energies, part_sknal)
    assert density_sxal.shape == (len(eig_skn), 40, 2, 4)
    np.testing.assert_allclose(density_sxal.sum((2, 3)), whole_sx, atol=1e-10)
    np.testing.assert_allclose(integral_sxal.sum((2, 3)), integral_sx, atol=1e-10)
    one_skn = part_sknal[..., 1, 2]
    np.testing.assert_allclose(
        density_of_states(method, eig_skn, energies, one_skn)[0], density_sxal[:, :, 1, 2], atol=1e-10
    )


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_blocks_change_nothing(eig_skn, method, monkeypatch):
    energies = energy_grid(eig_skn, 0.1)
    whole = density_of_states(method, eig_skn, energies)
    monkeypatch.setattr("eigenwerk.dft.after.density_of_states._BLOCK", 50)
    np.testing.assert_allclose(density_of_states(method, eig_skn, energies), whole, rtol=1e-12, atol=1e-12)


def test_tetrahedra_count_as_the_fermi_level_does(eig_skn):
    energies = np.sort(np.concatenate([np.linspace(-3, 3, 61), eig_skn.reshape(-1)[:3]]))
    integrated_sx = density_of_states(METHODS["tetrahedra"], eig_skn, energies)[1]
    for s in range(len(eig_skn)):
        bands = TetrahedronBands.of(eig_skn[s : s + 1], TETRAHEDRA)
        expected_x = [2 / len(eig_skn) * bands.states(energy) for energy in energies]
        np.testing.assert_allclose(integrated_sx[s], expected_x, atol=1e-12)


def test_free_electrons_have_the_density_of_states_of_theirs():
    """D(E) = 2 · 4π √(2E) per cell of reciprocal volume one."""
    eig_skn, tetrahedra = free_electrons(20)
    energies = np.linspace(0.1, 0.35, 11)
    total_sx, _ = density_of_states(TetrahedronCounting(tetrahedra), eig_skn, energies)
    middle_x = energies - 0.0125
    np.testing.assert_allclose(total_sx[0], 8 * np.pi * np.sqrt(2 * middle_x), rtol=0.03)


@pytest.mark.parametrize("level", [0.3, -0.5])
def test_flat_bands_are_counted_once(level):
    eig_skn = np.full((1, 3, 2), level)
    energies = np.linspace(-1, 1, 21)
    for method in (TetrahedronCounting(TETRAHEDRA), METHODS["narrow"]):
        total_sx, integrated_sx = density_of_states(method, eig_skn, energies)
        assert total_sx.sum() * 0.1 == pytest.approx(4) and np.count_nonzero(total_sx > 1e-9) <= 2
        assert integrated_sx[0, -1] == pytest.approx(4)


def test_range_of_energies_is_vasps():
    eig_skn = np.array([[[-1.0, 3.0]]])
    np.testing.assert_allclose(energy_grid(eig_skn, 0.01, 5), np.linspace(-1.2, 3.2, 5))
    np.testing.assert_allclose(energy_grid(eig_skn, 0.1)[[0, -1]], [-2, 4])
    np.testing.assert_allclose(energy_grid(eig_skn, 0.1, 11, -5.0, 5.0), np.arange(-5, 6))
    np.testing.assert_allclose(energy_grid(eig_skn, 0.1, 2, 10.0, -10.0), [-2, 4])
    np.testing.assert_allclose(energy_grid(eig_skn, 0.1, 2, lowest=-7.0), [-7, 4])
    lone = energy_grid(np.zeros((1, 1, 1)), 0.0)
    assert (np.diff(lone) > 0).all()


def test_width_must_be_positive():
    with pytest.raises(ValueError, match="width = 0"):
        counting(make_smearing(0), 0, WEIGHT_K)
    assert isinstance(counting(make_smearing(-5, None, TETRAHEDRA), 0, WEIGHT_K), TetrahedronCounting)
