"""ALGO, IALGO and NELMDL: which eigensolvers a run uses, and how long it keeps the starting density."""

from dataclasses import dataclass

from eigenwerk.dft.inputs.settings import Computed, line_of, whole
from eigenwerk.io.vasp.incar import Incar

SOLVERS = {
    "Automatic": "automatic",
    "Normal": "davidson",
    "Fast": "davidson, rmm",
    "VeryFast": "rmm",
    "All": "conjugate",
    "Conjugate": "conjugate",
    "Damped": "damped",
    "Exact": "exact",
    "Chebyshev": "chebyshev",
}
"""ALGO -> `Parameters.solver`; other words that are accepted are served by blocked Davidson."""

NUMBERS = {38: "Normal", 68: "Fast", 48: "VeryFast", 58: "All", 53: "Damped", 90: "Exact"}
"""IALGO -> ALGO."""

FROZEN_STEPS = {"rmm": 3}
"""Default of |NELMDL| by solver: residual minimisation must first find the lowest states of the starting potential."""


@dataclass(frozen=True)
class SolverTags:
    """`Parameters.solver`, steps with the starting density, and the values of the tags in force."""

    solver: str
    frozen_steps: int
    computed: dict[str, Computed]


def solver_tags(incar: Incar) -> SolverTags:
    """ALGO wins over IALGO; without both, the solver is chosen by the size of the job."""
    computed: dict[str, Computed] = {}
    if "ALGO" in incar.values or "IALGO" not in incar.values:
        word = str(incar.get("ALGO"))
        number = next((number for number, name in NUMBERS.items() if SOLVERS[name] == SOLVERS.get(word)), None)
        computed["IALGO"] = Computed(number, "from ALGO")
        if word not in SOLVERS:
            computed["ALGO"] = Computed("Normal", f"{line_of(incar, 'ALGO')}, in place of {word}")
    else:
        word = NUMBERS.get(whole(incar, "IALGO"), "Normal")
        computed["ALGO"] = Computed(word, f"IALGO, {line_of(incar, 'IALGO')}")
    solver = SOLVERS.get(word, "davidson")
    if "NELMDL" in incar.values:
        return SolverTags(solver, abs(whole(incar, "NELMDL")), computed)
    frozen = FROZEN_STEPS.get(solver, 0)
    computed["NELMDL"] = Computed(-frozen, f"ALGO = {word}" if frozen else "default")
    return SolverTags(solver, frozen, computed)
