"""Our calculations for the comparison, each done once."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from eigenwerk.io.ncci.h2 import read_h2
from eigenwerk.ncci import sources
from eigenwerk.ncci.inputs.inputs import Case, read_cases
from eigenwerk.ncci.interaction.files import two_body_from_h2
from eigenwerk.ncci.interaction.two_body import TwoBody, restrict
from eigenwerk.ncci.problem import CaseSpace, valence_problem
from eigenwerk.ncci.results.levels import Levels
from eigenwerk.ncci.run import CaseResult, run_case
from eigenwerk.units import COULOMB_MEV_FM

FOLDER = Path(__file__).resolve().parents[2] / "build" / "ncci_compare"


@lru_cache(maxsize=64)
def our_run(text: str) -> CaseResult:
    """The result of a case file with this text."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / "case.toml"
    path.write_text(text, encoding="utf-8")
    (case,) = read_cases(path.resolve())
    print(f"  {case.title}", flush=True)
    return run_case(case)


@dataclass(frozen=True)
class TwoFiles:
    """A valence space whose one- and two-body parts stand in two h2 files: H = U/(A_v - 1) + (18/A)^0.3 V."""

    one_body: Path
    two_body: Path
    core: tuple[int, int] = (8, 8)

    def _read(self, path: Path) -> TwoBody:
        return two_body_from_h2(read_h2(path))

    def problem(self, case: Case) -> CaseSpace:
        """The whole space."""
        found = self._read(self.two_body)
        return valence_problem(case, self.core, found.orbitals_p, found.orbitals_n)

    def parts(self, case: Case, problem: CaseSpace) -> dict[str, TwoBody]:
        """U and V."""
        factor = (18 / case.nucleus.nucleons) ** 0.3
        one_body, two_body = (restrict(self._read(path), problem.pairs) for path in (self.one_body, self.two_body))
        return {"U": (1 / (problem.space.nucleons - 1)) * one_body, "V": factor * two_body}


def run_from_two_files(text: str, one_body: Path, two_body: Path) -> CaseResult:
    """A case with such an interaction; the one that the text names is not read."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / "case.toml"
    path.write_text(text, encoding="utf-8")
    return run_case(read_cases(path.resolve())[0], source=TwoFiles(one_body, two_body))


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
