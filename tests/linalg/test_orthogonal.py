"""S-orthonormal vectors from good, bad and identical ones."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenwerk.linalg.orthogonal import noise, orthonormalise
from eigenwerk.linalg.products import inner


def error_of(operator, x_knx):
    unit = torch.eye(x_knx.shape[1], dtype=x_knx.dtype)
    return float((inner(x_knx, operator.overlap(x_knx)) - unit).abs().max())


@pytest.mark.parametrize(
    ("dtype", "limit"), [(torch.float64, 1e-13), (torch.complex128, 1e-13), (torch.complex64, 2e-6)]
)
def test_vectors_become_orthonormal_and_span_stays(random_pencil, random_tensor, dtype, limit):
    pencil, x = random_pencil(3, 30, dtype), random_tensor(3, 6, 30, dtype=dtype)
    y, rank_k = orthonormalise(pencil, x)
    assert error_of(pencil, y) < limit and rank_k.tolist() == [6, 6, 6]
    # Projecting the old vectors on the new ones gives them back.
    back = inner(y, pencil.overlap(x)).mT @ y
    torch.testing.assert_close(back, x, atol=20 * limit, rtol=0)


def test_first_vectors_stay_in_the_span_of_the_first(random_pencil, random_tensor):
    pencil, x = random_pencil(2, 30), random_tensor(2, 5, 30)
    y, _ = orthonormalise(pencil, x)
    first, _ = orthonormalise(pencil, x[:, :2])
    torch.testing.assert_close(y[:, :2], first)


def test_nearly_dependent_vectors_are_orthonormal_to_machine_precision(random_pencil, random_tensor):
    pencil, x = random_pencil(2, 30), random_tensor(2, 5, 30)
    x[:, 4] = x[:, 3] + 1e-5 * x[:, 4]
    y, rank_k = orthonormalise(pencil, x)
    assert error_of(pencil, y) < 1e-13 and rank_k.tolist() == [5, 5]


@settings(max_examples=25, deadline=None)
@given(copies=st.lists(st.integers(0, 5), min_size=6, max_size=6), zero=st.booleans())
def test_any_pattern_of_copies_is_filled_up_without_touching_padding(random_pencil, random_tensor, copies, zero):
    pencil, x = random_pencil(2, 30, true_size=24), random_tensor(2, 6, 30)
    x[..., 24:] = 0
    x[1] = x[1, copies]
    if zero and len(set(copies)) > 1:
        x[1, copies.index(copies[0])] = 0
    distinct = len({tuple(row.tolist()) for row in x[1]} - {(0j,) * 30})
    y, rank_k = orthonormalise(pencil, x)
    assert rank_k.tolist() == [6, distinct]
    assert error_of(pencil, y) < 1e-12
    assert (y[..., 24:] == 0).all()


def test_without_refill_the_missing_vectors_are_zero_and_last(random_pencil, random_tensor):
    pencil, x = random_pencil(1, 30), random_tensor(1, 4, 30)
    x[0, 2] = x[0, 0]
    y, rank_k = orthonormalise(pencil, x, refill=False)
    assert rank_k.tolist() == [3]
    gram = inner(y, pencil.overlap(y))[0]
    torch.testing.assert_close(gram, torch.diag(torch.tensor([1, 1, 1, 0], dtype=gram.dtype)), atol=1e-13, rtol=0)


def test_noise_is_reproducible_and_keeps_the_envelope(random_tensor):
    x = random_tensor(2, 3, 40)
    x[1, :, 30:] = 0
    assert torch.equal(noise(x, 5), noise(x, 5))
    assert not torch.equal(noise(x, 5), noise(x, 5, seed=1))
    assert (noise(x, 5)[1, :, 30:] == 0).all() and (noise(x, 5)[1, :, :30] != 0).all()
