"""One term of the energy on its own: its potential and its forces against differences of its energy."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from eigenwerk.dft.derivatives.forces import fixed_fields_forces
from eigenwerk.dft.terms.builder import PotentialBuilder

POTENTIAL_STEP, FORCE_STEP = 1e-4, 1e-3


class Alone:
    """A term, and a density without any symmetry; `make` gives the term from a calculation."""

    def __init__(self, make, calculate, density_of):
        self.make, self.calculate = make, calculate
        self.calc = calculate()
        self.density, self.change = density_of(self.calc, 0.004, 1), density_of(self.calc, 0.004, 2)
        self.builder = self.builder_of(self.calc)

    def builder_of(self, calc):
        return PotentialBuilder(calc.atoms, [self.make(calc)])

    def moved(self, sign):
        """Energy with the density changed."""
        return self.builder(self.density.map(lambda a, b: a + sign * POTENTIAL_STEP * (b - a), self.change)).energy

    def displaced(self, a, v, step):
        """Energy of the same fields with an atom elsewhere."""
        position_av = self.calc.structure.positions_av.copy()
        position_av[a, v] += step
        scaled_ac = position_av @ np.linalg.inv(self.calc.structure.lattice_cv)
        return self.builder_of(self.calculate(scaled_ac=scaled_ac))(self.density).energy

    def assert_potential_is_the_derivative(self):
        """By all fields at once."""
        change = self.change.map(torch.sub, self.density)
        slope = float(self.builder(self.density).derivative.inner(change, self.calc.basis))
        difference = (self.moved(1) - self.moved(-1)) / (2 * POTENTIAL_STEP)
        assert abs(slope) > 1e-6
        assert difference == pytest.approx(slope, rel=1e-5)

    def assert_forces_are_the_derivative(self):
        """At fixed fields; returns the forces."""
        force_av = fixed_fields_forces(self.builder, self.density)
        for a, v in [(0, 0), (1, 2), (len(force_av) - 1, 1)]:
            difference = self.displaced(a, v, -FORCE_STEP) - self.displaced(a, v, FORCE_STEP)
            assert difference / (2 * FORCE_STEP) == pytest.approx(float(force_av[a, v]), rel=1e-5, abs=1e-8)
        return force_av


@pytest.fixture
def alone(calculation, crystal, disturbed):
    """(make, crystal, settings) -> `Alone`; all cells on the same grids."""

    def build(make, name="sic_bent", **settings):
        structure = crystal(name)
        grids = {}

        def calculate(**changes):
            calc = calculation(replace(structure, **changes), cutoff_eV=120.0, **settings, **grids)
            grids.update(wave_grid=calc.basis.grids.wave, fine_grid=calc.basis.grids.fine)
            return calc

        def density_of(calc, size, seed):
            return disturbed(calc.atoms, calc.parameters.spins, calc.parameters.electrons, size=size, seed=seed)

        return Alone(make, calculate, density_of)

    return build
