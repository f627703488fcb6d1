"""Whether a run has room on its devices: asked before it starts, and answered alike on all ranks."""

import socket
from dataclasses import replace
from zlib import crc32

import torch

from eigenwerk.dft.job_size import JobSize
from eigenwerk.dft.layout import Layout
from eigenwerk.dft.machine import H200, Machine, installed_memory, processor
from eigenwerk.dft.plan import require_room
from eigenwerk.dft.step_cost import points_per_block
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.runtime import Runtime


def with_room(size: JobSize, runtime: Runtime) -> Runtime:
    """The runtime with blocks of k-points that fit; collective.

    Raises InputError on all ranks, with the numbers and the smallest change that would run, if nothing fits.
    """
    memory = smallest_memory(runtime.world, runtime.device)
    if memory is None:
        return runtime
    layout = Layout(runtime.grid.groups, runtime.grid.band_ranks)
    plan = require_room(size, layout, machine_of(runtime.device, memory))
    usual = points_per_block(size, layout, runtime.block_bytes)
    return replace(runtime, block_limit=plan.block_bytes) if plan.block < usual else runtime


def machine_of(device: torch.device, memory: float) -> Machine:
    """The figures of a rank's device."""
    return processor(memory, torch.get_num_threads()) if device.type == "cpu" else H200.with_memory(memory)


def smallest_memory(world: Communicator, device: torch.device) -> float | None:
    """Bytes that the rank with least memory may use, the same number on every rank; None if one does not know."""
    owner_p = world.all_gather(torch.tensor([_owner(device)], device=device))
    sharing = int((owner_p == owner_p[world.rank]).sum())
    own = rank_memory(device, sharing)
    least = -float(world.max(torch.tensor([-1.0 if own is None else -own], dtype=torch.float64, device=device)))
    return None if least <= 1.0 else least


def rank_memory(device: torch.device, sharing: int) -> float | None:
    """Bytes for each of the ranks that share a GPU (what is free of it) or a machine (what is installed)."""
    if device.type != "cpu":
        free, _ = torch.cuda.mem_get_info(device)
        return float(free + torch.cuda.memory_reserved(device)) / sharing
    installed = installed_memory()
    return None if installed is None else installed / sharing


def _owner(device: torch.device) -> int:
    """A number for what the memory belongs to: this machine, or the GPU."""
    name = socket.gethostname()
    if device.type != "cpu":
        name += str(getattr(torch.cuda.get_device_properties(device), "uuid", device))
    return crc32(name.encode())
