"""Blocked Davidson against the dense twin."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenwerk.errors import ConvergenceError
from eigenwerk.linalg.bands.davidson import davidson
from eigenwerk.linalg.dense import solve_dense
from eigenwerk.linalg.products import inner
from standard_matrix import MatrixOperator, StandardMatrix, starts


def check_pairs(operator, result, exact_eig_kn, eig_limit, gram_limit=1e-12):
    """Eigenvalues, equation, orthonormality and reported residuals, all recomputed from the vectors."""
    torch.testing.assert_close(result.eig_kn.double(), exact_eig_kn.double(), atol=eig_limit, rtol=0)
    hx, sx = operator.apply(result.vectors_knx)
    residual = torch.linalg.vector_norm(hx - result.eig_kn.unsqueeze(-1) * sx, dim=-1)
    torch.testing.assert_close(residual, result.residual_kn, atol=1e3 * gram_limit, rtol=1e-2)
    unit = torch.eye(result.vectors_knx.shape[1], dtype=sx.dtype).expand(len(sx), -1, -1)
    torch.testing.assert_close(inner(result.vectors_knx, sx), unit, atol=gram_limit, rtol=0)


@pytest.mark.fast("dtype1-2", "dtype1-5", "dtype0-3")
@pytest.mark.parametrize("max_space", [2, 3, 5])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_lowest_pairs_of_random_pencils_equal_dense(random_pencil, random_tensor, dtype, max_space):
    pencil, start = random_pencil(4, 60, dtype), random_tensor(4, 6, 60, dtype=dtype)
    exact = solve_dense(pencil, start, 6)
    result = davidson(pencil, start, expansions=200, tolerance=1e-8, max_space=max_space)
    assert result.converged_kn.all() and not result.notes
    check_pairs(pencil, result, exact.eig_kn, 1e-12)


def test_single_precision_reaches_its_accuracy(random_pencil, random_tensor):
    pencil, start = random_pencil(3, 60), random_tensor(3, 6, 60)
    exact = solve_dense(pencil, start, 6)
    single = MatrixOperator(pencil.h_kxx.to(torch.complex64), pencil.s_kxx.to(torch.complex64))
    result = davidson(single, start.to(torch.complex64), expansions=60, tolerance=1e-4)
    assert result.vectors_knx.dtype == torch.complex64 and result.eig_kn.dtype == torch.float32
    assert result.converged_kn.all()
    check_pairs(single, result, exact.eig_kn, 3e-5, gram_limit=3e-6)


@pytest.mark.fast("dtype0")
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_plane_waves_converge_fast_from_bare_waves(plane_waves, random_tensor, dtype):
    """Ten expansions from single plane waves gain six digits of the eigenvalues."""
    model = plane_waves(k=3, x=201, dtype=dtype)
    exact = solve_dense(model, torch.zeros(3, 1, 201, dtype=dtype), 8)
    start = torch.zeros(3, 12, 201, dtype=dtype)
    index = model.kinetic_kx.argsort(dim=-1)[:, :12]
    start.scatter_(2, index.unsqueeze(-1), 1.0)
    start += 1e-3 * random_tensor(3, 12, 201, dtype=dtype) / (1 + model.kinetic_kx.unsqueeze(1))
    errors = []
    for expansions in (2, 6, 10):
        result = davidson(model, start, expansions=expansions)
        errors.append(float((result.eig_kn[:, :8] - exact.eig_kn).abs().max()))
    assert errors[0] < 0.3 and errors[1] < 1e-3 and errors[2] < 1e-6, errors
    weight = torch.ones(3, 12).index_fill_(1, torch.arange(8, 12), 0)
    model.applied = 0
    result = davidson(model, start, expansions=60, tolerance=1e-7, wanted_weight_kn=weight)
    assert result.converged_kn[:, :8].all()
    assert result.applications == model.applied < 33 * 36
    assert (result.eig_kn[:, :8] - exact.eig_kn).abs().max() < 1e-12


def test_h_is_applied_once_per_vector(plane_waves, random_tensor):
    model = plane_waves(k=2, x=101)
    start = random_tensor(2, 5, 101) / (1 + model.kinetic_kx.unsqueeze(1)) ** 2
    result = davidson(model, start, expansions=3)
    assert model.applied == result.applications == 2 * 5 * 4 and result.iterations == 3


def test_batch_equals_one_at_a_time(plane_waves, random_tensor):
    model = plane_waves(k=3, x=101)
    start = random_tensor(3, 5, 101) / (1 + model.kinetic_kx.unsqueeze(1)) ** 2
    together = davidson(model, start, expansions=4)
    for k in range(3):
        one = type(model)(model.kinetic_kx[k : k + 1], model.potential_xx, model.projector_kx[k : k + 1])
        alone = davidson(one, start[k : k + 1], expansions=4)
        torch.testing.assert_close(alone.eig_kn[0], together.eig_kn[k], atol=1e-11, rtol=0)
        torch.testing.assert_close(alone.residual_kn[0], together.residual_kn[k], atol=1e-10, rtol=1e-8)


def test_finished_problems_leave_the_batch_and_come_back_in_place(plane_waves, random_tensor):
    """Problems 0, 2 and 3 of five start with solutions; only 1 and 4 may cost anything after the first step."""
    model = plane_waves(k=5, x=101)
    exact = solve_dense(model, torch.zeros(5, 1, 101, dtype=torch.complex128), 7)
    start = exact.vectors_knx.clone()
    start[[1, 4]] = (random_tensor(5, 7, 101) / (1 + model.kinetic_kx.unsqueeze(1)) ** 2)[[1, 4]]
    model.applied = 0
    result = davidson(model, start, expansions=60, tolerance=1e-7)
    assert result.converged_kn.all()
    assert result.applications == model.applied
    check_pairs(model, result, exact.eig_kn, 1e-12)
    assert result.applications <= 35 + 2 * 7 * result.iterations
    torch.testing.assert_close(result.vectors_knx[2].abs(), start[2].abs(), atol=1e-9, rtol=0)


@pytest.mark.slow
def test_bands_that_do_not_count_cannot_hold_up_the_rest(random_pencil, random_tensor):
    pencil, start = random_pencil(2, 60), random_tensor(2, 6, 60)
    weight = torch.tensor([1.0, 1, 1, 0, 0, 0]).expand(2, 6)
    all_bands = davidson(pencil, start, expansions=100, tolerance=1e-8)
    some = davidson(pencil, start, expansions=100, tolerance=1e-8, wanted_weight_kn=weight)
    assert some.converged_kn[:, :3].all()
    assert some.applications < all_bands.applications


def test_tolerance_can_differ_per_band(random_pencil, random_tensor):
    pencil, start = random_pencil(2, 60), random_tensor(2, 4, 60)
    tolerance = torch.tensor([1e-9, 1e-3, 1e-3, 1e-3], dtype=torch.float64).expand(2, 4)
    result = davidson(pencil, start, expansions=100, tolerance=tolerance)
    assert result.converged_kn.all() and result.residual_kn[:, 0].max() <= 1e-9 < result.residual_kn[:, 1:].max()


def test_degenerate_levels_are_all_found(random_tensor):
    """Exact threefold degeneracies, also across the highest wanted pair."""
    level = torch.tensor([1.0] * 3 + [2.0] * 3 + [3.0] * 4 + list(range(5, 45)), dtype=torch.float64)
    unitary = torch.linalg.qr(random_tensor(2, 50, 50))[0]
    h = unitary @ torch.diag(level).to(torch.complex128) @ unitary.mH
    pencil = MatrixOperator(h, torch.eye(50, dtype=torch.complex128).expand(2, 50, 50))
    result = davidson(pencil, random_tensor(2, 8, 50, seed=5), expansions=200, tolerance=1e-8, max_space=4)
    check_pairs(pencil, result, level[:8].expand(2, 8), 1e-12)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(
    copies=st.lists(st.integers(0, 4), min_size=5, max_size=5),
    closeness=st.sampled_from([0.0, 1e-14, 1e-8, 1e-6, 1e-3]),
    dtype=st.sampled_from([torch.float64, torch.complex128]),
)
def test_dependent_start_vectors_are_no_obstacle(random_pencil, random_tensor, copies, closeness, dtype):
    """Copies and near-copies in one problem of two, with padding: the answer stays the dense one."""
    pencil, start = random_pencil(2, 40, dtype, true_size=34), random_tensor(2, 5, 40, dtype=dtype)
    start[..., 34:] = 0
    start[1] = start[1, copies] + closeness * random_tensor(5, 40, dtype=dtype, seed=9)
    start[..., 34:] = 0
    exact = solve_dense(pencil, start, 5)
    result = davidson(pencil, start, expansions=150, tolerance=1e-8)
    assert result.converged_kn.all() and torch.isfinite(result.vectors_knx).all()
    check_pairs(pencil, result, exact.eig_kn, 1e-11, gram_limit=1e-11)
    assert (result.vectors_knx[..., 34:] == 0).all()
    if closeness == 0.0:
        assert bool(result.notes) == (len(set(copies)) < 5)


def test_converged_start_vectors_stay_and_stay_finite(random_pencil):
    """Residuals of nothing but rounding, preconditioned and normalised, must not spoil the answer."""
    pencil = random_pencil(2, 40)
    exact = solve_dense(pencil, pencil.h_kxx, 5)
    result = davidson(pencil, exact.vectors_knx, expansions=6)
    check_pairs(pencil, result, exact.eig_kn, 1e-12)
    stopped = davidson(pencil, exact.vectors_knx, expansions=6, tolerance=1e-9)
    assert stopped.iterations == 0 and stopped.applications == 10 and stopped.converged_kn.all()


def test_identity_problem_with_zero_residuals_gives_no_nan():
    unit = torch.eye(10, dtype=torch.float64)[None]
    result = davidson(MatrixOperator(2 * unit, unit), unit[:, :3].clone(), expansions=4)
    assert torch.equal(result.eig_kn, torch.full((1, 3), 2.0, dtype=torch.float64))
    assert result.residual_kn.max() == 0


def test_more_vectors_than_dimensions_are_reported_as_missing(random_pencil, random_tensor):
    pencil, start = random_pencil(1, 8, true_size=3), random_tensor(1, 5, 8)
    start[..., 3:] = 0
    result = davidson(pencil, start, expansions=3, tolerance=1e-9)
    exact = solve_dense(pencil, start, 3)
    torch.testing.assert_close(result.eig_kn[:, :3], exact.eig_kn)
    assert torch.isinf(result.residual_kn[0, 3:]).all() and not result.converged_kn[0, 3:].any()
    assert result.converged_kn[0, :3].all() and "3 of 5" in result.notes[0]


def test_same_input_gives_the_same_bits(random_pencil, random_tensor):
    pencil, start = random_pencil(3, 40), random_tensor(3, 5, 40)
    start[1, 2] = start[1, 0]
    one, two = (davidson(pencil, start, expansions=5) for _ in range(2))
    assert torch.equal(one.eig_kn, two.eig_kn) and torch.equal(one.vectors_knx, two.vectors_knx)


def test_start_vectors_are_not_changed(random_pencil, random_tensor):
    pencil, start = random_pencil(2, 40), random_tensor(2, 5, 40)
    before = start.clone()
    davidson(pencil, start, expansions=2)
    assert torch.equal(start, before)


def test_skipping_the_final_residual_changes_nothing_else(random_pencil, random_tensor):
    pencil, start = random_pencil(2, 40), random_tensor(2, 5, 40)
    full, short = (davidson(pencil, start, expansions=2, final_residual=f) for f in (True, False))
    torch.testing.assert_close(full.vectors_knx, short.vectors_knx, atol=0, rtol=0)
    one = davidson(pencil, start, expansions=1)
    torch.testing.assert_close(short.residual_kn, one.residual_kn, atol=0, rtol=0)


def test_not_finite_operator_is_named(random_pencil, random_tensor):
    pencil, start = random_pencil(3, 20), random_tensor(3, 4, 20)
    pencil.h_kxx[1, 0, 0] = float("nan")
    with pytest.raises(ConvergenceError, match=r"problems \[1\]"):
        davidson(pencil, start)


def test_two_ranks_that_share_components_equal_one(on_two_ranks):
    def solve(operator, start):
        return davidson(operator, start, expansions=100, tolerance=1e-7)

    serial, start, shared = on_two_ranks(4)
    expected, results = solve(serial, start), shared(solve, start)
    assert expected.converged_kn.all()
    torch.testing.assert_close(results[0].eig_kn, expected.eig_kn, atol=1e-11, rtol=0)
    assert torch.equal(results[0].eig_kn, results[1].eig_kn)
    whole = torch.cat([r.vectors_knx for r in results], -1)
    hx, sx = serial.apply(whole)
    assert torch.linalg.vector_norm(hx - expected.eig_kn.unsqueeze(-1) * sx, dim=-1).max() < 1e-6


def symmetric_matrix(size=300, seed=0):
    a = torch.randn((size, size), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (a + a.T) / 2 + torch.diag(torch.arange(size, dtype=torch.float64) * 0.3) - 30 * torch.eye(size)


def lowest(count, block):
    """Weights by which the lowest pairs decide, and the others guard them."""
    return (torch.arange(block) < count).unsqueeze(0)


@pytest.mark.fast("16")
@pytest.mark.parametrize("block", [4, 8, 16])
def test_in_three_blocks_it_is_lobpcg(block):
    """In a space of 3 n, at most 2 % more products than a LOBPCG that keeps [X, P] orthonormal: 334, 459, 620."""
    h = symmetric_matrix()
    operator, most = StandardMatrix(h), {4: 340, 8: 468, 16: 632}
    result = davidson(
        operator, starts(block, 300), expansions=1000, tolerance=1e-9, relative=True, wanted_weight_kn=lowest(3, block)
    )
    assert bool(result.converged_kn[:, :3].all()) and result.applications == operator.applied < most[block]
    assert torch.allclose(result.eig_kn[0, :3], torch.linalg.eigvalsh(h)[:3], atol=1e-9, rtol=0)


@pytest.mark.parametrize("size", [8, 14, 20])
def test_a_standard_problem_hardly_larger_than_its_block_is_solved(size):
    h = symmetric_matrix(size)
    result = davidson(StandardMatrix(h), starts(8, size), expansions=400, tolerance=1e-9, wanted_weight_kn=lowest(6, 8))
    assert torch.allclose(result.eig_kn[0, :6], torch.linalg.eigvalsh(h)[:6], atol=1e-9)


def test_sums_in_double_give_energies_near_the_rounding_of_single_precision_vectors():
    h = symmetric_matrix()
    result = davidson(
        StandardMatrix(h), starts(8, 300, torch.float32), expansions=400, tolerance=1e-5, relative=True,
        wanted_weight_kn=lowest(4, 8),
    )  # fmt: skip
    assert result.vectors_knx.dtype == torch.float32 and result.eig_kn.dtype == torch.float64
    assert bool(result.converged_kn[:, :4].all())
    assert torch.allclose(result.eig_kn[0, :4], torch.linalg.eigvalsh(h)[:4], atol=1e-5)


def test_a_relative_tolerance_is_one_of_the_energies():
    operator = StandardMatrix(symmetric_matrix())
    loose = davidson(operator, starts(4, 300), expansions=400, tolerance=1e-6, relative=True)
    bound_kn = 1e-6 * loose.eig_kn.abs()
    assert loose.converged_kn.all() and (loose.residual_kn <= bound_kn).all() and (loose.residual_kn > 1e-6).any()


def test_no_step_begins_after_the_last_product_that_is_allowed():
    operator = StandardMatrix(symmetric_matrix())
    result = davidson(operator, starts(4, 300), expansions=400, tolerance=1e-12, products=30)
    assert 30 <= result.applications == operator.applied < 30 + 3 * 4 and not result.converged_kn.any()
    true_knx = result.vectors_knx @ operator.matrix_xx - result.eig_kn.unsqueeze(-1) * result.vectors_knx
    torch.testing.assert_close(torch.linalg.vector_norm(true_knx, dim=-1), result.residual_kn)


def test_a_preconditioner_saves_products():
    h = symmetric_matrix() + torch.diag(torch.arange(300, dtype=torch.float64) * 5)

    class Helped(StandardMatrix):
        def precondition(self, residual_knx, eig_kn, x_knx, k=slice(None)):
            return residual_knx / (h.diagonal() - eig_kn.unsqueeze(-1)).clamp_min(5)

    asked = {"expansions": 1000, "tolerance": 1e-7, "wanted_weight_kn": lowest(4, 8)}
    plain, helped = (davidson(kind(h), starts(8, 300), **asked) for kind in (StandardMatrix, Helped))
    assert torch.allclose(helped.eig_kn[:, :4], plain.eig_kn[:, :4], atol=1e-9)
    assert helped.applications < 0.7 * plain.applications


def test_neither_start_vectors_nor_a_state_is_an_error(random_pencil):
    with pytest.raises(ValueError, match="start vectors"):
        davidson(random_pencil(1, 10), None)
