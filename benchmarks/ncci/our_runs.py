"""Our calculations for the comparison, each done once."""

from functools import lru_cache
from pathlib import Path

from eigenwerk.ncci import sources
from eigenwerk.ncci.inputs import read_cases
from eigenwerk.ncci.levels import Levels
from eigenwerk.ncci.run import CaseResult, run_case
from eigenwerk.units import COULOMB_MEV_FM

FOLDER = Path("build/ncci_compare")


@lru_cache(maxsize=64)
def our_run(text: str) -> CaseResult:
    """The result of a case file with this text."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / "case.toml"
    path.write_text(text, encoding="utf-8")
    (case,) = read_cases(path.resolve())
    print(f"  {case.title}", flush=True)
    return run_case(case)


@lru_cache(maxsize=8)
def run_with_unit_charge(text: str) -> CaseResult:
    """The same with e^2 = 1 MeV fm in the Coulomb force, as one set of MFDn's files has it."""
    usual = sources.coulomb
    sources.coulomb = lambda space, hw: (1 / COULOMB_MEV_FM) * usual(space, hw)
    try:
        return our_run.__wrapped__(text)
    finally:
        sources.coulomb = usual


def case_text(**keys: object) -> str:
    """A case file; texts are quoted, `solver` is a table."""
    solver = keys.pop("solver", {})
    lines = [f"{key} = {_toml(value)}" for key, value in keys.items()]
    return "\n".join([*lines, "[solver]", *(f"{key} = {_toml(value)}" for key, value in solver.items())]) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return str(value) if isinstance(value, (int, float)) else f'"{value}"'


def place(levels: Levels, j: float, order: int) -> int | None:
    """Which of our states is the `order`-th of its J."""
    for n, (twice_j, number) in enumerate(zip(levels.twice_j_n, levels.order_n, strict=True)):
        if twice_j == round(2 * j) and number == order:
            return n
    return None
