"""A recorded program in C, for kernels of GPUs and loops of processors (`pointwise_cuda`, `pointwise_native`)."""

from collections.abc import Callable
from functools import cache

from eigenwerk.dft.xc.recording import Instruction, Pointwise, Program, UnknownOperation, record

Expression = Callable[..., str]
"""C of an operation, from the names of its operands."""


def _call(function: str) -> Expression:
    return lambda a: f"{function}({a})"


FUNCTIONS = (
    "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asinh", "atan",
    "sinh", "cosh", "tanh", "erf", "erfc",
)  # fmt: skip
"""Operations that C has as functions of the same name; cbrt is of a positive number."""

OPERATIONS: dict[str, Expression] = {
    "add": lambda a, b: f"{a} + {b}",
    "sub": lambda a, b: f"{a} - ({b})",
    "mul": lambda a, b: f"{a} * {b}",
    "div": lambda a, b: f"{a} / {b}",
    "neg": lambda a: f"-({a})",
    "reciprocal": lambda a: f"1.0 / {a}",
    "rsqrt": lambda a: f"1.0 / sqrt({a})",
    "pow": lambda a, b: f"pow({a}, {b})",
    **{name: _call(name) for name in FUNCTIONS},
    "tanh_backward": lambda slope, tanh: f"{slope} * (1.0 - {tanh} * {tanh})",
    "abs": _call("fabs"),
    **dict.fromkeys(("sgn", "sign"), lambda a: f"({a} > 0.0) - ({a} < 0.0)"),
    # what is no number stays so, as in PyTorch: fmax and fmin would take the other operand
    "clamp": lambda a, low: f"{low} > {a} ? {low} : {a}",
    "minimum": lambda a, b: f"({a} <= {b}) | ({a} != {a}) ? {a} : {b}",
    "maximum": lambda a, b: f"({a} >= {b}) | ({a} != {a}) ? {a} : {b}",
    "gt": lambda a, b: f"{a} > {b} ? 1.0 : 0.0",
    "ge": lambda a, b: f"{a} >= {b} ? 1.0 : 0.0",
    "lt": lambda a, b: f"{a} < {b} ? 1.0 : 0.0",
    "le": lambda a, b: f"{a} <= {b} ? 1.0 : 0.0",
    "eq": lambda a, b: f"{a} == {b} ? 1.0 : 0.0",
    "ne": lambda a, b: f"{a} != {b} ? 1.0 : 0.0",
    **dict.fromkeys(("logical_and", "bitwise_and"), lambda a, b: f"({a} != 0.0) & ({b} != 0.0) ? 1.0 : 0.0"),
    **dict.fromkeys(("logical_or", "bitwise_or"), lambda a, b: f"({a} != 0.0) | ({b} != 0.0) ? 1.0 : 0.0"),
    **dict.fromkeys(("logical_not", "bitwise_not"), lambda a: f"{a} == 0.0 ? 1.0 : 0.0"),
    "where": lambda condition, a, b: f"{condition} != 0.0 ? {a} : {b}",
    "masked_fill": lambda a, condition, value: f"{condition} != 0.0 ? {value} : {a}",
}
"""All that can be compiled; for a processor the functions should stand in `VECTOR_FUNCTIONS` as well.  Conditions are
numbers, 1 and 0."""


@cache
def compilable(function: Pointwise, channels: tuple[int, ...]) -> Program | UnknownOperation:
    """The program of a function of arrays with so many channels, or the operation that keeps it from being compiled."""
    try:
        program = record(function, list(channels))
        statements(program, "")
    except UnknownOperation as error:
        return error
    return program


def arguments(program: Program) -> list[str]:
    """Declarations of the arrays: in0, in1, ... and out0, out1, ..."""
    inputs = [f"const double* __restrict__ in{i}" for i in range(len(program.inputs))]
    return inputs + [f"double* __restrict__ out{i}" for i in range(len(program.outputs))]


def statements(program: Program, stride: str) -> list[str]:
    """Loads the channels of point x, which lie `stride` apart, runs the program, stores what comes out.

    Raises UnknownOperation for one that is not in the table.
    """
    loads = [
        f"const double {name} = in{i}[{c} * {stride} + x];"
        for i, names in enumerate(program.inputs) for c, name in enumerate(names)
    ]  # fmt: skip
    stores = [
        f"out{i}[{c} * {stride} + x] = {name};"
        for i, names in enumerate(program.outputs) for c, name in enumerate(names)
    ]  # fmt: skip
    return [*loads, *(f"const double {line.name} = {in_c(line)};" for line in program.needed()), *stores]


def in_c(line: Instruction) -> str:
    """The right-hand side of a line."""
    expression = OPERATIONS.get(line.operation)
    if expression is None or expression.__code__.co_argcount != len(line.operands):
        raise UnknownOperation(f"{line.operation} of {len(line.operands)} arguments")
    return expression(*line.operands)
