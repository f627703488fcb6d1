"""From what INCAR asks for to the mover that does it."""

import numpy as np

from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.inputs.motion import MotionRequest
from eigenwerk.motion.dynamics.build import dynamics
from eigenwerk.motion.dynamics.settings import DynamicsSettings
from eigenwerk.motion.mover import Mover
from eigenwerk.motion.relaxation.relaxation import relaxation
from eigenwerk.motion.relaxation.settings import RelaxationSettings
from eigenwerk.motion.surface import Arrangement
from eigenwerk.motion.vibrations.operations import Operations
from eigenwerk.motion.vibrations.vibrations import vibrations
from eigenwerk.units import BOHR_ANGSTROM


def first_arrangement(inputs: Inputs) -> Arrangement:
    """The structure of a run, as symmetric as its operations are, in Å."""
    structure = inputs.structure
    return Arrangement(structure.lattice_cv * BOHR_ANGSTROM, np.array(structure.scaled_ac))


def make_mover(inputs: Inputs, motion: MotionRequest) -> Mover:
    """What moves the atoms of a run.  Raises InputError for settings that do not fit the atoms."""
    start, settings = first_arrangement(inputs), motion.settings
    if isinstance(settings, DynamicsSettings):
        return dynamics(settings, start, motion.masses_a, motion.velocities_av, motion.free_ac, motion.species_a)
    if isinstance(settings, RelaxationSettings):
        return relaxation(settings, start, motion.masses_a, inputs.structure.symbols, motion.free_ac)
    symmetry = inputs.kpoints.symmetry
    operations = Operations.of(symmetry.rotation_occ, symmetry.atom_map_oa)
    return vibrations(settings, start, motion.masses_a, motion.free_ac, operations)
