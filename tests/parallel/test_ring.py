"""Blocks of all ranks come to every rank, the own one first, each while the one before it is used, in two buffers."""

import time

import pytest
import torch

from covering import covering
from eigenwerk.parallel.device_clock import record_device
from eigenwerk.parallel.ring import WayBack, ring
from eigenwerk.parallel.serial import ALONE
from eigenwerk.record.trace import Trace
from eigenwerk.record.traffic import TRAVEL, hidden_travel


def block_of(rank, dtype=torch.complex128):
    """Lengths differ."""
    return torch.arange(3 * (rank + 1)).reshape(rank + 1, 3).to(dtype) + 100 * rank


def seen(world):
    """On one rank: owners in their order, memory of the blocks."""
    world.trace.root.children.clear()
    shapes = [block_of(rank).shape for rank in range(world.size)]
    owners, places = [], set()
    for owner, block in ring(world, block_of(world.rank), shapes, world.trace, TRAVEL):
        assert torch.equal(block, block_of(owner))
        owners.append(owner)
        places.add(block.data_ptr())
    return owners, len(places)


@pytest.mark.ranks
@pytest.mark.parametrize(
    ("size", "transport"),
    covering((2, 3, 4), ("gloo", "mpi"), fast=lambda size, transport: size < 4 and transport == "gloo"),
)
def test_every_block_comes_once_to_every_rank(ranks, size, transport):
    for rank, (owners, places) in enumerate(ranks(size, transport).run(seen)):
        assert owners == [(rank - step) % size for step in range(size)]
        assert places == min(size, 3)


def test_one_rank_has_its_own_block_and_no_buffer():
    own, trace = block_of(0), Trace()
    ((owner, block),) = ring(ALONE, own, [own.shape], trace, TRAVEL)
    assert owner == 0
    assert block is own
    assert not trace.as_dict()["phases"]


def given_back(world):
    """On one rank: what others have made of its block, each times its own number and one."""
    shapes = [block_of(rank).shape for rank in range(world.size)]
    back = WayBack(world, torch.zeros_like(block_of(world.rank)), world.trace, TRAVEL)
    for step, (owner, block) in enumerate(ring(world, block_of(world.rank), shapes, world.trace, TRAVEL)):
        if 0 < 2 * step <= world.size:
            back.start(owner, block * (1 + world.rank))
    back.finish()
    return back.total_x.numpy()


@pytest.mark.fast("3-gloo", "2-gloo")
@pytest.mark.ranks
@pytest.mark.parametrize(("size", "transport"), [(2, "gloo"), (3, "gloo"), (4, "gloo"), (3, "mpi")])
def test_what_ranks_make_of_blocks_comes_back_to_their_owners(ranks, size, transport):
    for rank, total in enumerate(ranks(size, transport).run(given_back)):
        makers = [(rank + step) % size for step in range(1, size // 2 + 1)]
        assert (total == block_of(rank).numpy() * sum(1 + maker for maker in makers)).all()


def hidden(world, work, late):
    """On one rank: seconds on their way and the share hidden, with so many seconds of sleep for each block and so many
    by which rank 0 comes late to the ring."""
    trace = Trace()
    before, world.trace = world.trace, trace
    own = torch.zeros(2**20)
    world.barrier()
    time.sleep(late if world.rank == 0 else 0)
    for _ in ring(world, own, [own.shape] * world.size, trace, TRAVEL):
        time.sleep(work)
    world.trace = before
    return hidden_travel(trace.as_dict())


@pytest.mark.slow
@pytest.mark.ranks
@pytest.mark.parametrize("transport", ["gloo", "mpi"])
def test_what_travels_beside_long_work_is_hidden_and_what_travels_alone_is_not(ranks, transport):
    """A rank that comes late makes the travel of the others long, whatever else the machine does."""
    for travel, share in ranks(3, transport).run(hidden, 1.0, 0.0):
        assert travel > 0
        assert share > 0.5
    for travel, share in ranks(3, transport).run(hidden, 0.0, 1.0)[1:]:
        assert travel > 0.5
        assert share < 0.5


def seen_on_device(world, own_device, host_late):
    """On one rank: owners in their order, seconds on their way with a host that asks so late for the next block."""
    device = torch.device("cuda", world.rank if own_device else 0)
    torch.cuda.set_device(device)
    before, trace, owners = world.trace, Trace(), []
    record_device(trace, device)
    world.trace = trace
    large = torch.full((1024, 1024), 1.0, device=device)
    try:
        # long enough on its way beside what the clocks of a GPU with other work on it are wrong by
        own = torch.full((2**24,), float(world.rank), device=device)
        for owner, block in ring(world, own, [own.shape] * world.size, trace, TRAVEL):
            for _ in range(50):
                large = large @ large * 1e-3
            time.sleep(host_late)
            assert bool((block == owner).all())
            owners.append(owner)
    finally:
        world.trace = before
    return owners, hidden_travel(trace.as_dict())


@pytest.mark.gpu
@pytest.mark.ranks
@pytest.mark.parametrize("transport", ["gloo", "nccl"])
def test_blocks_on_gpus_come_to_every_rank_and_a_late_host_is_no_travel(ranks, transport):
    """Through host memory on one GPU; by NCCL with a GPU each, where the first transfer also makes its connection."""
    if transport == "nccl" and torch.cuda.device_count() < 2:
        pytest.skip("NCCL needs 2 GPUs")
    pool = ranks(2, transport)
    pool.run(seen_on_device, transport == "nccl", 0.0)
    best_p = [0.0, 0.0]
    for _ in range(4):  # other processes on the same GPU come between its clocks' events: they can only make it worse
        for rank, (owners, (travel, share)) in enumerate(pool.run(seen_on_device, transport == "nccl", 0.5)):
            assert owners == [rank, 1 - rank]
            assert 0 < travel < 0.25
            best_p[rank] = max(best_p[rank], share)
    assert min(best_p) > 0.5
