"""The structure in bohr, made symmetric within SYMPREC, and its symmetry (no torch here)."""

from dataclasses import replace

import numpy as np

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import (
    Symmetry,
    find_symmetry,
    keeping_fixed,
    keeping_strains,
    symmetrise_lattice,
    symmetrise_positions,
    with_field,
    without_spin_flips,
)
from eigenwerk.dft.inputs.checks import check_idealised
from eigenwerk.dft.inputs.steps.motion import MotionRequest
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.motion_kind import LEAVE_SYMMETRY, RELAXATION, kind_of_motion
from eigenwerk.dft.settings.parameters import symmetry_tolerance
from eigenwerk.dft.settings.tags_in_force import number, whole
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.input.poscar import Poscar
from eigenwerk.motion.relaxation.chart import followed_strains
from eigenwerk.motion.relaxation.relaxation_settings import RelaxationSettings
from eigenwerk.units import BOHR_ANGSTROM


def symmetric_structure(
    incar: Incar, poscar: Poscar, moment_a: np.ndarray | None, kinds: tuple[str, ...], fixed_moment: float | None,
    motion: MotionRequest | None, findings: Findings,
) -> tuple[Structure | None, Symmetry | None]:  # fmt: skip
    """The structure, exactly symmetric under the operations that are found; fewer where something has a direction."""
    with findings.collecting(poscar.file):
        given = Structure(poscar.lattice_cv / BOHR_ANGSTROM, poscar.symbols, poscar.scaled_ac, moment_a, kinds)
        level = whole(incar, "ISYM")
        if kind_of_motion(incar) in LEAVE_SYMMETRY:
            level = min(level, 0)
        symmetry = find_symmetry(given, symmetry_tolerance(number(incar, "SYMPREC")), level)
        if fixed_moment is not None:
            symmetry = without_spin_flips(symmetry)
        axis = whole(incar, "IDIPOL")
        if number(incar, "EFIELD") and axis in (1, 2, 3):
            symmetry = with_field(symmetry, given, axis - 1)
        if kind_of_motion(incar) == RELAXATION:
            symmetry = keeping_fixed(symmetry, poscar.selective_ac)
            if motion is not None and isinstance(motion.settings, RelaxationSettings):
                symmetry = keeping_strains(symmetry, followed_strains(motion.settings))
        # spheres of plane waves must map exactly onto each other, so the tolerance ends here
        structure = symmetrise_positions(symmetrise_lattice(given, symmetry), symmetry)
        check_idealised(given, structure, findings)
        return structure, replace(symmetry, lattice_cv=structure.lattice_cv)
    return None, None
