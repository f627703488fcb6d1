"""Whether a run has room on its devices: asked before it starts, and answered alike on all ranks."""

from dataclasses import replace

import torch

from eigenwerk.dft.plan.job_size import JobSize
from eigenwerk.dft.plan.layout import ProcessLayout
from eigenwerk.dft.plan.machine import Machine, gpu, processor
from eigenwerk.dft.plan.plan import require_room
from eigenwerk.dft.plan.step_cost import points_per_block
from eigenwerk.parallel.memory.device_memory import smallest_memory
from eigenwerk.parallel.runtime import Runtime


def with_room(size: JobSize, runtime: Runtime) -> Runtime:
    """The runtime with blocks of k-points that fit; collective.

    Raises InputError on all ranks, with the numbers and the smallest change that would run, if nothing fits.
    """
    memory = smallest_memory(runtime.world, runtime.device)
    if memory is None:
        return runtime
    layout = ProcessLayout(runtime.grid.groups, runtime.grid.band_ranks)
    machine = machine_of(runtime.device, memory)
    plan = require_room(size, layout, machine)
    usual = points_per_block(size, layout, replace(machine, block_bytes=runtime.block_bytes))
    return replace(runtime, block_limit=plan.block_bytes) if plan.block < usual else runtime


def machine_of(device: torch.device, memory: float) -> Machine:
    """The figures of a rank's device."""
    return processor(memory, torch.get_num_threads()) if device.type == "cpu" else gpu(memory)
