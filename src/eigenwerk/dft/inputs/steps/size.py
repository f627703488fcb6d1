"""What a calculation costs, from all that is known of it (no torch here)."""

from dataclasses import replace

from eigenwerk.dft.basis.grids import GridSizes, wave_limits
from eigenwerk.dft.basis.plane_waves import PlaneWaveCounts
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.inputs.findings import Findings
from eigenwerk.dft.inputs.steps.electrons import ListedWaves
from eigenwerk.dft.inputs.steps.field_files import keeps_orbitals
from eigenwerk.dft.inputs.steps.motion import PATH, MotionRequest
from eigenwerk.dft.inputs.steps.real_space import check_spheres
from eigenwerk.dft.inputs.tags_in_force import whole
from eigenwerk.dft.plan.job_size import JobSize, job_size, with_lists
from eigenwerk.dft.plan.layout import ProcessLayout
from eigenwerk.dft.plan.machine import processor
from eigenwerk.dft.plan.memory import MemoryEstimate, estimate_memory
from eigenwerk.dft.settings.dataset import DataSet
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.wavecar import wavecar_bytes
from eigenwerk.motion.prediction import LONGEST
from eigenwerk.parallel.memory.block_sizes import BATCH_POINTS
from eigenwerk.parallel.memory.main_memory import installed_memory


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
