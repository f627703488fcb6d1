"""A recorded program in C, for kernels of GPUs and loops of processors (`pointwise_cuda`, `pointwise_native`)."""

from collections.abc import Callable

from eigenwerk.dft.xc.recording import Instruction, Program

Expression = Callable[..., str]
"""C of an operation, from the names of its operands."""

EXPRESSIONS: dict[str, Expression] = {
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
"""Conditions are numbers, 1 and 0."""


def arguments(program: Program) -> list[str]:
    """Declarations of the arrays: in0, in1, ... and out0, out1, ..."""
    inputs = [f"const double* __restrict__ in{i}" for i in range(len(program.inputs))]
    return inputs + [f"double* __restrict__ out{i}" for i in range(len(program.outputs))]


def statements(program: Program, stride: str, expressions: dict[str, Expression] = EXPRESSIONS) -> list[str]:
    """Loads the channels of point x, which lie `stride` apart, runs the program, stores what comes out."""
    loads = [
        f"const double {name} = in{i}[{c} * {stride} + x];"
        for i, names in enumerate(program.inputs) for c, name in enumerate(names)
    ]  # fmt: skip
    stores = [
        f"out{i}[{c} * {stride} + x] = {name};"
        for i, names in enumerate(program.outputs) for c, name in enumerate(names)
    ]  # fmt: skip
    return [*loads, *(f"const double {line.name} = {in_c(line, expressions)};" for line in program.needed()), *stores]


def in_c(line: Instruction, expressions: dict[str, Expression] = EXPRESSIONS) -> str:
    """The right-hand side of a line."""
    return expressions[line.operation](*line.operands)
