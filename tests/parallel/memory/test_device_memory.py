"""Ranks of a machine share its memory, and all ranks agree on the least."""

import pytest
import torch

from eigenwerk.parallel.memory import device_memory, main_memory
from eigenwerk.parallel.memory.device_memory import memory_shares, smallest_memory
from eigenwerk.parallel.memory.main_memory import MemoryShare, installed_memory
from eigenwerk.parallel.serial import SerialCommunicator

CPU = torch.device("cpu")


def memory_of_rank(world, unknown=()):
    true = device_memory.installed_memory
    device_memory.installed_memory = lambda: None if world.rank in unknown else 1e9 * (world.rank + 6)
    try:
        return smallest_memory(world, CPU)
    finally:
        device_memory.installed_memory = true


@pytest.mark.ranks
def test_ranks_of_a_machine_share_its_memory_and_agree_on_the_least(ranks):
    assert ranks(2, "gloo").run(memory_of_rank) == [3e9, 3e9]


@pytest.mark.ranks
def test_one_rank_that_does_not_know_is_enough(ranks):
    assert ranks(2, "gloo").run(memory_of_rank, (1,)) == [None, None]


def shares_of_rank(world, machines):
    names, sizes = device_memory.socket.gethostname, device_memory.installed_memory
    device_memory.socket.gethostname = lambda: f"machine {machines[world.rank]}"
    device_memory.installed_memory = lambda: 12e9
    try:
        return memory_shares(world, CPU)
    finally:
        device_memory.socket.gethostname, device_memory.installed_memory = names, sizes


@pytest.mark.ranks
def test_all_ranks_know_how_many_share_each_machine(ranks):
    assert ranks(3, "gloo").run(shares_of_rank, (0, 0, 1)) == [(MemoryShare(6e9, 2), MemoryShare(12e9, 1))] * 3
    assert ranks(3, "gloo").run(shares_of_rank, (0, 0, 0)) == [(MemoryShare(4e9, 3),)] * 3


def test_one_rank_has_all_of_it():
    assert smallest_memory(SerialCommunicator(), CPU) == installed_memory()


def test_the_limit_of_a_container_counts(tmp_path, monkeypatch):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(main_memory, "LIMIT", limit)
    installed = installed_memory()
    limit.write_text("max\n")
    assert installed_memory() == installed > 1_000_000
    limit.write_text("1000000\n")
    assert installed_memory() == 1_000_000


@pytest.mark.gpu
def test_a_gpu_says_what_is_free():
    device = torch.device("cuda")
    free, total = torch.cuda.mem_get_info(device)
    assert 0.5 * free <= smallest_memory(SerialCommunicator(), device) <= total
