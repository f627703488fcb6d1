"""Davidson where the search space fills the problem: directions run out and only rounding is left."""

import pytest
import torch
from torch.nn.functional import pad

from eigenwerk.linalg.bands.davidson import davidson
from eigenwerk.linalg.bands.subspace import subspace
from eigenwerk.linalg.dense import solve_dense
from eigenwerk.linalg.images import images
from eigenwerk.linalg.orthogonal import complement, moved
from eigenwerk.linalg.products import inner
from standard_matrix import MatrixOperator

SIZES = (31, 32, 36, 36)


@pytest.fixture(scope="module")
def padded_pencil(random_pencil, random_tensor):
    """(operator, start vectors): problems of different size, padded to the longest."""

    def make(sizes, bands, dtype=torch.complex128, seed=0):
        whole = random_pencil(len(sizes), max(sizes), seed=seed)
        inside_kx = torch.arange(max(sizes)) < torch.tensor(sizes)[:, None]
        both_kxx = inside_kx[:, :, None] & inside_kx[:, None, :]
        start = random_tensor(len(sizes), bands, max(sizes), seed=seed + 7) * inside_kx[:, None]
        operator = MatrixOperator((whole.h_kxx * both_kxx).to(dtype), (whole.s_kxx * both_kxx).to(dtype))
        return operator, start.to(dtype)

    return make


def check(operator, start, result, limit):
    """Against the dense twin: nothing below the true values, honest residuals, orthonormal, padding untouched."""
    double = MatrixOperator(operator.h_kxx.to(torch.complex128), operator.s_kxx.to(torch.complex128))
    exact, missing = solve_dense(double, start.to(torch.complex128), start.shape[1]), start.shape[1] - start.shape[2]
    exists_kn, eig_kn = (pad(a, (0, max(missing, 0))) for a in (exact.converged_kn, exact.eig_kn))
    error_kn = (result.eig_kn.double() - eig_kn)[exists_kn]
    assert error_kn.min() > -limit, error_kn.min()
    assert torch.isfinite(result.eig_kn).all() and torch.isfinite(result.vectors_knx).all()
    hx, sx = operator.apply(result.vectors_knx)
    residual_kn = torch.linalg.vector_norm(hx - result.eig_kn.unsqueeze(-1) * sx, dim=-1)
    assert torch.equal(torch.isfinite(result.residual_kn), exists_kn)
    assert (residual_kn - result.residual_kn)[exists_kn].abs().max() < limit
    unit = torch.diag_embed(exists_kn.to(sx.dtype))
    torch.testing.assert_close(inner(result.vectors_knx, sx), unit, atol=limit, rtol=0)
    return float(error_kn.max())


@pytest.mark.parametrize("max_space", [2, 3, 4])
@pytest.mark.parametrize("expansions", [15, 30])
@pytest.mark.parametrize("tolerance", [0.0, 1e-8])
def test_expanding_past_convergence_keeps_the_answer(padded_pencil, max_space, expansions, tolerance):
    """Ten bands in 31 to 36 dimensions converge at different steps; before, the lowest value fell without bound."""
    operator, start = padded_pencil(SIZES, 10)
    result = davidson(operator, start, expansions=expansions, tolerance=tolerance, max_space=max_space)
    above = check(operator, start, result, 1e-11)
    assert above < (1e-11 if max_space == 4 or (max_space == 3 and expansions == 30) else 0.1)


@pytest.mark.parametrize("max_space", [2, 3, 4])
@pytest.mark.parametrize("tolerance", [0.0, 1e-4])
def test_single_precision_in_a_full_space(padded_pencil, max_space, tolerance):
    operator, start = padded_pencil(SIZES, 10, torch.complex64)
    result = davidson(operator, start, expansions=30, tolerance=tolerance, max_space=max_space)
    above = check(operator, start, result, 5e-5)
    assert max_space == 2 or above < 2e-5


@pytest.mark.parametrize("bands", [10, 12, 14])
@pytest.mark.parametrize("max_space", [2, 3, 4])
def test_as_many_bands_as_dimensions_or_more(padded_pencil, bands, max_space):
    """Twelve dimensions in one problem, ten in another: what does not exist is infinite in the residual only."""
    operator, start = padded_pencil((12, 11, 10), bands)
    result = davidson(operator, start, expansions=20, max_space=max_space)
    assert check(operator, start, result, 1e-11) < 1e-11
    assert bool(result.notes) == (bands > 10)


def test_degenerate_levels_in_a_full_space(random_tensor):
    level = torch.tensor([1.0] * 4 + [2.0] * 5 + [3.0] * 22, dtype=torch.float64)
    unitary = torch.linalg.qr(random_tensor(3, 31, 31))[0]
    h = unitary @ torch.diag(level).to(torch.complex128) @ unitary.mH
    operator = MatrixOperator((h + h.mH) / 2, torch.eye(31, dtype=torch.complex128).repeat(3, 1, 1))
    start = random_tensor(3, 10, 31, seed=3)
    for max_space in (2, 3, 4):
        result = davidson(operator, start, expansions=30, max_space=max_space)
        assert check(operator, start, result, 1e-9) < 1e-9


def test_residuals_at_rounding_stop_the_work(padded_pencil):
    """A tolerance nothing can reach ends when no residual is above its rounding errors."""
    operator, start = padded_pencil(SIZES, 10)
    result = davidson(operator, start, expansions=500, tolerance=1e-30, max_space=4)
    assert result.iterations < 100 and not result.converged_kn.any() and result.residual_kn.max() < 1e-12


def test_complement_is_orthonormal_however_little_it_adds(padded_pencil, random_tensor):
    """Six vectors: one new, one new by 1e-4 of its length, one by 1e-12 (noise), a copy, zero, one in the space."""
    operator, x = padded_pencil((20, 20), 5)
    space = subspace(images(operator, x), operator.sum)
    fresh, inside = random_tensor(2, 3, 20, seed=4), random_tensor(2, 3, 5, seed=5) @ x
    p = torch.stack([fresh[:, 0], inside[:, 0] + 1e-4 * fresh[:, 1], inside[:, 1] + 1e-12 * fresh[:, 2]], 1)
    p = torch.cat([p, p[:, :1], torch.zeros_like(p[:, :1]), inside[:, 2:]], 1)
    new = complement(operator, space, p)
    gram = inner(new, operator.overlap(new))
    rank_k = gram.diagonal(dim1=-2, dim2=-1).real.round().sum(-1)
    assert rank_k.tolist() == [2, 2]
    torch.testing.assert_close(gram, gram.real.round().to(gram.dtype), atol=1e-13, rtol=0)
    assert space.overlaps(new, operator.sum).abs().max() < 1e-13
    # Both directions are in: with the new vectors in the space, they add nothing more.
    whole = space.grown(images(operator, new), operator.sum)
    assert torch.equal(complement(operator, whole, fresh[:, :2]), torch.zeros_like(fresh[:, :2]))


def test_moved_directions_are_orthonormal_and_keep_the_span(random_pencil, random_tensor):
    s = random_pencil(2, 9).s_kxx
    c = random_tensor(2, 9, 3)
    c[1, 3:, 2] = 0  # only two of three have moved in problem 1
    lower = torch.linalg.cholesky(c.mH @ s @ c)
    c = torch.linalg.solve_triangular(lower, c.mH, upper=False).mH
    d = moved(c, 3, s)
    unit = torch.diag_embed(torch.tensor([[1, 1, 1], [1, 1, 0]], dtype=s.dtype))
    torch.testing.assert_close(d.mH @ s @ d, unit, atol=1e-12, rtol=0)
    assert (c.mH @ s @ d).abs().max() < 1e-12
    outside = c.clone()
    outside[:, :3] = 0
    both = torch.cat([c, d], -1)
    torch.testing.assert_close(both @ (both.mH @ s @ outside), outside, atol=1e-12, rtol=0)
    still = torch.eye(9, dtype=s.dtype)[None, :, :3]
    assert moved(still, 3, torch.eye(9, dtype=s.dtype)[None]).shape == (1, 9, 0)


def test_where_nothing_is_dependent_h_is_applied_once_per_vector(random_pencil, random_tensor):
    """Long runs with restarts, too: the guards against rounding cost nothing in a roomy space."""
    pencil, start = random_pencil(2, 120), random_tensor(2, 6, 120)
    result = davidson(pencil, start, expansions=20)
    assert result.applications == 2 * 6 * 21
