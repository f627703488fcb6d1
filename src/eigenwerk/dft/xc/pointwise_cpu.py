"""An exchange-correlation functional with its derivatives on a processor; the plain twin is `functional`.

The recorded program runs on chunks of points, every line an operation of PyTorch into an array that is free: what a
chunk needs stays in the cache, nothing is allocated and nothing computed twice.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from math import ceil
from operator import itemgetter
from typing import Any

import torch
from torch import Tensor

from eigenwerk.dft.xc.recording import Instruction, Program, record
from eigenwerk.parallel.threads import each, threads_for

CHUNK_POINTS = 2**14
"""Most points of a chunk: below 2^13 the calls of the operations count, above 2^15 the cache is too small."""

FILLED_SHARE = 0.8
"""Chunks with a smaller share of points above the floor are squeezed."""

Derivatives = Callable[..., tuple[Tensor, ...]]
"""(density_sx, sigma_yx) -> (energy_x, dedn_sx, deds_yx); without sigma for an LDA."""


def energy_and_derivatives(function: Derivatives, inputs: list[Tensor], floor: float) -> tuple[Tensor, ...]:
    """The same as function(*inputs) of (c, x) arrays in double precision on a processor.

    floor: where the densities add up to no more, everything is zero.
    """
    points = inputs[0].shape[1]
    outputs = [torch.empty_like(inputs[0][0]), *(torch.empty_like(value) for value in inputs)]
    schedule = _schedule(function, tuple(len(value) for value in inputs))
    threads, step = threads_for(inputs[0].device), max(1, ceil(points / max(1, ceil(points / CHUNK_POINTS))))
    chunks = [slice(start, start + step) for start in range(0, points, step)]

    def work_off(first: int) -> None:
        work = schedule.workspace(step)
        for x in chunks[first::threads]:
            _chunk(schedule, work, [value[:, x] for value in inputs], [value[..., x] for value in outputs], floor)

    with torch.no_grad():
        each(work_off, range(min(threads, len(chunks))), threads)
    return tuple(outputs)


def _chunk(schedule: "Schedule", work: "Workspace", inputs: list[Tensor], outputs: list[Tensor], floor: float) -> None:
    """Some points, without those that the floor empties (a density that is no number is not one of them)."""
    filled_x = (inputs[0].sum(0) <= floor).logical_not_().nonzero()[:, 0]
    if len(filled_x) >= FILLED_SHARE * inputs[0].shape[1]:
        schedule.run(work, inputs, outputs)
        return
    squeezed = [value.new_empty((*value.shape[:-1], len(filled_x))) for value in outputs]
    if len(filled_x):
        schedule.run(work, [value.index_select(-1, filled_x) for value in inputs], squeezed)
    for value, part in zip(outputs, squeezed, strict=True):
        value.zero_().index_copy_(-1, filled_x, part)


@dataclass(frozen=True)
class Workspace:
    """Arrays that lines write to: numbers (w, x) and conditions (w, x)."""

    number_wx: Tensor
    condition_wx: Tensor


Step = tuple[Callable[..., Any], Callable[[list[Tensor]], tuple[Tensor, ...]], int]
"""An operation, what picks its operands from the list of all arrays, and the place of its result in it."""


@dataclass(frozen=True)
class Schedule:
    """A program with its arrays numbered: inputs, outputs, constants, conditions, numbers that come and go.

    copied: places of outputs that are inputs, constants or other outputs, with where these stand.
    """

    steps: tuple[Step, ...]
    constants: tuple[Tensor, ...]
    conditions: int
    numbers: int
    copied: tuple[tuple[int, int], ...]

    def workspace(self, points: int) -> Workspace:
        """Room for chunks of up to so many points."""
        return Workspace(
            torch.empty((self.numbers, points), dtype=torch.float64),
            torch.empty((self.conditions, points), dtype=torch.bool),
        )

    def run(self, work: Workspace, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        """All lines in order."""
        points = inputs[0].shape[1]
        arrays = [
            *_channels(inputs), *_channels(outputs), *self.constants, *work.condition_wx[:, :points].unbind(),
            *work.number_wx[:, :points].unbind(),
        ]  # fmt: skip
        for operation, pick, place in self.steps:
            operation(*pick(arrays), out=arrays[place])
        for place, source in self.copied:
            arrays[place].copy_(arrays[source])


def _channels(values: Iterable[Tensor]) -> list[Tensor]:
    return [channel for value in values for channel in (value.unbind() if value.ndim > 1 else (value,))]


@cache
def _schedule(function: Derivatives, channels: tuple[int, ...]) -> Schedule:
    return schedule_of(record(function, list(channels)))


def schedule_of(program: Program) -> Schedule:
    """Gives every name a place; a place is used again when nobody needs what stands there any more."""
    lines = [simpler for line in program.needed() for simpler in _without_roots(line)]
    outputs = [name for names in program.outputs for name in names]
    inputs = [name for names in program.inputs for name in names]
    place = {name: i for i, name in enumerate(inputs)}
    computed = {line.name for line in lines}
    own = {name: len(inputs) + i for i, name in reversed(list(enumerate(outputs))) if name in computed}
    first = len(inputs) + len(outputs)
    constants = [w for w in dict.fromkeys(w for words in (*(line.operands for line in lines), outputs) for w in words)
                 if w not in computed and w not in place]  # fmt: skip
    place.update({word: first + i for i, word in enumerate(constants)})
    conditions = [line.name for line in lines if line.operation in ("gt", "ge")]
    place.update({name: first + len(constants) + i for i, name in enumerate(conditions)})
    first += len(constants) + len(conditions)
    numbers = _places(lines, place, own, first)
    steps = tuple((_OPERATIONS[line.operation], _picker([place[w] for w in line.operands]), place[line.name])
                  for line in lines)  # fmt: skip
    copied = [(len(inputs) + i, place[name]) for i, name in enumerate(outputs) if place[name] != len(inputs) + i]
    values = tuple(torch.tensor(float(word), dtype=torch.float64) for word in constants)
    return Schedule(steps, values, len(conditions), numbers, tuple(copied))


def _places(lines: list[Instruction], place: dict[str, int], own: dict[str, int], first: int) -> int:
    """Puts the results into `place`: outputs where they stay, others from `first` on; how many places these take."""
    last = {word: i for i, line in enumerate(lines) for word in line.operands}
    free: list[int] = []
    used = 0
    for i, line in enumerate(lines):
        # an operation may write over its operand, point by point
        free += [place[w] for w in dict.fromkeys(line.operands) if last[w] == i and place[w] >= first]
        if line.name in own:
            place[line.name] = own[line.name]
        elif line.name not in place:
            if not free:
                free.append(first + used)
                used += 1
            place[line.name] = free.pop()
    return used


def _without_roots(line: Instruction) -> list[Instruction]:
    """A cube root by logarithm and exponential, which are much faster than pow, and a step of Newton's method."""
    if line.operation != "cbrt":
        return [line]
    (x,) = line.operands
    t, third, r, r2, r3, error, slope, change = (f"{line.name}_{i}" for i in range(8))
    return [
        Instruction(t, "log", (x,)), Instruction(third, "mul", (t, repr(1 / 3))), Instruction(r, "exp", (third,)),
        # r - (r³ - x) / 3r²
        Instruction(r2, "mul", (r, r)), Instruction(r3, "mul", (r2, r)), Instruction(error, "sub", (r3, x)),
        Instruction(slope, "mul", (r2, "3.0")), Instruction(change, "div", (error, slope)),
        Instruction(line.name, "sub", (r, change)),
    ]  # fmt: skip


def _picker(places: list[int]) -> Callable[[list[Tensor]], tuple[Tensor, ...]]:
    if len(places) > 1:
        return itemgetter(*places)
    return itemgetter(slice(places[0], places[0] + 1))


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "neg": torch.neg,
    "reciprocal": torch.reciprocal, "sqrt": torch.sqrt, "exp": torch.exp, "expm1": torch.expm1, "log": torch.log,
    "log1p": torch.log1p, "pow": torch.pow, "clamp": torch.maximum, "gt": torch.gt, "ge": torch.ge,
    "where": torch.where,
}  # fmt: skip
