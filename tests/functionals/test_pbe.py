"""The conditions that PBE was built from, and digits at large gradients."""

import itertools
import math

import pytest
import torch

from eigenwerk.functionals.lda import PW92_MODIFIED, exchange, perdew_wang, prepare, spin_scaling
from eigenwerk.functionals.pbe import GGA_FLOOR, PBE, PBESOL, REVPBE, RPBE, correlation, energy_density, enhancement

FAMILY = {"PBE": PBE, "PBEsol": PBESOL, "RPBE": RPBE, "revPBE": REVPBE}


@pytest.mark.parametrize("constants", FAMILY.values(), ids=FAMILY)
def test_enhancement_starts_as_one_plus_mu_s2_and_ends_at_one_plus_kappa(constants):
    s2_x = torch.tensor([0.0, 1e-6, 1e12], dtype=torch.float64)
    start, slope, end = enhancement(s2_x, constants).tolist()
    assert start == pytest.approx(1.0, abs=1e-15)
    assert (slope - 1.0) / 1e-6 == pytest.approx(constants.mu, rel=1e-5)
    assert end == pytest.approx(1.0 + constants.kappa, rel=1e-10)


@pytest.mark.parametrize("spins", [1, 2])
def test_without_gradient_pbe_is_the_uniform_gas(spins):
    density_sx = torch.tensor([[1e-6, 0.01, 0.3, 40.0], [3e-6, 0.001, 0.3, 4.0]], dtype=torch.float64)[:spins]
    points = prepare(density_sx, GGA_FLOOR)
    expected_x = exchange(points) + points.electrons_x * perdew_wang(points, PW92_MODIFIED)
    found_x = energy_density(density_sx, torch.zeros(1 if spins == 1 else 3, 4, dtype=torch.float64), PBE)
    torch.testing.assert_close(found_x, expected_x, rtol=1e-13, atol=0.0)


def test_correlation_vanishes_at_large_gradients_and_is_never_positive():
    points = prepare(torch.tensor([[1e-4, 0.1, 10.0]], dtype=torch.float64), GGA_FLOOR)
    sizes = [correlation(points, points.total_x ** (8 / 3) * scale, PBE) for scale in (0.0, 1.0, 1e3, 1e8)]
    for smaller, larger in itertools.pairwise(sizes):
        assert bool((larger > smaller).all())
    assert bool((sizes[-1] <= 0.0).all()) and bool((sizes[-1].abs() < 1e-9 * sizes[0].abs()).all())


def test_small_gradients_of_exchange_and_correlation_cancel():
    """mu = beta pi^2/3: PBE returns to the LDA response of the unpolarised gas, so dE/dsigma -> 0."""
    density_sx = torch.tensor([[3e2, 1e3, 1e5]], dtype=torch.float64)
    sigma_yx = torch.zeros(1, 3, dtype=torch.float64, requires_grad=True)
    (total_yx,) = torch.autograd.grad(energy_density(density_sx, sigma_yx, PBE).sum(), sigma_yx)
    points = prepare(density_sx, GGA_FLOOR)
    (part_yx,) = torch.autograd.grad((points.total_x * correlation(points, sigma_yx[0], PBE)).sum(), sigma_yx)
    assert bool((total_yx.abs() < 1e-12 * part_yx.abs()).all())


@pytest.mark.parametrize(
    ("density", "sigma"), [(1e-7, 8e-10), (1e-8, 1e-12), (1.0, 1.0), (0.1, 1e-4), (1e-3, 1e6), (100.0, 1e3)]
)
def test_gradient_derivative_keeps_its_digits(density, sigma):
    """Against the printed formulas in 60 digits; in double precision those lose all digits at large gradients."""
    mpmath = pytest.importorskip("mpmath")
    fit = PW92_MODIFIED.para

    def printed(n, sigma):
        third = mpmath.mpf(1) / 3
        fermi, rs = (3 * mpmath.pi**2 * n) ** third, (3 / (4 * mpmath.pi * n)) ** third
        root = mpmath.sqrt(rs)
        series = fit.beta1 * root + fit.beta2 * rs + fit.beta3 * rs * root + fit.beta4 * rs**2
        gas = -2 * mpmath.mpf(fit.a) * (1 + mpmath.mpf(fit.alpha) * rs) * mpmath.log(1 + 1 / (2 * fit.a * series))
        gamma, beta = (1 - mpmath.log(2)) / mpmath.pi**2, mpmath.mpf(PBE.beta)
        t2 = sigma / (16 * fermi / mpmath.pi * n**2)
        a = beta / gamma / (mpmath.exp(-gas / gamma) - 1)
        h = gamma * mpmath.log(1 + beta / gamma * t2 * (1 + a * t2) / (1 + a * t2 + (a * t2) ** 2))
        s2, kappa = sigma / (4 * fermi**2 * n**2), mpmath.mpf("0.804")
        factor = 1 + kappa - kappa / (1 + beta * mpmath.pi**2 / 3 * s2 / kappa)
        return n * (gas + h) - mpmath.mpf("0.75") * (3 / mpmath.pi) ** third * n ** (4 * third) * factor

    with mpmath.workdps(60):
        n, start = mpmath.mpf(density), mpmath.mpf(sigma)
        expected_energy = float(printed(n, start))
        expected = float(mpmath.diff(lambda value: printed(n, value), start))
    sigma_yx = torch.tensor([[sigma]], dtype=torch.float64, requires_grad=True)
    energy_x = energy_density(torch.tensor([[density]], dtype=torch.float64), sigma_yx, PBE)
    (slope_yx,) = torch.autograd.grad(energy_x.sum(), sigma_yx)
    assert energy_x.detach().item() == pytest.approx(expected_energy, rel=1e-14)
    # Exchange and correlation cancel to one part in 440 at (0.1, 1e-4).
    assert slope_yx.item() == pytest.approx(expected, rel=3e-12)


def test_reduced_gradient_scales_with_the_density():
    """E_x scales as lambda under n(r) -> lambda^3 n(lambda r): pointwise, e(l^3 n, l^8 sigma) = l^4 e(n, sigma)."""
    scale = 1.7
    density_sx = torch.tensor([[0.02, 0.3]], dtype=torch.float64)
    sigma_x = torch.tensor([1e-3, 0.4], dtype=torch.float64)

    def exchange_part(density_sx, sigma_x):
        points = prepare(density_sx, GGA_FLOOR)
        total_x = energy_density(density_sx, sigma_x[None], PBE)
        return total_x - points.total_x * correlation(points, sigma_x, PBE)

    scaled_x = exchange_part(scale**3 * density_sx, scale**8 * sigma_x)
    torch.testing.assert_close(scaled_x, scale**4 * exchange_part(density_sx, sigma_x), rtol=1e-13, atol=0.0)


def test_published_constants():
    assert PBE.mu == pytest.approx(0.21951, abs=5e-6) and PBE.beta == pytest.approx(0.066725, abs=5e-7)
    assert PBE.gamma == pytest.approx(0.031091, abs=5e-7) and PBESOL.mu == pytest.approx(10 / 81)
    assert math.isclose(PBE.mu, PBE.beta * math.pi**2 / 3) and REVPBE.kappa == 1.245


def channel(share: torch.Tensor):
    """Energy and potential of up electrons that are a share of 0.1 down electrons, with gradients of all."""
    density_sx = torch.stack([0.1 * share, torch.full_like(share, 0.1)])
    sigma_yx = torch.tensor([0.0, 0.0, 0.05], dtype=torch.float64)[:, None].expand(3, len(share))
    density_sx.requires_grad_()
    points = prepare(density_sx, GGA_FLOOR)
    energy_x = points.electrons_x * correlation(points, sigma_yx[2], PBE)
    (slope_sx,) = torch.autograd.grad(energy_x.sum(), density_sx)
    return energy_x.detach(), slope_sx[0]


def test_an_almost_empty_channel_feels_no_wild_potential():
    """Hartree; with y^(2/3) it is some hundred where the share is the floor's."""
    share_x = torch.cat([torch.tensor([-1e-2, -1e-6, 0.0]), torch.logspace(-14, 0, 300)]).to(torch.float64)
    _, potential_x = channel(share_x)
    assert float(potential_x.abs().max()) < 2.0
    assert float((potential_x[:3] - potential_x[0]).abs().max()) < 0.01


def test_the_potential_of_an_almost_empty_channel_is_the_derivative_of_the_energy():
    share_x = torch.logspace(-6, -1, 40, dtype=torch.float64)
    step_x = 1e-4 * share_x
    change_x = (channel(share_x + step_x)[0] - channel(share_x - step_x)[0]) / (0.2 * step_x)
    torch.testing.assert_close(channel(share_x)[1], change_x, rtol=1e-4, atol=1e-6)


def test_empty_and_well_filled_channels_have_the_printed_phi():
    share_x = torch.tensor([0.0, 1e-3, 0.1, 1.0], dtype=torch.float64)
    points = prepare(torch.stack([share_x, torch.ones_like(share_x)]), GGA_FLOOR)
    zeta_x = (share_x - 1) / (share_x + 1)
    printed_x = 0.5 * ((1 + zeta_x) ** (2 / 3) + (1 - zeta_x) ** (2 / 3))
    torch.testing.assert_close(spin_scaling(points), printed_x, rtol=1e-9, atol=0.0)
