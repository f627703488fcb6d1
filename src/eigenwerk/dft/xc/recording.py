"""Pointwise functions of PyTorch recorded as straight-line programs.

A functional and its derivatives are some hundred small operations on arrays, each of which reads and writes memory.
Recorded once, on a few points, they become one kernel on a GPU, that keeps a point in registers (`pointwise_cuda`), and
on a processor operations on arrays that stay in its cache (`pointwise_cpu`).  So the formula still stands in one place,
and its derivatives still come from automatic differentiation.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from eigenwerk.errors import EigenwerkError

SAMPLE = 11
"""Points of the recording; no functional has so many channels."""

Channels = tuple[str, ...]
"""Names or numbers of the channels (first axis) of an array at one point."""

OPERANDS = {
    "add": 2, "sub": 2, "mul": 2, "div": 2, "neg": 1, "reciprocal": 1, "sqrt": 1, "cbrt": 1, "exp": 1, "expm1": 1,
    "log": 1, "log1p": 1, "pow": 2, "clamp": 2, "gt": 2, "ge": 2, "where": 3,
}  # fmt: skip
"""How many operands an operation has.  Comparisons give conditions, which `where` takes first; clamp is from below;
cbrt is the root of a positive number."""


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
        thirds = round(3 * float(exponent))
        if abs(thirds / 3 - float(exponent)) > 1e-15 or abs(thirds) > 12:
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


def record(function: Callable[..., tuple[Tensor, ...]], channels: list[int]) -> Program:
    """The program of a pointwise function of arrays with so many channels, (c, x) each -> (c, x) or (x,) each.

    Raises EigenwerkError for an operation that is not known here.
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
        self.program = program
        self.known: dict[int, tuple[Tensor, Channels]] = {}  # the tensor is kept, so that its id stays its own

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """PyTorch's compiler is not at work here; to say so by its decorator would import it, for seconds."""
        return False

    def know(self, tensor: Tensor, names: Channels) -> None:
        self.known[id(tensor)] = tensor, names

    def names(self, value: Any) -> Channels:
        """Names of an argument: an array seen before, or a number."""
        if isinstance(value, Tensor):
            return self.known[id(value)][1]
        return (repr(float(value)),)

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = function(*args, **(kwargs or {}))
        name = function.name().split("::")[1].split(".")[0]
        for word, value in (kwargs or {}).items():
            if not _means_nothing(word, value):
                raise EigenwerkError(f"A functional uses the operation {name} with {word} = {value}, {_UNKNOWN}")
        self.know(result, self._channels(name, args, result))
        return result

    def _channels(self, name: str, args: tuple, result: Tensor) -> Channels:
        if name in _SAME:
            return self.names(args[0])
        if name in ("ones_like", "zeros_like"):
            return ("1.0" if name == "ones_like" else "0.0",) * len(self.names(args[0]))
        if name == "scalar_tensor":
            return self.names(args[0])
        if name == "select" and args[1] == 0:
            return (self.names(args[0])[args[2]],)
        if name == "select_backward" and args[2] == 0:
            return tuple(self.names(args[0])[0] if c == args[3] else "0.0" for c in range(args[1][0]))
        if name == "stack" and (*args[1:], 0)[0] == 0:
            return tuple(self.names(tensor)[0] for tensor in args[0])
        if name == "sum" and (len(self.names(args[0])) == 1 or args[1:2] == ([0],)):
            return (self._sum(self.names(args[0])),)
        if name == "rsub" and len(args) == 2:
            name, args = "sub", args[::-1]
        if len(args) != OPERANDS.get(name):
            raise EigenwerkError(f"A functional uses the operation {name} of {len(args)} arguments, {_UNKNOWN}")
        return self._pointwise(name, args, 1 if result.ndim < 2 else result.shape[0])

    def _sum(self, names: Channels) -> str:
        total = names[0]
        for name in names[1:]:
            total = self.program.assign("add", total, name)
        return total

    def _pointwise(self, name: str, args: tuple, count: int) -> Channels:
        operands = [self.names(arg) for arg in args]
        found = []
        for c in range(count):
            words = [names[c if len(names) > 1 else 0] for names in operands]
            found.append(self.program.power(*words) if name == "pow" else self.program.assign(name, *words))
        return tuple(found)


_SAME = ("detach", "view", "expand", "clone")
_UNKNOWN = "which recording.py does not know yet."


def _means_nothing(word: str, value: Any) -> bool:
    """Whether a keyword leaves the values of a pointwise operation in double precision as they are."""
    if word in ("layout", "device", "pin_memory", "memory_format"):
        return True
    return value is None or (word == "alpha" and value == 1) or (word == "dtype" and value == torch.float64)
