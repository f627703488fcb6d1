"""The orbitals that a calculation starts from."""

import numpy as np
import pytest
import torch

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.hamiltonian.wavefunctions import atomic_orbitals, random_orbitals, starting_orbitals
from eigenwerk.dft.scf.bands import solve_bands
from eigenwerk.dft.scf.solvers import davidson_method
from eigenwerk.units import BOHR_ANGSTROM


@pytest.fixture(scope="module")
def calc(crystal, calculation):
    return calculation(crystal("sic_bent"), mesh=(2, 1, 1), cutoff_eV=70.0)


@pytest.fixture(scope="module")
def hamiltonian(calc):
    return Hamiltonian.of(calc.atoms, calc.builder(calc.starting_density()))


def test_bound_states_of_all_atoms_take_part(calc, dataset):
    bound = sum(2 * s.l + 1 for symbol in ("Si", "C") for s in dataset(symbol).states if s.n is not None)
    wave_knG = atomic_orbitals(calc.atoms)
    assert wave_knG.shape == (len(calc.basis.count_k), bound, calc.basis.mask_kG.shape[1])
    for k, count in enumerate(calc.basis.count_k):
        assert (wave_knG[k, :, count:] == 0).all()


@pytest.mark.slow
def test_atomic_orbitals_of_a_lone_atom_are_orthonormal(calculation):
    """<phi|S|phi'> = delta: the pseudo partial waves carry the norm of the all-electron ones through S.

    Up to the tails that reach into the next box, one percent for 3p.
    """
    box = Structure(8.0 / BOHR_ANGSTROM * np.eye(3), ("Si",), np.array([[0.1, 0.2, 0.3]]))
    calc = calculation(box, cutoff_eV=120.0)
    hamiltonian = Hamiltonian.of(calc.atoms, calc.builder(calc.starting_density())).block()
    wave_nG = atomic_orbitals(calc.atoms)[0]
    overlap_nn = wave_nG.conj() @ hamiltonian.overlap(wave_nG[None])[0].T
    np.testing.assert_allclose(overlap_nn, np.eye(len(wave_nG)), atol=0.015)


def test_random_orbitals_do_not_depend_on_the_other_k_points(crystal, calculation, calc):
    """The same point gives the same orbitals in every list of points, so layouts over ranks agree."""
    other = calculation(crystal("sic_bent"), mesh=(2, 2, 1), cutoff_eV=70.0)
    here_knG, there_knG = random_orbitals(calc.atoms, 3), random_orbitals(other.atoms, 3)
    shared = 0
    for k, point_c in enumerate(calc.kpoints.point_kc):
        for k_other, other_c in enumerate(other.kpoints.point_kc):
            if np.allclose(point_c, other_c):
                count, shared = calc.basis.count_k[k], shared + 1
                assert torch.equal(here_knG[k, :, :count], there_knG[k_other, :, :count])
    assert shared == len(calc.basis.count_k)
    assert not torch.allclose(here_knG[0, :, :20], here_knG[1, :, :20])


def test_random_orbitals_are_smooth_and_empty_on_padding(calc):
    basis, wave_knG = calc.basis, random_orbitals(calc.atoms, 4)
    for k, count in enumerate(basis.count_k):
        assert (wave_knG[k, :, count:] == 0).all()
        magnitude_nG = (wave_knG[k, :, :count] * (1 + basis.kinetic_kG[k, :count]) ** 2).abs()
        np.testing.assert_allclose(magnitude_nG, 1.0, rtol=1e-12)


@pytest.mark.parametrize("bands", [3, 8, 14])
def test_start_is_orthonormal_and_diagonal(calc, hamiltonian, bands):
    """Ritz vectors of the Hamiltonian, also fewer or more than there are atomic orbitals."""
    x_knG = starting_orbitals(calc.atoms, hamiltonian.block(), bands)
    assert x_knG.shape[1] == bands
    h_knG, s_knG = hamiltonian.block().apply(x_knG)
    energy_knn, overlap_knn = x_knG.conj() @ h_knG.mT, x_knG.conj() @ s_knG.mT
    np.testing.assert_allclose(overlap_knn, np.broadcast_to(np.eye(bands), overlap_knn.shape), atol=1e-9)
    eig_kn = energy_knn.diagonal(dim1=1, dim2=2).real
    np.testing.assert_allclose(energy_knn, torch.diag_embed(eig_kn), atol=1e-9)
    assert (eig_kn.diff(dim=1) > -1e-12).all()


def test_blocks_of_k_points_start_like_the_whole_list(calc, hamiltonian):
    whole_knG = starting_orbitals(calc.atoms, hamiltonian.block(), 8)
    for k in (slice(0, 1), slice(1, 2)):
        part_knG = starting_orbitals(calc.atoms, hamiltonian.block(0, k), 8, k)
        # eigenvectors keep a free phase
        overlap_kn = (part_knG.conj() * hamiltonian.block().overlap(whole_knG)[k]).sum(-1).abs()
        np.testing.assert_allclose(overlap_kn, 1.0, atol=1e-8)


def test_no_band_is_missed_in_a_crystal_of_high_symmetry(crystal, calculation):
    """Empty bands of silicon at Gamma belong to representations that its s and p orbitals lack."""
    calc = calculation(crystal("si"), cutoff_eV=70.0)
    potential = calc.builder(calc.starting_density())
    bands = 14
    hamiltonian = Hamiltonian.of(calc.atoms, potential).block()
    count = calc.basis.count_k[0]
    unit_nG = torch.eye(count, dtype=torch.complex128)[None]
    h_nG, s_nG = (m[0] for m in hamiltonian.apply(unit_nG))
    lower_nn = torch.linalg.inv(torch.linalg.cholesky(s_nG.T))
    exact_n = torch.linalg.eigvalsh(lower_nn @ h_nG.T @ lower_nn.mH)[:bands]
    start_knG = starting_orbitals(calc.atoms, hamiltonian, bands)
    method = davidson_method(40)
    found = solve_bands(calc.atoms, potential, start_knG[None], method=method, tolerance=1e-7, wanted_skn=None)
    np.testing.assert_allclose(found.eig_skn[0, 0, :12], exact_n[:12], atol=1e-8)
