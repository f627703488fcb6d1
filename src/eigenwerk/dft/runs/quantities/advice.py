"""What to try next where self-consistency was not reached."""

from collections.abc import Mapping
from math import inf
from typing import Any

from eigenwerk.dft.crystal.tetrahedra import CORRECTED
from eigenwerk.io.vasp.output.record import StepRecord

LAST_CHANGES, ROUNDING = 5, 1e-9
"""Steps of which none changed the free energy by more, eV: there is nothing left to converge."""


def advice(steps: tuple[StepRecord, ...], tags: Mapping[str, Any], warnings: tuple[str, ...] = ()) -> tuple[str, ...]:
    """What to change in INCAR when self-consistency was not reached, most promising first.

    steps: all steps; tags: the tags in force; warnings: of the occupations.
    """
    ideas = ["first of all more bands: see the warning"] if any("NBANDS" in text for text in warnings) else []
    limit = max(2 * int(tags["NELM"]), 60)
    if _falls(steps):
        ideas.append(f"it was still getting better: set ISTART = 1 to go on from eigenwerk.h5, and NELM = {limit}")
        return tuple(ideas)
    small = max((abs(step.change) for step in steps[-LAST_CHANGES:]), default=inf)
    if small <= ROUNDING:
        ideas.append(
            f"nothing is left to converge: each of the last {LAST_CHANGES} steps changed the free energy by at most "
            f"{small:.0e} eV, which is rounding. Set EDIFF = 1E-8 (it was {float(tags['EDIFF']):g})"
        )
        return tuple(ideas)
    if int(tags["ISMEAR"]) in CORRECTED:
        ideas.append(
            f"tetrahedra without Blöchl's correction, which jumps where tetrahedra are large: ISMEAR = "
            f"{int(tags['ISMEAR']) + 1}, or a denser mesh in KPOINTS"
        )
    amix = float(tags.get("AMIX", 0.4))
    ideas.append(f"smaller steps of the density: AMIX = {_half(amix, 0.1):g} (it was {amix:g})")
    if int(tags["ISPIN"]) == 2:
        magnetic = float(tags.get("AMIX_MAG", 1.6))
        ideas.append(
            f"smaller steps of the magnetisation: AMIX_MAG = {_half(magnetic, 0.2):g} (it was {magnetic:g}), and "
            "MAGMOM nearer to the moments expected"
        )
    if float(tags["SIGMA"]) < 0.1 and int(tags["ISMEAR"]) >= -1:
        ideas.append(f"in a metal, a wider smearing: ISMEAR = 1 with SIGMA = 0.2 (SIGMA was {float(tags['SIGMA']):g})")
    ideas.append("in a long cell or slab, a larger BMIX = 2 against charge that sloshes")
    return tuple(ideas)


def _falls(steps: tuple[StepRecord, ...], window: int = 6) -> bool:
    """Whether the density residual of the last steps is well below that of those before."""
    residuals = [step.density_residual for step in steps if step.density_residual is not None]
    if len(residuals) < window:
        return True
    half = window // 2
    best = min(residuals[-half:])
    # a cycle falls again and again, and never lower
    return best < 0.7 * min(residuals[-window:-half]) and best == min(residuals)


def _half(value: float, least: float) -> float:
    return max(round(value / 2, 3), min(least, value))
