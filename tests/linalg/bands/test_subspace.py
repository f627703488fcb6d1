"""Search spaces: inner products, incremental projection, rotation."""

import pytest
import torch

from eigenwerk.linalg.bands.subspace import ritz_subspace, subspace
from eigenwerk.linalg.images import images
from eigenwerk.linalg.products import combine, inner, norms


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64, torch.complex128])
def test_inner_and_combine_equal_their_sums(random_tensor, k, dtype):
    a, b = random_tensor(k, 4, 30, dtype=dtype, seed=1), random_tensor(k, 5, 30, dtype=dtype, seed=2)
    torch.testing.assert_close(inner(a, b), torch.einsum("knx,kmx->knm", a.conj(), b))
    c = random_tensor(k, 4, 2, dtype=dtype, seed=3)
    torch.testing.assert_close(combine(c, a), torch.einsum("kmn,kmx->knx", c, a))
    torch.testing.assert_close(norms(a, lambda t: t), torch.linalg.vector_norm(a, dim=-1))


@pytest.mark.parametrize("k", [1, 3])
def test_growing_block_by_block_equals_projecting_at_once(random_pencil, random_tensor, k):
    pencil = random_pencil(k, 20)
    parts = [random_tensor(k, n, 20, seed=n) for n in (2, 3, 4)]
    space = subspace(images(pencil, parts[0]), pencil.sum)
    for part in parts[1:]:
        space = space.grown(images(pencil, part), pencil.sum)
    x = torch.cat(parts, 1)
    torch.testing.assert_close(space.h_kmm, inner(x, pencil.apply(x)[0]))
    torch.testing.assert_close(space.s_kmm, inner(x, pencil.overlap(x)))
    c = random_tensor(k, 9, 3, seed=11)
    rotated = space.rotated(c)
    torch.testing.assert_close(rotated.x_knx, combine(c, x))
    torch.testing.assert_close(rotated.hx_knx, pencil.apply(combine(c, x))[0])
    torch.testing.assert_close(rotated.sx_knx, pencil.overlap(combine(c, x)))


def test_ritz_vectors_diagonalise_the_projected_pencil(random_pencil, random_tensor):
    pencil = random_pencil(2, 20)
    space = subspace(images(pencil, random_tensor(2, 6, 20)), pencil.sum)
    eig_kn, c_knn, _ = space.rayleigh_ritz()
    ritz = space.rotated(c_knn)
    known, again = ritz_subspace(ritz, eig_kn, torch.zeros(2, 6, dtype=torch.bool)), subspace(ritz, pencil.sum)
    torch.testing.assert_close(known.h_kmm, again.h_kmm, atol=1e-11, rtol=0)
    torch.testing.assert_close(known.s_kmm, again.s_kmm, atol=1e-12, rtol=0)


def test_every_product_is_reduced_in_one_call_per_block(random_pencil, random_tensor):
    pencil, calls = random_pencil(2, 20), []

    def doubled(tensor):
        calls.append(tensor.shape)
        return 2 * tensor

    x = random_tensor(2, 3, 20)
    space = subspace(images(pencil, x), doubled)
    assert len(calls) == 1
    torch.testing.assert_close(space.s_kmm, 2 * inner(x, pencil.overlap(x)))
