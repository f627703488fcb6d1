"""Chebyshev-filtered subspaces against the dense twin."""

import pytest
import torch

from eigenwerk.linalg.bands.chebyshev import chebyshev, upper_bounds
from eigenwerk.linalg.bands.davidson import davidson
from eigenwerk.linalg.dense import solve_dense
from eigenwerk.linalg.products import inner
from standard_matrix import MatrixOperator

DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])


@DTYPES
def test_lowest_pairs_of_random_pencils_equal_dense(random_pencil, random_tensor, dtype):
    pencil, x_knx = random_pencil(3, 60, dtype), random_tensor(3, 9, 60, dtype=dtype)
    exact = solve_dense(pencil, x_knx, 6)
    weight = (torch.arange(9) < 6).double().expand(3, 9)
    for _ in range(12):
        result = chebyshev(pencil, x_knx, degree=12, tolerance=1e-8, wanted_weight_kn=weight)
        x_knx = result.vectors_knx
    assert result.converged_kn[:, :6].all()
    torch.testing.assert_close(result.eig_kn[:, :6], exact.eig_kn, atol=1e-12, rtol=0)
    hx, sx = pencil.apply(result.vectors_knx)
    unit = torch.eye(9, dtype=dtype).expand(3, 9, 9)
    torch.testing.assert_close(inner(result.vectors_knx, sx), unit, atol=1e-12, rtol=0)
    residual = torch.linalg.vector_norm(hx - result.eig_kn.unsqueeze(-1) * sx, dim=-1)
    torch.testing.assert_close(residual, result.residual_kn, atol=1e-10, rtol=1e-3)


@DTYPES
def test_bounds_lie_above_the_spectrum_and_close_to_it(random_pencil, random_tensor, dtype):
    pencil = random_pencil(5, 80, dtype)
    highest_k = solve_dense(pencil, random_tensor(5, 1, 80, dtype=dtype)).eig_kn[:, -1]
    upper_k = upper_bounds(pencil, random_tensor(5, 4, 80, dtype=dtype, seed=3))
    assert (upper_k > highest_k).all() and (upper_k < 1.5 * highest_k).all()


def test_degenerate_levels_are_all_found(random_tensor):
    level = torch.tensor([1.0] * 3 + [2.0] * 3 + [3.0] * 2 + list(range(5, 47)), dtype=torch.float64)
    unitary = torch.linalg.qr(random_tensor(1, 50, 50))[0]
    pencil = MatrixOperator(
        unitary @ torch.diag(level).to(torch.complex128) @ unitary.mH, torch.eye(50, dtype=torch.complex128)[None]
    )
    x_knx = random_tensor(1, 10, 50, seed=5)
    for _ in range(15):
        x_knx = (result := chebyshev(pencil, x_knx, degree=10)).vectors_knx
    torch.testing.assert_close(result.eig_kn[:, :8], level[None, :8], atol=1e-12, rtol=0)


def test_finished_problems_stay_as_they_are(random_pencil, random_tensor):
    pencil = random_pencil(3, 40)
    exact = solve_dense(pencil, random_tensor(3, 1, 40), 5)
    start = exact.vectors_knx + 1e-2 * random_tensor(3, 5, 40) * torch.tensor([0.0, 1, 0]).view(3, 1, 1)
    result = chebyshev(pencil, start, degree=8, tolerance=1e-9)
    assert result.applications == 3 * 5 + 8 * 5 + 10
    assert result.residual_kn[[0, 2]].max() < 1e-9
    before = davidson(pencil, start, expansions=0)
    assert result.residual_kn[1].max() < before.residual_kn[1].max()
