"""INCAR tags that become parameters one by one, with their units; which eigensolvers a run uses."""

from dataclasses import fields
from typing import Any

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.inputs.findings import Findings
from eigenwerk.dft.inputs.steps.motion import DYNAMICS, kind_of_motion
from eigenwerk.dft.inputs.tags_in_force import Computed, line_of, number, whole
from eigenwerk.dft.settings.mixing_extent import smallest_sloshing_g
from eigenwerk.dft.settings.parameters import Mixing, Parameters
from eigenwerk.eigensolvers import ALGOS, NUMBERS, SEQUENCES
from eigenwerk.functionals.functional import Functional
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.units import BOHR_ANGSTROM

LEAST_SYMPREC = 1e-10
"""Å; coordinates in double precision have no more digits."""


def symmetry_tolerance(incar: Incar) -> float:
    """SYMPREC in bohr."""
    return max(number(incar, "SYMPREC"), LEAST_SYMPREC) / BOHR_ANGSTROM


def all_parameters(known: dict[str, Any], functional: Functional) -> Parameters:
    """All that is known by the names of its fields."""
    values = {field.name: known[field.name] for field in fields(Parameters) if field.name in known}
    return Parameters(**values | {"functional": functional.tag})


def loop_settings(incar: Incar, frozen_steps: int, findings: Findings) -> dict[str, Any]:
    """Settings that are read as declared, and those of the loop, by their fields; frozen_steps: |NELMDL|."""
    steps = most_steps(incar)
    if frozen_steps >= steps:
        message = f"the density is kept for {frozen_steps} steps, but NELM = {steps}: "
        message += "the run cannot become self-consistent"
        findings.add(incar.problem("NELMDL", message, f"Set NELM above {frozen_steps}.", severity="warning"))
    elif whole(incar, "NELMIN") > steps:
        tag = "NELMIN" if "NELMIN" in incar.values else "NELM"
        message = f"more steps than NELM = {steps} allows: the run ends before it may converge"
        if tag == "NELM":
            message = f"the run ends before it may converge, in {whole(incar, 'NELMIN')} steps (NELMIN) or more"
        remedy = f"Set NELM = {whole(incar, 'NELMIN')} or more, or remove {tag}."
        findings.add(incar.problem(tag, message, remedy, severity="warning"))
    plain = [one for one in fields(Parameters) if one.metadata.get("reads")]
    return {one.name: one.metadata["reads"](incar.get(one.metadata["tag"])) for one in plain} | {
        "max_steps": steps,
        "stress": _wants_stress(incar),
        "exchange_block": whole(incar, "NBLOCK_FOCK") if incar.get("LHFCALC") else 0,
        "symmetry_tolerance": symmetry_tolerance(incar),
    }


STEPS, STEPS_OF_HYBRIDS = 120, 200
"""Steps of self-consistency at most.

Most cells take 7 to 20, atoms whose s and d levels compete many more (nickel 47 to 81, by the moment that they begin
with): a run that ends well is worth more than the steps of one that does not.  Hybrids become self-consistent once for
the semilocal functional and once for each operator of exact exchange (layers of FeCl2 and iron 60 and 93).
"""


def most_steps(incar: Incar) -> int:
    """NELM, or its default, which leaves room for NELMIN and for steps with a density that is kept (NELMDL)."""
    if "NELM" in incar.values:
        return whole(incar, "NELM")
    usual = STEPS_OF_HYBRIDS if incar.get("LHFCALC") else STEPS
    frozen = abs(whole(incar, "NELMDL")) if "NELMDL" in incar.values else 0
    return max(usual, 2 * whole(incar, "NELMIN"), usual + frozen if frozen > usual // 2 else 0)


def _steps_from(incar: Incar) -> str:
    """Where the default of NELM comes from."""
    usual = STEPS_OF_HYBRIDS if incar.get("LHFCALC") else STEPS
    if most_steps(incar) > usual:
        return "NELMIN and NELMDL"
    return "LHFCALC" if incar.get("LHFCALC") else "default"


def _wants_stress(incar: Incar) -> bool:
    """By ISIF, which is 0 in dynamics if it is not given."""
    given = incar.values.get("ISIF")
    return kind_of_motion(incar) != DYNAMICS if given is None else given != 0


MOLECULE_AMIX = 0.5
"""AMIX of molecules: they screen less than crystals.  Not of free atoms, whose levels empty and fill at once."""

CHOSEN = {"AMIX", "BMIX", "AMIN", "BMIX_MAG"}
"""Tags by which users choose factors of the density themselves."""


def mixing(incar: Incar, structure: Structure) -> tuple[Mixing, dict[str, Computed]]:
    """Density mixing, and the tags that follow from others and from the structure, with their origin.

    AMIN is min(0.1, AMIX, AMIX_MAG) by default.  Wave vectors from 1/Å to 1/bohr.  An AMIX_MAG that is given is the
    factor; the default is its upper end.
    """
    computed = {}
    by_extent = not CHOSEN & set(incar.values)
    linear, magnetic = number(incar, "AMIX"), number(incar, "AMIX_MAG")
    if by_extent and len(structure.symbols) > 1 and smallest_sloshing_g(structure):
        linear = MOLECULE_AMIX
        computed["AMIX"] = Computed(linear, "of molecules")
    smallest = incar.values.get("AMIN")
    if isinstance(smallest, float):
        computed["AMIN"] = Computed(smallest, line_of(incar, "AMIN"))
    else:
        smallest = min(0.1, linear, magnetic)
        computed["AMIN"] = Computed(smallest, "min(0.1, AMIX, AMIX_MAG)")
    made = Mixing(
        kind="kerker" if incar.get("IMIX") == 1 else "pulay",
        amix=linear,
        fit_charge="AMIX" not in incar.values,
        bmix=number(incar, "BMIX") * BOHR_ANGSTROM,
        amix_mag=magnetic,
        fit_mag="AMIX_MAG" not in incar.values,
        bmix_mag=number(incar, "BMIX_MAG") * BOHR_ANGSTROM,
        amin=smallest,
        history=abs(whole(incar, "MAXMIX")),
        by_extent=by_extent,
    )
    return made, computed


def solver_tags(incar: Incar) -> tuple[str, int, dict[str, Computed]]:
    """`Parameters.solver`, steps with the starting density, and the values of the tags in force.

    ALGO wins over IALGO; without both, the solver is chosen by the size of the job.
    """
    computed: dict[str, Computed] = {}
    if "NELM" not in incar.values:
        computed["NELM"] = Computed(most_steps(incar), _steps_from(incar))
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
        return solver, abs(whole(incar, "NELMDL")), computed
    frozen = SEQUENCES[solver].begins.frozen_steps if solver in SEQUENCES else 0
    computed["NELMDL"] = Computed(-frozen, f"ALGO = {word}" if frozen else "default")
    return solver, frozen, computed
