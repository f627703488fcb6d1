"""From what INCAR asks for to the mover that does it."""

from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.inputs.motion import MotionRequest
from eigenwerk.dft.moving.displacements import displacements, first_arrangement
from eigenwerk.motion.dynamics.build import dynamics
from eigenwerk.motion.dynamics.settings import DynamicsSettings
from eigenwerk.motion.mover import Mover
from eigenwerk.motion.relaxation.relaxation import relaxation
from eigenwerk.motion.relaxation.settings import RelaxationSettings


def make_mover(inputs: Inputs, motion: MotionRequest) -> Mover:
    """What moves the atoms of a run.  Raises InputError for settings that do not fit the atoms."""
    start, settings = first_arrangement(inputs), motion.settings
    if isinstance(settings, DynamicsSettings):
        return dynamics(settings, start, motion.masses_a, motion.velocities_av, motion.free_ac, motion.species_a)
    if isinstance(settings, RelaxationSettings):
        return relaxation(settings, start, motion.masses_a, inputs.structure.symbols, motion.free_ac)
    return displacements(inputs, motion, settings)
