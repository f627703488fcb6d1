"""The Hamiltonian as an operator: its dense matrix, its symmetry, its blocks and its eigenvalues."""

from math import inf

import numpy as np
import pytest
import torch

from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.hamiltonian.wavefunctions import random_orbitals as smooth_orbitals
from eigenwerk.dft.paw.one_centre import OneCentreMatrix
from eigenwerk.linalg.bands.davidson import davidson
from eigenwerk.linalg.dense import generalised_eigh, host_eigh


@pytest.fixture(scope="module")
def calc(crystal, calculation):
    return calculation(crystal("sic_bent"), mesh=(2, 1, 2), cutoff_eV=110.0)


@pytest.fixture(scope="module")
def potential(calc, disturbed):
    return calc.builder(disturbed(calc.atoms, 1, calc.parameters.electrons))


@pytest.fixture(scope="module")
def hamiltonian(calc, potential):
    return Hamiltonian.of(calc.atoms, potential).block()


def one_centre(atoms, flat_x):
    return OneCentreMatrix(atoms.layout, flat_x[None], torch.complex128).dense()[0].numpy()


def dense(calc, potential, k):
    """H and S of one k-point written out: v(G - G'), kinetic energy, projectors."""
    basis, atoms = calc.basis, calc.atoms
    count = basis.count_k[k]
    index_Gc = basis.index_khc[k, :count].numpy()
    index_gc = basis.index_gc[: basis.density_count].numpy()
    value = {}
    for index_c, v in zip(index_gc, potential.vt_sg[0].numpy(), strict=True):
        value[tuple(index_c)], value[tuple(-index_c)] = v, v.conj()
    value[0, 0, 0] = value[0, 0, 0].real
    h_GG = np.array([[value[tuple(a - b)] for b in index_Gc] for a in index_Gc])
    h_GG = h_GG + np.diag(basis.kinetic_kG[k, :count].numpy())
    p_GI = atoms.projector_kIG[k, :, :count].numpy().T
    h_GG = h_GG + p_GI @ one_centre(atoms, potential.dH_sx[0]) @ p_GI.conj().T
    s_GG = np.eye(count) + p_GI @ one_centre(atoms, atoms.overlap_x) @ p_GI.conj().T
    return torch.as_tensor(h_GG), torch.as_tensor(s_GG)


def random_orbitals(calc, n, seed=0):
    shape = (len(calc.basis.count_k), n, calc.basis.mask_kG.shape[1])
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=draw, dtype=torch.complex128) * calc.basis.mask_kG[:, None]


def test_operator_equals_its_dense_matrix(calc, potential, hamiltonian):
    x_knG = random_orbitals(calc, 3)
    h_knG, s_knG = hamiltonian.apply(x_knG)
    for k, count in enumerate(calc.basis.count_k):
        h_GG, s_GG = dense(calc, potential, k)
        np.testing.assert_allclose(h_knG[k, :, :count], x_knG[k, :, :count] @ h_GG.T, atol=1e-10)
        np.testing.assert_allclose(s_knG[k, :, :count], x_knG[k, :, :count] @ s_GG.T, atol=1e-10)


def test_padding_stays_empty(calc, hamiltonian):
    x_knG = random_orbitals(calc, 3)
    residual_knG = x_knG.clone()
    results = [*hamiltonian.apply(x_knG), hamiltonian.overlap(x_knG)]
    results.append(hamiltonian.precondition(residual_knG, torch.zeros(x_knG.shape[:2]), x_knG))
    for result_knG in results:
        for k, count in enumerate(calc.basis.count_k):
            assert (result_knG[k, :, count:] == 0).all()
    assert min(calc.basis.count_k) < calc.basis.mask_kG.shape[1]


def test_hamiltonian_is_hermitian_and_overlap_positive(calc, hamiltonian):
    x_knG = random_orbitals(calc, 12, seed=1)
    h_knG, s_knG = hamiltonian.apply(x_knG)
    h_knn, s_knn = x_knG.conj() @ h_knG.mT, x_knG.conj() @ s_knG.mT
    assert float((h_knn - h_knn.mH).abs().max()) < 1e-9
    assert float(torch.linalg.eigvalsh(s_knn).min()) > 0


def test_overlap_alone_equals_overlap_with_hamiltonian(calc, hamiltonian):
    x_knG = random_orbitals(calc, 3)
    np.testing.assert_allclose(hamiltonian.overlap(x_knG), hamiltonian.apply(x_knG)[1], atol=1e-12)


def test_batched_equals_one_by_one(calc, hamiltonian):
    x_knG = random_orbitals(calc, 4)
    h_knG, s_knG = hamiltonian.apply(x_knG)
    for k in range(x_knG.shape[0]):
        for n in range(4):
            h_G, s_G = (y[0, 0] for y in hamiltonian.apply(x_knG[k : k + 1, n : n + 1], slice(k, k + 1)))
            np.testing.assert_allclose(h_G, h_knG[k, n], atol=1e-12)
            np.testing.assert_allclose(s_G, s_knG[k, n], atol=1e-12)


def test_any_choice_of_k_points_and_blocks_gives_the_same(calc, hamiltonian):
    x_knG = random_orbitals(calc, 3)
    h_knG, _ = hamiltonian.apply(x_knG)
    chosen_k = torch.tensor([3, 0])
    np.testing.assert_allclose(hamiltonian.apply(x_knG[chosen_k], chosen_k)[0], h_knG[chosen_k], atol=1e-12)
    block = hamiltonian.whole.block(0, slice(1, 4))
    np.testing.assert_allclose(block.apply(x_knG[1:4])[0], h_knG[1:4], atol=1e-12)
    last = torch.tensor([2])
    np.testing.assert_allclose(block.apply(x_knG[3:4], last)[0], h_knG[3:4], atol=1e-12)


def test_grid_batches_do_not_change_the_result(calc, hamiltonian, monkeypatch):
    x_knG = random_orbitals(calc, 5)
    whole_knG = hamiltonian.apply(x_knG)[0]
    points = int(np.prod(calc.basis.grids.wave))
    for orbitals in (1, 3, 7):
        monkeypatch.setattr("eigenwerk.parallel.runtime.CACHE_GRID_BYTES", orbitals * points * 16)
        np.testing.assert_allclose(hamiltonian.apply(x_knG)[0], whole_knG, atol=1e-12)


LOBPCG_OF_NCCI = {
    "expansions": inf, "max_space": 3, "tolerance": 1e-6, "relative": True, "products": 4000, "eigh": host_eigh,
    "wanted_weight_kn": torch.arange(8).unsqueeze(0) < 6,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.fast("davidson")
@pytest.mark.parametrize("asked", [{"expansions": 40, "tolerance": 1e-6}, LOBPCG_OF_NCCI], ids=["davidson", "lobpcg"])
def test_davidson_finds_the_eigenvalues_of_the_dense_matrix(calc, potential, hamiltonian, asked):
    """As self-consistency calls it, and as ncci does."""
    bands = 6
    result = davidson(hamiltonian, random_orbitals(calc, bands + 2), **asked)
    assert result.converged_kn[:, :bands].all()
    for k in range(len(calc.basis.count_k)):
        eig_n = generalised_eigh(*(m[None] for m in dense(calc, potential, k)))[0][0, :bands]
        np.testing.assert_allclose(result.eig_kn[k, :bands], eig_n, atol=1e-10)


def test_preconditioner_damps_short_waves_only(calc, hamiltonian):
    """K = 1 for long waves, K -> 1/(2x) for waves of much higher kinetic energy than the band's."""
    x_knG = torch.zeros_like(random_orbitals(calc, 1))
    low = int(calc.basis.kinetic_kG[0, : calc.basis.count_k[0]].argsort()[1])
    x_knG[:, :, low] = 1.0
    ones_knG = torch.ones_like(x_knG) * calc.basis.mask_kG[:, None]
    factor_G = hamiltonian.precondition(ones_knG, torch.zeros(x_knG.shape[:2]), x_knG)[0, 0].real
    kinetic_G = calc.basis.kinetic_kG[0]
    assert float(factor_G[kinetic_G.argmin()]) == pytest.approx(1.0, abs=1e-6)
    x = float(kinetic_G.max() / (1.5 * kinetic_G[low]))
    assert float(factor_G[kinetic_G.argmax()]) == pytest.approx(1 / (2 * x), rel=0.5)
    order = kinetic_G[: calc.basis.count_k[0]].argsort()
    assert (factor_G[order].diff() <= 1e-12).all()


def test_one_centre_blocks_act_like_the_whole_matrix(calc, potential, monkeypatch):
    proj_knI = torch.randn(2, 3, calc.atoms.layout.projector_count, dtype=torch.complex128)
    matrix = OneCentreMatrix(calc.atoms.layout, potential.dH_sx, torch.complex128)
    monkeypatch.setattr("eigenwerk.dft.paw.one_centre.DENSE_LIMIT", 0)
    blocks = OneCentreMatrix(calc.atoms.layout, potential.dH_sx, torch.complex128)
    np.testing.assert_allclose(blocks.times(proj_knI), matrix.times(proj_knI), atol=1e-12)
    np.testing.assert_allclose(matrix.times(proj_knI), proj_knI @ matrix.dense()[0], atol=1e-12)


@pytest.mark.fast("True")
@pytest.mark.parametrize("real", [True, False])
def test_inverse_overlap_undoes_the_overlap(crystal, calculation, real):
    """The identity of Woodbury through the projectors, for complex and real vectors, some of the k-points."""
    calc = calculation(crystal("lih_bent"), mesh=(2, 1, 1), cutoff_eV=150.0, real=real)
    hamiltonian = Hamiltonian.of(calc.atoms, calc.builder(calc.starting_density())).block()
    x_knG = smooth_orbitals(calc.atoms, 5)
    torch.testing.assert_close(hamiltonian.solve_overlap(hamiltonian.overlap(x_knG)), x_knG, atol=1e-12, rtol=0)
    part = hamiltonian.whole.block(0, slice(1, 2))
    torch.testing.assert_close(part.overlap(part.solve_overlap(x_knG[1:])), x_knG[1:], atol=1e-12, rtol=0)
