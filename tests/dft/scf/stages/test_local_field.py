"""Fields at atoms: their energy and its derivative, and moments along them."""

import numpy as np
import pytest
import torch

from eigenwerk.dft.density.density import atomic_density, moment_per_atom
from eigenwerk.dft.scf.stages.exchange_loop import LocalField
from eigenwerk.dft.terms.term import Charges

FIELD = np.array([0.05, -0.02])


@pytest.fixture(scope="module")
def iron(calculation, crystal):
    calc = calculation(crystal("fe_bent"), spins=2)
    return calc, atomic_density(calc.atoms, calc.parameters.electrons, np.array([2.0, -1.0]))


def test_energy_is_that_of_moments_in_the_field_and_its_derivative_gives_it(iron):
    calc, density = iron
    charges = Charges(calc.atoms, density)
    found = LocalField(calc.atoms, FIELD)(charges)
    energy = float(found.energy_e.sum())
    assert energy == pytest.approx(-(FIELD @ moment_per_atom(density, calc.atoms)), abs=1e-12)
    pairs = zip(found.blocks["occupancy"], charges.blocks, strict=True)
    assert sum(float((slope * block.real).sum()) for slope, block in pairs) == pytest.approx(energy, abs=1e-12)


def test_orbitals_in_the_field_have_moments_along_it(calculation, crystal):
    calc = calculation(crystal("o2"), spins=2, cutoff_eV=150.0, real=True)
    density = atomic_density(calc.atoms, calc.parameters.electrons, np.zeros(2))
    builder = type(calc.builder)(calc.atoms, [*calc.builder.terms, LocalField(calc.atoms, np.array([0.2, 0.2]))])
    occupancy = builder(density).derivative.value["occupancy"]
    plain = calc.builder(density).derivative.value["occupancy"]
    change = occupancy - plain
    assert float(change[0].real.sum()) < 0 < float(change[1].real.sum())
    torch.testing.assert_close(change[0], -change[1])
