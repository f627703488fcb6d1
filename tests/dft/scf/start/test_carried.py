"""Density and orbitals of an earlier state on other plane waves."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from eigenwerk.dft.density.density import Density, electrons_of
from eigenwerk.dft.scf.start.carried import Places, carried_density, carried_orbitals, common_points, of_basis

SETTINGS = {"cutoff_eV": 120.0, "mesh": (2, 1, 1)}


def places_of(structure, changed=False):
    saved = {name: getattr(structure, name) for name in ("lattice_cv", "symbols", "scaled_ac")}
    return Places(saved, changed)


def on(calc, density, index_gc, places):
    return carried_density(density, index_gc, places, calc.atoms)


def test_a_density_comes_to_the_same_waves_with_the_same_bits(crystal, calculation, disturbed):
    calc = calculation(crystal("al_pair"), **SETTINGS)
    density, order_g = disturbed(calc.atoms, 1, 6.0), torch.randperm(calc.basis.density_count)
    index_gc = calc.basis.index_gc[: calc.basis.density_count]
    shuffled = Density.of(density.density_sg[:, order_g], density.occupancy_sx, density.spin)
    found = on(calc, shuffled, index_gc[order_g], places_of(calc.structure))
    assert torch.equal(found.density_sg, density.density_sg) and torch.equal(found.occupancy_sx, density.occupancy_sx)


def test_waves_that_are_new_hold_the_density_of_atoms(crystal, calculation, disturbed):
    less, more = (calculation(crystal("al_pair"), **SETTINGS | {"cutoff_eV": cutoff}) for cutoff in (120.0, 160.0))
    density, index_gc = disturbed(less.atoms, 1, 6.0), less.basis.index_gc[: less.basis.density_count]
    found = on(more, density, index_gc, places_of(more.structure))
    here_g, there_g = common_points(more.basis.index_gc[: more.basis.density_count].numpy(), index_gc.numpy())
    assert len(there_g) == less.basis.density_count
    torch.testing.assert_close(found.density_sg[:, here_g], density.density_sg[:, there_g], atol=1e-12, rtol=0)
    atomic_g = more.starting_density().density_sg[0]
    new_g = np.setdiff1d(np.arange(more.basis.density_count), here_g)
    torch.testing.assert_close(found.density_sg[0, new_g], atomic_g[new_g], atol=1e-6, rtol=0)


def test_charge_is_kept_in_another_cell(crystal, calculation, disturbed):
    calc = calculation(crystal("al_pair"), **SETTINGS)
    density, structure = disturbed(calc.atoms, 1, 6.0), calc.structure
    larger = calculation(replace(structure, lattice_cv=1.02 * structure.lattice_cv), **SETTINGS)
    index_gc = calc.basis.index_gc[: calc.basis.density_count]
    found = on(larger, density, index_gc, places_of(structure, changed=True))
    ours, theirs = (float(electrons_of(*pair)) for pair in ((found, larger.atoms), (density, calc.atoms)))
    assert ours == pytest.approx(theirs, abs=1e-8)


@pytest.mark.parametrize("real", [False, True])
def test_orbitals_are_copied_wave_by_wave(crystal, calculation, real):
    """To a larger sphere and back nothing is lost; in between new waves are empty."""
    less, more = (
        calculation(crystal("si_bent"), cutoff_eV=cutoff, mesh=(2, 1, 1), real=real) for cutoff in (120.0, 160.0)
    )  # fmt: skip
    generator = torch.Generator().manual_seed(1)
    shape = (1, *less.basis.mask_kG.shape[:1], 5, less.basis.mask_kG.shape[1])
    coeff_sknG = torch.randn(shape, generator=generator, dtype=less.basis.form.dtype) * less.basis.mask_kG[:, None]
    places = places_of(less.structure)
    there = carried_orbitals(of_basis(less.basis, coeff_sknG), places, more.atoms, 5)
    assert there.shape[-1] > coeff_sknG.shape[-1]
    torch.testing.assert_close(there.square().abs().sum(), coeff_sknG.square().abs().sum())
    back = carried_orbitals(of_basis(more.basis, there), places, less.atoms, 5)
    torch.testing.assert_close(back, coeff_sknG, atol=1e-14, rtol=0)
    assert carried_orbitals(of_basis(more.basis, there), places, less.atoms, 7).shape[2] == 7


def test_complex_orbitals_do_not_serve_a_basis_of_real_ones(crystal, calculation):
    real, other = (calculation(crystal("si_bent"), **SETTINGS, real=real) for real in (True, False))
    shape = (1, *other.basis.mask_kG.shape[:1], 3, other.basis.mask_kG.shape[1])
    coeff_sknG = torch.randn(shape, dtype=torch.complex128) * other.basis.mask_kG[:, None]
    assert carried_orbitals(of_basis(other.basis, coeff_sknG), places_of(real.structure), real.atoms, 3) is None


def test_common_points_are_found_by_their_integers():
    here = np.array([[0, 0, 0], [1, 0, 0], [0, -2, 1], [3, 3, 3]])
    there = np.array([[0, -2, 1], [5, 0, 0], [0, 0, 0]])
    here_x, there_x = common_points(here, there)
    assert sorted(map(tuple, here[here_x])) == [(0, -2, 1), (0, 0, 0)]
    assert np.array_equal(here[here_x], there[there_x])
