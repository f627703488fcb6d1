"""ALGO, IALGO and NELMDL: which eigensolvers a run uses, and how long it keeps the starting density."""

from dataclasses import dataclass

from eigenwerk.dft.inputs.settings import Computed, line_of, whole
from eigenwerk.eigensolvers import ALGOS, NUMBERS, SEQUENCES
from eigenwerk.io.vasp.incar import Incar


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
        sequence = SEQUENCES.get(ALGOS.get(word, ""))
        computed["IALGO"] = Computed(None if sequence is None else sequence.request.number, "from ALGO")
        if word not in ALGOS:
            computed["ALGO"] = Computed("Normal", f"{line_of(incar, 'ALGO')}, in place of {word}")
    else:
        word = NUMBERS.get(whole(incar, "IALGO"), "Normal")
        computed["ALGO"] = Computed(word, f"IALGO, {line_of(incar, 'IALGO')}")
    solver = ALGOS.get(word, "davidson")
    if "NELMDL" in incar.values:
        return SolverTags(solver, abs(whole(incar, "NELMDL")), computed)
    frozen = SEQUENCES[solver].begins.frozen_steps if solver in SEQUENCES else 0
    computed["NELMDL"] = Computed(-frozen, f"ALGO = {word}" if frozen else "default")
    return SolverTags(solver, frozen, computed)
