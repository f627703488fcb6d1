import math

import numpy as np
import pytest
import torch

from covering import covering
from eigenwerk.dft.xc.evaluation import derivatives, energy_and_derivatives
from eigenwerk.dft.xc.pointwise_cuda import source_of
from eigenwerk.dft.xc.program_in_c import FUNCTIONS, in_c
from eigenwerk.dft.xc.recording import Program, UnknownOperation, record
from eigenwerk.functionals.table import FUNCTIONALS, find_functional

C_FUNCTIONS = {name: getattr(math, name) for name in ("pow", "fabs", *FUNCTIONS)}


def points(spins, count=60, seed=5):
    """Densities over many orders of magnitude, empty and negative ones among them, and gradients: [n_sx, sigma_yx]."""
    random = np.random.default_rng(seed)
    density_sx = 10 ** random.uniform(-9, 1, (spins, count))
    density_sx[:, :4], density_sx[-1, 4:8] = 0.0, -1e-6
    gradient_sxv = random.standard_normal((spins, count, 3)) * density_sx.clip(1e-9)[..., None]
    pairs = [(0, 0)] if spins == 1 else [(0, 0), (0, 1), (1, 1)]
    sigma_yx = np.stack([(gradient_sxv[s] * gradient_sxv[t]).sum(-1) for s, t in pairs])
    return [torch.as_tensor(density_sx), torch.as_tensor(sigma_yx)]


def run_as_c(program, inputs):
    """The program at every point, its C taken as Python (`a ? b : c` turned round)."""
    found = [[] for _ in program.outputs]
    for x in range(inputs[0].shape[1]):
        values = {name: float(array[c, x]) for names, array in zip(program.inputs, inputs, strict=True)
                  for c, name in enumerate(names)}  # fmt: skip
        for line in program.needed():
            expression = in_c(line)
            if " ? " in expression:
                condition, rest = expression.split(" ? ")
                expression = "({1}) if {0} else ({2})".format(condition, *rest.split(" : "))
            values[line.name] = eval(expression, {**C_FUNCTIONS}, values)
        for output, names in zip(found, program.outputs, strict=True):
            output.append([eval(name, {}, values) for name in names])
    return [torch.tensor(output, dtype=torch.float64).T for output in found]


@pytest.mark.fast("PS-2", "PE-EXACT-2", "CA-2")
@pytest.mark.parametrize(("name", "spins"), covering(FUNCTIONALS, (2, 1), together=1))
def test_a_recorded_functional_computes_the_same_at_other_points(name, spins):
    functional = find_functional(name)
    inputs = points(spins)[: len(functional.ingredients)]
    program = record(derivatives(functional), [len(value) for value in inputs])
    for found, wanted in zip(run_as_c(program, inputs), derivatives(functional)(*inputs), strict=True):
        assert torch.allclose(found, wanted.view_as(found), rtol=1e-9, atol=1e-13)


def test_the_source_reads_every_channel_and_writes_every_derivative():
    source = source_of(record(derivatives(find_functional("PE")), [2, 3]))
    assert "fmax" not in source, "what is no number stays so"
    assert [f"in1[{c} * points + x]" in source for c in range(4)] == [True, True, True, False]
    assert [f"out2[{c} * points + x] =" in source for c in range(4)] == [True, True, True, False]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x_sx: (torch.add(x_sx, x_sx, alpha=2),), "add with alpha = 2"),
        (lambda x_sx: (torch.sub(x_sx, 1.0, alpha=0.5),), "sub with alpha = 0.5"),
        (lambda x_sx: (torch.div(x_sx, 0.3, rounding_mode="floor"),), "div with rounding_mode = floor"),
        (lambda x_sx: (torch.ones_like(x_sx, dtype=torch.float32),), "ones_like with dtype = torch.float32"),
        (lambda x_sx: (torch.sum(x_sx, 1),), "sum of list"),
    ],
)
def test_an_argument_that_would_be_lost_is_named(function, said):
    with pytest.raises(UnknownOperation, match=said):
        record(function, [2])


def test_a_result_has_one_name_and_what_nobody_needs_is_left_out():
    def function(x_sx):
        return (x_sx * 2.0 + (x_sx * 2.0).exp() + torch.add(x_sx, 1.0, alpha=1) * 0.0 * torch.ones_like(x_sx),)

    program = record(lambda x_sx: (function(x_sx)[0], x_sx.sqrt())[:1], [1])
    assert [line.operation for line in program.needed()] == ["mul", "exp", "add", "add", "mul", "add"]
    assert [line.operation for line in program.lines].count("sqrt") == 1


@pytest.mark.parametrize("exponent", [-7 / 3, -2, -2 / 3, -1 / 3, 0, 1 / 3, 1, 4 / 3, 2, 0.7, 5.5])
def test_powers_by_cube_roots_are_powers(exponent):
    program = Program([("x",)])
    program.outputs = [(program.power("x", repr(float(exponent))),)]
    found = run_as_c(program, [torch.tensor([[1.7]], dtype=torch.float64)])[0]
    assert found.item() == pytest.approx(1.7**exponent, rel=1e-14)
    assert ("pow" in [line.operation for line in program.needed()]) == (exponent in (0.7, 5.5))


@pytest.mark.gpu
@pytest.mark.parametrize("spins", [1, 2])
@pytest.mark.parametrize("name", FUNCTIONALS)
def test_the_kernel_agrees_with_operations_of_pytorch(name, spins):
    functional = find_functional(name)
    values = dict(zip(("density", "sigma"), (value.cuda() for value in points(spins, 5000)), strict=True))
    by_kernel = energy_and_derivatives(functional, values)
    by_torch = energy_and_derivatives(functional, values, points_per_chunk=1000)
    assert torch.allclose(by_kernel.energy_x, by_torch.energy_x, rtol=1e-9, atol=1e-13)
    for name, wanted in by_torch.slopes.items():
        assert torch.allclose(by_kernel.slopes[name], wanted, rtol=1e-9, atol=1e-13)


@pytest.mark.gpu
def test_a_kernel_takes_no_points_and_any_shape():
    functional = find_functional("PE")
    empty = torch.zeros((1, 0), dtype=torch.float64, device="cuda")
    assert energy_and_derivatives(functional, {"density": empty, "sigma": empty}).energy_x.shape == (0,)
    values = dict(zip(("density", "sigma"), (value.cuda() for value in points(1, 60)), strict=True))
    flat = energy_and_derivatives(functional, values)
    shaped = energy_and_derivatives(functional, {name: value.view(1, 3, 20) for name, value in values.items()})
    assert torch.equal(flat.energy_x, shaped.energy_x.flatten())
    assert all(torch.equal(flat.slopes[name], shaped.slopes[name].flatten(1)) for name in values)
