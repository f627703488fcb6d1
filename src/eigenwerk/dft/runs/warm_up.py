"""What a GPU does only once is done by threads beside the reading of data sets and the building of tables.

Libraries of linear algebra and FFTs load their programs with the first call, our own kernels are compiled; together
that is over a second when it happens one by one where it is needed.  The threads do tiny pieces of the same work and
throw the answers away, so they change no result; where one fails, the calculation meets the same error itself.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial

import torch

from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.dft.xc.evaluation import energy_and_derivatives
from eigenwerk.functionals.functional import DENSITY, INGREDIENTS, Functional
from eigenwerk.functionals.table import find_functional
from eigenwerk.linalg.dense import dense_eigh
from eigenwerk.parallel.kernels.cuda import can_compile
from eigenwerk.record.trace import mute_thread

SIZE = 40
"""Rows of the matrices: more than libraries give to their programs for tiny ones."""

GRID = 60
"""Points along each side of the FFTs: with the factors 2, 3 and 5 that most grids have."""


def warm_up(device: torch.device, given: Parameters) -> None:
    """Begin to get a GPU ready for a calculation with such settings; other devices are always ready."""
    if device.type == "cuda":
        _begin(device, find_functional(given.functional, given.hybrid), given.spins)


@cache
def _begin(device: torch.device, functional: Functional, spins: int) -> None:
    for work in (partial(_compile, functional, spins), _load_libraries):
        threading.Thread(target=_in_silence, args=(work, device), name="warm-up", daemon=True).start()


def _in_silence(work: Callable[[torch.device], None], device: torch.device) -> None:
    """One thread's work; it enters no trace, and its errors are left to the calculation."""
    mute_thread()
    with suppress(Exception):
        torch.cuda.set_device(device)
        work(device)


def _compile(functional: Functional, spins: int, device: torch.device) -> None:
    """Kernels that are compiled, that which is needed first at first."""
    if not can_compile():  # PyTorch's operations do the same, and come ready
        return
    channels = {name: ingredient.channels[spins - 1] for name, ingredient in INGREDIENTS.items()}
    values = {name: torch.ones((c, 1), dtype=torch.float64, device=device) for name, c in channels.items()}
    energy_and_derivatives(functional, values)
    # PyTorch compiles these two of its own
    torch.erfc(values[DENSITY])
    torch.exp(torch.complex(values[DENSITY], values[DENSITY]))


def _load_libraries(device: torch.device) -> None:
    """Real and complex FFTs, products, factorisations and eigenproblems, of one matrix and of several."""
    grid = torch.zeros((GRID, GRID, GRID // 2 + 1), dtype=torch.complex128, device=device)
    field = torch.fft.irfftn(grid, s=(GRID, GRID, GRID))
    torch.fft.rfftn(field)
    torch.fft.ifftn(torch.fft.fftn(field[None].to(grid.dtype), dim=(-3, -2, -1)), dim=(-3, -2, -1))
    for dtype in (torch.complex128, torch.float64):
        one = torch.eye(SIZE, dtype=dtype, device=device)
        for matrix in (one, torch.stack([one, one])):
            product = matrix @ matrix.mH
            lower = torch.linalg.cholesky_ex(product)[0]
            torch.linalg.solve_triangular(lower, product, upper=False)
            torch.linalg.solve_triangular(lower.mH, product, upper=True)
            dense_eigh(product.reshape(-1, SIZE, SIZE))
        torch.linalg.inv(one)
    _load_operations(torch.linspace(0.1, 0.9, 8, dtype=torch.float64, device=device))


def _load_operations(x: torch.Tensor) -> None:
    """PyTorch's own operations, each a program that the GPU loads at its first call; x: (8,), 0.1 ... 0.9."""
    z, index, yes = torch.polar(x, x), torch.arange(8, device=x.device), x > 0.5
    for value in (x, z):
        _ = value + value, value - value, value * value, value / value, 2 * value, 1 - value, value * x
        _ = value.sum(), torch.cat([value, value]), torch.stack([value, value]), value[index], value @ value
        value.clone().index_copy_(0, index, value.index_select(0, index)).scatter_(0, index, value)
        value.gather(0, index)
    for name in ("neg", "exp", "expm1", "log1p", "sqrt", "rsqrt", "reciprocal", "abs"):
        getattr(torch, name)(x)
    _ = z.conj_physical(), z.mean(), x**2, x**index, x.clamp(0.2), torch.where(yes, x, 0.0), x.masked_fill(yes, 0)
    _ = x.amax(), x.amin(), x.max(), index.amax(), yes.any(), yes.all(), ~yes, yes & yes, torch.linalg.vector_norm(x)
    _ = x.sort(), x.cumsum(0), yes.nonzero(), yes.sum(), index.sum(), index // 2, index % 2, x.index_add(0, index, x)
