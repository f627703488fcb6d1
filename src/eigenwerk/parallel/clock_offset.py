"""How far the clocks of two machines stand apart: time.perf_counter counts from the start of each."""

import socket
import time
from pathlib import Path

import torch

from eigenwerk.parallel.communicator import Communicator

ROUNDS = 16
"""Questions put to rank 0; the answer that came fastest is the most exact."""


def clock_offset(world: Communicator, device: torch.device) -> float:
    """Seconds to add to time.perf_counter of this rank to get that of rank 0; collective.

    Zero between processes of one machine, which share a clock.  Elsewhere a rank asks rank 0 for its time: the answer
    was given between question and answer, so half of the shortest time between them bounds the error.
    Source: Cristian, Distributed Computing 3, 146 (1989).
    """
    machine = torch.tensor([hash_of(machine_name())], device=device)
    same_p = (world.all_gather(machine) == machine).tolist()
    if world.all(all(same_p)):
        return 0.0
    offset = 0.0
    for rank in range(1, world.size):
        if world.rank == 0:
            _answer(world, rank, device)
        elif world.rank == rank:
            offset = _ask(world, device)
    return offset


def machine_name() -> str:
    """What tells one start of one machine from all others."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return boot.read_text().strip() if boot.is_file() else socket.gethostname()


def hash_of(name: str) -> int:
    """A number for a name, the same in every process."""
    number = 0
    for byte in name.encode("utf-8"):
        number = (number * 257 + byte) % (2**61 - 1)
    return number


def _now(device: torch.device) -> torch.Tensor:
    return torch.tensor([time.perf_counter()], dtype=torch.float64, device=device)


def _answer(world: Communicator, rank: int, device: torch.device) -> None:
    for _ in range(ROUNDS):
        world.receive(_now(device), rank).item()
        world.send(_now(device), rank)


def _ask(world: Communicator, device: torch.device) -> float:
    fastest, offset = float("inf"), 0.0
    for _ in range(ROUNDS):
        asked = time.perf_counter()
        world.send(_now(device), 0)
        theirs = float(world.receive(_now(device), 0).item())
        answered = time.perf_counter()
        if answered - asked < fastest:
            fastest, offset = answered - asked, theirs - (asked + answered) / 2
    return offset
