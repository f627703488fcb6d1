"""The compiled loop of a functional on a processor, and its plain twin, PyTorch's own operations and derivatives."""

import pytest
import torch

from covering import covering
from eigenwerk.dft.xc import pointwise_native
from eigenwerk.dft.xc.evaluation import CHUNK_POINTS, COMPILED, Evaluation, energy_and_derivatives
from eigenwerk.dft.xc.recording import record
from eigenwerk.functionals.table import FUNCTIONALS, find_functional
from eigenwerk.parallel.kernels.cpu import compiler

WAYS = ("compiled loop", "plain")


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """One of the two ways for all functionals."""
    if request.param == "plain":
        monkeypatch.setitem(COMPILED, "cpu", lambda function, inputs: None)
    elif compiler() is None:
        pytest.skip("no gcc here: functionals are not compiled")
    return request.param


def points(spins, count, seed=3):
    """Densities of solids with gradients to match, by ingredient."""
    draw = torch.Generator().manual_seed(seed)
    density_sx = 10 ** (4 * torch.rand((spins, count), generator=draw, dtype=torch.float64) - 3.5)
    gradient_sxv = torch.randn((spins, count, 3), generator=draw, dtype=torch.float64) * density_sx[..., None]
    pairs = [(0, 0)] if spins == 1 else [(0, 0), (0, 1), (1, 1)]
    sigma_yx = torch.stack([(gradient_sxv[s] * gradient_sxv[t]).sum(-1) for s, t in pairs])
    return {"density": density_sx, "sigma": sigma_yx}


def at(values, x):
    return {name: value[:, x] for name, value in values.items()}


def all_of(found: Evaluation) -> list[torch.Tensor]:
    return [found.energy_x, *found.slopes.values()]


def assert_same(found: Evaluation, wanted: Evaluation):
    for one, other in zip(all_of(found), all_of(wanted), strict=True):
        assert one.shape == other.shape
        assert not one.numel() or (one - other).abs().max() <= 1e-13 * other.abs().max()


@pytest.mark.fast(
    "compiled loop-91-LIBXC-2",
    "compiled loop-AM-EXACT-2",
    "compiled loop-PE-EXACT-2",
    "compiled loop-PS-2",
    "compiled loop-*-1",
    "plain-RP-2",
    "plain-B3-2",
    "plain-PS-2",
    "plain-PE-EXACT-2",
    "plain-91-2",
)
@pytest.mark.parametrize(("name", "spins"), covering(FUNCTIONALS, (2, 1), together=1))
def test_both_ways_agree_with_all_points_at_once(way, name, spins):
    functional = find_functional(name)
    for count in (0, 1, 700, 2 * CHUNK_POINTS["cpu"] + 5):
        values = points(spins, count)
        whole = energy_and_derivatives(functional, values, points_per_chunk=10**6)
        assert_same(energy_and_derivatives(functional, values), whole)


@pytest.mark.parametrize("spins", [1, 2])
@pytest.mark.parametrize("name", ["PE", "CA"])
def test_points_without_density_carry_nothing_and_change_no_others(way, name, spins):
    functional, values = find_functional(name), points(spins, 3000)
    empty_x = torch.arange(3000) % 3 != 0
    values["density"][:, empty_x] = torch.tensor([0.0, -1e-4, 4e-16], dtype=torch.float64)[
        torch.arange(int(empty_x.sum())) % 3
    ]
    found = energy_and_derivatives(functional, values)
    assert not any(value[..., empty_x].any() for value in all_of(found))
    filled = Evaluation(found.energy_x[~empty_x], at(found.slopes, ~empty_x))
    assert_same(filled, energy_and_derivatives(functional, at(values, ~empty_x)))


def test_a_density_that_is_no_number_is_not_taken_for_an_empty_one(way):
    density_sx = torch.zeros((1, 9), dtype=torch.float64)
    density_sx[0, 4] = torch.nan
    values = {"density": density_sx, "sigma": torch.zeros_like(density_sx)}
    slope_sx = energy_and_derivatives(find_functional("PE"), values).slopes["density"]
    assert slope_sx.isnan().tolist() == [[x == 4 for x in range(9)]]


@pytest.mark.parametrize("threads", [1, 3])
def test_parts_of_threads_make_the_whole(way, threads):
    before = torch.get_num_threads()
    functional, values = find_functional("PE"), points(2, 3 * CHUNK_POINTS["cpu"] + 3)
    one = energy_and_derivatives(functional, values)
    torch.set_num_threads(threads)
    try:
        several = energy_and_derivatives(functional, values)
    finally:
        torch.set_num_threads(before)
    assert_same(several, one)


def test_arrays_that_are_parts_of_others(way):
    values = {name: torch.cat([value, value], 1) for name, value in points(2, 700).items()}
    functional = find_functional("PE")
    whole = energy_and_derivatives(functional, values)
    part = slice(5, 600)
    parts = energy_and_derivatives(functional, at(values, part))
    assert_same(parts, Evaluation(whole.energy_x[part], at(whole.slopes, part)))


def test_outputs_may_be_inputs_numbers_and_one_another():
    def function(a_cx):
        root_cx = a_cx.sqrt()
        return a_cx, root_cx, torch.ones_like(a_cx), root_cx, torch.where(a_cx > 0.5, a_cx.pow(0.7), root_cx * 2.0)

    a_cx = torch.tensor([[0.2, 0.7, 0.4, 2.0]], dtype=torch.float64)
    if compiler() is None:
        pytest.skip("no gcc here: functionals are not compiled")
    compiled = pointwise_native.kernel(pointwise_native.source_of(record(function, [1])), "pointwise")
    wanted = function(a_cx)
    outputs = [torch.empty_like(a_cx) for _ in wanted]
    compiled(*(value.data_ptr() for value in (a_cx, *outputs)), 4, 4)
    assert all(torch.allclose(found, value, rtol=1e-15) for found, value in zip(outputs, wanted, strict=True))
