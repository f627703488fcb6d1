"""S-orthonormal vectors where those given are dependent."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenwerk.linalg.dense import dense_eigh
from eigenwerk.linalg.orthogonal import noise
from eigenwerk.linalg.products import inner
from eigenwerk.linalg.ritz import first_ritz


def error_of(operator, x_knx):
    unit = torch.eye(x_knx.shape[1], dtype=x_knx.dtype)
    return float((inner(x_knx, operator.overlap(x_knx)) - unit).abs().max())


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
    assert torch.equal(noise(x, 5), noise(x, 5))
    assert not torch.equal(noise(x, 5), noise(x, 5, seed=1))
    assert (noise(x, 5)[1, :, 30:] == 0).all() and (noise(x, 5)[1, :, :30] != 0).all()
