"""Potentials at the sites of atoms: a mean with a Gaussian of that on the grid, and alike where atoms are."""

import numpy as np
import pytest

from eigenwerk.dft.after.analyses.core_potentials import core_potentials
from eigenwerk.dft.after.fields.potential import electrostatic_blocks


def test_it_is_the_potential_averaged_with_a_gaussian(calculation, crystal):
    calc = calculation(crystal("sic_bent"), cutoff_eV=200.0)
    potential = calc.builder(calc.starting_density())
    found = core_potentials(potential)
    (value,) = electrostatic_blocks(potential)
    structure, size = calc.structure, np.array(value.shape)
    grid_xc = np.indices(value.shape).reshape(3, -1).T / size
    for a, symbol in enumerate(structure.symbols):
        images = np.array(list(np.ndindex(3, 3, 3))) - 1
        step_xc = grid_xc - structure.scaled_ac[a]
        rc = calc.atoms.layout.species[a].setup.shape.rc
        weight_x = sum(
            np.exp(-(((step_xc - np.rint(step_xc) + image) @ structure.lattice_cv) ** 2).sum(1) / rc**2)
            for image in images
        )
        expected = (weight_x * value.ravel()).sum() / weight_x.sum()
        assert found.value_a[a] == pytest.approx(expected, abs=2e-3)
        assert found.radius[symbol] > 0


def test_atoms_that_symmetry_makes_equal_are_alike(calculation, crystal):
    calc = calculation(crystal("si"), symmetry_level=2, mesh=(2, 2, 2), real=True)
    value_a = core_potentials(calc.builder(calc.run().state.density)).value_a
    assert value_a[0] == pytest.approx(value_a[1], abs=1e-8) and value_a[0] < -10
