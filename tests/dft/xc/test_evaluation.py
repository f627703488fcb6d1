"""Functionals against libxc, and what must hold for every functional."""

import csv

import numpy as np
import pytest
import torch

from covering import covering
from eigenwerk.dft.xc.evaluation import Evaluation, energy_and_derivatives, energy_density, uncompiled
from eigenwerk.functionals.b3lyp import BECKE_FLOOR
from eigenwerk.functionals.functional import Functional
from eigenwerk.functionals.table import FUNCTIONALS, PARTS, find_functional
from eigenwerk.functionals.vdw_exchange import UNBOUND_FLOOR

NAMES = [tag for tag, functional in FUNCTIONALS.items() if functional.libxc and tag != "PE"]
"""Of PBE the form with unrounded constants, which is libxc's."""


FLOORS = {"GGA_X_B88": BECKE_FLOOR} | {
    f"GGA_X_{name}": UNBOUND_FLOOR for name in ("OPTB88_VDW", "OPTB86B_VDW", "B86_R", "RPW86", "LV_RPW86")
}
"""Of exchange that grows without bound."""


def evaluated(name: str, density_sx: np.ndarray, sigma_yx: np.ndarray) -> list[np.ndarray]:
    """Energy and derivatives by density and sigma, zero for an LDA."""
    values = {"density": torch.tensor(density_sx), "sigma": torch.tensor(sigma_yx)}
    at = energy_and_derivatives(find_functional(name), values)
    slopes = {"sigma": torch.zeros_like(values["sigma"])} | at.slopes
    return [at.energy_x.numpy(), slopes["density"].numpy(), slopes["sigma"].numpy()]


def all_of(at: Evaluation) -> list[torch.Tensor]:
    return [at.energy_x, *at.slopes.values()]


@pytest.mark.parametrize("spins", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_energy_and_derivatives_agree_with_libxc(name, spins, libxc, libxc_parts, points):
    """The scale of the tolerance is exchange plus correlation in absolute value: in dE/dsigma the two nearly cancel."""
    density_sx, sigma_yx = points(spins)
    expected, scale = libxc.evaluate_sum(libxc_parts[name], density_sx, sigma_yx)
    for ours, theirs, size, tolerance in zip(
        evaluated(name, density_sx, sigma_yx), expected, scale, (1e-11, 1e-11, 1e-9), strict=True
    ):
        assert np.all(np.abs(ours - theirs) <= tolerance * size + 1e-18)


@pytest.mark.parametrize("spins", [1, 2])
@pytest.mark.parametrize("name", PARTS)
def test_parts_agree_with_libxc(name, spins, libxc, points):
    """The scale is that of exchange, too: correlation, and the exponential end of RPBE's dE/dsigma, lose digits."""
    density_sx, sigma_yx = points(spins)
    if name in FLOORS:  # nothing below has exchange here
        dense_x = (density_sx > FLOORS[name]).all(axis=0)
        density_sx, sigma_yx = density_sx[:, dense_x], sigma_yx[:, dense_x]
    expected, _ = libxc.evaluate_sum((name.lower(),), density_sx, sigma_yx)
    _, scale = libxc.evaluate_sum((name.lower(), "lda_x"), density_sx, sigma_yx)
    scale[2] += 0.01 * density_sx.sum(axis=0) ** (-4 / 3)
    assert libxc.number(name) == PARTS[name].number
    for ours, theirs, size, tolerance in zip(
        evaluated(name, density_sx, sigma_yx), expected, scale, (1e-11, 1e-11, 1e-9), strict=True
    ):
        assert np.all(np.abs(ours - theirs) <= tolerance * size + 1e-18)


@pytest.mark.slow
@pytest.mark.parametrize("spins", [1, 2])
def test_any_exchange_goes_with_any_correlation(spins, points):
    values = {name: torch.tensor(array) for name, array in zip(("density", "sigma"), points(spins), strict=True)}
    for exchange, correlation in (("GGA_X_PBE_SOL", "GGA_C_PBE"), ("LDA_X", "GGA_C_AM05"), ("GGA_X_PW91", "LDA_C_PZ")):
        both = find_functional(f"{exchange}+{correlation}")
        assert uncompiled(both, spins) == () and both.ingredients == ("density", "sigma")
        at = energy_and_derivatives(both, values)
        parts = [energy_and_derivatives(find_functional(name), values) for name in (exchange, correlation)]
        torch.testing.assert_close(at.energy_x, parts[0].energy_x + parts[1].energy_x, rtol=1e-13, atol=0.0)
        for name, slope in at.slopes.items():
            expected = sum(part.slopes.get(name, 0.0) for part in parts)
            torch.testing.assert_close(slope, expected, rtol=1e-9, atol=1e-18)


@pytest.mark.fast("B5-EXACT-*", "91-LIBXC-*", "CA-*", "PW92-*")
@pytest.mark.parametrize(("name", "table"), covering(NAMES, ("polarised.csv", "unpolarised.csv"), together=1))
def test_energy_and_derivatives_agree_with_the_table_of_libxc_values(name, table, tables):
    with open(tables / table, newline="") as file:
        file.readline()
        rows = [[float(value) for value in row[1:]] for row in csv.reader(file) if row[0] == name]
    assert len(rows) >= 24
    column_yx = np.array(rows).T
    spins, gradients = (1, 1) if table == "unpolarised.csv" else (2, 3)
    density_sx, sigma_yx, energy_x, vrho_sx, vsigma_yx = np.split(column_yx, np.cumsum([spins, gradients, 1, spins]))
    energy, vrho, vsigma = evaluated(name, density_sx, sigma_yx)
    np.testing.assert_allclose(energy, energy_x[0], rtol=1e-11)
    np.testing.assert_allclose(vrho, vrho_sx, rtol=1e-10)
    # Exchange and correlation, each of the order 0.01 n^(-4/3), nearly cancel; libxc loses those digits.
    size_x = np.abs(vsigma_yx).max(axis=0) + 0.01 * density_sx.sum(axis=0) ** (-4 / 3)
    assert np.all(np.abs(vsigma - vsigma_yx) <= 1e-9 * size_x)


@pytest.mark.parametrize("name", NAMES)
def test_a_single_spin_agrees_with_libxc(name, libxc, libxc_parts):
    """Full polarisation.  The potential of the empty spin is that at the density floor, which both codes share; libxc
    takes 1 - zeta as a difference, which leaves few digits of it."""
    density_sx = np.array([[1e-4, 1e-2, 0.1], [0.0, 0.0, 0.0]])
    sigma_yx = np.array([[1e-11, 1e-4, 0.05], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    expected, _ = libxc.evaluate_sum(libxc_parts[name], density_sx, sigma_yx)
    energy, vrho, _ = evaluated(name, density_sx, sigma_yx)
    np.testing.assert_allclose(energy, expected[0], rtol=1e-9)
    np.testing.assert_allclose(vrho[0], expected[1][0], rtol=1e-8)
    # the floors of AM05 lie at 1e-15, where libxc has even fewer digits of 1 - zeta
    np.testing.assert_allclose(vrho[1], expected[1][1], rtol=3e-3 if name == "AM-EXACT" else 1e-3)


@pytest.mark.parametrize("name", [*NAMES, "PE"])
def test_equal_channels_give_the_unpolarised_result(name, points):
    density_sx, sigma_yx = points(1)
    single = evaluated(name, density_sx, sigma_yx)
    double = evaluated(name, np.vstack((density_sx, density_sx)) / 2, np.vstack([sigma_yx] * 3) / 4)
    np.testing.assert_allclose(double[0], single[0], rtol=1e-12)
    np.testing.assert_allclose(double[1], np.vstack([single[1]] * 2), rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_exchanging_the_spins_exchanges_the_derivatives(name, points):
    density_sx, sigma_yx = points(2)
    one = evaluated(name, density_sx, sigma_yx)
    other = evaluated(name, density_sx[::-1].copy(), sigma_yx[::-1].copy())
    np.testing.assert_allclose(other[0], one[0], rtol=1e-14)
    np.testing.assert_allclose(other[1][::-1], one[1], rtol=1e-12)
    np.testing.assert_allclose(other[2][::-1], one[2], rtol=1e-12, atol=1e-14 * np.abs(one[2]).max())


@pytest.mark.fast("CA-2", "PE-EXACT-2", "91-LIBXC-2", "PS-2", "B3-EXACT-1")
@pytest.mark.parametrize(("name", "spins"), covering(NAMES, (2, 1), together=1))
def test_second_derivatives_are_those_of_the_first(name, spins):
    """fxc by automatic differentiation against finite differences of the first derivatives."""
    functional = find_functional(name)
    density = torch.tensor([[0.2, 0.03, 1.5], [0.1, 0.05, 0.2]], dtype=torch.float64)[:spins].requires_grad_()
    sigma = torch.tensor([[0.02, 1e-4, 0.5], [0.01, -1e-5, 0.1], [0.015, 2e-4, 0.3]], dtype=torch.float64)
    sigma = sigma[: 1 if spins == 1 else 3].requires_grad_()
    inputs = (density, sigma)[: len(functional.ingredients)]
    assert torch.autograd.gradgradcheck(functional.energy, inputs, eps=1e-7, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("sigma", [0.0, 1e-30, 1e-6, 1e20])
@pytest.mark.parametrize("spins", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_no_density_can_break_the_derivatives(name, spins, sigma):
    functional = find_functional(name)
    edge = torch.tensor([0.0, -1e-3, -1e-14, 1e-300, 1e-15, 1e-12, 1.0000001e-12, 1e-9, 1e8], dtype=torch.float64)
    for other in (0.0, -1e-4, 1e-12, 0.3):
        density_sx = edge[None] if spins == 1 else torch.stack((edge, torch.full_like(edge, other)))
        sigma_yx = torch.full((1 if spins == 1 else 3, edge.numel()), sigma, dtype=torch.float64)
        density_sx.requires_grad_()
        energy_x = energy_density(functional, {"density": density_sx, "sigma": sigma_yx})
        (first_sx,) = torch.autograd.grad(energy_x.sum(), density_sx, create_graph=True)
        (second_sx,) = torch.autograd.grad(first_sx.sum(), density_sx)
        for result in (energy_x, first_sx, second_sx):
            assert bool(result.isfinite().all())


@pytest.mark.parametrize("spins", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_vanishing_and_negative_densities_carry_nothing(name, spins):
    density_sx = torch.tensor([[0.0, -1e-3, 4e-16]], dtype=torch.float64).expand(spins, 3)
    sigma_yx = torch.full((1 if spins == 1 else 3, 3), 1e-3, dtype=torch.float64)
    at = energy_and_derivatives(find_functional(name), {"density": density_sx, "sigma": sigma_yx})
    assert not any(result.any() for result in all_of(at))


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_chunks_and_axes_do_not_change_the_result(chunk, points):
    density_sx, sigma_yx = (torch.tensor(array)[:, :60] for array in points(2))
    functional = find_functional("PE")
    whole = energy_and_derivatives(functional, {"density": density_sx, "sigma": sigma_yx}, points_per_chunk=60)
    with torch.no_grad():
        shaped = {"density": density_sx.reshape(2, 3, 4, 5), "sigma": sigma_yx.reshape(3, 3, 4, 5)}
        parts = energy_and_derivatives(functional, shaped, points_per_chunk=chunk)
    assert list(parts.slopes) == list(whole.slopes) == ["density", "sigma"]
    for one, other in zip(all_of(whole), all_of(parts), strict=True):
        assert other.shape[-3:] == (3, 4, 5)
        torch.testing.assert_close(other.reshape(one.shape), one, rtol=1e-14, atol=0.0)


def test_derivatives_leave_the_inputs_alone():
    density_sx = torch.rand(1, 5, dtype=torch.float64)
    at = energy_and_derivatives(find_functional("CA"), {"density": density_sx})
    assert not (density_sx.requires_grad or at.energy_x.requires_grad or at.slopes["density"].requires_grad)
    assert list(at.slopes) == ["density"]


def test_pbe_differs_from_its_unrounded_form_by_the_rounding(points):
    """mu from beta = 0.066725 instead of 0.06672455: 7e-6 in mu; A of PW92: up to 1e-5 in the correlation energy."""
    exact, printed = (evaluated(name, *points(1))[0] for name in ("PE-EXACT", "PE"))
    difference = np.abs(printed / exact - 1.0)
    assert 1e-7 < difference.max() < 1e-5


def test_wrong_shapes_are_refused():
    density_sx = torch.ones(1, 4, dtype=torch.float64)
    with pytest.raises(ValueError, match="PBE needs squared gradients of shape"):
        energy_density(find_functional("pe"), {"density": density_sx})
    with pytest.raises(ValueError, match="1 or 2 spin channels"):
        energy_density(find_functional("CA"), {"density": density_sx.expand(3, 4)})


TOY = Functional(
    "TOY", "a toy", ("density", "sigma", "tau"),
    lambda density_sx, sigma_yx, tau_sx: (density_sx * tau_sx.sqrt()).sum(0) + sigma_yx.sum(0).square(), (), ("PBE",),
)  # fmt: skip


@pytest.mark.parametrize("spins", [1, 2])
def test_ingredients_are_those_that_a_functional_names(spins):
    draw = torch.Generator().manual_seed(2)
    counts = {"tau": spins, "sigma": 2 * spins - 1, "density": spins}
    values = {name: torch.rand((c, 3, 4), generator=draw, dtype=torch.float64) for name, c in counts.items()}
    at = energy_and_derivatives(TOY, values)
    torch.testing.assert_close(at.energy_x, energy_density(TOY, values))
    torch.testing.assert_close(at.slopes["density"], values["tau"].sqrt())
    torch.testing.assert_close(at.slopes["tau"], values["density"] / values["tau"].sqrt() / 2)
    torch.testing.assert_close(at.slopes["sigma"], 2 * values["sigma"].sum(0).expand_as(values["sigma"]))
    with pytest.raises(ValueError, match="a toy needs kinetic-energy densities of shape"):
        energy_and_derivatives(TOY, {"density": values["density"], "sigma": values["sigma"]})


def test_a_formula_that_no_compiler_takes_runs_as_operations_of_pytorch_and_says_so():
    odd = Functional("ODD", "an odd one", ("density",), lambda n_sx: n_sx.sum(0).lgamma(), (), ("PBE",))
    density_sx = torch.tensor([[0.5, 2.5]], dtype=torch.float64)
    at = energy_and_derivatives(odd, {"density": density_sx})
    torch.testing.assert_close(at.energy_x, torch.lgamma(density_sx[0]))
    torch.testing.assert_close(at.slopes["density"], torch.digamma(density_sx))
    assert uncompiled(odd, 1) == ("an odd one is not compiled and takes many times as long, for it has the operation "
                                  "lgamma of 1 arguments",)  # fmt: skip
    assert uncompiled(find_functional("PE"), 2) == ()
