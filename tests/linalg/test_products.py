"""Inner products and combinations of long vectors keep doubles where it matters."""

import torch

from eigenwerk.linalg import products
from eigenwerk.linalg.long_vectors import plain
from eigenwerk.linalg.products import combine_long, inner
from standard_matrix import starts


def test_sums_of_single_precision_vectors_are_double():
    a = starts(3, 200_000, torch.float32)
    exact = a.double() @ a.double().mT
    found = inner(a, a, in_double=True)
    assert found.dtype == torch.float64 and torch.allclose(found, exact, rtol=1e-13, atol=1e-9)
    assert torch.equal(inner(a[0], a[0], in_double=True), found[0])
    assert not torch.allclose(inner(a, a).double(), exact, rtol=1e-9, atol=0)


def test_no_double_copy_is_longer_than_a_stretch(monkeypatch):
    """Vectors of a nucleus fill the memory: one test by a copy of all of them ended a run."""
    monkeypatch.setattr("eigenwerk.linalg.long_vectors.plain.STRETCH_BYTES", 8 * 100)
    doubled, sizes = plain.doubled, []
    for module in (plain, products):
        monkeypatch.setattr(module, "doubled", lambda a: sizes.append(a.numel()) or doubled(a))
    a = starts(3, 1000, torch.float32)[0]
    plain.PlainProjections().overlaps(a, a[:2])
    combine_long(torch.ones(3, 2, dtype=torch.float64), a)
    assert max(sizes) <= 100


def test_stretches_conjugate_and_see_every_component(monkeypatch, random_tensor):
    monkeypatch.setattr("eigenwerk.linalg.long_vectors.plain.STRETCH_BYTES", 8 * 5 * 7)
    a, b = (random_tensor(1, n, 100, dtype=torch.complex64, seed=n) for n in (2, 3))
    exact = a.to(torch.complex128).conj() @ b.to(torch.complex128).mT
    torch.testing.assert_close(inner(a, b, in_double=True), exact, atol=1e-13, rtol=0)


def test_combinations_may_take_the_memory_of_what_they_are_made_of(monkeypatch):
    monkeypatch.setattr("eigenwerk.linalg.long_vectors.plain.STRETCH_BYTES", 8 * 9 * 10)
    x_mx, c_mn = starts(6, 95)[0], starts(3, 6)[0].T
    wanted = c_mn.T @ x_mx
    torch.testing.assert_close(combine_long(c_mn, x_mx), wanted, atol=1e-14, rtol=0)
    combine_long(c_mn, x_mx, out=x_mx[:3])
    torch.testing.assert_close(x_mx[:3], wanted, atol=1e-14, rtol=0)
