"""An exchange-correlation functional with its derivatives as one GPU kernel; the plain twin is `functional`."""

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

from eigenwerk.dft.xc.recording import Line, Program, record
from eigenwerk.parallel.cuda_kernels import integer, kernel, pointer

THREADS = 128

Derivatives = Callable[..., tuple[Tensor, ...]]
"""(density_sx, sigma_yx) -> (energy_x, dedn_sx, deds_yx); without sigma for an LDA."""


def energy_and_derivatives(function: Derivatives, inputs: list[Tensor]) -> tuple[Tensor, ...]:
    """The same as function(*inputs) of (c, x) arrays in double precision on a GPU, in one pass over memory."""
    inputs = [value.contiguous() for value in inputs]
    source = cuda_source(function, tuple(len(value) for value in inputs))
    points, device = inputs[0].shape[1], inputs[0].device
    outputs = [torch.empty_like(inputs[0][0]), *(torch.empty_like(value) for value in inputs)]
    if points:
        compiled = kernel(source, "pointwise", device.index or 0)
        grid = ((points + THREADS - 1) // THREADS, 1, 1)
        with torch.cuda.device(device):
            compiled(grid, THREADS, *(pointer(value) for value in (*inputs, *outputs)), integer(points))
    return tuple(outputs)


@cache
def cuda_source(function: Derivatives, channels: tuple[int, ...]) -> str:
    """CUDA source of `pointwise`, one thread for each point."""
    return source_of(record(function, list(channels)))


def source_of(program: Program) -> str:
    """Loads the channels of a point, runs the program, stores what comes out."""
    arrays = [f"const double* __restrict__ in{i}" for i in range(len(program.inputs))]
    arrays += [f"double* __restrict__ out{i}" for i in range(len(program.outputs))]
    loads = [
        f"const double {name} = in{i}[{c} * points + x];"
        for i, names in enumerate(program.inputs) for c, name in enumerate(names)
    ]  # fmt: skip
    stores = [
        f"out{i}[{c} * points + x] = {name};"
        for i, names in enumerate(program.outputs) for c, name in enumerate(names)
    ]  # fmt: skip
    body = [*loads, *(f"const double {line.name} = {in_c(line)};" for line in program.needed()), *stores]
    return "\n".join([
        f'extern "C" __global__ void pointwise({", ".join(arrays)}, long long points)', "{",
        "    const long long x = (long long)blockIdx.x * blockDim.x + threadIdx.x;", "    if (x >= points) return;",
        *(f"    {line}" for line in body), "}",
    ])  # fmt: skip


def in_c(line: Line) -> str:
    """The right-hand side of a line; conditions are numbers, 1 and 0."""
    return EXPRESSIONS[line.operation](*line.operands)


EXPRESSIONS: dict[str, Callable[..., str]] = {
    "add": lambda a, b: f"{a} + {b}",
    "sub": lambda a, b: f"{a} - ({b})",
    "mul": lambda a, b: f"{a} * {b}",
    "div": lambda a, b: f"{a} / {b}",
    "neg": lambda a: f"-({a})",
    "reciprocal": lambda a: f"1.0 / {a}",
    "sqrt": lambda a: f"sqrt({a})",
    "cbrt": lambda a: f"cbrt({a})",
    "exp": lambda a: f"exp({a})",
    "expm1": lambda a: f"expm1({a})",
    "log": lambda a: f"log({a})",
    "log1p": lambda a: f"log1p({a})",
    "pow": lambda a, b: f"pow({a}, {b})",
    "clamp": lambda a, low: f"fmax({a}, {low})",
    "gt": lambda a, b: f"{a} > {b} ? 1.0 : 0.0",
    "ge": lambda a, b: f"{a} >= {b} ? 1.0 : 0.0",
    "where": lambda condition, a, b: f"{condition} != 0.0 ? {a} : {b}",
}
"""C of every operation, from the names of its operands."""
