"""Real orbitals, where the k-points allow them, give what complex ones give."""

import numpy as np
import pytest
import torch

from complex_twins import assert_same_images, complex_twin, operator_images
from covering import but_slow
from eigenwerk.dft.basis.gathering import whole_orbitals
from eigenwerk.dft.basis.wave_form import complex_pairs, half_of, partners
from eigenwerk.dft.density.density import atomic_density
from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.hamiltonian.wavefunctions import random_orbitals
from eigenwerk.dft.runs.saving.checkpoint import load_start, orbitals_tree, state_tree, stored_orbitals
from eigenwerk.dft.scf.start.carried import Places, carried_orbitals
from eigenwerk.io.hdf5.hdf5_state import write_state

MESHES = [((1, 1, 1), (0.0, 0.0, 0.0)), ((2, 2, 2), (0.0, 0.0, 0.0)), ((2, 1, 1), (0.0, 0.0, 0.0))]

CASES = {
    # crystal of tests/dft/conftest.py and settings; EDIFF = 1e-8 eV
    "insulator": ("si_bent", {"mesh": (2, 2, 2)}),
    "metal, fillings below zero": ("al_pair", {"mesh": (2, 2, 1), "ismear": 1, "sigma_eV": 0.8}),
    "magnet": ("fe_bent", {"mesh": (2, 1, 1), "spins": 2, "cutoff_eV": 200.0, "ismear": 1, "sigma_eV": 0.2}),
    "Gamma": ("lih_bent", {"mesh": (1, 1, 1), "cutoff_eV": 250.0}),
}


def both(calculation, structure, **settings):
    """The same calculation with real and with complex orbitals."""
    return calculation(structure, real=True, **settings), calculation(structure, real=False, **settings)


@pytest.fixture(params=MESHES, ids=["1 1 1", "2 2 2", "2 1 1"])
def pair(request, calculation, crystal):
    mesh, shift = request.param
    return both(calculation, crystal("sic_bent"), mesh=mesh, shift=shift)


def test_half_of_the_waves_is_kept_and_their_partners_are_the_others(pair):
    real, complex_ = pair
    assert real.basis.form.real and not complex_.basis.form.real
    for k, point_c in enumerate(complex_.basis.point_kc):
        whole = {tuple(c) for c in complex_.basis.index_khc[k, : complex_.basis.count_k[k]].tolist()}
        index_hc = real.basis.index_khc[k, : real.basis.count_k[k]].numpy()
        kept, others = {tuple(c) for c in index_hc.tolist()}, {tuple(c) for c in partners(index_hc, point_c).tolist()}
        assert kept | others == whole
        assert kept & others == ({(0, 0, 0)} if not point_c.any() else set())
        assert half_of(index_hc, point_c).all()


@pytest.mark.parametrize(
    ("mesh", "shift", "real"),
    [((1, 1, 1), (0.0, 0.0, 0.0), True), ((2, 2, 1), (0.0, 0.0, 0.0), True), ((1, 1, 1), (0.5, 0.5, 0.0), True),
     ((1, 1, 1), (0.25, 0.0, 0.0), False), ((3, 1, 1), (0.0, 0.0, 0.0), False)],
)  # fmt: skip
def test_points_that_allow_real_orbitals(calculation, crystal, mesh, shift, real):
    calc = calculation(crystal("sic_bent"), mesh=mesh, shift=shift, real=True)
    assert calc.kpoints.allow_real_orbitals == calc.basis.form.real == real


@pytest.mark.fast("1 1 1-1", "2 2 2-5", "2 1 1-4")
@pytest.mark.parametrize("bands", [1, 4, 5])
def test_operator_on_real_vectors_is_that_on_complex_ones(pair, bands, monkeypatch):
    real, complex_ = pair
    monkeypatch.setattr("eigenwerk.parallel.runtime.CACHE_GRID_BYTES", 3 * real.basis.wave_map.points * 16)
    x_knG = random_orbitals(real.atoms, bands)
    twin_knG = complex_twin(real, complex_, x_knG)
    assert x_knG.dtype == torch.float64
    answers = []
    for calc, vector_knG in ((real, x_knG), (complex_, twin_knG)):
        density = atomic_density(calc.atoms, calc.parameters.electrons, None)
        hamiltonian = Hamiltonian.of(calc.atoms, calc.builder(density)).block()
        images = operator_images(hamiltonian, vector_knG)
        answers.append((images, [vector_knG.conj() @ other_knG.mT for other_knG in (vector_knG, *images)]))
    (ours, our_products), (theirs, their_products) = answers
    assert_same_images(real, complex_, ours, theirs)
    for ours_knn, theirs_knn in zip(our_products, their_products, strict=True):
        np.testing.assert_allclose(ours_knn, theirs_knn, atol=1e-10)


@pytest.mark.fast("Gamma")
@pytest.mark.parametrize("case", but_slow(CASES, "magnet"))
def test_ground_state_with_real_orbitals_is_that_with_complex_ones(calculation, crystal, case):
    name, settings = CASES[case]
    ours, theirs = (calc.run() for calc in both(calculation, crystal(name), **settings))
    atoms = len(ours.state.system.basis.structure.symbols)
    assert ours.state.coeff_sknG.dtype == torch.float64 and ours.state.converged and theirs.state.converged
    if "zero" in case:
        assert ours.state.occupations.occ_skn.min() < -1e-5
    assert abs(ours.state.energies.free - theirs.state.energies.free) < 2e-9 * atoms
    np.testing.assert_allclose(ours.forces_av, theirs.forces_av, atol=2e-6)
    np.testing.assert_allclose(ours.moment_a, theirs.moment_a, atol=1e-4)
    filled_n = (theirs.state.occupations.occ_skn > 1e-3).any(0).any(0)
    np.testing.assert_allclose(ours.state.eig_skn[..., filled_n], theirs.state.eig_skn[..., filled_n], atol=1e-6)


@pytest.mark.parametrize("in_space", [True, False])
def test_orbitals_come_back_from_files_to_the_last_bit_if_that_is_asked(calculation, crystal, in_space):
    """Real in space where 2k is a lattice vector, real by inversion elsewhere."""
    settings = {"mesh": (2, 2, 2)} if in_space else {"mesh": (3, 3, 3), "symmetry_level": 2}
    real = calculation(crystal("sic_bent" if in_space else "si"), real=True, **settings)
    assert real.basis.form.real_in_space == in_space
    x_sknG = random_orbitals(real.atoms, 4)[None]
    x_sknG = x_sknG * torch.linspace(0.5, 1.5, x_sknG.shape[-1], dtype=x_sknG.dtype)  # no coefficients any more
    assert x_sknG.dtype == torch.float64
    names = ("lattice_cv", "symbols", "scaled_ac")
    places = Places({name: getattr(real.structure, name) for name in names}, False)
    for exact in (True, False):
        stored = stored_orbitals(orbitals_tree(whole_orbitals(real.runtime.grid, real.basis, x_sknG, exact)))
        found_sknG = carried_orbitals(stored, places, real.atoms, 4)
        assert torch.equal(found_sknG, x_sknG) == exact
        np.testing.assert_allclose(found_sknG, x_sknG, rtol=0, atol=1e-15)


@pytest.mark.slow
def test_files_of_both_kinds_restart_as_far_as_they_can(calculation, crystal, tmp_path):
    """Real orbitals serve a complex run; complex ones, whose phases are free, give a real run their density."""
    real, complex_ = both(calculation, crystal("si_bent"), mesh=(2, 2, 2))
    for source in (real, complex_):
        state = source.run().state
        orbitals = whole_orbitals(source.runtime.grid, source.basis, state.coeff_sknG)
        path = tmp_path / f"{source.real}.h5"
        write_state(path, state_tree(state, orbitals), "test")
        for target in (real, complex_):
            start = load_start(path, target)
            if target is real and source is complex_:
                assert start.coeff_sknG is None and "real" in start.notes[-1]
                continue
            again = target.run(start=start).state
            assert len(again.history) <= 4
            assert abs(again.energies.free - state.energies.free) < 1e-8


def test_neighbours_become_complex_numbers_wherever_they_begin_in_memory():
    """A row of real vectors of odd length begins at an odd place, where PyTorch has no view for it."""
    whole_nG = torch.arange(15.0, dtype=torch.float64).reshape(3, 5)
    for row in range(3):
        found_nW = complex_pairs(whole_nG[row : row + 1, :4])
        assert torch.equal(torch.view_as_real(found_nW).flatten(), whole_nG[row, :4])
