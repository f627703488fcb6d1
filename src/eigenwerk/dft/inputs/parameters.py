"""INCAR tags that become parameters one by one, with their units."""

from typing import Any

from eigenwerk.dft.inputs.findings import Findings
from eigenwerk.dft.inputs.settings import Computed, line_of, number, whole
from eigenwerk.dft.parameters import Mixing
from eigenwerk.io.vasp.incar import Incar
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV


def loop_settings(incar: Incar, frozen: int, findings: Findings) -> dict[str, Any]:
    """Functional, spin, smearing, self-consistency and symmetry as arguments of `Parameters`; frozen: |NELMDL|."""
    steps = whole(incar, "NELM")
    if frozen >= steps:
        message = f"the density is kept for {frozen} steps, but NELM = {steps}: the run cannot become self-consistent"
        findings.add(incar.problem("NELMDL", message, f"Set NELM above {frozen}.", severity="warning"))
    return {
        "title": str(incar.get("SYSTEM")),
        "precision": str(incar.get("PREC")),
        "functional": str(incar.get("GGA")),
        "spins": whole(incar, "ISPIN"),
        "ismear": whole(incar, "ISMEAR"),
        "width": number(incar, "SIGMA") / HARTREE_EV,
        "energy_tolerance": number(incar, "EDIFF") / HARTREE_EV,
        "max_steps": steps,
        "min_steps": whole(incar, "NELMIN"),
        "frozen_steps": frozen,
        "motion_time": number(incar, "TIME"),
        "start_single": incar.get("PRECISION_START") == "Single",
        "correct_forces": bool(incar.get("LCORR")),
        "stress": incar.get("ISIF") != 0,
        "symmetry_level": whole(incar, "ISYM"),
        "symmetry_tolerance": number(incar, "SYMPREC") / BOHR_ANGSTROM,
    }


def mixing(incar: Incar) -> tuple[Mixing, Computed]:
    """Density mixing, and AMIN with its origin: min(0.1, AMIX, AMIX_MAG) by default.

    Wave vectors from 1/Å to 1/bohr.  An AMIX_MAG that is given is the factor; the default is its upper end.
    """
    linear, magnetic = number(incar, "AMIX"), number(incar, "AMIX_MAG")
    smallest = incar.values.get("AMIN")
    if isinstance(smallest, float):
        amin = Computed(smallest, line_of(incar, "AMIN"))
    else:
        smallest = min(0.1, linear, magnetic)
        amin = Computed(smallest, "min(0.1, AMIX, AMIX_MAG)")
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
        by_extent=not {"AMIX", "BMIX", "AMIN", "BMIX_MAG"} & set(incar.values),
    )
    return made, amin
