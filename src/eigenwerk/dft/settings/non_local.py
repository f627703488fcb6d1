"""LUSE_VDW and its tags: non-local correlation beside a functional (no torch here)."""

from typing import Any

from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.tags_in_force import Computed, number
from eigenwerk.functionals.functional import DENSITY, Functional
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.functionals.non_local import DION, RVV10, VDW_DF1, VDW_DF2, NonLocal, kernel_words, recipe_name
from eigenwerk.functionals.table import find_functional
from eigenwerk.io.vasp.input.incar import Incar

OF_DION, OF_RVV10 = ("ZAB_VDW", "LSPIN_VDW"), ("BPARAM", "CPARAM")
ONLY_NON_LOCAL = ("IVDW_NL", *OF_DION, *OF_RVV10)
"""Tags that mean nothing without LUSE_VDW."""

USUAL = {
    "RE": "vdW-DF", "ML": "vdW-DF2", "OR": "optPBE-vdW", "BO": "optB88-vdW", "MK": "optB86b-vdW", "CX": "vdW-DF-cx",
}  # fmt: skip
"""What words of GGA are used for, by far most often."""


def non_local_of(
    incar: Incar, functional: Functional, hybrid: Hybrid | None, findings: Findings
) -> tuple[NonLocal | None, dict[str, Computed]]:
    """Non-local correlation, None without LUSE_VDW; tags that are not in force.  Problems go to the findings."""
    if not incar.get("LUSE_VDW"):
        if not incar.broken("LUSE_VDW"):
            _tell_without(incar, functional, hybrid, findings)
        return None, {tag: Computed(None) for tag in ONLY_NON_LOCAL}
    kernel = RVV10 if incar.get("IVDW_NL") == 2 else DION
    idle = OF_RVV10 if kernel == DION else OF_DION
    for tag in idle:
        if tag in incar.values and incar.values[tag] is not False:
            message = f"not used: it belongs to IVDW_NL = {2 if kernel == DION else 1}, not to the kernel of {kernel}"
            findings.add(incar.problem(tag, message, severity="warning"))
    resolved = kernel == DION and bool(incar.get("LSPIN_VDW")) and incar.get("ISPIN") == 2
    if incar.get("LSPIN_VDW") and incar.get("ISPIN") != 2:
        message = "ISPIN = 1: both spins are alike, and so it changes nothing"
        findings.add(incar.problem("LSPIN_VDW", message, severity="note"))
    numbers: dict[str, Any] = {"b": number(incar, "BPARAM"), "c": number(incar, "CPARAM")}
    if kernel == DION:
        numbers = {"gradient": number(incar, "ZAB_VDW")}
    found = NonLocal(kernel, spin_resolved=resolved, **numbers)
    _doubts(incar, functional, hybrid, found, findings)
    return found, {tag: Computed(None) for tag in idle}


def gradient_correlation(functional: Functional, hybrid: Hybrid | None) -> float:
    """The share of gradient correlation that a functional keeps; 0 of the uniform gas and of exchange alone."""
    if functional.shares is None and not any(part.startswith("gga_c") for part in functional.libxc):
        return 0.0
    if functional.ingredients == (DENSITY,):
        return 0.0
    return 1.0 if hybrid is None else hybrid.gradient_correlation


def _doubts(
    incar: Incar, functional: Functional, hybrid: Hybrid | None, found: NonLocal, findings: Findings
) -> None:
    """What stands against non-local correlation beside this functional, or deserves a word."""
    share = gradient_correlation(functional, hybrid)
    if found.kernel == DION and share:
        message = (
            "Dion's kernel (LUSE_VDW, IVDW_NL = 1) holds all correlation beyond the uniform gas, and "
            f"AGGAC = {share:g} adds {100 * share:g} % of that of {functional.title}: it would count twice"
        )
        tag = "AGGAC" if "AGGAC" in incar.values else "LUSE_VDW"
        findings.add(incar.problem(tag, message, "Set AGGAC = 0 (PBE + rVV10, with IVDW_NL = 2, keeps AGGAC = 1)."))
        return
    if found.kernel == RVV10 and not share:
        message = "rVV10 goes with the gradient correlation of its functional, which AGGAC = 0 takes away"
        findings.add(incar.problem("LUSE_VDW", message, "Remove AGGAC = 0.", severity="warning"))
    if recipe_name(functional.tag, hybrid, found) is None and not (hybrid is not None and hybrid.fraction):
        findings.add(incar.problem("LUSE_VDW", *_of_mixture(functional, hybrid, found), severity="warning"))


def _of_mixture(functional: Functional, hybrid: Hybrid | None, found: NonLocal) -> tuple[str, str]:
    """A message about a functional that has no name, and what would have one."""
    title = functional_title(functional.tag, hybrid, None)
    message = f"{title} with the {kernel_words(found)} is no known recipe; it is computed as it stands"
    if functional.tag == "ML" and found.kernel == DION and found.gradient == VDW_DF1:
        return message, f"vdW-DF2 has ZAB_VDW = {VDW_DF2:g}."
    usual = USUAL.get(functional.tag)
    return message, f"GGA = {functional.tag} is that of {usual}." if usual else ""


def _tell_without(incar: Incar, functional: Functional, hybrid: Hybrid | None, findings: Findings) -> None:
    """Words about tags of non-local correlation where there is none."""
    given = [tag for tag in ONLY_NON_LOCAL if tag in incar.values and incar.values[tag] is not False]
    for tag in given:
        findings.add(incar.problem(tag, "not used: it acts only with LUSE_VDW = .TRUE.", severity="warning"))
    alone = hybrid is not None and not hybrid.fraction and not hybrid.gradient_correlation
    if alone and "AGGAC" in incar.values:
        message = "correlation is that of the uniform gas alone: recipes with non-local correlation add it by LUSE_VDW"
        findings.add(incar.problem("AGGAC", message, "Set LUSE_VDW = .TRUE. if that is meant.", severity="warning"))
    elif functional.tag.partition("(")[0] in USUAL and functional.tag != "RE":
        name = USUAL[functional.tag.partition("(")[0]]
        message = f"{functional.title} with PBE's correlation: {name} has LUSE_VDW = .TRUE. and AGGAC = 0 besides"
        findings.add(incar.problem("GGA", message, severity="note"))


def functional_title(tag: str, hybrid: Hybrid | None, non_local: NonLocal | None) -> str:
    """A functional as papers call it: optB88-vdW; of a mixture that has no name 'PBE with the kernel of vdW-DF'."""
    title = find_functional(tag, hybrid).title
    if non_local is None:
        return title
    return recipe_name(tag, hybrid, non_local) or f"{title}, with the {kernel_words(non_local)}"


def non_local_words(non_local: NonLocal | None, _: object = None) -> list[str]:
    """Which kernel with which numbers."""
    return [] if non_local is None else [f"non-local by the {kernel_words(non_local)}"]
