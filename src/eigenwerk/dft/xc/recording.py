"""Pointwise functions of PyTorch recorded as straight-line programs, and those written out in C.

A functional and its derivatives are some hundred small operations on arrays; on a GPU each reads and writes memory and
must be launched.  Recorded once, on a few points, they become one kernel that keeps a point in registers.  So the
formula still stands in one place, and its derivatives still come from automatic differentiation.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from eigenwerk.errors import EigenwerkError

SAMPLE = 11
"""Points of the recording; no functional has so many channels."""

Channels = tuple[str, ...]
"""Names or numbers of the channels (first axis) of an array at one point."""


@dataclass
class Program:
    """Assignments `name = expression` in order; inputs and outputs by channel."""

    inputs: list[Channels] = field(default_factory=list)
    lines: list[tuple[str, str]] = field(default_factory=list)
    outputs: list[Channels] = field(default_factory=list)

    def assign(self, expression: str) -> str:
        """A new name for an expression."""
        name = f"v{len(self.lines)}"
        self.lines.append((name, expression))
        return name


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
        if name == "stack":
            return tuple(self.names(tensor)[0] for tensor in args[0])
        if name == "sum":
            return (self.program.assign(" + ".join(self.names(args[0]))),)
        if name not in EXPRESSIONS:
            raise EigenwerkError(f"A functional uses the operation {name}, which recording.py cannot write as C yet.")
        return self._pointwise(name, args, 1 if result.ndim < 2 else result.shape[0])

    def _pointwise(self, name: str, args: tuple, count: int) -> Channels:
        operands = [self.names(arg) for arg in args]
        found = []
        for c in range(count):
            words = [names[c if len(names) > 1 else 0] for names in operands]
            found.append(self.program.assign(EXPRESSIONS[name](*words)))
        return tuple(found)


_SAME = ("detach", "view", "expand", "clone")


def _power(base: str, exponent: str) -> str:
    """x^e; thirds by cube roots, which are several times faster than pow and as exact."""
    thirds = round(3 * float(exponent))
    if abs(thirds / 3 - float(exponent)) > 1e-15 or abs(thirds) > 12:
        return f"pow({base}, {exponent})"
    if thirds == 0:
        return "1.0"
    whole, rest = divmod(abs(thirds), 3)
    root = f"{'cbrt' if thirds > 0 else 'rcbrt'}({base})"
    factor = base if thirds > 0 else f"(1.0 / {base})"
    return " * ".join([factor] * whole + [root] * rest)


EXPRESSIONS: dict[str, Callable[..., str]] = {
    "add": lambda a, b: f"{a} + {b}",
    "sub": lambda a, b: f"{a} - ({b})",
    "rsub": lambda a, b: f"{b} - {a}",
    "mul": lambda a, b: f"{a} * {b}",
    "div": lambda a, b: f"{a} / {b}",
    "neg": lambda a: f"-({a})",
    "reciprocal": lambda a: f"1.0 / {a}",
    "sqrt": lambda a: f"sqrt({a})",
    "exp": lambda a: f"exp({a})",
    "expm1": lambda a: f"expm1({a})",
    "log": lambda a: f"log({a})",
    "log1p": lambda a: f"log1p({a})",
    "pow": _power,
    "clamp": lambda a, low: f"fmax({a}, {low})",
    "gt": lambda a, b: f"{a} > {b} ? 1.0 : 0.0",
    "ge": lambda a, b: f"{a} >= {b} ? 1.0 : 0.0",
    "where": lambda condition, a, b: f"{condition} != 0.0 ? {a} : {b}",
}
"""C of every operation, from the names of its operands."""
