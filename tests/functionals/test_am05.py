"""AM05 and the function of Lambert it needs."""

import pytest
import torch

from eigenwerk.functionals.am05 import enhancement, lambert_w


def test_lambert_w_solves_its_equation():
    z_x = torch.logspace(-30, 12, 400, dtype=torch.float64)
    w_x = lambert_w(z_x)
    torch.testing.assert_close(w_x * w_x.exp(), z_x, rtol=1e-13, atol=0.0)
    assert float(lambert_w(torch.zeros(1, dtype=torch.float64))) == 0.0


def test_exchange_has_no_second_order_in_the_gradient():
    """The Airy gas goes over into the uniform gas: F - 1 is of higher order than s^2, and has a slope at s = 0."""
    s2_x = torch.tensor([0.0, 1e-4, 4e-4], dtype=torch.float64, requires_grad=True)
    factor_x = enhancement(s2_x)
    (slope_x,) = torch.autograd.grad(factor_x.sum(), s2_x)
    excess = (factor_x.detach() - 1.0).tolist()
    assert abs(excess[0]) < 1e-15 and excess[2] / excess[1] > 10.0
    assert bool(torch.isfinite(slope_x).all()) and float(slope_x[0]) == pytest.approx(0.0, abs=1e-6)
