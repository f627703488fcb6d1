"""Directions around an atom that symmetry makes equal."""

import numpy as np
import pytest
import torch

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.density.symmetrise import make_symmetriser
from eigenwerk.dft.paw.site_symmetry import site_symmetry
from eigenwerk.dft.paw.spherical import solid_harmonics, sphere_quadrature
from eigenwerk.dft.terms.one_centre import OnsiteTerms, exchange_correlation_of
from eigenwerk.functionals.table import find_functional
from eigenwerk.units import BOHR_ANGSTROM

HEXAGONAL = [[2.95, 0, 0], [-1.475, 1.475 * np.sqrt(3), 0], [0, 0, 4.68]]
CRYSTALS = {
    # name: (cell in angstrom, symbols, positions, moments, rotations about the first atom that a cube shares)
    "diamond": (5.43 / 2 * (1 - np.eye(3)), ("Si", "Si"), [[0, 0, 0], [0.25, 0.25, 0.25]], None, 24),
    "iron": (2.83 * np.eye(3), ("Fe", "Fe"), [[0, 0, 0], [0.5, 0.5, 0.5]], (2.2, 2.2), 48),
    "antiferromagnet": (2.83 * np.eye(3), ("Fe", "Fe"), [[0, 0, 0], [0.5, 0.5, 0.5]], (2.2, -2.2), 48),
    "hcp": (HEXAGONAL, ("Ti", "Ti"), [[1 / 3, 2 / 3, 0.25], [2 / 3, 1 / 3, 0.75]], None, 4),
}


@pytest.fixture(scope="module", params=list(CRYSTALS))
def case(request, calculation, disturbed):
    cell_cv, symbols, scaled_ac, moments, order = CRYSTALS[request.param]
    structure = Structure(np.array(cell_cv) / BOHR_ANGSTROM, symbols, np.array(scaled_ac), moments)
    spins = 1 if moments is None else 2
    calc = calculation(structure, symmetry_level=2, spins=spins, cutoff_eV=60.0)
    density = disturbed(calc.atoms, spins, calc.parameters.electrons, size=0.02)
    density = make_symmetriser(calc.kpoints.symmetry, calc.atoms)(density)
    species = calc.atoms.layout.species[0]
    return calc, species, calc.atoms.layout.blocks(density.occupancy_sx, species)[:, :1], order


def site_of(calc, species):
    return site_symmetry(calc.kpoints.symmetry, species.atom_a[:1], species.setup.l_j, calc.runtime)


def test_rotations_are_those_of_the_site_that_a_cube_shares(case):
    calc, species, _, order = case
    assert len(site_of(calc, species).rotation_ovv) == order


def test_fewer_directions_integrate_what_the_site_leaves_of_every_harmonic(case):
    """∫ Y_L of the whole mesh; harmonics that the rotations do not leave alone may come out otherwise."""
    calc, species, _, order = case
    point_uv, weight_u = site_of(calc, species).directions(29)
    assert float(weight_u.sum()) == pytest.approx(4 * np.pi, rel=1e-13)
    assert len(point_uv) < 302 / order * 3
    whole_xv, whole_x = sphere_quadrature(29)
    cubic_u, cubic_x = ((point**4).sum(1) for point in (point_uv, whole_xv))
    assert float(weight_u @ cubic_u) == pytest.approx(float(whole_x @ cubic_x), rel=1e-13)
    assert float(weight_u @ solid_harmonics(2, point_uv)[:, 0]) == pytest.approx(np.sqrt(4 * np.pi), rel=1e-13)


@pytest.mark.fast("iron-PE", "diamond-CA", "antiferromagnet-PE")
@pytest.mark.parametrize("name", ["PE", "CA"])
def test_energy_and_derivative_are_those_of_all_directions(case, name):
    calc, species, occupancy_saij, _ = case
    site = site_of(calc, species)
    whole = OnsiteTerms(species.setup, find_functional(name), calc.runtime, 1)
    ((energy_a, derivative_saij),) = exchange_correlation_of([whole], [occupancy_saij])
    few = OnsiteTerms(species.setup, find_functional(name), calc.runtime, 1, None, site)
    ((few_a, few_saij),) = exchange_correlation_of([few], [occupancy_saij])
    torch.testing.assert_close(few_a, energy_a, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(few_saij, derivative_saij, rtol=0, atol=1e-10)
