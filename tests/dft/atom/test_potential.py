"""The potential of the reference atom: the derivative of its energy, levels as data sets have them, what is refused."""

from dataclasses import replace
from math import pi

import numpy as np
import pytest
import torch

from eigenwerk.dft.atom.potential import atom_potential, xc_potential
from eigenwerk.dft.atom.radial_equation import bound_states
from eigenwerk.dft.paw.radial import derivative, integrate
from eigenwerk.dft.terms.reference_atoms import atom_density
from eigenwerk.dft.xc.evaluation import energy_density
from eigenwerk.errors import InputError
from eigenwerk.functionals.functional import DENSITY, SIGMA
from eigenwerk.functionals.table import find_functional


@pytest.mark.parametrize("tag", ["PW92", "PE"])
def test_xc_potential_is_the_derivative_of_the_energy(dataset, tag):
    data, functional = dataset("O"), find_functional(tag)
    grid, density_g = data.grid, atom_density(data)
    change_g = density_g * np.sin(grid.r_g)

    def energy(n_g):
        values = {DENSITY: torch.tensor(n_g)[None], SIGMA: torch.tensor(derivative(grid, n_g) ** 2)[None]}
        return 4 * pi * integrate(grid, energy_density(functional, values).numpy())

    slope = (energy(density_g + 1e-4 * change_g) - energy(density_g - 1e-4 * change_g)) / 2e-4
    found = 4 * pi * integrate(grid, change_g * xc_potential(grid, density_g, functional))
    assert abs(slope) > 1e-2
    assert found == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("functional", ["PBE", "LDA"])
@pytest.mark.parametrize("symbol", ["O", "Si", "Zn", "Hg"])
def test_valence_levels_are_those_of_the_data_set(dataset, symbol, functional):
    """The generator's eigenvalues of all occupied states, of which nothing but the density went in."""
    data = dataset(symbol, functional)
    potential_g = atom_potential(data)
    for state in data.states:
        if state.n is not None and state.f > 0:
            levels = bound_states(data.grid, potential_g, state.l, state.n - state.l)[0]
            assert levels[-1] == pytest.approx(state.e, abs=1e-5)


def test_far_away_the_atom_is_neutral_and_near_it_the_nucleus(dataset):
    potential_g = atom_potential(dataset("Si"))
    assert potential_g[0] == -14.0
    assert abs(potential_g[-1]) < 1e-2


def test_atoms_that_cannot_be_rebuilt_are_refused(dataset):
    silicon = dataset("Si")
    with pytest.raises(InputError, match=r"was made with GLLBSC, of which there is no formula.*remove CORE_EXCHANGE"):
        atom_potential(replace(silicon, xc_name="GLLBSC"))
    with pytest.raises(InputError, match=r"valence of Si add up to 14.0000 electrons in place of 15"):
        atom_potential(replace(silicon, Z=15.0))
