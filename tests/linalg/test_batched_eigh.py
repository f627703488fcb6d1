import numpy as np
import pytest
import torch

from eigenwerk.linalg import batched_eigh
from eigenwerk.linalg.dense import dense_eigh

DTYPES = (torch.float64, torch.complex128)


def hermitian(problems, size, dtype, seed=1):
    """Random Hermitian matrices."""
    random = np.random.default_rng(seed)
    a_kmm = torch.as_tensor(random.standard_normal((2, problems, size, size)))
    a_kmm = torch.complex(a_kmm[0], a_kmm[1]) if dtype.is_complex else a_kmm[0]
    return a_kmm + a_kmm.mH


@pytest.fixture(autouse=True)
def routine():
    """cuSOLVER has it."""
    if batched_eigh.library() is None:
        pytest.skip("needs cuSOLVER of CUDA 12.6 or newer, found by the package cuda-pathfinder")


def check(h_kmm, eig_km, columns_kmm, accuracy=1e-13):
    """Residuals, orthogonality and order, relative to the largest eigenvalue; eigenvalues beside LAPACK's."""
    h_kmm, eig_km, columns_kmm = h_kmm.cpu(), eig_km.cpu(), columns_kmm.cpu()
    wanted_km, size = torch.linalg.eigvalsh(h_kmm), h_kmm.shape[-1]
    largest = float(wanted_km.abs().max())
    one_mm = torch.eye(size, dtype=h_kmm.dtype)
    assert float((columns_kmm.mH @ columns_kmm - one_mm).abs().max()) < accuracy * size
    assert float((h_kmm @ columns_kmm - columns_kmm * eig_km[:, None]).abs().max()) < accuracy * size * largest
    assert float((eig_km - wanted_km).abs().max()) < accuracy * size * largest


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("problems", "size"), [(1, 3), (2, 33), (300, 48), (7, 150)])
def test_eigenpairs_are_those_of_lapack(problems, size, dtype):
    h_kmm = hermitian(problems, size, dtype)
    check(h_kmm, *batched_eigh.solve(h_kmm.cuda()))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_degenerate_diagonal_and_zero_matrices_of_any_size_of_numbers(dtype, scale):
    level_m = torch.arange(40) // 5
    columns_kmm = torch.linalg.qr(hermitian(1, 40, dtype))[0]
    degenerate_kmm = columns_kmm @ torch.diag(level_m.to(dtype)) @ columns_kmm.mH
    h_kmm = torch.cat([degenerate_kmm, torch.diag(level_m.to(dtype))[None], torch.zeros_like(degenerate_kmm)])
    h_kmm = scale * (h_kmm + h_kmm.mH) / 2
    eig_km, found_kmm = batched_eigh.solve(h_kmm.cuda())
    check(h_kmm / scale, eig_km / scale, found_kmm)


@pytest.mark.gpu
def test_nan_is_an_error_that_names_the_matrix():
    h_kmm = hermitian(3, 40, torch.complex128)
    h_kmm[1, 5, 5] = float("nan")
    with pytest.raises(torch.linalg.LinAlgError, match=r"matrices \[1\] of 3"):
        batched_eigh.solve(h_kmm.cuda())


@pytest.mark.gpu
@pytest.mark.parametrize("size", [16, 48, 200])
def test_dense_problems_of_every_size_are_solved_on_a_gpu(size):
    h_kmm = hermitian(4, size, torch.complex128)
    check(h_kmm, *dense_eigh(h_kmm.cuda()))
