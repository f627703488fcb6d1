"""Compiled loops and kernels do with long vectors what PyTorch's operations do, with doubles inside."""

import pytest
import torch

from covering import covering
from eigenwerk.linalg.long_vectors import cuda, native
from eigenwerk.linalg.long_vectors.plain import PlainProjections
from eigenwerk.linalg.long_vectors.projections import projections
from eigenwerk.linalg.orthogonal import orthonormalise, project_out

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
DTYPES = [torch.float32, torch.float64]


def vectors(count, size, dtype, seed=0, room=0):
    """Rows that begin `size` + `room` numbers after each other."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn((count, size + room), generator=generator, dtype=torch.float64).to(dtype)[:, :size]


def compiled(device, dtype, **how):
    if device == "cuda":
        return cuda.CudaProjections(torch.device("cuda"), dtype, **how)
    found = native.projections(dtype)
    if found is None:
        pytest.skip("nothing to compile with")
    return found


def check(by, device, dtype, rows, count, size, room):
    basis, w = vectors(rows, size, dtype, 1, room), vectors(count, size, dtype, 2, room)
    there, left = (torch.nn.functional.pad(rows_mx.to(device), (0, room))[:, :size] for rows_mx in (basis, w))
    exact = basis.double() @ w.double().T
    c = by.overlaps(there, left)
    assert c.dtype == torch.float64 and c.shape == (rows, count)
    torch.testing.assert_close(c.cpu(), exact, rtol=0, atol=1e-13 * size)
    factor = torch.linspace(-1, 1, rows * count, dtype=torch.float64).reshape(rows, count)
    expected = (w.double() - factor.T @ basis.double()).to(dtype)
    d = by.take_out_and_overlap(there, factor.to(device), left)
    limit = 1e-13 * rows if dtype == torch.float64 else 3e-7 * rows**0.5
    torch.testing.assert_close(left.cpu(), expected, rtol=0, atol=limit)
    torch.testing.assert_close(d.cpu(), basis.double() @ left.cpu().double().T, rtol=0, atol=1e-12 * size)
    again = w.to(device, copy=True)
    by.take_out(there, factor.to(device), again)
    torch.testing.assert_close(again.cpu(), expected, rtol=0, atol=limit)


VECTORS = (1, 1), (3, 1), (4, 2), (17, 1), (40, 3), (101, 1), (33, 8), (9, 13)
SIZES = (1, 0), (7, 0), (1000, 3), (5000, 0), (200_003, 1), (270_336, 0)


@pytest.mark.fast("*-1 0-cpu", "*-7 0-cpu", "*-1000 3-cpu", "*-5000 0-cpu")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("dtype", "vectors", "sizes"),
    covering(DTYPES, VECTORS, SIZES, fast=lambda dtype, vectors, sizes: sizes[0] < 10**5 or vectors in VECTORS[2:5]),
)
def test_compiled_ones_do_what_matrix_products_do(device, dtype, vectors, sizes):
    """vectors: rows of the basis, vectors beside it; sizes: components, and numbers behind them."""
    check(compiled(device, dtype), device, dtype, *vectors, *sizes)


@pytest.mark.gpu
@pytest.mark.parametrize("both_at_once", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "count"), [(1, 1), (100, 1), (230, 1), (30, 7)])
@pytest.mark.parametrize("size", [5, 4096, 1_000_001, 4_000_000])
def test_reading_the_basis_once_or_twice_is_the_same(both_at_once, dtype, rows, count, size):
    check(compiled("cuda", dtype, both_at_once=both_at_once), "cuda", dtype, rows, count, size, 0)


@pytest.mark.parametrize("dtype", [*DTYPES, torch.complex64, torch.complex128])
def test_the_plain_twin_multiplies_and_takes_out_in_double(dtype, monkeypatch):
    monkeypatch.setattr("eigenwerk.linalg.long_vectors.plain.STRETCH_BYTES", 8 * 5 * 70)
    parts = 2 if dtype.is_complex else 1
    numbers = vectors(7, 300 * parts, torch.float64)
    numbers = numbers.contiguous() if parts == 1 else torch.view_as_complex(numbers.reshape(7, 300, 2))
    basis, w, factor = numbers[:5].to(dtype), numbers[5:].to(dtype), numbers[:2, :5].T.contiguous()
    wide = torch.complex128 if dtype.is_complex else torch.float64
    by = PlainProjections()
    torch.testing.assert_close(by.overlaps(basis, w), basis.to(wide).conj() @ w.to(wide).T, rtol=0, atol=1e-11)
    expected = (w.to(wide) - factor.T @ basis.to(wide)).to(dtype)
    d = by.take_out_and_overlap(basis, factor, w)
    torch.testing.assert_close(w, expected, rtol=0, atol=1e-6 if dtype.itemsize == 4 * parts else 1e-13)
    torch.testing.assert_close(d, basis.to(wide).conj() @ w.to(wide).T, rtol=0, atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
def test_equal_arguments_give_equal_bits(device):
    """On a processor for every number of threads, too."""
    basis, w = vectors(50, 400_001, torch.float32, 1).to(device), vectors(1, 400_001, torch.float32, 2).to(device)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 3, 1):
            torch.set_num_threads(threads)
            left = w.clone()
            first = projections(basis, left).overlaps(basis, left)
            second = projections(basis, left).take_out_and_overlap(basis, first / 1e6, left)
            found.append((first, second, left))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for other in found[1:] for a, b in zip(found[0], other, strict=True))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_two_passes_leave_vectors_orthogonal_to_many(device, dtype):
    """A vector of which hardly anything is outside the basis; coefficients are those of double precision."""
    basis = vectors(40, 20_001, dtype).contiguous().to(device)
    orthonormalise(basis[:0], basis, 100.0, lambda tensor: tensor)
    w = basis[:3] + 1e-3 * vectors(3, 20_001, dtype, 5).to(device) / 141
    exact = basis.double() @ w.double().T
    c = project_out(basis, w, lambda tensor: tensor)
    limit = torch.finfo(dtype).eps
    torch.testing.assert_close(c, exact, rtol=0, atol=30 * limit)
    assert float((basis.double() @ w.double().T).abs().max()) < limit * float(torch.linalg.vector_norm(w, dim=1).max())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(0, 2, 10), (3, 0, 10), (3, 2, 0)])
def test_nothing_makes_nothing(device, shape):
    rows, count, size = shape
    basis, w = vectors(rows, size, torch.float32).to(device), vectors(count, size, torch.float32).to(device)
    c = projections(basis, w).overlaps(basis, w)
    assert c.shape == (rows, count) and not c.any()
    assert projections(basis, w).take_out_and_overlap(basis, c, w).shape == (rows, count)


def test_columns_that_are_apart_are_left_to_the_plain_twin():
    basis, w = vectors(30, 5, torch.float32).T, vectors(1, 30, torch.float32)
    assert isinstance(projections(basis, w), PlainProjections)
    exact = basis.double() @ w.double().T
    torch.testing.assert_close(projections(basis, w).overlaps(basis, w), exact, rtol=0, atol=1e-12)
