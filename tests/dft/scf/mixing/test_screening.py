"""The response of the local density of states: its equation, its limits, and what it is worth in a long cell."""

from math import pi

import numpy as np
import pytest
import torch

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.scf.mixing.screening import DENSEST, REACH, Screening, local_states
from eigenwerk.dft.settings.mixing import Mixing, density_mixing, screens_locally
from eigenwerk.io.vasp.input.incar import parse_incar
from eigenwerk.units import BOHR_ANGSTROM

LAYERS_AC = np.array([[0, 0, 0.0], [0, 0, 0.13], [0, 0, 0.25]])
LONG = Structure(np.diag([2.86, 2.86, 16.2]) / BOHR_ANGSTROM, ("Al",) * 3, LAYERS_AC)
"""Three layers of aluminium, 12 Å of vacuum."""

METAL = {"cutoff_eV": 100.0, "mesh": (2, 1, 1), "ismear": 1, "sigma_eV": 0.2, "symmetry_level": 2, "ediff_eV": 1e-6}


@pytest.fixture(scope="module")
def basis(basis_of):
    return basis_of(LONG, 100.0)


def waves_of(basis, values_R):
    """Coefficients on the density sphere of a field on the points of the wave grid."""
    return basis.wave_map.from_grid(values_R, basis.density_count)


def some_waves(basis, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return waves_of(basis, torch.randn(basis.grids.wave, generator=generator, dtype=torch.float64))


def test_nothing_at_the_level_screens_nothing(basis):
    residual_g = some_waves(basis)
    screening = Screening.of(basis, torch.zeros_like(residual_g))
    torch.testing.assert_close(screening.unscreened(residual_g), residual_g)


def test_a_uniform_metal_has_the_kerker_factor_with_the_kernel_cut(basis):
    """g² / (g² + 4π D exp(-g²/REACH²)), and g = 0 as it is."""
    residual_g = some_waves(basis)
    states_g = torch.zeros_like(residual_g)
    states_g[0] = 0.1
    norm2_g = basis.norm2_g[: basis.density_count]
    expected_g = norm2_g / (norm2_g + 4 * pi * 0.1 * torch.exp(-norm2_g / REACH**2))
    expected_g[0] = 1
    error_g = Screening.of(basis, states_g).unscreened(residual_g) - expected_g * residual_g
    assert float(error_g.abs().max() / residual_g.abs().max()) < 2e-2


def test_the_equation_is_solved_and_charge_stays(basis, monkeypatch):
    """(1 - χ₀ v) ρ = R for metal in one half of the cell, the number of electrons unchanged."""
    monkeypatch.setattr("eigenwerk.dft.scf.mixing.screening.TOLERANCE", 1e-10)
    z_R = torch.linspace(0, 1, basis.grids.wave[2], dtype=torch.float64)
    states_R = 0.1 * torch.sigmoid((0.25 - (z_R - 0.5).abs()) * 60).expand(basis.grids.wave).contiguous()
    screening, residual_g = Screening.of(basis, waves_of(basis, states_R)), some_waves(basis)
    rho_g = screening.unscreened(residual_g)
    back_g = rho_g + screening.response(screening.coulomb_g * rho_g)
    torch.testing.assert_close(back_g, residual_g, atol=1e-8, rtol=0)
    assert abs(complex(rho_g[0] - residual_g[0])) < 1e-12


@pytest.mark.slow
def test_local_states_are_those_of_the_bands_at_the_level(calculation):
    """Their integral is the density of states, and they are not where the vacuum is."""
    calc = calculation(LONG, **METAL, max_steps=2)
    state = calc.run().state

    class Found:
        coeff_sknG, eig_skn, proj_sknI = state.coeff_sknG, state.eig_skn, None

    width = 0.5 / 27.2
    states = calc.symmetrise(local_states(calc.atoms, Found, state.occupations, width))
    whole_g = states.density_sg[0] + calc.atoms.valence_compensation(states.occupancy_sx)[0]
    x_skn = (state.eig_skn - state.occupations.fermi_level) / (2 * width)
    count = float((calc.basis.weight_k[:, None] * 2 * 0.25 / (width * torch.cosh(x_skn) ** 2)).sum())
    assert float(whole_g[0].real * calc.basis.volume) == pytest.approx(count, rel=1e-3)
    line_z = calc.basis.wave_map.to_grid(whole_g).mean((0, 1))
    assert line_z[int(0.6 * len(line_z))] < 0.02 * line_z.max() < 0.02 * 4 * DENSEST


@pytest.mark.parametrize("tag", ["", "AMIX = 0.4", "BMIX = 1", "AMIN = 0.1", "BMIX_MAG = 1", "IMIX = 1"])
def test_it_takes_over_in_long_cells_unless_the_user_has_chosen(tag):
    given = density_mixing(parse_incar(f"ENCUT = 300\n{tag}"), LONG)[0]
    assert screens_locally(given, LONG, 0.2) is (None if tag else True)
    assert screens_locally(given, LONG, 0.5) is (None if tag else False)


def test_it_leaves_molecules_alone():
    molecule = Structure(np.diag([20.0, 20, 40]), ("H", "H"), np.array([[0, 0, 0], [0, 0, 0.03]]))
    assert screens_locally(Mixing(), molecule, 0.16) is None


@pytest.mark.slow
def test_a_slab_takes_fewer_steps_with_it(calculation):
    """The same energy as with the Kerker factor."""
    local, kerker = (
        calculation(LONG, **METAL, mixing=Mixing(by_extent=by_extent)).run().state for by_extent in (True, False)
    )
    assert local.converged and kerker.converged and len(local.history) < len(kerker.history)
    assert local.energies.free == pytest.approx(kerker.energies.free, abs=3 * 2e-6 / 27.2)
