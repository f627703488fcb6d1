"""Numbers and logicals as Fortran list input reads them."""

import math
import re

_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eEdD][+-]?[0-9]+)?")
_INT = re.compile(r"[+-]?[0-9]{1,100}")
"""Python reads no more than 4300 digits, and nobody means so many."""
_LOGICAL = re.compile(r"\.?([TtFf])[A-Za-z]*\.?")


def is_number(token: str) -> bool:
    """Whether the token is a finite Fortran number: 4, -0.5, .5, 1., 1d-4, 1.0E+03."""
    return _FLOAT.fullmatch(token) is not None and math.isfinite(to_float(token))


def is_int(token: str) -> bool:
    """Whether the token is a plain whole number, sign allowed."""
    return _INT.fullmatch(token) is not None


def to_float(token: str) -> float:
    """The number in a token; raises ValueError for anything that is not a plain decimal number."""
    if _FLOAT.fullmatch(token) is None:
        raise ValueError(f"{token} is not a number")
    return float(token.lower().replace("d", "e"))


def to_bool(token: str) -> bool:
    """A logical by its first significant letter: .TRUE., T, True, .f., F; raises ValueError otherwise."""
    match = _LOGICAL.fullmatch(token)
    if match is None:
        raise ValueError(f"{token} is not a logical")
    return match.group(1) in "Tt"


def strip_comment(line: str, marks: str = "#!") -> str:
    """The line up to the first comment mark, without blanks at its ends."""
    for position, character in enumerate(line):
        if character in marks:
            return line[:position].strip()
    return line.strip()


def leading_numbers(tokens: list[str]) -> list[float]:
    """The numbers at the start of a list of tokens, up to the first token that is none."""
    numbers: list[float] = []
    for token in tokens:
        if not is_number(token):
            break
        numbers.append(to_float(token))
    return numbers
