"""An exchange-correlation functional with its derivatives as one GPU kernel; the plain twin is `functional`."""

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

from eigenwerk.dft.xc.program_in_c import arguments, statements
from eigenwerk.dft.xc.recording import Program, record
from eigenwerk.parallel.kernels.cuda import integer, kernel, pointer

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
    """The program at one point, for each thread."""
    return "\n".join([
        f'extern "C" __global__ void pointwise({", ".join(arguments(program))}, long long points)', "{",
        "    const long long x = (long long)blockIdx.x * blockDim.x + threadIdx.x;", "    if (x >= points) return;",
        *(f"    {line}" for line in statements(program, "points")), "}",
    ])  # fmt: skip
