"""Exchange-correlation energies at points, and their derivatives.

A functional is an energy density; its potential is the derivative by automatic differentiation, so no formula is
written twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial

import torch
from torch import Tensor

from eigenwerk.dft.xc import pointwise_cuda, pointwise_native
from eigenwerk.dft.xc.program_in_c import compilable
from eigenwerk.dft.xc.recording import Pointwise, Program
from eigenwerk.functionals.functional import DENSITY, INGREDIENTS, Functional
from eigenwerk.parallel.threads import each, threads_for

CHUNK_POINTS = {"cpu": 2**14, "cuda": 2**21}
"""Points that PyTorch's operations differentiate at once: what stays in the cache, about a gigabyte."""

COMPILED = {"cpu": pointwise_native.evaluate, "cuda": pointwise_cuda.evaluate}


@dataclass(frozen=True)
class Evaluation:
    """Energy per volume at points, (...), hartree/bohr³, and its derivative by each ingredient, (c, ...)."""

    energy_x: Tensor
    slopes: dict[str, Tensor]


def energy_density(functional: Functional, values: Mapping[str, Tensor]) -> Tensor:
    """Exchange-correlation energy per volume, hartree/bohr³; differentiable to any order.

    values: at least the functional's ingredients, (c, ...) each (see `INGREDIENTS`).  Returns (...).
    Raises ValueError for shapes that do not fit.
    """
    return functional.energy(*_arguments(functional, values))


def energy_and_derivatives(
    functional: Functional, values: Mapping[str, Tensor], points_per_chunk: int | None = None
) -> Evaluation:
    """Energy density and its first derivatives, detached from the graph.

    In double precision the recorded program does it all: one kernel on a GPU, one compiled loop on a processor.  Where
    neither can be, and where points_per_chunk is given, these are PyTorch's own operations and its derivatives of them
    for so many points at a time (default CHUNK_POINTS); so the memory does not grow with their number.
    """
    inputs = _arguments(functional, values)
    flat, function = [value.detach().reshape(value.shape[0], -1) for value in inputs], derivatives(functional)
    device = flat[0].device.type
    compiled = points_per_chunk is None and flat[0].dtype == torch.float64
    found = COMPILED[device](function, flat) if compiled else None
    energy_x, *slopes = found or _in_chunks(function, flat, points_per_chunk or CHUNK_POINTS[device])
    shaped = (slope.reshape(value.shape) for slope, value in zip(slopes, inputs, strict=True))
    return Evaluation(energy_x.reshape(inputs[0].shape[1:]), dict(zip(functional.ingredients, shaped, strict=True)))


@cache
def derivatives(functional: Functional) -> Pointwise:
    """Ingredients (c, x) in their order -> (energy_x, derivative by each), all points at once."""
    return partial(_differentiate, functional)


def uncompiled(functional: Functional, spins: int) -> tuple[str, ...]:
    """A sentence about a functional that no compiler takes; none about others."""
    channels = tuple(INGREDIENTS[name].channels[spins - 1] for name in functional.ingredients)
    found = compilable(derivatives(functional), channels)
    if isinstance(found, Program):
        return ()
    return (f"{functional.title} is not compiled and takes many times as long, for it has the operation {found}",)


def _differentiate(functional: Functional, *inputs: Tensor) -> tuple[Tensor, ...]:
    """Works under torch.no_grad as well."""
    with torch.enable_grad():
        leaves = [value.detach().requires_grad_() for value in inputs]
        energy_x = functional.energy(*leaves)
        return energy_x.detach(), *torch.autograd.grad(energy_x.sum(), leaves)


def _in_chunks(function: Pointwise, flat: list[Tensor], step: int) -> tuple[Tensor, ...]:
    found = [torch.empty_like(flat[0][0]), *(torch.empty_like(value) for value in flat)]

    def work_off(start: int) -> None:
        block = slice(start, start + step)
        for whole, part in zip(found, function(*(value[:, block] for value in flat)), strict=True):
            whole[..., block] = part

    each(work_off, range(0, flat[0].shape[1], step), threads_for(flat[0].device))
    return tuple(found)


def _arguments(functional: Functional, values: Mapping[str, Tensor]) -> list[Tensor]:
    """The functional's ingredients in its order."""
    density_sx = values[DENSITY]
    spins = density_sx.shape[0] if density_sx.ndim else 0
    if spins not in (1, 2):
        raise ValueError(f"density has shape {tuple(density_sx.shape)}; its first axis must have 1 or 2 spin channels")
    found = []
    for name in functional.ingredients:
        ingredient, value = INGREDIENTS[name], values.get(name)
        expected = (ingredient.channels[spins - 1], *density_sx.shape[1:])
        if value is None or value.shape != expected:
            has = "none" if value is None else str(tuple(value.shape))
            raise ValueError(f"{functional.title} needs {ingredient.title} of shape {expected}; found {has}")
        found.append(value)
    return found
