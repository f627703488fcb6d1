"""Exchange of the interaction erfc(omega r)/r: integrals of holes, limits, libxc's values, derivatives."""

import csv

import numpy as np
import pytest
import torch

from covering import covering
from eigenwerk.dft.xc.evaluation import derivatives, energy_and_derivatives, uncompiled
from eigenwerk.functionals import hjs, short_gas, wpbe
from eigenwerk.functionals.functional import DENSITY, SIGMA, Functional
from eigenwerk.functionals.hybrid import B3LYP, Hybrid
from eigenwerk.functionals.table import SHORT_RANGES, find_functional

S = (0.0, 1e-3, 0.05, 0.4, 0.99, 1.5, 2.5, 5.0, 8.2, 8.4, 20.0)
NU = (1e-3, 0.05, 0.3, 1.0, 4.0, 30.0, 300.0)

NODES = np.linspace(-4.2, 3.6, 3401)


def grid() -> tuple[torch.Tensor, torch.Tensor]:
    """All pairs of s² and nu."""
    s_x, nu_x = (axis.ravel() for axis in np.meshgrid(S, NU, indexing="ij"))
    return torch.tensor(s_x**2), torch.tensor(nu_x)


def integrated(s: float, nu: float) -> float:
    """-8/9 int y J(s, y) erfc(nu y) dy of the hole of Ernzerhof and Perdew, by double-exponential quadrature."""
    a, b, c, d = 1.0161144, -0.37170836, -0.077215461, 0.57786348
    h = (0.00979681 * s**2 + 0.0410834 * s**4) / (1 + 0.187440 * s**4 + 0.00120824 * s**5 + 0.0347188 * s**6)
    q, slow = s * s * h, 4 * a / 9
    wide, c = d + q, c * (1 + s * s * (6.4753871 * h + 0.47965830))
    y_z = np.exp(np.sinh(NODES))
    weight_z = y_z * np.cosh(NODES) * (NODES[1] - NODES[0])
    square_z = y_z**2
    gauss_z = np.exp(-wide * square_z)
    rational_z = a * (np.expm1(-wide * square_z) - np.expm1(-q * square_z)) / square_z + a * slow * np.exp(
        -q * square_z
    ) / (1 + slow * square_z)
    known_z = rational_z + (b + c * square_z) * gauss_z
    # the last factor makes it a hole of one electron
    missing = -0.75 * np.pi - (known_z * square_z) @ weight_z
    factor = missing / ((square_z**3 * gauss_z) @ weight_z)
    hole_z = known_z + factor * square_z**2 * gauss_z
    return float(-8 / 9 * (y_z * hole_z * torch.erfc(torch.tensor(nu * y_z)).numpy()) @ weight_z)


def test_short_range_pbe_is_the_integral_of_its_hole():
    reduced_x, nu_x = grid()
    inside = reduced_x <= 8.3**2
    found_x = wpbe.enhancement(reduced_x, nu_x, "printed")[inside]
    pairs = zip(reduced_x[inside].sqrt().tolist(), nu_x[inside].tolist(), strict=True)
    expected = [integrated(s, nu) for s, nu in pairs]
    np.testing.assert_allclose(found_x.numpy(), expected, rtol=3e-7)


def test_without_screening_the_hole_holds_the_energy_of_pbe_within_the_model():
    """As the paper has it up to s = 3, and the uniform gas exactly but for the digits of its constants."""
    s_x = torch.linspace(0.0, 3.0, 61, dtype=torch.float64)
    found_x = wpbe.enhancement(s_x**2, torch.zeros_like(s_x), "printed")
    pbe_x = 1.804 - 0.804 / (1 + 0.21951497 * s_x**2 / 0.804)
    assert abs(float(found_x[0]) - 1) < 3e-8
    assert float((found_x / pbe_x - 1).abs().max()) < 6e-3


@pytest.mark.parametrize(
    "factor", [lambda s2, nu: wpbe.enhancement(s2, nu, "printed"), hjs.enhancement, lambda s2, nu: short_gas.factor(nu)]
)
def test_limits_of_screening(factor):
    """Strong: the hole on top of the electron, 1/(9 nu²), of every functional; between, F falls with nu."""
    reduced_x, _ = grid()
    far_x = factor(reduced_x, torch.full_like(reduced_x, 3e3))
    torch.testing.assert_close(9 * 9e6 * far_x, torch.ones_like(far_x), rtol=1e-4, atol=0)
    rising = torch.stack([factor(reduced_x, torch.full_like(reduced_x, nu)) for nu in NU])
    assert bool((rising[1:] < rising[:-1]).all())
    assert bool((rising > 0).all())


def test_the_gas_without_gradients_is_nearly_that_of_the_holes():
    """The models' holes leave out the oscillations of the true one."""
    nu_x = torch.tensor(NU, dtype=torch.float64)
    exact_x = short_gas.factor(nu_x)
    for model_x in (wpbe.enhancement(0 * nu_x, nu_x, "printed"), hjs.enhancement(0 * nu_x, nu_x)):
        assert float((model_x / exact_x - 1).abs().max()) < 0.04


def test_series_and_formula_of_the_gas_meet():
    near_x = short_gas.factor(torch.tensor([2.0 - 1e-12, 2.0 + 1e-12], dtype=torch.float64))
    assert abs(float(near_x[0] - near_x[1])) < 1e-11 * float(near_x[0])


def test_large_gradients_stay_below_the_bound():
    """s itself up to 8.3, and from there a curve that meets it with its slope nearly the same."""
    s_x = torch.tensor([8.2999999, 8.3000001, 1e3], dtype=torch.float64)
    found_x = wpbe.bounded(s_x**2, "printed").sqrt()
    torch.testing.assert_close(found_x[:2], s_x[:2], rtol=1e-6, atol=0)
    assert float(found_x[2]) == pytest.approx(8.572844, abs=1e-4)
    assert float(wpbe.bounded(s_x**2, "smooth").sqrt()[2]) == pytest.approx(8.572844, abs=1e-12)


def short_range(tag: str, screening: float) -> Functional:
    """Exchange of short range alone: a hybrid of nothing but its absence."""
    whole, without = find_functional(tag), find_functional(tag, Hybrid(1.0, screening, 0.0, 0.0))

    def energy(*values: torch.Tensor) -> torch.Tensor:
        return whole.energy(*values) - without.energy(*values)

    return Functional(tag, tag, whole.ingredients, energy, (), ())


CASES = {
    "PE-HOLE": (lambda: short_range("PE-HOLE", 0.11), 2e-6),
    "PS": (lambda: short_range("PS", 0.11), 2e-6),
    "CA": (lambda: short_range("CA", 0.11), 1e-9),
    "HSE06": (lambda: find_functional("PE-HOLE", Hybrid.of(0.25, 0.11)), 1e-6),
    "PBE0": (lambda: find_functional("PE-EXACT", Hybrid.of(0.25)), 1e-11),
    "B3LYP": (lambda: find_functional("B3", B3LYP), 1e-11),
}
"""Rows of the tables, and what libxc's own approximations allow."""


@pytest.mark.fast("CA-*", "PBE0-*", "B3LYP-*")
@pytest.mark.parametrize(
    ("name", "table"),
    covering(
        CASES, ("hybrids_unpolarised.csv", "hybrids_polarised.csv"),
        fast=lambda name, table: "un" in table or name in ("PS", "CA", "PBE0", "B3LYP"), together=1,
    ),
)  # fmt: skip
def test_energies_and_derivatives_agree_with_the_table_of_libxc_values(name, table, repository):
    make, tolerance = CASES[name]
    with open(repository / "tests/data/xc" / table, newline="") as file:
        file.readline()
        rows = [[float(value) for value in row[1:]] for row in csv.reader(file) if row[0] == name]
    assert len(rows) >= 25
    spins, gradients = (1, 1) if table == "hybrids_unpolarised.csv" else (2, 3)
    parts = np.split(np.array(rows).T, np.cumsum([spins, gradients, 1, spins]))
    density_sx, sigma_yx, energy_x, vrho_sx, vsigma_yx = (torch.tensor(part) for part in parts)
    at = energy_and_derivatives(make(), {"density": density_sx, "sigma": sigma_yx})
    size_x = vrho_sx.abs().max(0).values
    assert float(((at.energy_x - energy_x[0]) / energy_x[0]).abs().max()) < tolerance
    assert float(((at.slopes["density"] - vrho_sx) / size_x).abs().max()) < 3 * tolerance
    if SIGMA in at.slopes:
        # of exchange and correlation, which cancel there, and of numbers as small as those of short range
        size_x = 0.01 * density_sx.sum(0) ** (-4 / 3)
        assert float(((at.slopes["sigma"] - vsigma_yx) / size_x).abs().max()) < 10 * tolerance


@pytest.mark.fast("CA-2", "PW92-1", "PS-1")
@pytest.mark.parametrize(
    ("tag", "spins"),
    covering(SHORT_RANGES, (1, 2), fast=lambda tag, spins: spins == 1 or tag in ("PS", "CA")),
)
def test_derivatives_are_those_of_the_energy(tag, spins):
    """Central differences, for the compiled program."""
    functional = find_functional(tag, Hybrid.of(0.25, 0.11))
    generator = torch.Generator().manual_seed(spins)
    density_sx = 10 ** (3 * torch.rand((spins, 30), generator=generator, dtype=torch.float64) - 3)
    slope_svx = 3 * torch.randn((spins, 3, 30), generator=generator, dtype=torch.float64)
    slope_svx *= density_sx[:, None] ** (4 / 3)
    pairs = [(0, 0)] if spins == 1 else [(0, 0), (0, 1), (1, 1)]
    values = {DENSITY: density_sx, SIGMA: torch.stack([(slope_svx[i] * slope_svx[j]).sum(0) for i, j in pairs])}
    at = energy_and_derivatives(functional, values)
    for name in functional.ingredients:
        for channel in range(len(values[name])):
            step_x = 1e-4 * values[name][channel]
            energies = []
            for sign in (1, -1):
                moved = values[name].clone()
                moved[channel] += sign * step_x
                energies.append(energy_and_derivatives(functional, values | {name: moved}).energy_x)
            expected_x = (energies[0] - energies[1]) / (2 * step_x)
            scale_x = (at.energy_x / values[name][channel]).abs()
            assert float(((at.slopes[name][channel] - expected_x) / scale_x).abs().max()) < 2e-7


@pytest.mark.parametrize(("spins", "tag"), covering((1, 2), tuple(SHORT_RANGES), together=1))
def test_screened_hybrids_are_compiled_and_finite_everywhere(tag, spins):
    functional = find_functional(tag, Hybrid.of(0.25, 0.11))
    assert uncompiled(functional, spins) == ()
    density_x = torch.tensor([0.0, -1e-10, 1e-13, 1e-11, 1e-6, 1e-2, 1.0, 1e4], dtype=torch.float64)
    density_sx = density_x.repeat(spins, 1)
    if spins == 2:
        density_sx[1] = 0.0
    for size in (0.0, 1e-30, 1e-6, 1e6):
        sigma_yx = torch.zeros((2 * spins - 1, len(density_x)), dtype=torch.float64)
        sigma_yx[0] = size
        values = {DENSITY: density_sx, SIGMA: sigma_yx}
        at = energy_and_derivatives(functional, values)
        assert all(bool(part.isfinite().all()) for part in (at.energy_x, *at.slopes.values()))
        plain = derivatives(functional)(*(values[name] for name in functional.ingredients))
        torch.testing.assert_close(at.energy_x, plain[0], rtol=1e-9, atol=1e-300)
