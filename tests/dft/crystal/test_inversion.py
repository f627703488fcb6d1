"""Orbitals that an inversion makes real give what complex ones give."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from complex_twins import assert_same_images, complex_twin, operator_images
from covering import but_slow
from eigenwerk.dft.basis.gathering import whole_orbitals
from eigenwerk.dft.crystal.inversion import find_inversion
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.density.density import atomic_density
from eigenwerk.dft.density.symmetrise import make_symmetriser
from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.hamiltonian.wavefunctions import random_orbitals
from eigenwerk.dft.runs.saving.checkpoint import load_start, state_tree
from eigenwerk.io.hdf5.hdf5_state import write_state
from eigenwerk.units import BOHR_ANGSTROM

FCC = (1 - np.eye(3)) / 2
CENTRE = np.array([0.13, 0.12, -0.03])
"""The centre t/2 of the crystal "pairs"."""


def crystal_of(cell_cv, symbols, scaled_ac, moments=None):
    """A structure from numbers in angstrom."""
    moment_a = None if moments is None else np.array(moments)
    return Structure(np.array(cell_cv, float) / BOHR_ANGSTROM, symbols, np.array(scaled_ac, float), moment_a)


def silicon(shift=0.0):
    """Diamond; its centres of inversion lie between atoms."""
    return crystal_of(5.43 * FCC, ("Si", "Si"), np.array([[0, 0, 0], [0.25, 0.25, 0.25]]) + shift)


def iron(moments=(2.5, 2.5)):
    """A cube with two atoms, each its own partner."""
    return crystal_of(2.83 * np.eye(3), ("Fe", "Fe"), [[0, 0, 0], [0.5, 0.5, 0.5]], moments)


CASES = {
    # structure or name, settings; EDIFF = 1e-8 eV
    "insulator, grid fits": (silicon(), {"mesh": (3, 3, 3)}),
    "insulator, centre anywhere": (silicon(np.array([0.013, 0.02, 0.07])), {"mesh": (3, 3, 3)}),
    "pairs and single atoms": ("pairs", {"mesh": (3, 1, 2), "ismear": 1, "sigma_eV": 0.5}),
    "magnet": (iron(), {"mesh": (3, 3, 3), "spins": 2, "cutoff_eV": 200.0, "ismear": 1, "sigma_eV": 0.2}),
}


@pytest.fixture(params=but_slow(CASES, "magnet"))
def pair(request, calculation, crystal):
    """The same calculation with real and with complex orbitals."""
    structure, settings = CASES[request.param]
    structure = crystal(structure) if isinstance(structure, str) else structure
    return [calculation(structure, symmetry_level=2, real=real, **settings) for real in (True, False)]


def symmetry_of(structure):
    return find_symmetry(structure, 1e-5 / BOHR_ANGSTROM, 2)


def assert_same_order(real, complex_):
    """Vectors of an inversion have the plane waves of complex ones in the same order."""
    whole = whole_orbitals(real.runtime.grid, real.basis, random_orbitals(real.atoms, 1)[None])
    for k, count in enumerate(whole.count_k):
        np.testing.assert_array_equal(whole.index_kGc[k, :count], complex_.basis.index_khc[k, :count])


def symmetric(calc, potential):
    """A potential without its egg-box error: what is left of one on points that symmetry does not exchange."""
    average = make_symmetriser(calc.kpoints.symmetry, calc.atoms)
    return replace(potential, derivative=average(potential.derivative))


# -- which crystals ---------------------------------------------------------------------------------------------------


def test_centre_and_partners_are_found(crystal):
    inversion = find_inversion(symmetry_of(crystal("pairs")))
    np.testing.assert_allclose((inversion.translation_c / 2 - CENTRE + 0.25) % 0.5 - 0.25, 0, atol=1e-9)
    assert inversion.partner_a.tolist() == [3, 1, 4, 0, 2, 5]
    position_ac, cell_ac = inversion.positions(crystal("pairs"))
    np.testing.assert_allclose(position_ac[inversion.partner_a], cell_ac - position_ac, atol=1e-12)


def test_a_centre_at_the_origin_is_preferred():
    doubled = crystal_of(np.diag([4.0, 8.0, 4.0]), ("Fe", "Fe"), [[0.5, 0.25, 0], [0.5, 0.75, 0]])
    assert not find_inversion(symmetry_of(doubled)).translation_c.any()


@pytest.mark.parametrize("name", ["si_bent", "sic_bent"])
def test_crystals_without_inversion_have_none(crystal, name):
    structure = crystal(name)
    inverts = (symmetry_of(structure).rotation_occ == -np.eye(3)).all((1, 2)).any()
    assert (find_inversion(symmetry_of(structure)) is None) == (not inverts)


def test_an_inversion_that_exchanges_the_spins_does_not_serve(calculation):
    """Atoms of opposite moments that only inversion relates: its operation flips the spins."""
    structure = crystal_of(np.diag([3.0, 3.1, 5.0]), ("O", "O"), [[0, 0, 0.12], [0, 0, -0.12]], (1.0, -1.0))
    symmetry = symmetry_of(structure)
    assert symmetry.spin_flip_o[(symmetry.rotation_occ == -np.eye(3)).all((1, 2))].all()
    assert find_inversion(symmetry) is None
    assert not calculation(structure, mesh=(3, 1, 1), symmetry_level=2, spins=2, real=True).basis.form.real


def test_grids_are_shifted_only_where_inversion_does_not_fit_them(crystal):
    assert not find_inversion(symmetry_of(silicon())).grid_shift((16, 16, 16)).any()
    inversion = find_inversion(symmetry_of(crystal("pairs")))
    shift_c = inversion.grid_shift((15, 25, 16))
    assert shift_c[1] == 0 if abs(25 * inversion.translation_c[1] - 6) < 1e-9 else shift_c[1] != 0
    for size, shift, t in zip((15, 25, 16), shift_c, inversion.translation_c, strict=True):
        steps = size * (t - 2 * shift)
        assert abs(steps - round(steps)) < 1e-6


def test_mesh_that_allows_orbitals_real_in_space_keeps_half_of_the_waves(calculation):
    assert calculation(silicon(), mesh=(2, 2, 2), symmetry_level=2, real=True).basis.form.real_in_space
    assert calculation(silicon(), mesh=(3, 3, 3), symmetry_level=2, real=True).basis.inversion is not None
    assert calculation(silicon(), mesh=(3, 3, 3), symmetry_level=0, real=True).basis.inversion is None


# -- what they give ---------------------------------------------------------------------------------------------------


@pytest.mark.fast("insulator, centre anywhere-1", "insulator, grid fits-5", "pairs and single atoms-4")
@pytest.mark.parametrize("bands", [1, 4, 5])
def test_operator_on_real_vectors_is_that_on_complex_ones(pair, bands, monkeypatch):
    real, complex_ = pair
    monkeypatch.setattr("eigenwerk.parallel.runtime.CACHE_GRID_BYTES", 3 * real.basis.wave_map.points * 16)
    x_knG = random_orbitals(real.atoms, bands)
    twin_knG = complex_twin(real, complex_, x_knG)
    assert x_knG.dtype == torch.float64 and x_knG.shape[2] == twin_knG.shape[2]
    assert_same_order(real, complex_)
    answers = []
    for calc, vector_knG in ((real, x_knG), (complex_, twin_knG)):
        moment_a = calc.structure.magmom_a
        density = atomic_density(calc.atoms, calc.parameters.electrons, moment_a)
        density = make_symmetriser(calc.kpoints.symmetry, calc.atoms)(density)
        hamiltonian = Hamiltonian.of(calc.atoms, symmetric(calc, calc.builder(density))).block()
        answers.append([*operator_images(hamiltonian, vector_knG), hamiltonian.solve_overlap(vector_knG)])
    assert_same_images(real, complex_, *answers)


@pytest.mark.slow
def test_ground_state_is_that_with_complex_orbitals(pair):
    ours, theirs = (calc.run() for calc in pair)
    atoms = len(ours.state.system.basis.structure.symbols)
    assert ours.state.system.basis.inversion is not None and ours.state.converged and theirs.state.converged
    assert abs(ours.state.energies.free - theirs.state.energies.free) < 2e-9 * atoms
    np.testing.assert_allclose(ours.forces_av, theirs.forces_av, atol=2e-6)
    np.testing.assert_allclose(ours.moment_a, theirs.moment_a, atol=1e-4)
    filled_n = (theirs.state.occupations.occ_skn > 1e-3).any(0).any(0)
    np.testing.assert_allclose(ours.state.eig_skn[..., filled_n], theirs.state.eig_skn[..., filled_n], atol=1e-6)


@pytest.mark.slow
def test_forces_of_pairs_are_tested_by_something(calculation, crystal):
    """The case of the test above has forces, among them on carbon and oxygen of opposite sign."""
    force_av = calculation(crystal("pairs"), mesh=(3, 1, 2), symmetry_level=2, real=True).run().forces_av
    assert np.abs(force_av).max() > 0.01
    np.testing.assert_allclose(force_av[[3, 4]], -force_av[[0, 2]], atol=1e-12)
    np.testing.assert_allclose(force_av[[1, 5]], 0, atol=1e-12)


@pytest.mark.slow
def test_files_restart_with_the_orbitals_if_those_are_real_by_the_same_inversion(calculation, tmp_path):
    structure = silicon(0.03)
    real, complex_ = (calculation(structure, mesh=(3, 1, 1), symmetry_level=2, real=real) for real in (True, False))
    for source in (real, complex_):
        state = source.run().state
        orbitals = whole_orbitals(source.runtime.grid, source.basis, state.coeff_sknG)
        write_state(tmp_path / "s.h5", state_tree(state, orbitals), "test")
        start = load_start(tmp_path / "s.h5", real)
        if source is complex_:
            assert start.coeff_sknG is None and "real" in start.notes[-1]
            continue
        again = real.run(start=start).state
        assert len(again.history) <= 4
        assert abs(again.energies.free - state.energies.free) < 1e-8
