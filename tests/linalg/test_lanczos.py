"""Lanczos finds the lowest states of dense twins, restarts exactly, and keeps doubles where it matters."""

from dataclasses import fields, replace

import pytest
import torch

from eigenwerk.linalg.lanczos import LanczosPlan, lanczos
from standard_matrix import StandardMatrix, starts

SIZE = 300


def symmetric_matrix(size=SIZE, seed=0, degenerate=False):
    generator = torch.Generator().manual_seed(seed)
    a = torch.randn((size, size), generator=generator, dtype=torch.float64)
    h = (a + a.T) / 2 + torch.diag(torch.arange(size, dtype=torch.float64) * 0.3) - 30 * torch.eye(size)
    if degenerate:  # each eigenvalue three times
        vectors = torch.linalg.eigh(h).eigenvectors
        h = vectors @ torch.diag(torch.arange(size).div(3, rounding_mode="floor").double() - 10) @ vectors.T
    return h


@pytest.mark.parametrize("block", [1, 4, 8, 16])
def test_lanczos_agrees_with_the_dense_eigenvalues(block):
    h = symmetric_matrix()
    operator = StandardMatrix(h)
    result = lanczos(operator, starts(block, SIZE), LanczosPlan(wanted=5, tolerance=1e-9, products=3000))
    exact = torch.linalg.eigvalsh(h)[:5]
    assert bool(result.converged_kn.all()) and result.applications == operator.applied
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
    result = lanczos(StandardMatrix(h), starts(block, SIZE), plan, watch=seen.append)
    assert bool(result.converged_kn.all()) and seen[-1].restarts > 2
    assert seen[-1].basis_mx.shape[0] == 24 + block
    assert torch.allclose(result.eig_kn[0], torch.linalg.eigvalsh(h)[:4], atol=1e-8, rtol=0)


def test_block_lanczos_finds_threefold_states():
    h = symmetric_matrix(degenerate=True)
    result = lanczos(StandardMatrix(h), starts(4, SIZE), LanczosPlan(wanted=6, tolerance=1e-9, products=4000))
    assert torch.allclose(result.eig_kn[0], torch.tensor([-10.0] * 3 + [-9.0] * 3, dtype=torch.float64), atol=1e-8)


@pytest.mark.parametrize("size", [1, 2, 5, 14])
@pytest.mark.parametrize("block", [1, 4])
def test_a_space_smaller_than_asked_for_is_solved_whole(size, block):
    h = symmetric_matrix(size)
    result = lanczos(StandardMatrix(h), starts(block, size), LanczosPlan(wanted=8, tolerance=1e-10))
    assert torch.allclose(result.eig_kn[0], torch.linalg.eigvalsh(h)[:8], atol=1e-10)
    assert bool(result.converged_kn.all()) and result.applications == size


def test_an_invariant_subspace_is_left_by_noise():
    h = torch.block_diag(symmetric_matrix(20, 1), symmetric_matrix(30, 2))
    inside = torch.nn.functional.pad(starts(1, 20), (0, 30))
    result = lanczos(StandardMatrix(h), inside, LanczosPlan(wanted=6, products=50, fixed=True, tolerance=1e-9))
    assert torch.allclose(result.eig_kn[0], torch.linalg.eigvalsh(h)[:6], atol=1e-9)


def test_a_fixed_count_is_kept_although_converged():
    operator = StandardMatrix(symmetric_matrix())
    result = lanczos(operator, starts(1, SIZE), LanczosPlan(wanted=1, products=150, fixed=True))
    assert operator.applied == result.applications == 150 and bool(result.converged_kn.all())


def test_what_did_not_converge_is_said():
    result = lanczos(StandardMatrix(symmetric_matrix()), starts(1, SIZE), LanczosPlan(wanted=3, products=10))
    assert not bool(result.converged_kn.any()) and bool((result.residual_kn > 1e-3).all())


def copied(state):
    values = {field.name: getattr(state, field.name) for field in fields(state)}
    return replace(state, **{name: v.clone() for name, v in values.items() if isinstance(v, torch.Tensor)})


@pytest.mark.parametrize("stop", [3, 9, 20])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_resumed_lanczos_gives_the_same_bits(stop, dtype):
    operator = StandardMatrix(symmetric_matrix())
    plan = LanczosPlan(wanted=4, products=120, fixed=True, space=20)
    kept = []
    whole = lanczos(operator, starts(2, SIZE, dtype), plan, watch=lambda s: kept.append(copied(s)))
    resumed = lanczos(operator, None, plan, resume=kept[stop])
    assert torch.equal(resumed.eig_kn, whole.eig_kn) and torch.equal(resumed.vectors_knx, whole.vectors_knx)
    assert kept[20].restarts > 0


def test_single_precision_vectors_give_energies_near_their_rounding():
    h = symmetric_matrix()
    result = lanczos(StandardMatrix(h), starts(1, SIZE, torch.float32), LanczosPlan(4, 1e-5, 300))
    assert result.vectors_knx.dtype == torch.float32 and result.eig_kn.dtype == torch.float64
    assert bool(result.converged_kn.all())
    assert torch.allclose(result.eig_kn[0], torch.linalg.eigvalsh(h)[:4], atol=1e-5)


def test_only_one_problem_is_taken(random_pencil, random_tensor):
    with pytest.raises(ValueError, match="one problem"):
        lanczos(random_pencil(2, 20), random_tensor(2, 1, 20), LanczosPlan(wanted=1))


def test_it_goes_on_while_a_level_may_hide_of_which_the_start_vector_holds_little():
    """Else the next pair converges first and stands in its place."""
    e_x = torch.cat([torch.tensor([-9.0, -8.0, -7.2, -7.0]), torch.linspace(-6.0, 30.0, 300)]).double()
    start_x = starts(1, len(e_x))[0]
    start_x[..., 2] *= 3e-5
    plans = {asks: LanczosPlan(wanted=3, tolerance=1e-5, unseen=3e-5 if asks else None) for asks in (False, True)}
    matrix = StandardMatrix(torch.diag(e_x))
    found = {asks: lanczos(matrix, start_x[None], plan) for asks, plan in plans.items()}
    assert found[False].converged_kn.all() and float(found[False].eig_kn[0, 2]) == pytest.approx(-7.0, abs=1e-6)
    assert found[True].converged_kn.all() and float(found[True].eig_kn[0, 2]) == pytest.approx(-7.2, abs=1e-6)
    more = found[True].applications - found[False].applications
    assert f"{more} of the {found[True].applications} products make sure that no level is missed" in found[True].notes


def test_a_level_far_below_the_others_costs_nothing_to_be_sure_of():
    """As the ground states of light nuclei are: what could hide beside them would have been seen long ago."""
    matrix = StandardMatrix(torch.diag(torch.cat([torch.tensor([-28.0]), torch.linspace(0.0, 300.0, 300)]).double()))
    products = [
        lanczos(matrix, starts(1, 301), LanczosPlan(wanted=1, unseen=unseen)).applications for unseen in (None, 3e-5)
    ]
    assert products[0] == products[1]


def test_more_products_to_be_sure_have_a_limit():
    plan = LanczosPlan(wanted=3, tolerance=1e-6, unseen=1e-30, unseen_share=0.1)
    result = lanczos(StandardMatrix(symmetric_matrix()), starts(1, SIZE), plan)
    alone = lanczos(StandardMatrix(symmetric_matrix()), starts(1, SIZE), replace(plan, unseen=None))
    assert alone.applications < result.applications <= 1.1 * alone.applications + 1
