"""One atom of each kind stands for all that symmetry makes equal to it."""

import numpy as np
import pytest
import torch

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.density.symmetrise import make_symmetriser
from eigenwerk.dft.energy_terms import potential_builder
from eigenwerk.dft.paw.equivalence import equivalent_atoms, projector_rotation
from eigenwerk.dft.terms.term import Scene
from eigenwerk.units import BOHR_ANGSTROM

HCP = [[2.95, 0, 0], [-1.475, 1.475 * np.sqrt(3), 0], [0, 0, 4.68]]
CRYSTALS = {
    # name: (cell in angstrom, symbols, positions, moments, atoms that are alike, per species in order)
    "layers": (np.diag([3.0, 3.0, 9.0]), ("Al", "O", "Al", "Al"),
               [[0, 0, 0.25], [0.5, 0.5, 0], [0, 0, 0.75], [0, 0, 0]], None, [[{0, 1}, {2}], [{0}]]),
    "hcp": (HCP, ("Ti", "Ti"), [[1 / 3, 2 / 3, 0.25], [2 / 3, 1 / 3, 0.75]], None, [[{0, 1}]]),
    "afm": (2.86 * np.eye(3), ("Fe", "Fe"), [[0, 0, 0], [0.5, 0.5, 0.5]], (2.0, -2.0), [[{0, 1}]]),
}  # fmt: skip


@pytest.fixture(scope="module", params=list(CRYSTALS))
def case(request, calculation, disturbed):
    cell_cv, symbols, scaled_ac, moments, alike = CRYSTALS[request.param]
    structure = Structure(np.array(cell_cv) / BOHR_ANGSTROM, symbols, np.array(scaled_ac), moments)
    spins = 1 if moments is None else 2
    calc = calculation(structure, symmetry_level=1, spins=spins, cutoff_eV=60.0, functional="PW92")
    density = disturbed(calc.atoms, spins, calc.parameters.electrons, size=0.02)
    return calc, make_symmetriser(calc.kpoints.symmetry, calc.atoms)(density), alike


def test_atoms_are_grouped_by_the_operations_that_exchange_them(case):
    calc, _, alike = case
    for species, groups in zip(calc.atoms.layout.species, alike, strict=True):
        same = equivalent_atoms(calc.kpoints.symmetry, species.atom_a, species.setup.l_j, calc.runtime)
        kind_a = same.kind_a.tolist()
        found = [{a for a, kind in enumerate(kind_a) if kind == r} for r in range(len(same.first_r))]
        assert found == groups
        assert same.count_r.tolist() == [len(group) for group in groups]


def test_potential_of_a_symmetric_density_is_that_of_every_atom_on_its_own(case):
    """Energy and one-centre Hamiltonians: of all atoms, and spread from one of each kind.

    Rotations that the angular mesh does not share make the two differ by its error.
    """
    calc, density, _ = case
    alone, shared = (
        potential_builder(Scene(calc.atoms, calc.parameters, symmetry))(density)
        for symmetry in (None, calc.kpoints.symmetry)
    )
    cubic = np.allclose(np.abs(calc.kpoints.symmetry.rotation_ovv).max(axis=2), 1)
    assert shared.energy == pytest.approx(alone.energy, abs=1e-10 if cubic else 1e-9)
    difference_sx = shared.dH_sx - alone.dH_sx
    assert float(difference_sx.abs().max()) < (1e-10 if cubic else 1e-5)
    assert float((shared.vt_sg - alone.vt_sg).abs().max()) < 1e-13


def test_spin_flips_exchange_the_hamiltonians_of_the_spins(case):
    calc, density, _ = case
    if not density.spin.polarised:
        assert not calc.kpoints.symmetry.spin_flip_o.any()
        return
    (species,) = calc.atoms.layout.species
    block_saij = calc.atoms.layout.blocks(calc.builder(density).dH_sx, species)
    assert float((block_saij[0, 0] - block_saij[1, 0]).abs().max()) > 1e-3
    eig_sai = torch.linalg.eigvalsh(block_saij)
    np.testing.assert_allclose(eig_sai[0, 0], eig_sai[1, 1], atol=1e-9)
    np.testing.assert_allclose(eig_sai[1, 0], eig_sai[0, 1], atol=1e-9)


def test_rotations_of_projectors_are_a_representation(random_rotation):
    one_vv, two_vv, l_j = random_rotation(1), -random_rotation(2), (0, 1, 2, 1)
    one_ij, two_ij = (projector_rotation(turn_vv, l_j) for turn_vv in (one_vv, two_vv))
    product_ij = projector_rotation(one_vv @ two_vv, l_j)
    np.testing.assert_allclose(product_ij, one_ij @ two_ij, atol=1e-12)
    np.testing.assert_allclose(product_ij @ product_ij.T, np.eye(12), atol=1e-12)


def test_symmetry_is_what_the_structure_says():
    """The fixtures above mean what their comments say."""
    orders = {}
    for name, (cell_cv, symbols, scaled_ac, moments, _) in CRYSTALS.items():
        structure = Structure(np.array(cell_cv) / BOHR_ANGSTROM, symbols, np.array(scaled_ac), moments)
        orders[name] = find_symmetry(structure, 1e-5, 1).order
    assert orders == {"layers": 16, "hcp": 24, "afm": 96}
