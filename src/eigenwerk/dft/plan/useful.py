"""How many threads and GPUs a run can use: a step of a small cell is over before many are awake, and ranks take seconds
to meet."""

from dataclasses import dataclass
from math import ceil

from eigenwerk.dft.plan.job_size import JobSize
from eigenwerk.dft.plan.layout import ProcessLayout
from eigenwerk.dft.plan.machine import gpu, processor
from eigenwerk.dft.plan.plan import make_plan
from eigenwerk.dft.plan.step_cost import step_cost
from eigenwerk.parallel.launch.environment import available_threads, wished_threads

SECONDS_OF_THREAD = 0.08
"""Of one core's estimated time for a step, that each thread should have.

Measured on 16 cores, seconds of a whole run with 1, 2, 4, 8, 16 threads: silicon 8 x 8 x 8 (0.05 s estimated) 0.42,
0.45, 0.68, 1.35, 3.15; MgO8 4 x 4 x 4 (0.25 s) 1.61, 1.15, 0.99, 1.55, 1.76; 64 silicon atoms (1.4 s) 7.9, 5.1, 3.5,
3.0, 3.1.
"""

FEWEST = 2
"""Worth it in any calculation."""

SECONDS_TO_MEET = 6.0
"""That several ranks take longer to start than one: each loads PyTorch, then NCCL joins them and connects every pair.

Measured on four H100 of one host, whole commands of 108 and 112 atoms: `benchmarks/device/results.md`.
"""

FIRST_STEPS, NEXT_STEPS = 15, 8
"""Steps of self-consistency that most cells take, from atoms and after atoms have moved."""

LIKELY_RELAXED = 20
"""Ionic steps after which most relaxations are over."""


@dataclass(frozen=True)
class GpuChoice:
    """So many of the GPUs, and about how many seconds all of them would save."""

    ranks: int
    saved: float = 0.0


def useful_gpus(size: JobSize, gpus: int, memory: float | None, steps: int) -> GpuChoice:
    """One GPU, or all.

    memory: bytes of a GPU, None if nobody knows; steps: of self-consistency, in all.
    """
    if memory is None or size.mesh:  # exact exchange: applications of it are what counts, and never few
        return GpuChoice(gpus)
    machine = gpu(memory)
    one = make_plan(size, 1, machine)
    if not one.fits:
        return GpuChoice(gpus)
    saved = steps * (one.cost.seconds - make_plan(size, gpus, machine).cost.seconds)
    return GpuChoice(gpus if saved > SECONDS_TO_MEET else 1, saved)


def likely_steps(ionic_steps: int, relaxes: bool = False) -> int:
    """Steps of self-consistency of a run that moves atoms so often."""
    moves = min(ionic_steps, LIKELY_RELAXED) if relaxes else ionic_steps
    return FIRST_STEPS + NEXT_STEPS * moves


def useful_threads(size: JobSize, cores: int) -> int:
    """So many of the cores."""
    one_core = processor(memory=0.0, cores=1)
    return min(cores, max(FEWEST, ceil(step_cost(size, ProcessLayout(), one_core).seconds / SECONDS_OF_THREAD)))


def threads_of_run(size: JobSize) -> int:
    """As many as the calculation can use, or as many as OMP_NUM_THREADS asks for."""
    available = available_threads()
    return available if wished_threads() else useful_threads(size, available)
