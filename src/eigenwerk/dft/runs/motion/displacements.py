"""Finite displacements of a run: which, and how many; quick, because `check` tells."""

import numpy as np

from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.inputs.steps.motion import MotionRequest
from eigenwerk.motion.surface import Arrangement
from eigenwerk.motion.vibrations.operations import Operations
from eigenwerk.motion.vibrations.vibrations import Vibrations, VibrationSettings, vibrations
from eigenwerk.units import BOHR_ANGSTROM


def first_arrangement(inputs: Inputs) -> Arrangement:
    """The structure of a run, as symmetric as its operations are, in Å."""
    structure = inputs.structure
    return Arrangement(structure.lattice_cv * BOHR_ANGSTROM, np.array(structure.scaled_ac))


def displacements(inputs: Inputs, motion: MotionRequest, settings: VibrationSettings) -> Vibrations:
    """The mover of IBRION = 5 and 6."""
    symmetry = inputs.kpoints.symmetry
    operations = Operations.of(symmetry.rotation_occ, symmetry.atom_map_oa)
    return vibrations(settings, first_arrangement(inputs), motion.masses_a, motion.free_ac, operations)
