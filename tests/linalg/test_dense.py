"""Dense batched problems, and the slow twin of the solvers."""

import numpy as np
import pytest
import scipy.linalg
import torch

from eigenwerk.linalg.dense import generalised_eigh, solve_dense


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_generalised_eigh_equals_lapack(random_pencil, dtype):
    pencil = random_pencil(4, 13, dtype)
    eig_km, c_kmm, rank_k = generalised_eigh(pencil.h_kxx, pencil.s_kxx)
    for k in range(4):
        expected = scipy.linalg.eigh(pencil.h_kxx[k].numpy(), pencil.s_kxx[k].numpy(), eigvals_only=True)
        np.testing.assert_allclose(eig_km[k], expected, atol=1e-12)
    assert rank_k.tolist() == [13] * 4
    torch.testing.assert_close(c_kmm.mH @ pencil.s_kxx @ c_kmm, torch.eye(13, dtype=dtype).expand(4, 13, 13))


def test_dependent_directions_come_last_and_leave_the_others_exact(random_pencil, random_tensor):
    """Problem 1 of 3 is given in a basis with two dependent vectors and one of length zero."""
    pencil = random_pencil(3, 10)
    basis = torch.eye(10, dtype=torch.complex128).repeat(3, 1, 1)
    basis = torch.cat([basis, random_tensor(3, 10, 3)], -1)  # thirteen vectors in ten dimensions
    basis[1, :, 12] = 0
    h, s = (basis.mH @ a @ basis for a in (pencil.h_kxx, pencil.s_kxx))
    h, s = torch.cat([h, h[:1, :, :] + torch.eye(13)]), torch.cat([s, torch.eye(13)[None] + 0 * s[:1]])
    eig_km, c_kmm, rank_k = generalised_eigh(h, s)
    assert rank_k.tolist() == [10, 10, 10, 13]
    exact_km, _, _ = generalised_eigh(pencil.h_kxx, pencil.s_kxx)
    torch.testing.assert_close(eig_km[:3, :10], exact_km, atol=1e-11, rtol=0)
    assert torch.isfinite(eig_km).all() and torch.isfinite(c_kmm).all()
    assert (eig_km[:3, 10:] > exact_km.amax() + 0.5).all() and (c_kmm[:3, :, 10:] == 0).all()
    gram = c_kmm[:3, :, :10].mH @ s[:3] @ c_kmm[:3, :, :10]
    torch.testing.assert_close(gram, torch.eye(10, dtype=gram.dtype).expand(3, 10, 10), atol=1e-10, rtol=0)


@pytest.mark.parametrize("closeness", [1e-3, 1e-5, 1e-6, 1e-9, 0.0])
def test_nearly_dependent_pair_keeps_eigenvalues(random_pencil, random_tensor, closeness):
    pencil = random_pencil(2, 8)
    basis = torch.eye(8, dtype=torch.complex128).repeat(2, 1, 1)
    copy = basis[:, :, :1] + closeness * random_tensor(2, 8, 1)
    basis = torch.cat([basis, copy], -1)
    eig_km, _, rank_k = generalised_eigh(basis.mH @ pencil.h_kxx @ basis, basis.mH @ pencil.s_kxx @ basis)
    exact_km, _, _ = generalised_eigh(pencil.h_kxx, pencil.s_kxx)
    assert rank_k.tolist() == [8, 8]
    torch.testing.assert_close(eig_km[:, :8], exact_km, atol=1e-11, rtol=0)


def test_another_dense_solver_can_be_plugged_in(random_pencil):
    pencil, calls = random_pencil(2, 5), []

    def by_numpy(h_kmm):
        calls.append(h_kmm.shape)
        return tuple(torch.from_numpy(a) for a in np.linalg.eigh(h_kmm.numpy()))

    eig_km, _, _ = generalised_eigh(pencil.h_kxx, pencil.s_kxx, eigh=by_numpy)
    assert calls == [(2, 5, 5)]
    torch.testing.assert_close(eig_km, generalised_eigh(pencil.h_kxx, pencil.s_kxx)[0])


def test_solve_dense_satisfies_the_equation_and_ignores_padding(random_pencil):
    pencil = random_pencil(3, 12, true_size=9)
    result = solve_dense(pencil, pencil.h_kxx)
    assert result.converged_kn.sum(-1).tolist() == [9, 9, 9]
    assert result.residual_kn[:, :9].max() < 1e-12
    assert (result.vectors_knx[..., 9:] == 0).all()
    expected = scipy.linalg.eigh(pencil.h_kxx[1, :9, :9].numpy(), pencil.s_kxx[1, :9, :9].numpy(), eigvals_only=True)
    np.testing.assert_allclose(result.eig_kn[1, :9], expected, atol=1e-12)


def test_whole_matrices_on_two_ranks_that_share_components_equal_one(on_two_ranks):
    def solve(operator, start):
        return solve_dense(operator, start, 5, first_component=operator.first_component)

    serial, start, shared = on_two_ranks(5)
    expected, results = solve(serial, start), shared(solve, start)
    assert expected.residual_kn.max() < 1e-12
    for result in results:
        torch.testing.assert_close(result.eig_kn, expected.eig_kn, atol=1e-12, rtol=0)
        assert result.residual_kn.max() < 1e-12 and result.applications == 3 * 60
    whole = torch.cat([result.vectors_knx for result in results], -1)
    hx, sx = serial.apply(whole)
    assert torch.linalg.vector_norm(hx - expected.eig_kn.unsqueeze(-1) * sx, dim=-1).max() < 1e-11


def test_unit_vectors_come_in_batches(random_pencil, random_tensor, monkeypatch):
    pencil, like = random_pencil(2, 25), random_tensor(2, 1, 25)
    expected = solve_dense(pencil, like, 4)
    monkeypatch.setattr("eigenwerk.linalg.dense.UNIT_VECTORS", 7)
    torch.testing.assert_close(solve_dense(pencil, like, 4).eig_kn, expected.eig_kn, atol=1e-12, rtol=0)
