"""Whether a run is over sooner on all GPUs of a machine than on one: ranks take seconds to meet."""

from dataclasses import dataclass

from eigenwerk.dft.plan.job_size import JobSize
from eigenwerk.dft.plan.machine import gpu
from eigenwerk.dft.plan.plan import make_plan

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
