"""From settings to a mover: the one door of this room."""

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.motion.dynamics.cell_rescaling import CellRescaling
from eigenwerk.motion.dynamics.dynamics_settings import DynamicsSettings
from eigenwerk.motion.dynamics.freedom import SMALL, Freedom
from eigenwerk.motion.dynamics.noise import VELOCITIES, Noise
from eigenwerk.motion.dynamics.nose_hoover import NoseHooverChain, chain_masses
from eigenwerk.motion.dynamics.parrinello_rahman import ParrinelloRahman
from eigenwerk.motion.dynamics.thermostat import (
    Andersen,
    Langevin,
    NoThermostat,
    Scaling,
    Thermostat,
    VelocityRescaling,
)
from eigenwerk.motion.dynamics.trajectory import ConstantVelocities, FixedCell, Trajectory
from eigenwerk.motion.surface import Arrangement
from eigenwerk.units import BOLTZMANN_EV_KELVIN


def dynamics(
    settings: DynamicsSettings,
    start: Arrangement,
    masses_a: np.ndarray,
    velocities_av: np.ndarray | None = None,
    free_ac: np.ndarray | None = None,
    species_a: np.ndarray | None = None,
    lattice_rate_cv: np.ndarray | None = None,
) -> Trajectory:
    """A molecular dynamics that begins at `start`.

    masses_a: amu.  velocities_av: Å/fs; None, or all of them zero with a temperature above it: of Maxwell and
    Boltzmann, without a drift, scaled to the temperature of the start.  free_ac: whether atom a may move along lattice
    vector c; None: all may.  species_a: number of each atom's species, for frictions; None: all the same.
    lattice_rate_cv: of the lattice vectors of Parrinello and Rahman, Å/fs; None: of Maxwell and Boltzmann.
    Raises InputError if nothing is left to move, or settings and atoms do not fit each other.
    """
    count = len(start.scaled_ac)
    free_ac = np.ones((count, 3), bool) if free_ac is None else np.asarray(free_ac, bool)
    friction_a = frictions(settings, np.zeros(count, int) if species_a is None else np.asarray(species_a, int))
    drifts = bool((friction_a > 0).any())
    freedom = Freedom(masses_a, free_ac, start.lattice_cv, drifts)
    noise = Noise.seeded(settings.seed, start.scaled_ac)
    velocity_av, words = first_velocities(settings, freedom, noise, velocities_av)
    thermostat = thermostat_of(settings, freedom, noise, friction_a)
    if settings.thermostat in ("andersen", "langevin", "csvr"):
        words = (*words, f"random numbers of the bath: {seed_words(settings)}")
    if settings.barostat == "parrinello-rahman":
        given = f"drawn for {settings.temperature:g} K" if lattice_rate_cv is None else "as they are given"
        words = (*words, f"velocities of the lattice vectors: {given}")
    parts = (settings, start, velocity_av, freedom, thermostat, noise, words)
    if settings.barostat == "none":
        return (ConstantVelocities if settings.thermostat == "constant velocities" else FixedCell)(*parts)
    if not free_ac.all():
        raise InputError("Molecular dynamics in a cell that moves needs atoms that are all free. Set ISIF = 2.")
    if settings.barostat != "parrinello-rahman":
        return CellRescaling(*parts)
    return ParrinelloRahman(*parts, lattice_rate_cv)


def frictions(settings: DynamicsSettings, species_a: np.ndarray) -> np.ndarray:
    """Of each atom in Langevin's bath, 1/fs; none elsewhere."""
    if settings.thermostat != "langevin":
        return np.zeros(len(species_a))
    if len(settings.friction) <= species_a.max():
        raise InputError(
            f"Langevin dynamics: {len(settings.friction)} frictions for {species_a.max() + 1} species. "
            "LANGEVIN_GAMMA has one for each species of POSCAR."
        )
    return np.array(settings.friction, float)[species_a]


def seed_words(settings: DynamicsSettings) -> str:
    """Where random numbers come from."""
    return f"RANDOM_SEED = {' '.join(map(str, settings.seed))} and the positions"


def first_velocities(
    settings: DynamicsSettings, freedom: Freedom, noise: Noise, velocities_av: np.ndarray | None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """At the first point, and what is to be said of them."""
    constant = settings.thermostat == "constant velocities"
    shape = freedom.free_ac.shape
    if velocities_av is not None and (np.shape(velocities_av) != shape or not np.isfinite(velocities_av).all()):
        raise InputError(f"Molecular dynamics: velocities {np.shape(velocities_av)} do not fit {shape[0]} atoms.")
    given = velocities_av is not None and bool(np.any(velocities_av))
    if constant and not given:
        raise InputError("Dynamics with constant velocities needs velocities in POSCAR (SMASS = -2).")
    if velocities_av is None or not (given or settings.temperature == 0):
        kt = BOLTZMANN_EV_KELVIN * settings.temperature
        drawn_av = freedom.start(noise.normal(0, VELOCITIES, shape), kt)
        ignored = "" if velocities_av is None else " in place of those of POSCAR, which are all zero"
        drawn = f"velocities drawn for {settings.temperature:g} K{ignored}: {seed_words(settings)}"
        return drawn_av, (drawn,) if kt > 0 else ()
    velocity_av = np.array(velocities_av, float)
    if constant:
        return velocity_av, ()
    words = []
    fastest = max(float(np.abs(velocity_av).max()), SMALL)
    allowed_av = freedom.allowed(velocity_av)
    if np.abs(allowed_av - velocity_av).max() > 1e-6 * fastest:
        words.append("velocities along fixed lattice vectors have been set to zero")
    drift_v = freedom.drift(allowed_av)
    if settings.thermostat != "none" and not freedom.drifts:
        allowed_av = allowed_av - drift_v
        if np.abs(drift_v).max() > 1e-6 * fastest:
            words.append(f"a drift of {np.linalg.norm(drift_v):.3g} Å/fs has been taken out of the velocities")
    return allowed_av, tuple(words)


def thermostat_of(settings: DynamicsSettings, freedom: Freedom, noise: Noise, friction_a: np.ndarray) -> Thermostat:
    """The bath that the settings name."""
    step = settings.time_step
    if settings.thermostat == "scaling":
        return Scaling(freedom, noise, settings.scaling_stride)
    if settings.thermostat == "andersen":
        return Andersen(freedom, noise, settings.collision_chance)
    if settings.thermostat == "langevin":
        return Langevin(freedom, noise, friction_a, step)
    if settings.thermostat == "csvr":
        return VelocityRescaling(freedom, noise, settings.thermostat_time, step)
    if settings.thermostat == "nose-hoover":
        kt = BOLTZMANN_EV_KELVIN * (settings.temperature or settings.last_temperature)
        time, first = settings.thermostat_time, settings.nose_mass
        mass_x = chain_masses(freedom.count, kt, settings.chain_length, time, first)
        return NoseHooverChain(freedom, mass_x, step, settings.chain_substeps, settings.chain_yoshida)
    return NoThermostat()
