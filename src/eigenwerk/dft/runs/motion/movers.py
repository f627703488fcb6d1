"""From what INCAR asks for to the mover that does it, and what a mover finds besides the points."""

from typing import Any

import numpy as np

from eigenwerk.dft.crystal.structure import empty_layers
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.inputs.steps.motion import MotionRequest, SearchSettings
from eigenwerk.dft.runs.motion.displacements import displacements, first_arrangement
from eigenwerk.motion.dynamics.build import dynamics
from eigenwerk.motion.dynamics.dynamics_settings import DynamicsSettings
from eigenwerk.motion.mover import Mover, Standing
from eigenwerk.motion.relaxation.relaxation import relaxation
from eigenwerk.motion.relaxation.relaxation_settings import RelaxationSettings
from eigenwerk.motion.saddle.band import Band, unwrapped
from eigenwerk.motion.saddle.dimer import Dimer
from eigenwerk.motion.saddle.saddle_settings import BandSettings, DimerSettings
from eigenwerk.motion.vibrations.text import as_dict, summary
from eigenwerk.motion.vibrations.vibrations import Vibrations, VibrationSettings
from eigenwerk.units import BOHR_ANGSTROM

TURNS = 3.0
"""Å without atoms along each vector of the cell, in all images; a molecule with so much around it may be turned."""


def make_mover(inputs: Inputs, motion: MotionRequest) -> Mover:
    """What moves the atoms of a run.  Raises InputError for settings that do not fit the atoms."""
    start, settings = first_arrangement(inputs), motion.settings
    if isinstance(settings, DynamicsSettings):
        return dynamics(
            settings, start, motion.masses_a, motion.velocities_av, motion.free_ac, motion.species_a,
            motion.lattice_velocity_cv,
        )  # fmt: skip
    if isinstance(settings, RelaxationSettings):
        return relaxation(settings, start, motion.masses_a, inputs.structure.symbols, motion.free_ac)
    if isinstance(settings, DimerSettings):
        return Dimer(settings, start, motion.direction_av, motion.free_ac)
    assert isinstance(settings, VibrationSettings), "a path has several movers in one: make_band"
    return displacements(inputs, motion, settings)


def make_band(inputs: Inputs, motion: MotionRequest) -> Band:
    """The images of a path.  Raises InputError where ASE is missing."""
    settings = motion.settings
    assert isinstance(settings, BandSettings)
    image_xac = unwrapped([poscar.scaled_ac for poscar in inputs.images])
    symbols, shape = inputs.structure.symbols, image_xac[0].shape
    free_ac = np.ones(shape, bool) if motion.free_ac is None else np.array(motion.free_ac, bool)
    lattice_cv = inputs.structure.lattice_cv * BOHR_ANGSTROM
    turns = bool(free_ac.all() and (empty_layers(lattice_cv, image_xac.reshape(-1, 3)) >= TURNS).all())
    return Band(settings, lattice_cv, image_xac, symbols, free_ac, turns)


def found_by(mover: Standing, settings: SearchSettings) -> tuple[dict[str, Any], str]:
    """What a motion of a kind has besides ionic steps: ready for JSON, and for people."""
    if isinstance(settings, DynamicsSettings):
        return {"time_step_fs": settings.time_step}, ""
    result = mover.result if isinstance(mover, Vibrations) else None
    return ({}, "") if result is None else (as_dict(result), summary(result))
