"""Lanczos and LOBPCG find the lowest states of dense twins, restart exactly, and keep doubles where it matters."""

from dataclasses import fields, replace

import pytest
import torch

from eigenwerk.linalg.lanczos import LanczosPlan, lanczos
from eigenwerk.linalg.lobpcg import LobpcgPlan, lobpcg
from eigenwerk.linalg.symmetric import SymmetricMatrix, hashed_noise, inner

SIZE = 300


def symmetric_matrix(size=SIZE, seed=0, degenerate=False):
    generator = torch.Generator().manual_seed(seed)
    a = torch.randn((size, size), generator=generator, dtype=torch.float64)
    h = (a + a.T) / 2 + torch.diag(torch.arange(size, dtype=torch.float64) * 0.3) - 30 * torch.eye(size)
    if degenerate:  # each eigenvalue three times
        vectors = torch.linalg.eigh(h).eigenvectors
        h = vectors @ torch.diag(torch.arange(size).div(3, rounding_mode="floor").double() - 10) @ vectors.T
    return h


def start(count, size=SIZE, dtype=torch.float64):
    like = torch.zeros(1, dtype=dtype)
    return torch.cat([hashed_noise(0, size, seed, like=like) for seed in range(count)])


class Counted:
    def __init__(self, matrix):
        self.inside, self.vectors = SymmetricMatrix(matrix), 0

    def apply(self, x_nx):
        self.vectors += x_nx.shape[0]
        return self.inside.apply(x_nx)

    def sum(self, tensor):
        return tensor


@pytest.mark.parametrize("block", [1, 4, 8, 16])
def test_lanczos_agrees_with_the_dense_eigenvalues(block):
    h = symmetric_matrix()
    operator = Counted(h)
    result = lanczos(operator, start(block), LanczosPlan(wanted=5, tolerance=1e-9, products=3000))
    exact = torch.linalg.eigvalsh(h)[:5]
    assert bool(result.converged_kn.all()) and result.applications == operator.vectors
    assert torch.allclose(result.eig_kn[0], exact, atol=1e-9, rtol=0)
    x = result.vectors_knx[0]
    assert torch.allclose(x @ x.T, torch.eye(5, dtype=torch.float64), atol=1e-12)
    true_residual = torch.linalg.vector_norm(x @ h - result.eig_kn[0].unsqueeze(1) * x, dim=1)
    assert torch.allclose(true_residual, result.residual_kn[0], atol=1e-10)


@pytest.mark.parametrize("block", [1, 4])
def test_thick_restart_finds_the_same_states_in_little_memory(block):
    h = symmetric_matrix()
    plan = LanczosPlan(wanted=4, tolerance=1e-8, products=20000, space=24)
    seen = []
    result = lanczos(SymmetricMatrix(h), start(block), plan, watch=seen.append)
    assert bool(result.converged_kn.all()) and seen[-1].restarts > 2
    assert seen[-1].basis_mx.shape[0] == 24 + block
    assert torch.allclose(result.eig_kn[0], torch.linalg.eigvalsh(h)[:4], atol=1e-8, rtol=0)


def test_block_lanczos_finds_threefold_states():
    h = symmetric_matrix(degenerate=True)
    result = lanczos(SymmetricMatrix(h), start(4), LanczosPlan(wanted=6, tolerance=1e-9, products=4000))
    assert torch.allclose(result.eig_kn[0], torch.tensor([-10.0] * 3 + [-9.0] * 3, dtype=torch.float64), atol=1e-8)


@pytest.mark.parametrize("size", [1, 2, 5, 14])
@pytest.mark.parametrize("block", [1, 4])
def test_a_space_smaller_than_asked_for_is_solved_whole(size, block):
    h = symmetric_matrix(size)
    result = lanczos(SymmetricMatrix(h), start(block, size), LanczosPlan(wanted=8, tolerance=1e-10))
    assert torch.allclose(result.eig_kn[0], torch.linalg.eigvalsh(h)[:8], atol=1e-10)
    assert bool(result.converged_kn.all()) and result.applications == size


def test_an_invariant_subspace_is_left_by_noise():
    h = torch.block_diag(symmetric_matrix(20, 1), symmetric_matrix(30, 2))
    inside = torch.cat([start(1, 20), torch.zeros(1, 30, dtype=torch.float64)], dim=1)
    result = lanczos(SymmetricMatrix(h), inside, LanczosPlan(wanted=6, products=50, fixed=True, tolerance=1e-9))
    assert torch.allclose(result.eig_kn[0], torch.linalg.eigvalsh(h)[:6], atol=1e-9)


def test_a_fixed_count_is_kept_although_converged():
    operator = Counted(symmetric_matrix())
    result = lanczos(operator, start(1), LanczosPlan(wanted=1, products=150, fixed=True))
    assert operator.vectors == result.applications == 150 and bool(result.converged_kn.all())


def test_what_did_not_converge_is_said():
    result = lanczos(SymmetricMatrix(symmetric_matrix()), start(1), LanczosPlan(wanted=3, products=10))
    assert not bool(result.converged_kn.any()) and bool((result.residual_kn > 1e-3).all())


def copied(state):
    values = {field.name: getattr(state, field.name) for field in fields(state)}
    return replace(state, **{name: v.clone() for name, v in values.items() if isinstance(v, torch.Tensor)})


@pytest.mark.parametrize("stop", [3, 9, 20])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_resumed_lanczos_gives_the_same_bits(stop, dtype):
    operator = SymmetricMatrix(symmetric_matrix())
    plan = LanczosPlan(wanted=4, products=120, fixed=True, space=20)
    kept = []
    whole = lanczos(operator, start(2, dtype=dtype), plan, watch=lambda s: kept.append(copied(s)))
    resumed = lanczos(operator, None, plan, resume=kept[stop])
    assert torch.equal(resumed.eig_kn, whole.eig_kn) and torch.equal(resumed.vectors_knx, whole.vectors_knx)
    assert kept[20].restarts > 0


@pytest.mark.parametrize("stop", [0, 7, 25])
def test_a_resumed_lobpcg_gives_the_same_bits(stop):
    operator = SymmetricMatrix(symmetric_matrix())
    plan, kept = LobpcgPlan(wanted=4, products=320), []
    whole = lobpcg(operator, start(8), plan, watch=lambda s: kept.append(copied(s)))
    resumed = lobpcg(operator, None, plan, resume=kept[stop])
    assert torch.equal(resumed.eig_kn, whole.eig_kn) and torch.equal(resumed.vectors_knx, whole.vectors_knx)


@pytest.mark.parametrize("solver", ["lanczos", "lobpcg"])
def test_single_precision_vectors_give_energies_near_their_rounding(solver):
    h = symmetric_matrix()
    first = start(1 if solver == "lanczos" else 8, dtype=torch.float32)
    plan = LanczosPlan(4, 1e-5, 300) if solver == "lanczos" else LobpcgPlan(4, 1e-4, 4000)
    result = (lanczos if solver == "lanczos" else lobpcg)(SymmetricMatrix(h), first, plan)
    assert result.vectors_knx.dtype == torch.float32 and result.eig_kn.dtype == torch.float64
    assert bool(result.converged_kn.all())
    assert torch.allclose(result.eig_kn[0], torch.linalg.eigvalsh(h)[:4], atol=1e-5)


def test_sums_of_single_precision_vectors_are_double():
    a = start(3, 200_000, torch.float32)
    exact = a.double() @ a.double().T
    assert torch.allclose(inner(a, a, lambda t: t), exact, rtol=1e-13, atol=1e-9)
    assert not torch.allclose((a @ a.T).double(), exact, rtol=1e-9, atol=0)


@pytest.mark.parametrize("block", [4, 8, 16])
def test_lobpcg_agrees_with_the_dense_eigenvalues(block):
    h = symmetric_matrix()
    operator = Counted(h)
    result = lobpcg(operator, start(block), LobpcgPlan(wanted=3, tolerance=1e-9, products=8000))
    assert bool(result.converged_kn.all()) and result.applications == operator.vectors
    assert torch.allclose(result.eig_kn[0], torch.linalg.eigvalsh(h)[:3], atol=1e-9, rtol=0)


def test_a_preconditioner_saves_products():
    h = symmetric_matrix() + torch.diag(torch.arange(SIZE, dtype=torch.float64) * 5)

    def precondition(residual_nx, eig_n):
        return residual_nx / (h.diagonal().unsqueeze(0) - eig_n.unsqueeze(1)).clamp_min(5)

    plan = LobpcgPlan(wanted=4, tolerance=1e-8, products=8000)
    plain = lobpcg(SymmetricMatrix(h), start(8), plan)
    helped = lobpcg(SymmetricMatrix(h), start(8), plan, precondition=precondition)
    assert torch.allclose(helped.eig_kn, plain.eig_kn, atol=1e-9)
    assert helped.applications < 0.7 * plain.applications


@pytest.mark.parametrize("size", [8, 14, 20])
def test_lobpcg_solves_a_space_hardly_larger_than_its_block(size):
    h = symmetric_matrix(size)
    result = lobpcg(SymmetricMatrix(h), start(8, size), LobpcgPlan(wanted=6, tolerance=1e-9))
    assert torch.allclose(result.eig_kn[0], torch.linalg.eigvalsh(h)[:6], atol=1e-9)


def test_noise_does_not_depend_on_how_it_is_cut():
    like = torch.zeros(1, dtype=torch.float64)
    whole = hashed_noise(0, 1000, 7, like=like)
    parts = torch.cat([hashed_noise(0, 300, 7, like=like), hashed_noise(300, 700, 7, like=like)], dim=1)
    assert torch.equal(whole, parts)
    assert float(whole.abs().max()) < 1 and abs(float(whole.mean())) < 0.1 and 0.5 < float(whole.std()) < 0.65
    assert not torch.equal(whole, hashed_noise(0, 1000, 8, like=like))
