"""Damped motion of all bands against the dense twin."""

import pytest
import torch

from eigenwerk.linalg.bands.damped import FRICTION, damped
from eigenwerk.linalg.bands.davidson import davidson
from eigenwerk.linalg.dense import solve_dense
from standard_matrix import MatrixOperator


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_lowest_pairs_of_plane_waves_equal_dense(plane_waves, random_tensor, dtype):
    model = plane_waves(k=2, x=101, dtype=dtype)
    exact = solve_dense(model, torch.zeros(2, 1, 101, dtype=dtype), 5)
    start = random_tensor(2, 8, 101, dtype=dtype) / (1 + model.kinetic_kx.unsqueeze(1)) ** 2
    x_knx = davidson(model, start, expansions=6).vectors_knx
    weight = (torch.arange(8) < 5).double().expand(2, 8)
    for _ in range(60):
        result = damped(model, x_knx, time=0.4, steps=6, tolerance=1e-7, wanted_weight_kn=weight)
        x_knx = result.vectors_knx
        if result.converged_kn[:, :5].all():
            break
    assert result.converged_kn[:, :5].all()
    torch.testing.assert_close(result.eig_kn[:, :5], exact.eig_kn, atol=1e-10, rtol=0)


def test_two_steps_are_those_of_the_equation_of_motion(random_tensor):
    """One band without preconditioner, S = 1: the steps written out by hand."""

    class Bare(MatrixOperator):
        def precondition(self, residual_knx, eig_kn, x_knx, k=slice(None)):
            return residual_knx

    h = torch.diag(torch.arange(6, dtype=torch.float64))
    pencil = Bare(h[None], torch.eye(6, dtype=torch.float64)[None])
    x0 = random_tensor(6, dtype=torch.float64)
    x0, time = x0 / x0.norm(), 0.05
    x, v = x0.clone(), torch.zeros(6, dtype=torch.float64)
    for _ in range(2):
        energy = (x @ h @ x) / (x @ x)
        down = (h @ x - energy * x) - x0 * (x0 @ (h @ x - energy * x))
        v = (1 - FRICTION) * v - time * down
        x = x + v
    result = damped(pencil, x0[None, None], time=time, steps=2)
    torch.testing.assert_close(result.eig_kn[0, 0], (x @ h @ x) / (x @ x), atol=1e-14, rtol=0)
    torch.testing.assert_close(result.vectors_knx[0, 0].abs(), (x / x.norm()).abs(), atol=1e-14, rtol=0)
