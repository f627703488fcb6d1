"""A term of the energy that feels the kinetic-energy density: Hamiltonian, forces and stress follow by themselves."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
import torch

from eigenwerk.dft.calculation import Calculation, Made
from eigenwerk.dft.density.kinds.table import ALWAYS, WAVES
from eigenwerk.dft.terms.builder import PotentialBuilder
from eigenwerk.dft.terms.term import Contribution, Term, spherical_forces
from eigenwerk.functionals.functional import TAU
from eigenwerk.parallel.process_grid import make_process_grid
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.serial import SerialCommunicator
from ground_states import pieces


def around(setup):
    """A radial function that moves with the atoms, f(r) of f Y_00."""
    return 0.3 * np.exp(-((setup.dataset.grid.r_g / 1.5) ** 2))


class Around(Term):
    """E = ∫ τ w with a field w about the atoms, τ of all spins with its smooth cores."""

    words: ClassVar = {"around": "for this test"}
    needs = frozenset({TAU})

    def __init__(self, atoms):
        self.atoms = atoms

    def whole_g(self, charges):
        core_g = self.atoms.scalar_field(WAVES[TAU].of_core, self.atoms.basis.density_count)
        return charges.density.spin.total(charges.density.value[TAU]) + core_g

    def field_g(self, atoms):
        return atoms.scalar_field(around, atoms.basis.density_count)

    def __call__(self, charges):
        tau_g, field_g = self.whole_g(charges), self.field_g(self.atoms)
        energy = self.atoms.basis.inner(field_g, tau_g)
        return Contribution(("around",), energy[None], {TAU: field_g})

    def strained(self, charges, atoms):
        return atoms.basis.inner(self.field_g(atoms), self.whole_g(charges))

    def forces(self, charges):
        return spherical_forces(self.atoms, around, self.whole_g(charges))


def feeling(calc):
    """The calculation with that term."""
    object.__setattr__(calc, "builder", PotentialBuilder(calc.atoms, [*calc.builder.terms, Around(calc.atoms)]))
    return calc


@pytest.mark.slow
@pytest.mark.parametrize(("name", "settings"), [
    ("si_bent", {"mesh": (2, 1, 1), "cutoff_eV": 120.0}),
    ("sic_bent", {"real": True, "cutoff_eV": 120.0}),
    ("o2", {"spins": 2, "real": True, "cutoff_eV": 150.0, "sigma_eV": 0.2}),
])  # fmt: skip
def test_forces_and_stress_are_derivatives_of_the_energy(calculation, crystal, name, settings):
    calc = feeling(calculation(crystal(name), **settings))
    ground = calc.run()
    assert ground.state.converged and set(ground.state.output.value) == {*ALWAYS, TAU}
    assert abs(ground.state.energies.terms["around"]) > 0.05

    def free(other):
        state = feeling(other).run(start=ground.state).state
        assert state.converged
        return state.energies.free

    def shifted(size):
        position_av = calc.structure.positions_av.copy()
        position_av[1, 2] += size
        scaled_ac = position_av @ np.linalg.inv(calc.structure.lattice_cv)
        return calc.moved(replace(calc.structure, scaled_ac=scaled_ac))

    slope = -(free(shifted(0.01)) - free(shifted(-0.01))) / 0.02
    assert float(ground.forces_av[1, 2]) == pytest.approx(slope, abs=2e-5)

    def strained(size):
        strain_vv = np.eye(3) + size * np.array([[1.0, 0.4, 0], [0.4, 0, 0.2], [0, 0.2, -0.5]])
        atoms = calc.atoms.strained(torch.tensor(calc.structure.lattice_cv @ strain_vv.T))
        return replace(calc, structure=atoms.basis.structure, made=Made(atoms))

    direction_vv = np.array([[1.0, 0.4, 0], [0.4, 0, 0.2], [0, 0.2, -0.5]])
    slope = (free(strained(4e-4)) - free(strained(-4e-4))) / 8e-4
    along = float((ground.stress_vv * direction_vv).sum()) * float(calc.basis.volume)
    assert along == pytest.approx(slope, abs=2e-5)


def ground_of_ranks(world, parts, groups):
    """On one rank: free energy, forces and stress."""
    structure, kpoints, parameters, datasets, real = parts
    runtime = Runtime(grid=make_process_grid(world, groups))
    ground = feeling(Calculation(structure, kpoints, parameters, datasets, runtime, real)).run()
    return ground.state.energies.free, ground.forces_av, ground.stress_vv


@pytest.mark.slow
@pytest.mark.ranks
def test_ranks_that_share_bands_find_the_same(ranks, calculation, crystal):
    parts = pieces(calculation(crystal("sic_bent"), real=True, cutoff_eV=90.0))
    alone = ground_of_ranks(SerialCommunicator(), parts, 1)
    for found in ranks(2, "gloo").run(ground_of_ranks, parts, 1):
        for one, other in zip(found, alone, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-7)
