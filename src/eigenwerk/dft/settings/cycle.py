"""The cycle of self-consistency: its solver, how long it goes on, in which precision (NELM, EDIFF, ALGO and others)."""

from dataclasses import dataclass

from eigenwerk.dft.settings.declared import Changes, hartree, is_single, setting
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.tags_in_force import Computed, line_of, whole
from eigenwerk.eigensolvers import ALGOS, NUMBERS, SEQUENCES
from eigenwerk.io.vasp.input.incar import Incar

STEPS, STEPS_OF_HYBRIDS = 120, 200
"""Steps of self-consistency at most.

Most cells take 7 to 20, atoms whose s and d levels compete many more (nickel 47 to 81, by the moment that they begin
with): a run that ends well is worth more than the steps of one that does not.  Hybrids become self-consistent once for
the semilocal functional and once for each operator of exact exchange (layers of FeCl2 and iron 60 and 93).
"""


def most_steps(incar: Incar, frozen_steps: int, findings: Findings) -> tuple[int, dict[str, Computed]]:
    """NELM, or its default, which leaves room for NELMIN and for steps with a density that is kept (NELMDL)."""
    steps, computed, least = _step_limit(incar), {}, whole(incar, "NELMIN")
    if "NELM" not in incar.values:
        hybrid = "LHFCALC" if incar.get("LHFCALC") else "default"
        computed["NELM"] = Computed(steps, "NELMIN and NELMDL" if steps > _usual_steps(incar) else hybrid)
    if frozen_steps >= steps:
        message = f"the density is kept for {frozen_steps} steps, but NELM = {steps}: "
        message += "the run cannot become self-consistent"
        findings.add(incar.problem("NELMDL", message, f"Set NELM above {frozen_steps}.", severity="warning"))
    elif least > steps:
        tag = "NELMIN" if "NELMIN" in incar.values else "NELM"
        message = f"more steps than NELM = {steps} allows: the run ends before it may converge"
        if tag == "NELM":
            message = f"the run ends before it may converge, in {least} steps (NELMIN) or more"
        findings.add(incar.problem(tag, message, f"Set NELM = {least} or more, or remove {tag}.", severity="warning"))
    return steps, computed


def _usual_steps(incar: Incar) -> int:
    return STEPS_OF_HYBRIDS if incar.get("LHFCALC") else STEPS


def _step_limit(incar: Incar) -> int:
    if "NELM" in incar.values:
        return whole(incar, "NELM")
    usual, frozen = _usual_steps(incar), abs(whole(incar, "NELMDL")) if "NELMDL" in incar.values else 0
    return max(usual, 2 * whole(incar, "NELMIN"), usual + frozen if frozen > usual // 2 else 0)


def _algo(incar: Incar) -> str:
    """ALGO, which wins over IALGO; without both, the solver is chosen by the size of the job."""
    by_number = "ALGO" not in incar.values and "IALGO" in incar.values
    return NUMBERS.get(whole(incar, "IALGO"), "Normal") if by_number else str(incar.get("ALGO"))


def chosen_solver(incar: Incar) -> tuple[str, dict[str, Computed]]:
    """The solver by its name, and ALGO and IALGO in force."""
    word = _algo(incar)
    if "ALGO" not in incar.values and "IALGO" in incar.values:
        computed = {"ALGO": Computed(word, f"IALGO, {line_of(incar, 'IALGO')}")}
    else:
        sequence = SEQUENCES.get(ALGOS.get(word, ""))
        computed = {"IALGO": Computed(None if sequence is None else sequence.request.number, "from ALGO")}
        if word not in ALGOS:
            computed["ALGO"] = Computed("Normal", f"{line_of(incar, 'ALGO')}, in place of {word}")
    return ALGOS.get(word, "davidson"), computed


def steps_with_kept_density(incar: Incar, solver: str) -> tuple[int, dict[str, Computed]]:
    """|NELMDL|, by default what the solver begins with."""
    if "NELMDL" in incar.values:
        return abs(whole(incar, "NELMDL")), {}
    frozen = SEQUENCES[solver].begins.frozen_steps if solver in SEQUENCES else 0
    return frozen, {"NELMDL": Computed(-frozen, f"ALGO = {_algo(incar)}" if frozen else "default")}


@dataclass(frozen=True, kw_only=True)
class CycleSettings:
    """energy_tolerance: hartree; frozen_steps: with the starting density; solver: "automatic" or a sequence of
    eigensolvers (scf/solver_choice.py); motion_time: of the damped solver, hartree⁻¹; start_single: whether the first
    steps improve the orbitals in single precision; correct_forces: to first order, and by one more step where their
    error is large."""

    energy_tolerance: float = setting("EDIFF", Changes.LESS, reads=hartree)
    solver: str = setting("ALGO", Changes.NOTHING, default="automatic", made=chosen_solver, gives="tags")
    frozen_steps: int = setting("NELMDL", Changes.NOTHING, default=0, made=steps_with_kept_density, gives="tags")
    max_steps: int = setting("NELM", Changes.NOTHING, default=STEPS, made=most_steps, gives="tags")
    min_steps: int = setting("NELMIN", Changes.NOTHING, reads=int)
    motion_time: float = setting("TIME", Changes.NOTHING, reads=float)
    start_single: bool = setting("PRECISION_START", Changes.NOTHING, reads=is_single)
    correct_forces: bool = setting("LCORR", Changes.NOTHING, reads=bool)
