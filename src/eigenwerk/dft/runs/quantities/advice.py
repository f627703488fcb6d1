"""What to try next where self-consistency was not reached, and what forces lack."""

from collections.abc import Mapping
from math import inf
from typing import Any

from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.crystal.tetrahedra import CORRECTED, TETRAHEDRA
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.runs.quantities.given import tags_in_force
from eigenwerk.dft.runs.quantities.records import step_record
from eigenwerk.dft.scf.stages.exchange_loop import is_renewal
from eigenwerk.dft.scf.state import State
from eigenwerk.io.vasp.output.record import StepRecord
from eigenwerk.units import FORCE_EV_PER_ANGSTROM

LAST_CHANGES, ROUNDING = 5, 1e-9
"""Steps of which none changed the free energy by more, eV: there is nothing left to converge."""


SMALL_FIELD = 1e-3
"""V/Å; smaller ones in forces are not worth a word."""


def advice_after(state: State, inputs: Inputs, interrupted: bool, moves: bool) -> tuple[str, ...]:
    """What to try next after a last state; interrupted: before the end of what was asked for;
    moves: atoms do."""
    if inputs.fixed_density:
        return () if state.converged else (f"more sweeps: NELM = {2 * state.system.parameters.max_steps}",)
    if interrupted:
        if moves:
            return ("eigenwerk run --restart goes on from eigenwerk.h5",)
        return ("set ISTART = 1 to go on from eigenwerk.h5", "or go on by eigenwerk run --restart")
    if state.converged:
        return ()
    # a new operator of exact exchange moves the density: what counts is the way since then
    last = max((place for place, step in enumerate(state.history) if any(map(is_renewal, step.events))), default=-1)
    steps = tuple(step_record(step) for step in state.history[last + 1 :] or state.history[-1:])
    return advice(steps, tags_in_force(inputs), state.occupations.warnings)


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


def force_words(state: State) -> str:
    """What forces lack where they are no derivatives of the energy."""
    ismear, occ_skn = state.system.parameters.ismear, state.occupations.occ_skn
    corrected, _ = TETRAHEDRA.get(ismear, (False, False))
    if not corrected or bool(((occ_skn - occ_skn.round()).abs() < 1e-6).all()):
        return ""
    return (
        f"ISMEAR = {ismear}: forces and stress of a metal are no derivatives of its energy, because Blöchl's "
        "correction is not variational; to relax it set ISMEAR = 1 with SIGMA = 0.2, or ISMEAR = -4"
    )


def field_words(calculation: Calculation, state: State) -> str:
    """What forces and levels lack where a dipole is corrected in the energy alone."""
    dipole = calculation.builder.dipole
    if dipole is None:
        return ""
    field = dipole.false_field(calculation.builder(state.density).charges) * FORCE_EV_PER_ANGSTROM
    if field < SMALL_FIELD:
        return ""
    return (
        "IDIPOL without LDIPOL corrects the energy alone: forces, levels and potential are those of the periodic "
        f"cell, in a field of its images of {field:.3f} V/Å, which pushes atoms by their effective charges times that "
        "field; LDIPOL = .TRUE. takes it away in every step"
    )
