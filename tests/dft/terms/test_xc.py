"""Exchange and correlation of the smooth density on the grid."""

import numpy as np
import pytest
import torch

from eigenwerk.dft.terms.xc import ExchangeCorrelation, exchange_correlation
from eigenwerk.dft.xc.evaluation import energy_density
from eigenwerk.functionals.table import find_functional


def smooth(basis, spins, seed=0, size=0.002):
    """A positive density with structure; (s, g)."""
    draw = torch.Generator().manual_seed(seed)
    count = basis.density_count
    noise_sg = torch.randn((spins, count), generator=draw, dtype=torch.complex128)
    density_sg = size * noise_sg * torch.exp(-basis.norm2_g[:count] / 4)
    share_s = torch.tensor([1.0]) if spins == 1 else torch.tensor([0.6, 0.4])
    density_sg[:, 0] = (0.06 * share_s).to(torch.complex128)
    return density_sg


def energy_and_potential(density_sg, basis, functional, orbits=None):
    energy, derivative = exchange_correlation({"density": density_sg}, basis, functional, orbits)
    return energy, derivative["density"]


@pytest.fixture(scope="module")
def basis(basis_of, crystal):
    return basis_of(crystal("sic_bent"), 100.0)


@pytest.mark.fast("1-PS", "2-PW92", "2-PE", "1-CA")
@pytest.mark.parametrize("name", ["PW92", "CA", "PE", "PS"])
@pytest.mark.parametrize("spins", [1, 2])
def test_potential_is_energy_derivative(basis, name, spins):
    functional = find_functional(name)
    density_sg, change_sg = smooth(basis, spins), smooth(basis, spins, seed=1)
    assert float(basis.fine_map.to_grid(density_sg).min()) > 0.002
    step = 1e-3
    up, down = (energy_and_potential(density_sg + sign * step * change_sg, basis, functional)[0] for sign in (1, -1))
    slope = basis.inner(energy_and_potential(density_sg, basis, functional)[1], change_sg).sum()
    assert float((up - down) / (2 * step)) == pytest.approx(float(slope), rel=1e-6)


@pytest.mark.parametrize(("name", "spins"), [("sic_bent", 1), ("fe_bent", 2)])
@pytest.mark.parametrize("functional", ["PW92", "PE"])
def test_term_with_smooth_cores_has_derivatives_of_its_energy_as_potential_and_forces(alone, name, spins, functional):
    term = alone(lambda calc: ExchangeCorrelation(calc.atoms, find_functional(functional), None), name, spins=spins)
    term.assert_potential_is_the_derivative()
    assert float(term.assert_forces_are_the_derivative().abs().max()) > 1e-4


@pytest.mark.parametrize("name", ["PW92", "PE"])
def test_uniform_density_has_the_energy_of_the_electron_gas(basis, name):
    density_sg = torch.zeros((1, basis.density_count), dtype=torch.complex128)
    density_sg[0, 0] = 0.03
    functional = find_functional(name)
    energy, potential_sg = energy_and_potential(density_sg, basis, functional)
    n_sx = torch.tensor([[0.03]], dtype=torch.float64)
    density_of_gas = energy_density(functional, {"density": n_sx, "sigma": torch.zeros_like(n_sx)})
    assert float(energy) == pytest.approx(float(basis.volume * density_of_gas), rel=1e-12)
    assert float(potential_sg[0, 1:].abs().max()) < 1e-12


@pytest.mark.parametrize("name", ["PW92", "PE"])
def test_equal_spins_are_the_unpolarised_density(basis, name):
    density_sg = smooth(basis, 1)
    single = energy_and_potential(density_sg, basis, find_functional(name))
    pair = energy_and_potential(density_sg.expand(2, -1) / 2, basis, find_functional(name))
    assert float(pair[0]) == pytest.approx(float(single[0]), rel=1e-12)
    np.testing.assert_allclose(pair[1], single[1].expand(2, -1), atol=1e-9)


def test_moving_the_density_by_a_grid_step_moves_the_potential(basis):
    density_sg, functional = smooth(basis, 1), find_functional("PE")
    shift_c = np.array([3, 0, 5]) / np.array(basis.fine_map.size_c)
    turns_g = basis.index_gc[: basis.density_count].to(torch.float64) @ torch.as_tensor(shift_c)
    phase_g = torch.exp(-2j * np.pi * turns_g)
    here, there = (energy_and_potential(d, basis, functional) for d in (density_sg, density_sg * phase_g))
    assert float(there[0]) == pytest.approx(float(here[0]), rel=1e-12)
    np.testing.assert_allclose(there[1], here[1] * phase_g, atol=1e-11)
