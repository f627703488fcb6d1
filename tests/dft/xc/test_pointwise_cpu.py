"""The recorded program on a processor, as a compiled loop and as operations on chunks, against PyTorch's own operations
and derivatives."""

import pytest
import torch

from eigenwerk.dft.xc import pointwise_cpu, pointwise_native
from eigenwerk.dft.xc.functional import make_functional
from eigenwerk.dft.xc.recording import record
from eigenwerk.parallel.kernels.cpu import compiler

NAMES = ("PE", "PS", "RP", "RE", "CA", "PW92")
WAYS = ("compiled loop", "chunks")


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """One of the two ways for all functionals."""
    if request.param == "chunks":
        monkeypatch.setattr(pointwise_native, "compiled_loop", lambda function, channels: None)
    elif compiler() is None:
        pytest.skip("no gcc here: functionals are not compiled")
    return request.param


def points(spins, count, seed=3):
    """Densities of solids with gradients to match: [n_sx, sigma_yx]."""
    draw = torch.Generator().manual_seed(seed)
    density_sx = 10 ** (4 * torch.rand((spins, count), generator=draw, dtype=torch.float64) - 3.5)
    gradient_sxv = torch.randn((spins, count, 3), generator=draw, dtype=torch.float64) * density_sx[..., None]
    pairs = [(0, 0)] if spins == 1 else [(0, 0), (0, 1), (1, 1)]
    return [density_sx, torch.stack([(gradient_sxv[s] * gradient_sxv[t]).sum(-1) for s, t in pairs])]


@pytest.mark.parametrize("count", [0, 1, 700, 2 * pointwise_cpu.CHUNK_POINTS + 5])
@pytest.mark.parametrize("spins", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_the_program_agrees_with_operations_of_pytorch(way, name, spins, count):
    functional = make_functional(name)
    inputs = points(spins, count)
    by_program = functional.energy_and_derivatives(*inputs)
    by_torch = functional.energy_and_derivatives(*inputs, points_per_chunk=10**6)
    for found, wanted in zip(by_program, by_torch, strict=True):
        if wanted is None or not count:
            assert found is None or found.shape == wanted.shape
        else:
            assert (found - wanted).abs().max() <= 1e-13 * wanted.abs().max()


@pytest.mark.parametrize("spins", [1, 2])
@pytest.mark.parametrize("name", ["PE", "CA"])
def test_points_without_density_are_left_out_and_change_no_others(way, name, spins):
    functional = make_functional(name)
    density_sx, sigma_yx = points(spins, 3000)
    empty_x = torch.arange(3000) % 3 != 0
    density_sx[:, empty_x] = torch.tensor([0.0, -1e-4, functional.floor / 2], dtype=torch.float64)[
        torch.arange(int(empty_x.sum())) % 3
    ]
    all_points = functional.energy_and_derivatives(density_sx, sigma_yx)
    filled = functional.energy_and_derivatives(density_sx[:, ~empty_x], sigma_yx[:, ~empty_x])
    plain = functional.energy_and_derivatives(density_sx, sigma_yx, points_per_chunk=10**6)
    rounding = 1e-13 if way == "compiled loop" else 0.0  # its last points are too few for a vector
    for found, alone, wanted in zip(all_points, filled, plain, strict=True):
        if wanted is not None:
            assert (found[..., ~empty_x] - alone).abs().max() <= rounding * alone.abs().max()
            assert not found[..., empty_x].any() and not wanted[..., empty_x].any()


def test_a_density_that_is_no_number_is_not_taken_for_an_empty_one(way):
    density_sx = torch.zeros((1, 9), dtype=torch.float64)
    density_sx[0, 4] = torch.nan
    _, slope_sx, _ = make_functional("PE").energy_and_derivatives(density_sx, torch.zeros_like(density_sx))
    assert slope_sx.isnan().tolist() == [[x == 4 for x in range(9)]]


@pytest.mark.parametrize("threads", [1, 3])
def test_parts_of_threads_make_the_whole(way, threads):
    before = torch.get_num_threads()
    functional, inputs = make_functional("PE"), points(2, 5 * pointwise_native.FEWEST_POINTS + 3)
    one = functional.energy_and_derivatives(*inputs)
    torch.set_num_threads(threads)
    try:
        several = functional.energy_and_derivatives(*inputs)
    finally:
        torch.set_num_threads(before)
    for found, wanted in zip(several, one, strict=True):
        assert (found - wanted).abs().max() <= 1e-13 * wanted.abs().max()


def test_arrays_that_are_parts_of_others(way):
    inputs = [torch.cat([value, value], 1) for value in points(2, 700)]
    functional = make_functional("PE")
    parts = functional.energy_and_derivatives(*(value[:, 5:600] for value in inputs))
    whole = functional.energy_and_derivatives(*inputs)
    for found, wanted in zip(parts, whole, strict=True):
        assert (found - wanted[..., 5:600]).abs().max() <= 1e-13 * wanted.abs().max()


def test_outputs_may_be_inputs_numbers_and_one_another():
    def function(a_cx):
        root_cx = a_cx.sqrt()
        return a_cx, root_cx, torch.ones_like(a_cx), root_cx, torch.where(a_cx > 0.5, a_cx.pow(0.7), root_cx * 2.0)

    a_cx = torch.tensor([[0.2, 0.7, 0.4, 2.0]], dtype=torch.float64)
    wanted = function(a_cx)
    outputs = [torch.empty_like(a_cx) for _ in wanted]
    schedule = pointwise_cpu.schedule_of(record(function, [1]))
    schedule.run(schedule.workspace(4), [a_cx], outputs)
    assert all(torch.allclose(found, value, rtol=1e-15) for found, value in zip(outputs, wanted, strict=True))


def test_the_compiled_loop_holds_every_operation():
    def function(a_cx):
        low_cx = a_cx.clamp(min=0.3)
        return (
            torch.where(a_cx >= 0.5, low_cx.exp(), low_cx.log()), a_cx.expm1() - a_cx.log1p(), a_cx.pow(0.7),
            -a_cx.pow(1 / 3), a_cx.sqrt() / low_cx + a_cx.reciprocal(),
        )  # fmt: skip

    a_cx = torch.tensor([[0.2, 0.7, 0.4, 2.0, 0.5]], dtype=torch.float64)
    if compiler() is None:
        pytest.skip("no gcc here: functionals are not compiled")
    compiled = pointwise_native.kernel(pointwise_native.source_of(record(function, [1])), "pointwise")
    wanted, outputs = function(a_cx), [torch.empty_like(a_cx) for _ in range(5)]
    compiled(*(value.data_ptr() for value in (a_cx, *outputs)), 5, 5)
    assert all(torch.allclose(found, value, rtol=4e-15) for found, value in zip(outputs, wanted, strict=True))


def test_places_are_used_again():
    schedule = pointwise_cpu.schedule_of(record(make_functional("PE").derivatives, [1, 1]))
    assert schedule.numbers < 40 < len(schedule.steps)
