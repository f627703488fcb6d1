"""What is about to move, and how: rows for the heading of a run, for `check` and `plan`.

No torch; scipy, which the model of bonds needs, where something moves.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.inputs.steps.motion import MotionRequest
from eigenwerk.io.vasp.input.images import distances
from eigenwerk.motion.dynamics.dynamics_settings import DynamicsSettings
from eigenwerk.motion.dynamics.trajectory import Trajectory
from eigenwerk.motion.prediction import ASPC, ATOMS, FIT, NONE, SECOND
from eigenwerk.motion.relaxation.relaxation_settings import KILOBAR, RelaxationSettings
from eigenwerk.motion.saddle.saddle_settings import BandSettings, DimerSettings
from eigenwerk.motion.vibrations.vibrations import Vibrations, VibrationSettings
from eigenwerk.shown import counted

Row = tuple[str, str]

METHODS = {"quasi-newton": "quasi-Newton steps", "diis": "DIIS", "damped": "damped dynamics"}

PREDICTIONS = {
    NONE: "each state begins with the one before it", ATOMS: "the density of atoms moves with them",
    SECOND: "a parabola through the last three states", ASPC: "Kolafa's predictor of the last four states",
    FIT: "the last states, as their structures make the new one",
}  # fmt: skip

CELLS = {
    3: "ions and cell", 4: "ions and shape of the cell", 5: "shape of the cell", 6: "cell", 7: "volume of the cell",
    8: "ions and volume of the cell",
}  # fmt: skip


def motion_rows(inputs: Inputs) -> list[Row]:
    """What moves, how, for how long; nothing where nothing moves.  Raises InputError for what cannot move."""
    motion = inputs.motion
    if motion is None:
        return []
    return [*(("motion", words) for words in _words(inputs, motion)), ("prediction", PREDICTIONS[motion.prediction])]


def _words(inputs: Inputs, motion: MotionRequest) -> Iterator[str]:
    """Of each kind of motion."""
    from eigenwerk.dft.runs.motion.movers import make_band, make_mover
    from eigenwerk.motion.relaxation.relaxation import Relaxation

    if isinstance(motion.settings, BandSettings):
        make_band(inputs, motion)
        return _path(inputs, motion, motion.settings)
    mover = make_mover(inputs, motion)
    if isinstance(motion.settings, DimerSettings):
        return _dimer(motion, motion.settings)
    if isinstance(mover, Relaxation):
        return _relaxation(motion, mover.freedom)
    if isinstance(mover, Trajectory):
        return _dynamics(inputs, motion, mover)
    assert isinstance(mover, Vibrations)
    return _vibrations(motion, mover)


def points(inputs: Inputs) -> int:
    """Ionic steps that a run has, or at most has; 1 where nothing moves.  Of a path: steps of the band."""
    motion = inputs.motion
    if motion is None:
        return 1
    if isinstance(motion.settings, VibrationSettings):
        from eigenwerk.dft.runs.motion.movers import make_mover

        mover = make_mover(inputs, motion)
        return len(mover.steps) if isinstance(mover, Vibrations) else motion.steps
    return motion.steps


def _path(inputs: Inputs, motion: MotionRequest, settings: BandSettings) -> Iterator[str]:
    largest = max(float(distances(one, other).max()) for one, other in pairwise(inputs.images))
    climbs = ", the highest climbs" if settings.climb else ""
    yield (
        f"nudged elastic band of {counted(settings.images, 'image')} between two end points "
        f"(springs of {settings.spring:g} eV/Å²{climbs}); atoms go up to {largest:.2f} Å from image to image"
    )
    if settings.most_points <= 0:
        yield "every image is computed once, where it is (NSW = 0)"
        return
    how = {"diis": "DIIS of the whole band", "quick-min": "quick-min (damped motion)"}[settings.method]
    yield f"steps by {how}, none longer than {settings.longest_radius:g} Å; {_end(settings, motion.steps)}"


def _end(settings: BandSettings | DimerSettings, steps: int) -> str:
    if settings.force_tolerance is not None:
        return f"ends at forces of {settings.force_tolerance:g} eV/Å, or after {counted(steps, 'step')}"
    if isinstance(settings, BandSettings) and settings.energy_tolerance is not None:
        tolerance = settings.energy_tolerance
        return f"ends when no image's energy changes by {tolerance:g} eV, or after {counted(steps, 'step')}"
    return f"ends after {counted(steps, 'step')}"


def _dimer(motion: MotionRequest, settings: object) -> Iterator[str]:
    assert isinstance(settings, DimerSettings)
    given = motion.direction_av is not None and bool(np.any(motion.direction_av))
    whence = "its direction is that of POSCAR" if given else f"a random direction, seed {settings.seed}"
    ends = "both ends" if settings.central else "one end"
    yield f"a dimer that climbs to a saddle point: {settings.separation:g} Å to an end, forces of {ends}; {whence}"
    limit = settings.force_tolerance
    yield f"ends at forces of {limit:g} eV/Å with a negative curvature, or after {counted(motion.steps, 'point')}"


def _relaxation(motion: MotionRequest, freedom: tuple[int, int]) -> Iterator[str]:
    settings = motion.settings
    assert isinstance(settings, RelaxationSettings)
    what = CELLS.get(settings.isif, "ions")
    ions, strains = freedom
    free = [counted(ions, "coordinate") + " of ions"] if ions else []
    free += [counted(strains, "strain") + " of the cell"] if strains else []
    outside = f", pressure {settings.pressure / KILOBAR:g} kbar" if settings.pressure else ""
    yield f"relaxation of {what} by {METHODS[settings.method]}: {' and '.join(free) or 'nothing is free'}{outside}"
    if settings.force_tolerance is not None:
        stress = f" and stresses of {settings.stress_tolerance / KILOBAR:g} kbar" if strains else ""
        end = f"at forces of {settings.force_tolerance:g} eV/Å{stress}"
    elif settings.energy_tolerance is not None:
        end = f"when the energy changes by less than {settings.energy_tolerance:g} eV"
    else:
        yield f"ends after {counted(motion.steps, 'step')}"
        return
    yield f"ends {end}, or after {counted(motion.steps, 'step')}"


def _dynamics(inputs: Inputs, motion: MotionRequest, mover: Trajectory) -> Iterator[str]:
    settings = motion.settings
    assert isinstance(settings, DynamicsSettings)
    length = (settings.steps - 1) * settings.time_step
    first, last = settings.temperature, settings.last_temperature
    heat = f"{first:g} K" if first == last else f"{first:g} to {last:g} K"
    yield f"molecular dynamics: {counted(settings.steps, 'point')} of {settings.time_step:g} fs, {length:g} fs, {heat}"
    yield f"thermostat: {settings.thermostat}{_details(settings)}; barostat: {settings.barostat}"
    masses = zip((symbol for symbol, _ in inputs.poscar.species_runs), _first_of_each(motion), strict=True)
    mass_words = ", ".join(f"{symbol} {mass:g} u" for symbol, mass in masses)
    yield f"{counted(mover.freedom.count, 'degree')} of freedom; {mass_words}; random numbers from {_seed(settings)}"


def _details(settings: DynamicsSettings) -> str:
    if settings.thermostat == "nose-hoover":
        mass = f"mass {settings.nose_mass:g} eV fs²" if settings.nose_mass is not None else (
            f"time constant {settings.thermostat_time:.4g} fs"
        )
        return f" ({counted(settings.chain_length, 'thermostat')}, {mass})"
    if settings.thermostat == "langevin":
        return f" (friction {', '.join(f'{1000 * rate:g}' for rate in settings.friction)} per ps)"
    if settings.thermostat == "andersen":
        return f" (collisions with probability {settings.collision_chance:g})"
    return f" ({settings.thermostat_time:g} fs)" if settings.thermostat == "csvr" else ""


def _first_of_each(motion: MotionRequest) -> np.ndarray:
    """The mass of each species."""
    return motion.masses_a[np.unique(motion.species_a, return_index=True)[1]]


def _seed(settings: DynamicsSettings) -> str:
    return "RANDOM_SEED = " + " ".join(map(str, settings.seed))


def _vibrations(motion: MotionRequest, mover: Vibrations) -> Iterator[str]:
    settings = motion.settings
    assert isinstance(settings, VibrationSettings)
    strains = " and strains" if settings.strains else ""
    kinds = "inequivalent" if settings.symmetry else "all"
    yield f"finite displacements of {settings.displacement:g} Å{strains}, {kinds} directions: {mover.status}"
