"""Orthonormal vectors from good, bad and identical ones; noise that is the same everywhere."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenwerk.linalg.dense import dense_eigh
from eigenwerk.linalg.orthogonal import hashed, noise, orthonormalise, project_out
from eigenwerk.linalg.products import inner
from eigenwerk.linalg.ritz import first_ritz
from standard_matrix import starts


def whole(tensor):
    return tensor


def error_of(operator, x_knx):
    unit = torch.eye(x_knx.shape[1], dtype=x_knx.dtype)
    return float((inner(x_knx, operator.overlap(x_knx)) - unit).abs().max())


@pytest.mark.parametrize(("dtype", "limit"), [(torch.float64, 1e-14), (torch.float32, 1e-6)])
@pytest.mark.parametrize("closeness", [1.0, 1e-3, 0.0])
def test_rows_become_orthonormal_and_their_coefficients_give_them_back(dtype, limit, closeness):
    """The last row repeats the second but for a little."""
    vectors = starts(7, 200, dtype)[0]
    basis, w = vectors[:3].clone(), vectors[3:].clone()
    w[3] = w[1] + closeness * w[3]
    orthonormalise(basis[:0], basis, 1.0, whole)
    project_out(basis, w, whole)
    before = w.clone()
    r = orthonormalise(basis, w, float(torch.linalg.vector_norm(w, dim=1).max()), whole)
    everything = torch.cat([basis, w]).double()
    assert (everything @ everything.T - torch.eye(7)).abs().max() < limit
    torch.testing.assert_close(r.T @ w.double(), before.double(), atol=20 * limit, rtol=0)
    assert torch.equal(r.tril(-1), torch.zeros_like(r))
    assert (r[3, 3] == 0) == (closeness == 0.0)


@settings(max_examples=25, deadline=None)
@given(copies=st.lists(st.integers(0, 5), min_size=6, max_size=6), zero=st.booleans())
def test_any_pattern_of_copies_is_filled_up_without_touching_padding(random_pencil, random_tensor, copies, zero):
    pencil, x = random_pencil(2, 30, true_size=24), random_tensor(2, 6, 30)
    x[..., 24:] = 0
    x[1] = x[1, copies]
    if zero and len(set(copies)) > 1:
        x[1, copies.index(copies[0])] = 0
    distinct = len({tuple(row.tolist()) for row in x[1]} - {(0j,) * 30})
    ritz = first_ritz(pencil, x, dense_eigh)
    y = ritz.images.x_knx
    assert bool(ritz.notes) == (distinct < 6)
    assert error_of(pencil, y) < 1e-12
    assert (y[..., 24:] == 0).all()


def test_noise_is_reproducible_and_keeps_the_envelope(random_tensor):
    x = random_tensor(2, 3, 40)
    x[1, :, 30:] = 0
    assert torch.equal(noise(x, 5), noise(x, 5)) and noise(x, 5).dtype == x.dtype
    assert not torch.equal(noise(x, 5), noise(x, 5, seed=1))
    assert (noise(x, 5)[1, :, 30:] == 0).all() and (noise(x, 5)[1, :, :30] != 0).all()
    shared = noise(torch.cat([x, x.real.to(x.dtype)]), 5)
    assert torch.linalg.matrix_rank(shared[0]) == 5


def test_hashed_numbers_do_not_depend_on_how_they_are_cut():
    like = torch.zeros(1, dtype=torch.float64)
    together = hashed(0, 1000, 7, like=like)
    parts = torch.cat([hashed(0, 300, 7, like=like), hashed(300, 700, 7, like=like)], dim=1)
    assert torch.equal(together, parts)
    assert float(together.abs().max()) < 1 and abs(float(together.mean())) < 0.1
    assert 0.5 < float(together.std()) < 0.65
    assert not torch.equal(together, hashed(0, 1000, 8, like=like))
