"""Pointwise functions of PyTorch recorded as straight-line programs.

A functional and its derivatives are some hundred small operations on arrays, each of which reads and writes memory.
Recorded once, on a few points, they become one kernel on a GPU (`pointwise_cuda`) or one loop on a processor
(`pointwise_native`), that keep a point in registers.  So the formula still stands in one place, and its derivatives
still come from automatic differentiation.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NamedTuple

import torch
from torch import Tensor

# The one way to see the operations of derivatives too; by this name in PyTorch's page "Extending PyTorch", so in use by
# others in spite of its underscore.  The public torch.overrides sees calls from Python only.
from torch.utils._python_dispatch import TorchDispatchMode

from eigenwerk.errors import EigenwerkError

SAMPLE = 11
"""Points of the recording; no functional has so many channels."""

Channels = tuple[str, ...]
"""Names or numbers of the channels (first axis) of an array at one point."""

Pointwise = Callable[..., tuple[Tensor, ...]]
"""A function of arrays (c, x) that returns arrays (c, x) or (x,), point by point."""


class UnknownOperation(EigenwerkError):
    """A formula has an operation that is not recorded or cannot be compiled; says which."""


class Instruction(NamedTuple):
    """name = operation(operands), these being names or numbers."""

    name: str
    operation: str
    operands: Channels


@dataclass
class Program:
    """Lines in order; inputs and outputs by channel."""

    inputs: list[Channels] = field(default_factory=list)
    lines: list[Instruction] = field(default_factory=list)
    outputs: list[Channels] = field(default_factory=list)
    _name_of: dict[tuple[str, Channels], str] = field(default_factory=dict)

    def assign(self, operation: str, *operands: str) -> str:
        """The name of a result: a new one, that of the line that computes the same, or a number."""
        if operation in ("add", "mul"):
            operands = tuple(sorted(operands))
        if operation in _OF_NUMBERS and all(map(_is_number, operands)):
            return repr(_OF_NUMBERS[operation](*map(float, operands)))
        if (operation, operands[0]) in (("mul", "1.0"), ("add", "0.0")):
            return operands[1]
        key = operation, operands
        if key not in self._name_of:
            self._name_of[key] = f"v{len(self.lines)}"
            self.lines.append(Instruction(self._name_of[key], *key))
        return self._name_of[key]

    def power(self, base: str, exponent: str) -> str:
        """x^e; thirds by cube roots, which are several times faster than pow and as exact."""
        thirds = round(3 * float(exponent)) if _is_number(exponent) else 99
        if abs(thirds) > 12 or abs(thirds / 3 - float(exponent)) > 1e-15:
            return self.assign("pow", base, exponent)
        whole, rest = divmod(abs(thirds), 3)
        factors = [base] * whole + [self.assign("cbrt", base)] * rest if rest else [base] * whole
        result = "1.0"
        for factor in factors:
            result = self.assign("mul", result, factor if thirds > 0 else self.assign("reciprocal", factor))
        return result

    def needed(self) -> list[Instruction]:
        """The lines that the outputs depend on."""
        wanted, kept = {name for names in self.outputs for name in names}, []
        for line in reversed(self.lines):
            if line.name in wanted:
                wanted.update(line.operands)
                kept.append(line)
        return kept[::-1]


_OF_NUMBERS: dict[str, Callable[..., float]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "neg": operator.neg,
}  # fmt: skip


def _is_number(word: str) -> bool:
    return word[0] in "-0123456789"


def record(function: Pointwise, channels: list[int]) -> Program:
    """The program of a pointwise function of arrays with so many channels, (c, x) each -> (c, x) or (x,) each.

    Operations keep PyTorch's names; which of them can be compiled is said by the compilers.  Raises UnknownOperation
    for one that is not pointwise or has more to it than a program can say.
    """
    program = Program([tuple(f"in{i}_{c}" for c in range(count)) for i, count in enumerate(channels)])
    inputs = [torch.full((count, SAMPLE), 0.5, dtype=torch.float64) for count in channels]
    with _Recorder(program) as recorder:
        for tensor, names in zip(inputs, program.inputs, strict=True):
            recorder.know(tensor, names)
        outputs = function(*inputs)
    program.outputs = [recorder.names(output) for output in outputs]
    return program


class _Recorder(TorchDispatchMode):
    """Sees every operation, those of the derivatives included."""

    def __init__(self, program: Program):
        super().__init__()
        self.program, self.operation = program, ""
        self.known: dict[int, tuple[Tensor, Channels]] = {}  # the tensor is kept, so that its id stays its own

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """PyTorch's compiler is not at work here; to say so by its decorator would import it, for seconds."""
        return False

    def know(self, tensor: Tensor, names: Channels) -> None:
        """One name of an array with several channels is that of each."""
        count = tensor.shape[0] if tensor.ndim == 2 else 1
        if len(names) not in (1, count):
            raise UnknownOperation(f"{self.operation} that mixes channels and points")
        self.known[id(tensor)] = tensor, names * count if len(names) == 1 else names

    def names(self, value: Any) -> Channels:
        """Names of an argument: an array seen before, or a number."""
        if id(value) in self.known:
            return self.known[id(value)][1]
        single = isinstance(value, float | int) or (isinstance(value, Tensor) and value.ndim == 0)
        if single and isfinite(number := float(value)):
            return (repr(number),)
        raise UnknownOperation(f"{self.operation} of {type(value).__name__} {value}")

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        self.operation = name = function.name().split("::")[1].split(".")[0]
        if name.endswith("_"):
            self._check_alone(name, args[0])
        result = function(*args, **(kwargs or {}))
        for word, value in (kwargs or {}).items():
            if not _means_nothing(word, value):
                raise UnknownOperation(f"{name} with {word} = {value}")
        if name == "unbind":
            for c, part in enumerate(result):
                self.know(part, (self.names(args[0])[c],))
        elif not isinstance(result, Tensor) or result.dtype not in (torch.float64, torch.bool) or result.ndim > 2:
            raise UnknownOperation(f"{name} that gives other than numbers by channel and point")
        else:
            self.know(result, self._channels(name.removesuffix("_"), args, result))
        return result

    def _check_alone(self, name: str, tensor: Tensor) -> None:
        """What is written in place must have no second name, under which it would be remembered as it was."""
        place = tensor.untyped_storage().data_ptr()
        if any(other is not tensor and other.untyped_storage().data_ptr() == place for other, _ in self.known.values()):
            raise UnknownOperation(f"{name} on a part of an array")

    def _channels(self, name: str, args: tuple, result: Tensor) -> Channels:
        moved = self._moved(name, args)
        if moved is not None:
            return moved
        count = result.shape[0] if result.ndim == 2 else 1
        if name == "clamp":
            return self._clamped(args, count)
        if name == "rsub" and len(args) == 2:
            name, args = "sub", args[::-1]
        if name == "add" and result.dtype == torch.bool:
            name = "logical_or"
        return self._pointwise(name, [self.names(arg) for arg in args], count)

    def _moved(self, name: str, args: tuple) -> Channels | None:
        """Names where an operation only moves channels, or adds up all of them; None for others."""
        match name, args:
            case ("detach" | "view" | "expand" | "clone" | "lift_fresh" | "scalar_tensor" | "_to_copy"), (a, *_):
                return self.names(a)
            case ("squeeze" | "unsqueeze"), (a, 0):
                return self.names(a)
            case "ones_like", _:
                return ("1.0",)
            case ("zeros_like" | "zeros" | "_efficientzerotensor"), _:
                return ("0.0",)
            case "select", (a, 0, c) if a.ndim == 2:
                return (self.names(a)[c],)
            case "select_backward", (a, (count, _), 0, c):
                return _placed(self.names(a), count, [range(count)[c]])
            case "slice", (a, 0, start, stop, *step) if a.ndim == 2:
                return self.names(a)[slice(start, stop, *step)]
            case "slice_backward", (a, (count, _), 0, start, stop, step):
                return _placed(self.names(a), count, range(count)[start:stop:step])
            case "stack", (tensors, *axis) if not any(axis):
                return tuple(self.names(tensor)[0] for tensor in tensors)
            case "sum", (a, *axes) if len(self.names(a)) == 1 or axes[:1] == [[0]]:
                return (self._sum(self.names(a)),)
        return None

    def _sum(self, names: Channels) -> str:
        total = names[0]
        for name in names[1:]:
            total = self.program.assign("add", total, name)
        return total

    def _clamped(self, args: tuple, count: int) -> Channels:
        """From below, from above, or both."""
        array, low, high = (*args, None)[:3]
        names = self.names(array)
        if low is not None:
            names = self._pointwise("clamp", [names, self.names(low)], count)
        return names if high is None else self._pointwise("minimum", [names, self.names(high)], count)

    def _pointwise(self, name: str, operands: list[Channels], count: int) -> Channels:
        found = []
        for c in range(count):
            words = [names[c if len(names) > 1 else 0] for names in operands]
            found.append(self.program.power(*words) if name == "pow" else self.program.assign(name, *words))
        return tuple(found)


def _placed(names: Channels, count: int, places: Sequence[int]) -> Channels:
    """Channels put at their places among zeros."""
    found = ["0.0"] * count
    for place, name in zip(places, names, strict=True):
        found[place] = name
    return tuple(found)


def _means_nothing(word: str, value: Any) -> bool:
    """Whether a keyword leaves the values of a pointwise operation in double precision as they are."""
    if word in ("layout", "device", "pin_memory", "memory_format"):
        return True
    return value is None or (word == "alpha" and value == 1) or (word == "dtype" and value == torch.float64)
