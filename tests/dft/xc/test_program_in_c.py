"""Every operation that is compiled, with its derivative, against PyTorch."""

import pytest
import torch

from eigenwerk.dft.xc import pointwise_cuda, pointwise_native
from eigenwerk.dft.xc.program_in_c import FUNCTIONS, OPERATIONS, compilable
from eigenwerk.dft.xc.recording import Program, UnknownOperation
from eigenwerk.parallel.kernels.cpu import PRELUDE, compiler

FORMULAS = {
    "add sub mul div neg reciprocal": lambda a, b: (a + 2 * b) / (3 - b) - (-a).reciprocal(),
    "pow": lambda a, b: a.pow(0.7) + b.square() * a.pow(-2 / 3) + a**b + 1.3**b,
    "sqrt rsqrt cbrt": lambda a, b: a.sqrt() * b.rsqrt() + b ** (1 / 3),
    "exp exp2 expm1 log log2 log10 log1p": lambda a, b: (
        a.exp() + (-b).exp2() + a.expm1() * b.log() + a.log2() - b.log10() + a.log1p()
    ),
    "sin cos tan": lambda a, b: (5 * a).sin() + (3 * b).cos() * a.tan(),
    "asinh atan": lambda a, b: a.asinh() * (b - 0.7).atan() + (a - b).asinh(),
    "sinh cosh tanh tanh_backward": lambda a, b: a.sinh() - b.cosh() * (a - b).tanh(),
    "erf erfc": lambda a, b: a.erf() * (1.5 * b).erfc() + (a - b).erf(),
    "abs sgn sign": lambda a, b: (a - b).abs() * a + (b - 0.6).sign() * a + (a - 0.5).sgn(),
    "minimum maximum": lambda a, b: torch.minimum(a, b * b) + a.maximum(b) * b + torch.max(a, 0.3 * torch.ones_like(b)),
    "clamp": lambda a, b: a.clamp(min=0.4) * b.clamp(max=0.5) + (a * b).clamp(0.1, 0.2) + a.clamp(min=b),
    "gt ge lt le eq ne where": lambda a, b: (
        a.where(a > b, b).where(b < 0.9, a * b) + a.where(a >= 0.5, 0.0) * b.where(b <= 0.3, 1.0) * a.where(a != b, b)
        + a.where(a == 0.5, b)
    ),
    "bitwise_and bitwise_or bitwise_not masked_fill": lambda a, b: (
        a.where((a > 0.3) & ~(b > 0.6), b) + b.where((a > 0.9) | (b < 0.2), a) * a.masked_fill(b > 0.5, 0.2)
    ),
    "logical_and logical_or logical_not": lambda a, b: (
        a.where((a > 0.3).logical_and((b > 0.6).logical_not()), b) + b.where((a > 0.9).logical_or(b < 0.2), a)
        + a.where((a > 0.4) + (b > 0.3), b) * a.where((a > 0.4) * (b > 0.3), b)
    ),
}  # fmt: skip
"""Operations that a formula, or its derivative, has (some have others besides)."""


def values():
    """Two channels, some of them equal, some at the numbers of the formulas."""
    draw = torch.Generator().manual_seed(1)
    value_cx = 0.02 + 1.5 * torch.rand((2, 301), generator=draw, dtype=torch.float64)
    value_cx[:, :9] = torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.9, 1.0, 0.25], dtype=torch.float64)
    return value_cx


def with_derivative(formula):
    """(2, x) -> values (x,) and their derivatives (2, x)."""

    def function(value_cx):
        with torch.enable_grad():
            leaf_cx = value_cx.detach().requires_grad_()
            a, b = leaf_cx
            found_x = formula(a, b)
            return found_x.detach(), *torch.autograd.grad(found_x.sum(), leaf_cx)

    return function


def assert_same(found, wanted, scale=1e-13):
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=scale, atol=scale, equal_nan=True)


def moved(value_cx):
    """Channels taken apart, put together, added up."""
    with torch.enable_grad():
        leaf_cx = value_cx.detach().requires_grad_()
        up_x, down_x = leaf_cx
        whole_cx = torch.stack([up_x * 2.0, leaf_cx[1:].squeeze(0)]) + leaf_cx[::1] * leaf_cx.sum(0)
        found_x = whole_cx.sum(0, keepdim=True)[0] * down_x + leaf_cx.unbind()[0].exp() + leaf_cx[-1] * leaf_cx[:1][0]
        return found_x.detach(), *torch.autograd.grad(found_x.sum(), leaf_cx)


def test_channels_may_be_moved_about():
    if compiler() is None:
        pytest.skip("no gcc here: functionals are not compiled")
    assert_same(pointwise_native.evaluate(moved, [values()]), moved(values()))


@pytest.mark.slow
def test_every_operation_has_a_formula():
    tried = set()
    for names, formula in FORMULAS.items():
        program = compilable(with_derivative(formula), (2,))
        assert isinstance(program, Program), f"{names}: {program}"
        tried |= {line.operation for line in program.needed()}
        assert set(names.split()) <= tried, names
    assert tried == set(OPERATIONS)


def test_functions_are_declared_for_processors():
    assert all(f"double {name}(double)" in PRELUDE for name in FUNCTIONS)


@pytest.mark.fast("pow", "add sub*", "gt ge*", "exp exp2*", "clamp", "erf erfc")
@pytest.mark.parametrize("names", FORMULAS)
def test_the_compiled_loop_computes_what_pytorch_does(names):
    if compiler() is None:
        pytest.skip("no gcc here: functionals are not compiled")
    function = with_derivative(FORMULAS[names])
    found = pointwise_native.evaluate(function, [values()])
    assert found is not None
    assert_same(found, function(values()))


@pytest.mark.gpu
@pytest.mark.parametrize("names", FORMULAS)
def test_the_kernel_computes_what_pytorch_does(names):
    function = with_derivative(FORMULAS[names])
    assert_same(pointwise_cuda.evaluate(function, [values().cuda()]), function(values().cuda()))


def kept(a, b):
    limited = a.clamp(min=0.3) + b, a.clamp(max=0.3), a.clamp(0.1, 0.2)
    return (*limited, a.maximum(b), b.minimum(a), a.abs(), a.where(b > 0, b))


def assert_numbers_that_are_none_stay_so(evaluate, device):
    value_cx = torch.tensor([[torch.nan, 1.0, torch.nan, 0.2], [1.0, torch.nan, torch.nan, 0.1]]).double().to(device)
    for i in range(7):
        function = with_derivative(lambda a, b, i=i: kept(a, b)[i])
        (found_x, _), (wanted_x, _) = evaluate(function, [value_cx]), function(value_cx)
        assert found_x.isnan().tolist() == wanted_x.isnan().tolist(), i


@pytest.mark.slow
def test_what_is_no_number_stays_so_in_the_loop():
    if compiler() is None:
        pytest.skip("no gcc here: functionals are not compiled")
    assert_numbers_that_are_none_stay_so(pointwise_native.evaluate, "cpu")


@pytest.mark.gpu
def test_what_is_no_number_stays_so_in_the_kernel():
    assert_numbers_that_are_none_stay_so(pointwise_cuda.evaluate, "cuda")


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        (lambda a, b: torch.lgamma(a), "lgamma of 1 arguments"),
        (lambda a, b: a.flip(0), "flip of list"),
        (lambda a, b: torch.cat([a, b])[:5], "cat of list"),
        (lambda a, b: torch.sort(a)[0], "sort that gives other than numbers"),
        (lambda a, b: a * float("inf"), "mul of float inf"),
        (lambda a, b: (a > 0.5).long() * b, "_to_copy"),
    ],
)
def test_what_cannot_be_compiled_is_named(formula, said):
    found = compilable(with_derivative(formula), (2,))
    assert isinstance(found, UnknownOperation) and said in str(found)
    assert pointwise_native.compiled_loop(with_derivative(formula), (2,)) is None


def test_what_is_written_in_place_has_no_second_name():
    def function(value_cx):
        copy_cx = value_cx * 2.0
        first_x = copy_cx[0]
        copy_cx.mul_(3.0)
        return (first_x,)

    assert "mul_ on a part of an array" in str(compilable(function, (2,)))
