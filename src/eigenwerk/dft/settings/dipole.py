"""IDIPOL, LDIPOL, DIPOL, EFIELD: corrections for the dipole of a slab or molecule, a field across it (no torch)."""

from dataclasses import dataclass

import numpy as np

from eigenwerk.dft.crystal.structure import Structure, is_cubic, vacuum, widest_gaps
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.motion_kind import kind_of_motion
from eigenwerk.dft.settings.tags_in_force import Computed, number, whole
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

LEAST_VACUUM, LEAST_DISTANCE = 4.0, 2.0
"""Vacuum (Å) that the axis of a correction must have, and how far its step must be from planes of atoms."""

ALL_AXES = 4

IDLE = {"LDIPOL": "it acts only with IDIPOL", "DIPOL": "it acts only with IDIPOL"}


@dataclass(frozen=True)
class DipoleCorrection:
    """IDIPOL, LDIPOL, DIPOL, EFIELD: one axis of a slab, or all of a molecule; centre in fractional coordinates.

    in_potential: whether orbitals and forces know of it; force: of an electric field on an electron along the axis,
    hartree per bohr.
    """

    axes: tuple[int, ...]
    centre_c: tuple[float, float, float]
    in_potential: bool = False
    force: float = 0.0


def dipole_correction(
    incar: Incar, structure: Structure, charge: float, findings: Findings
) -> tuple[DipoleCorrection | None, dict[str, Computed]]:
    """The correction that is asked for, if there is one; charge: of the cell.  Problems go to the findings."""
    direction, force = whole(incar, "IDIPOL"), number(incar, "EFIELD")
    if direction == 0:
        if force:
            message = "an electric field needs a direction and a corrected potential"
            findings.add(incar.problem("EFIELD", message, "Set IDIPOL = 3 and LDIPOL = .TRUE., or remove the line."))
        for tag, words in IDLE.items():
            if incar.values.get(tag):
                findings.add(incar.problem(tag, words, severity="note"))
        return None, {"LDIPOL": Computed(None), "DIPOL": Computed(None), "EFIELD": Computed(None)}
    axes = (0, 1, 2) if direction == ALL_AXES else (direction - 1,)
    centre_c = _centre(incar, structure, findings)
    fine = _check_cell(incar, structure, axes, charge, findings)
    if centre_c is None or not fine or not _check_field(incar, direction, findings):
        return None, {}
    for axis in axes:
        _check_step(incar, structure, axis, centre_c[axis], findings)
    if not incar.get("LDIPOL"):
        moves = kind_of_motion(incar) is not None
        message = "without LDIPOL the energy alone is corrected; density and forces are those in the false field"
        message += ", so atoms do not come to rest where this energy is lowest" if moves else ""
        severity = "warning" if moves else "note"
        findings.add(incar.problem("IDIPOL", message, "Set LDIPOL = .TRUE. to correct all of them.", severity))
    unit = BOHR_ANGSTROM / HARTREE_EV
    given = DipoleCorrection(axes, centre_c, bool(incar.get("LDIPOL")), force * unit)
    origin = {} if "DIPOL" in incar.values else {"DIPOL": Computed(centre_c, "from the vacuum")}
    return given, origin


def _centre(incar: Incar, structure: Structure, findings: Findings) -> tuple[float, float, float] | None:
    """DIPOL; by default opposite to the middle of the widest gap of each axis."""
    given = incar.values.get("DIPOL")
    if isinstance(given, tuple):
        if len(given) != 3:
            findings.add(incar.problem("DIPOL", f"has {len(given)} numbers, and 3 are needed", "Remove the line."))
            return None
        x, y, z = (float(value) for value in given)
        return x, y, z
    after_c, gap_c = widest_gaps(structure.scaled_ac % 1.0)
    x, y, z = ((after_c + (1.0 - gap_c) / 2) % 1.0).tolist()
    return x, y, z


def _check_cell(incar: Incar, structure: Structure, axes: tuple[int, ...], charge: float, findings: Findings) -> bool:
    before = len(findings.problems)
    thickness_c = vacuum(structure) * BOHR_ANGSTROM
    bulk = [axis for axis in axes if thickness_c[axis] < LEAST_VACUUM]
    if bulk:
        words = ", ".join(f"{thickness_c[axis]:.1f} Å along axis {axis + 1}" for axis in bulk)
        findings.add(incar.problem(
            "IDIPOL", f"the largest layer without atoms has {words}: no vacuum, so no dipole moment is defined",
            f"Remove the line, or make a vacuum of {LEAST_VACUUM:g} Å and more.",
        ))  # fmt: skip
    if abs(charge) > 1e-6:
        findings.add(incar.problem(
            "IDIPOL", f"the cell has a charge of {charge:+g}, and the moment of a charge depends on the origin",
            "Remove the line, or NELECT.",
        ))  # fmt: skip
    if len(axes) == 3 and not is_cubic(structure.lattice_cv):
        lengths_c = np.linalg.norm(structure.lattice_cv, axis=1) * BOHR_ANGSTROM
        edges = ", ".join(f"{length:.2f}" for length in lengths_c)
        message = f"the correction for all axes is known of cubic boxes; the edges here are {edges} Å"
        findings.add(incar.problem("IDIPOL", message, "Take a cubic box, or set IDIPOL to the axis of a slab."))
    return len(findings.problems) == before


def _check_field(incar: Incar, direction: int, findings: Findings) -> bool:
    if not number(incar, "EFIELD") or (direction != ALL_AXES and incar.get("LDIPOL")):
        return True
    message = "an electric field needs one direction (IDIPOL = 1, 2 or 3) and LDIPOL = .TRUE."
    findings.add(incar.problem("EFIELD", message, "Set them, or remove the line."))
    return False


def _check_step(incar: Incar, structure: Structure, axis: int, centre: float, findings: Findings) -> None:
    """The step of the potential must not be among atoms."""
    apart_a = structure.scaled_ac[:, axis] - centre - 0.5
    height = 2 * np.pi / np.linalg.norm(structure.reciprocal_cv[axis]) * BOHR_ANGSTROM
    nearest = float(np.abs(apart_a - np.rint(apart_a)).min() * height)
    if nearest < LEAST_DISTANCE:
        findings.add(incar.problem(
            "DIPOL", f"the potential has its step half a cell away, {nearest:.2f} Å from an atom along axis {axis + 1}",
            "Remove the line: the step is then in the middle of the vacuum.",
        ))  # fmt: skip


def dipole_words(given: DipoleCorrection | None, _: object = None) -> list[str]:
    """'along axis 3, in energy and potential, with a field of 0.1 eV/Å'."""
    if given is None:
        return []
    axes = "all axes" if len(given.axes) == 3 else f"axis {given.axes[0] + 1}"
    field = f", with a field of {given.force * HARTREE_EV / BOHR_ANGSTROM:g} eV/Å" if given.force else ""
    return [f"corrected along {axes}, in {'energy and potential' if given.in_potential else 'the energy alone'}{field}"]
