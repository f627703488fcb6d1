"""How much memory each rank has for its work, agreed upon by all ranks."""

import socket
from zlib import crc32

import torch

from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.memory.main_memory import MemoryShare, installed_memory


def smallest_memory(world: Communicator, device: torch.device) -> float | None:
    """Bytes that the rank with least memory may use, the same number on every rank; None if one does not know."""
    return min((share.bytes for share in memory_shares(world, device)), default=None)


def memory_shares(world: Communicator, device: torch.device) -> tuple[MemoryShare, ...]:
    """What ranks may use, by machines or GPUs that differ in it, the same on every rank; none if one does not know."""
    owner_p = world.all_gather(torch.tensor([_owner(device)], device=device))
    sharing = int((owner_p == owner_p[world.rank]).sum())
    own = torch.tensor([[rank_memory(device, sharing) or 0.0, sharing]], dtype=torch.float64, device=device)
    found = {MemoryShare(size, int(ranks)) for size, ranks in world.all_gather(own).tolist()}
    return tuple(sorted(found)) if min(found).bytes > 1.0 else ()


def rank_memory(device: torch.device, sharing: int) -> float | None:
    """Bytes for each of the ranks that share a GPU (what is free of it) or a machine (what is installed)."""
    if device.type != "cpu":
        return float(_free_or_held(device)) / sharing
    installed = installed_memory()
    return None if installed is None else installed / sharing


def room_on_gpu(device: torch.device) -> int:
    """Bytes that this process can still take of a GPU: free ones, and those that PyTorch holds without use."""
    return _free_or_held(device) - torch.cuda.memory_allocated(device)


def _free_or_held(device: torch.device) -> int:
    """Bytes of a GPU that nobody has, and those that PyTorch has here."""
    free, _ = torch.cuda.mem_get_info(device)
    return free + torch.cuda.memory_reserved(device)


def _owner(device: torch.device) -> int:
    """A number for what the memory belongs to: this machine, or the GPU."""
    name = socket.gethostname()
    if device.type != "cpu":
        name += str(getattr(torch.cuda.get_device_properties(device), "uuid", device))
    return crc32(name.encode())
