"""Solvers that move each band by itself, against the dense twin and blocked Davidson."""

import pytest
import torch

from eigenwerk.errors import ConvergenceError
from eigenwerk.linalg.bands.conjugate import conjugate
from eigenwerk.linalg.bands.davidson import davidson
from eigenwerk.linalg.bands.rmm_diis import rmm_diis
from eigenwerk.linalg.dense import dense_eigh, solve_dense
from eigenwerk.linalg.images import images
from eigenwerk.linalg.products import inner
from eigenwerk.linalg.ritz import last_ritz
from standard_matrix import MatrixOperator

SOLVERS = pytest.mark.parametrize("solver", [rmm_diis, conjugate])
DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])


def warm_start(model, random_tensor, bands, dtype, expansions=4):
    """Vectors that span the lowest states roughly, as band-by-band solvers need them."""
    problems, size = model.kinetic_kx.shape
    start = random_tensor(problems, bands, size, dtype=dtype) / (1 + model.kinetic_kx.unsqueeze(1)) ** 2
    return davidson(model, start, expansions=expansions).vectors_knx


def solved(solver, operator, x_knx, rounds, **options):
    """Call after call, as a loop of self-consistency would."""
    total = 0
    for _ in range(rounds):
        result = solver(operator, x_knx, **options)
        x_knx, total = result.vectors_knx, total + result.applications
        if result.converged_kn.all():
            break
    return result, total


@pytest.mark.fast("dtype0-conjugate", "dtype1-rmm_diis")
@SOLVERS
@DTYPES
def test_lowest_pairs_of_plane_waves_equal_dense(plane_waves, random_tensor, solver, dtype):
    model = plane_waves(k=3, x=151, dtype=dtype)
    exact = solve_dense(model, torch.zeros(3, 1, 151, dtype=dtype), 8)
    weight = (torch.arange(10) < 8).double().expand(3, 10)
    start = warm_start(model, random_tensor, 10, dtype)
    model.applied = 0
    result, total = solved(solver, model, start, 60, steps=3, tolerance=1e-8, wanted_weight_kn=weight)
    assert result.converged_kn[:, :8].all() and not result.notes
    assert total == model.applied
    torch.testing.assert_close(result.eig_kn[:, :8], exact.eig_kn, atol=1e-11, rtol=0)
    hx, sx = model.apply(result.vectors_knx)
    residual = torch.linalg.vector_norm(hx - result.eig_kn.unsqueeze(-1) * sx, dim=-1)
    torch.testing.assert_close(residual, result.residual_kn, atol=1e-10, rtol=1e-3)
    unit = torch.eye(10, dtype=dtype).expand(3, 10, 10)
    torch.testing.assert_close(inner(result.vectors_knx, sx), unit, atol=1e-12, rtol=0)


@SOLVERS
def test_a_few_directions_gain_digits(plane_waves, random_tensor, solver):
    """One call with two directions lowers the residuals, and the energy of all bands."""
    model = plane_waves(k=2, x=151)
    start = warm_start(model, random_tensor, 10, torch.complex128, expansions=8)
    before = davidson(model, start, expansions=0)
    after = solver(model, start, steps=2)
    assert after.applications == 2 * 10 * 3 and after.iterations == 2
    assert after.residual_kn[:, :8].max() < 0.5 * before.residual_kn[:, :8].max()
    assert (after.eig_kn.sum(-1) < before.eig_kn.sum(-1)).all()


@SOLVERS
@DTYPES
def test_degenerate_levels_are_all_kept(random_tensor, solver, dtype):
    """Threefold levels: bands that move by themselves must not fall onto one another."""
    level = torch.tensor([1.0] * 3 + [2.0] * 3 + [3.0] * 4 + list(range(5, 45)), dtype=torch.float64)
    unitary = torch.linalg.qr(random_tensor(2, 50, 50, dtype=dtype))[0]
    pencil = MatrixOperator(
        unitary @ torch.diag(level).to(dtype) @ unitary.mH, torch.eye(50, dtype=dtype).expand(2, 50, 50)
    )
    start = davidson(pencil, random_tensor(2, 10, 50, dtype=dtype, seed=5), expansions=6).vectors_knx
    result, _ = solved(solver, pencil, start, 60, steps=3, tolerance=1e-8)
    torch.testing.assert_close(result.eig_kn, level[:10].expand(2, 10), atol=1e-12, rtol=0)


@SOLVERS
def test_problems_and_bands_at_rest_cost_nothing_and_keep_their_places(plane_waves, random_tensor, solver):
    """Problems 0 and 2 of four start solved; in the others the lowest bands are far better than the rest."""
    model = plane_waves(k=4, x=101)
    exact = solve_dense(model, torch.zeros(4, 1, 101, dtype=torch.complex128), 7)
    noise = random_tensor(4, 7, 101) / (1 + model.kinetic_kx.unsqueeze(1)) ** 2
    size = torch.tensor([1e-9] * 4 + [1e-2] * 3).unsqueeze(-1)
    start = exact.vectors_knx + noise * size * torch.tensor([0.0, 1, 0, 1]).view(4, 1, 1)
    result = solver(model, start, steps=3, tolerance=1e-6)
    assert result.applications <= 4 * 7 + 3 * 2 * 3 + 2 * 7
    assert result.residual_kn[[0, 2]].max() < 1e-8
    together = result.eig_kn
    torch.testing.assert_close(together, exact.eig_kn, atol=3e-4, rtol=0)
    for k in range(4):
        one = type(model)(model.kinetic_kx[k : k + 1], model.potential_xx, model.projector_kx[k : k + 1])
        alone = solver(one, start[k : k + 1], steps=3, tolerance=1e-6)
        torch.testing.assert_close(alone.eig_kn[0], together[k], atol=1e-12, rtol=0)


@SOLVERS
def test_residuals_without_the_last_rotation_are_about_right(plane_waves, random_tensor, solver):
    model = plane_waves(k=2, x=151)
    start = warm_start(model, random_tensor, 10, torch.complex128, expansions=8)
    exact = solver(model, start, steps=2)
    quick = solver(model, start, steps=2, final_residual=False)
    torch.testing.assert_close(quick.eig_kn, exact.eig_kn, atol=1e-13, rtol=0)
    ratio = quick.residual_kn.max(-1).values / exact.residual_kn.max(-1).values
    assert ratio.min() > 0.5 and ratio.max() < 2


@SOLVERS
def test_unwanted_bands_get_one_direction(plane_waves, random_tensor, solver):
    model = plane_waves(k=2, x=151)
    start = warm_start(model, random_tensor, 10, torch.complex128)
    weight = (torch.arange(10) < 5).double().expand(2, 10)
    result = solver(model, start, steps=3, tolerance=1e-12, wanted_weight_kn=weight)
    assert result.applications == 2 * (10 + 10 + 5 + 5)


@SOLVERS
def test_dependent_start_vectors_are_replaced(plane_waves, random_tensor, solver):
    model = plane_waves(k=2, x=101)
    start = warm_start(model, random_tensor, 6, torch.complex128)
    start[0, 3] = start[0, 2]
    result = solver(model, start, steps=2)
    assert "problem: 0 (5 of 6)" in result.notes[0]
    gram = inner(result.vectors_knx, model.overlap(result.vectors_knx))
    torch.testing.assert_close(gram, torch.eye(6, dtype=torch.complex128).expand(2, 6, 6), atol=1e-12, rtol=0)


@DTYPES
def test_bands_that_ran_into_each_other_are_found_again(plane_waves, random_tensor, dtype):
    """After the moves of single bands, two of them equal but for rounding: orthonormal pairs, and a note."""
    model = plane_waves(k=2, x=101, dtype=dtype)
    x_knx = warm_start(model, random_tensor, 6, dtype)
    x_knx[1, 3] = x_knx[1, 2] * (1 + 1e-15)
    none_kn = torch.zeros(2, 6, dtype=torch.bool)
    last = last_ritz(model, images(model, x_knx), none_kn, dense_eigh, vectors_only=True)
    assert "bands ran into each other (1 lost)" in last.notes[0]
    hx, sx = model.apply(last.images.x_knx)
    unit = torch.eye(6, dtype=dtype).expand(2, 6, 6)
    torch.testing.assert_close(inner(last.images.x_knx, sx), unit, atol=1e-12, rtol=0)
    torch.testing.assert_close(
        inner(last.images.x_knx, hx), torch.diag_embed(last.eig_kn).to(dtype), atol=1e-11, rtol=0
    )


@SOLVERS
def test_an_operator_that_returns_nan_is_named(plane_waves, random_tensor, solver):
    model = plane_waves(k=2, x=51)
    model.potential_xx[3, 3] = float("nan")
    with pytest.raises(ConvergenceError, match="not finite in problems"):
        solver(model, random_tensor(2, 4, 51), steps=2)


@SOLVERS
def test_two_ranks_that_share_components_equal_one(on_two_ranks, solver):
    def solve(operator, start):
        return solver(operator, davidson(operator, start, expansions=3).vectors_knx, steps=3, tolerance=1e-4)

    serial, start, shared = on_two_ranks(4)
    expected, results = solve(serial, start), shared(solve, start)
    assert expected.iterations == 3
    assert torch.equal(results[0].eig_kn, results[1].eig_kn)
    torch.testing.assert_close(results[0].eig_kn, expected.eig_kn, atol=1e-11, rtol=0)
    torch.testing.assert_close(results[0].residual_kn, expected.residual_kn, atol=1e-9, rtol=1e-5)
