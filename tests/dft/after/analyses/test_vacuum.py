"""Levels in the vacuum: of a slab they are those of its potential, and only a slab has them."""

import numpy as np
import pytest
import torch

from eigenwerk.dft.after.analyses.vacuum import planar_average, slab_axis, vacuum_levels
from eigenwerk.dft.after.fields.potential import electrostatic, electrostatic_blocks
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.units import HARTREE_EV


@pytest.fixture(scope="module")
def layers(calculation, crystal):
    """Two layers of aluminium that are not alike."""
    calc = calculation(crystal("al_layers"), mesh=(1, 1, 1), cutoff_eV=120.0, ismear=1, sigma_eV=0.2)
    return calc, calc.run().state


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_planar_average_is_that_of_the_grid(layers, axis):
    calc, state = layers
    potential = calc.builder(state.density)
    (value,) = electrostatic_blocks(potential)
    s_x = np.arange(value.shape[axis]) / value.shape[axis]
    found = planar_average(calc.basis, electrostatic(potential), axis, s_x) * HARTREE_EV
    np.testing.assert_allclose(found, value.mean(tuple({0, 1, 2} - {axis})), atol=1e-9)


def test_levels_lie_in_the_vacuum_of_the_axis_that_has_one(layers):
    calc, state = layers
    assert slab_axis(calc.structure) == 2
    levels = vacuum_levels(calc.builder(state.density), 2)
    assert levels.axis == 2 and levels.thickness == pytest.approx(15.0 * 0.86, abs=1e-6)
    (value,) = electrostatic_blocks(calc.builder(state.density))
    highest = value.mean((0, 1)).max()
    assert levels.below == pytest.approx(highest, abs=0.05) and levels.above == pytest.approx(highest, abs=0.05)
    work = levels.below - state.occupations.fermi_level * HARTREE_EV
    assert 3.0 < work < 6.0


def test_crystals_and_molecules_have_none(crystal):

    assert slab_axis(crystal("si")) is None
    assert slab_axis(Structure(np.diag([20.0, 20.0, 20.0]), ("H",), np.zeros((1, 3)))) is None


def test_a_potential_that_rises_is_seen(layers):
    """A plane wave of the field alone."""
    calc, _ = layers
    basis = calc.basis
    wave_g = torch.zeros(len(basis.index_gc), dtype=torch.complex128)
    wave_g[(basis.index_gc == torch.tensor([0, 0, 1])).all(1)] = 0.5
    np.testing.assert_allclose(planar_average(basis, wave_g, 2, np.array([0.0, 0.25, 0.5])), [1, 0, -1], atol=1e-12)
