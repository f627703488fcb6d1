"""What a calculation costs, from all that is known of it (no torch here)."""

from dataclasses import replace
from math import ceil, pi

from eigenwerk.dft.basis.grids import GridSizes, WaveLimits, wave_limits
from eigenwerk.dft.basis.plane_waves import PlaneWaveCounts
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.inputs.steps.electrons import ListedWaves
from eigenwerk.dft.inputs.steps.field_files import keeps_orbitals
from eigenwerk.dft.inputs.steps.motion import MotionRequest
from eigenwerk.dft.plan.job_size import JobSize, job_size, with_lists
from eigenwerk.dft.plan.layout import ProcessLayout
from eigenwerk.dft.plan.machine import processor
from eigenwerk.dft.plan.memory import MemoryEstimate, estimate_memory
from eigenwerk.dft.settings.dataset import DataSet
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.motion_kind import PATH
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.dft.settings.tags_in_force import whole
from eigenwerk.errors import InputError
from eigenwerk.io.paw.formats import read_dataset
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.wavecar import wavecar_bytes
from eigenwerk.motion.prediction import LONGEST
from eigenwerk.parallel.memory.block_sizes import BATCH_POINTS
from eigenwerk.parallel.memory.main_memory import installed_memory
from eigenwerk.units import BOHR_ANGSTROM

POINT_COST = 260
"""Time for a point of a sphere, in units of that for a projector and a plane wave (measured on a processor)."""


def size_of_job(
    incar: Incar, structure: Structure, kpoints: KPoints, parameters: Parameters, grids: GridSizes,
    waves: PlaneWaveCounts, listed: ListedWaves, datasets: dict[str, DataSet], fixed_density: bool,
    motion: MotionRequest | None, findings: Findings,
) -> tuple[JobSize, bool]:  # fmt: skip
    """What memory and time depend on, and whether orbitals of all k-points are in memory at once."""
    size, kept = job_size(structure, kpoints, parameters, grids, waves, datasets), True
    if fixed_density:
        wavecar = wavecar_bytes(parameters.spins, len(kpoints.point_kc), parameters.bands, waves.most)
        kept = keeps_orbitals(incar, kpoints.samples_zone, wavecar)
    if not kept:  # batch by batch
        size = replace(size, kpoints=min(size.kpoints, BATCH_POINTS))
    size = with_lists(size, listed, parameters, kpoints.symmetry)
    if motion is not None:
        states = LONGEST[motion.prediction]
        if motion.kind == PATH:  # which are kept of each image
            states = (states + 1) * (whole(incar, "IMAGES") + 2)
        size = replace(size, earlier=states)
    if parameters.real_space:
        limits, accuracy = wave_limits(structure, grids, parameters.cutoff), dict(parameters.real_space)
        size = check_spheres(incar, accuracy, datasets, structure, limits, size, findings)
    return size, kept


def memory_of_job(size: JobSize) -> MemoryEstimate:
    """Of one process on a processor of this machine."""
    return estimate_memory(size, ProcessLayout(), processor(installed_memory() or 0))


def check_spheres(
    incar: Incar, accuracy: dict[str, float], datasets: dict[str, DataSet], structure: Structure, limits: WaveLimits,
    size: JobSize, findings: Findings,
) -> JobSize:  # fmt: skip
    """The size with the points of the spheres; one note with radii and errors, or an error where an accuracy is out of
    reach."""
    from eigenwerk.dft.paw.filtered import filtered_projectors  # loads scipy, for which no other input waits

    words, points = [], {}
    for symbol, wanted in accuracy.items():
        try:
            found = filtered_projectors(read_dataset(datasets[symbol].path), limits, wanted)
        except InputError as error:
            message, _, remedy = str(error).removeprefix("LREAL: ").partition(". ")
            findings.add(incar.problem("LREAL", message, remedy))
        else:
            points[symbol] = ceil(4 / 3 * pi * found.radius**3 / structure.volume * size.wave_points)
            words.append(f"{symbol} {found.radius * BOHR_ANGSTROM:.2f} Å ({found.error:.0e})")
    species = zip(structure.species, size.species, strict=True)
    size = replace(size, species=tuple(replace(s, sphere_points=points.get(symbol, 0)) for symbol, s in species))
    if words:
        message = f"projectors in real space, within spheres (and with errors) of {', '.join(words)}"
        slow = POINT_COST * size.sphere_points > size.projectors * size.plane_waves * (1 if size.real else 2)
        remedy = "In a cell of this size LREAL = .FALSE. is as fast or faster, and exact." if slow else ""
        findings.add(incar.problem("LREAL", message, remedy, severity="note"))
    return size
