"""The uniform electron gas: closed forms, known limits, values printed in the papers."""

import math

import pytest
import torch

from eigenwerk.functionals.lda import (
    LDA_FLOOR,
    PW92_MODIFIED,
    PW92_PRINTED,
    exchange,
    perdew_wang,
    perdew_zunger,
    prepare,
)


def gas(rs, zeta=None):
    """Points of a uniform gas of given r_s."""
    density_x = 3.0 / (4.0 * math.pi * torch.as_tensor(rs, dtype=torch.float64).reshape(-1) ** 3)
    if zeta is None:
        return prepare(density_x[None], LDA_FLOOR)
    return prepare(torch.stack((density_x * (1 + zeta) / 2, density_x * (1 - zeta) / 2)), LDA_FLOOR)


@pytest.mark.parametrize("rs", [0.1, 1.0, 7.0])
def test_exchange_is_the_closed_form_in_rs(rs):
    """e_x = -(3/4pi) (9pi/4)^(1/3) / r_s per electron; 2^(1/3) times as much with one spin only."""
    expected = -3.0 / (4.0 * math.pi) * (9.0 * math.pi / 4.0) ** (1.0 / 3.0) / rs
    points = gas(rs)
    assert float(exchange(points) / points.total_x) == pytest.approx(expected, rel=1e-14)
    single = gas(rs, 1.0)
    assert float(exchange(single) / single.electrons_x) == pytest.approx(2.0 ** (1.0 / 3.0) * expected, rel=1e-13)


@pytest.mark.parametrize(
    ("rs", "zeta", "energy"), [(1, 0, -0.0600), (2, 0, -0.0448), (5, 0, -0.0282), (20, 0, -0.0115), (2, 1, -0.0240)]
)
def test_correlation_meets_the_monte_carlo_energies(rs, zeta, energy):
    """Ceperley and Alder's energies (in hartree, as tabulated by Perdew and Zunger) within the quality of the fits."""
    points = gas(rs, float(zeta))
    assert float(perdew_wang(points, PW92_PRINTED)) == pytest.approx(energy, abs=4e-4)
    assert float(perdew_zunger(points)) == pytest.approx(energy, abs=4e-4)


@pytest.mark.parametrize("zeta", [None, 1.0])
def test_correlation_has_the_logarithm_of_the_dense_gas(zeta):
    """de_c / d ln r_s -> (1 - ln 2)/pi^2 = 0.0310907 (half of it for one spin) as r_s -> 0."""
    rs_x = torch.tensor([1e-8, 1.01e-8], dtype=torch.float64)
    energy_x = perdew_wang(gas(rs_x, zeta), PW92_MODIFIED)
    slope = float((energy_x[1] - energy_x[0]) / math.log(1.01))
    expected = (1.0 - math.log(2.0)) / math.pi**2 / (1.0 if zeta is None else 2.0)
    assert slope == pytest.approx(expected, rel=1e-2)


def test_spin_stiffness_is_the_curvature_at_zero_polarisation():
    """e(zeta) = e(0) + alpha_c zeta^2 / 2 + ...; alpha_c = 2A (1 + ...) ln(...) from the third column of table I."""
    step = 1e-3
    energies = [float(perdew_wang(gas(2.0, zeta), PW92_MODIFIED)) for zeta in (-step, 0.0, step)]
    curvature = (energies[0] - 2.0 * energies[1] + energies[2]) / step**2
    fit, root = PW92_MODIFIED.stiffness, math.sqrt(2.0)
    series = fit.beta1 * root + fit.beta2 * 2.0 + fit.beta3 * 2.0 * root + fit.beta4 * 4.0
    stiffness = 2.0 * fit.a * (1.0 + 2.0 * fit.alpha) * math.log1p(1.0 / (2.0 * fit.a * series))
    assert curvature == pytest.approx(stiffness, rel=1e-4)


def test_perdew_zunger_keeps_its_published_jump_at_rs_one():
    energy_x = perdew_zunger(gas([1.0 - 1e-9, 1.0 + 1e-9]))
    dense, dilute = -0.048 - 0.0116, -0.1423 / (1.0 + 1.0529 + 0.3334)
    assert float(energy_x[0]) == pytest.approx(dense, abs=1e-9)
    assert float(energy_x[1]) == pytest.approx(dilute, abs=1e-9)


def test_an_empty_channel_adds_no_exchange():
    """The floor of an empty channel is a safeguard, not a density."""
    single = prepare(torch.tensor([[1e-8], [0.0]], dtype=torch.float64), LDA_FLOOR)
    doubled = prepare(torch.tensor([[2e-8]], dtype=torch.float64), LDA_FLOOR)
    assert float(exchange(single)) == pytest.approx(0.5 * float(exchange(doubled)), rel=1e-14)
