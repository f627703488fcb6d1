"""An exchange-correlation functional with its derivatives as one GPU kernel; the plain twin is `evaluation`."""

from functools import cache

import torch
from torch import Tensor

from eigenwerk.dft.xc.program_in_c import arguments, compilable, statements
from eigenwerk.dft.xc.recording import Pointwise, Program
from eigenwerk.parallel.kernels.cuda import can_compile, integer, kernel, pointer

THREADS = 128


def evaluate(function: Pointwise, inputs: list[Tensor]) -> tuple[Tensor, ...] | None:
    """function(*inputs) of (c, x) arrays in double precision on a GPU, if it returns (x,) and arrays like the inputs;
    in one pass over memory.  None where it cannot be compiled."""
    source = cuda_source(function, tuple(len(value) for value in inputs)) if can_compile() else None
    if source is None:
        return None
    inputs = [value.contiguous() for value in inputs]
    points, device = inputs[0].shape[1], inputs[0].device
    outputs = [torch.empty_like(inputs[0][0]), *(torch.empty_like(value) for value in inputs)]
    if points:
        compiled = kernel(source, "pointwise", device.index or 0)
        grid = ((points + THREADS - 1) // THREADS, 1, 1)
        with torch.cuda.device(device):
            compiled(grid, THREADS, *(pointer(value) for value in (*inputs, *outputs)), integer(points))
    return tuple(outputs)


@cache
def cuda_source(function: Pointwise, channels: tuple[int, ...]) -> str | None:
    """CUDA source of `pointwise`, one thread for each point; None of a function that cannot be compiled."""
    program = compilable(function, channels)
    return source_of(program) if isinstance(program, Program) else None


def source_of(program: Program) -> str:
    """The program at one point, for each thread."""
    return "\n".join([
        f'extern "C" __global__ void pointwise({", ".join(arguments(program))}, long long points)', "{",
        "    const long long x = (long long)blockIdx.x * blockDim.x + threadIdx.x;", "    if (x >= points) return;",
        *(f"    {line}" for line in statements(program, "points")), "}",
    ])  # fmt: skip
