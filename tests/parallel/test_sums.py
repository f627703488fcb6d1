"""Sums by pairs and over several endpoints equal the plain sum, with the same bits on every rank."""

from itertools import product

import pytest
import torch

from eigenwerk.errors import InputError
from eigenwerk.parallel.transports.endpoints import EndpointCommunicator
from eigenwerk.parallel.transports.pairwise import PairwiseCommunicator
from eigenwerk.record.trace import Trace

pytestmark = pytest.mark.ranks


def array_of(rank, count):
    generator = torch.Generator().manual_seed(rank)
    return torch.randn(count, generator=generator, dtype=torch.complex128) * 10.0 ** (rank % 3)


def compare(world):
    pairwise = PairwiseCommunicator(world)
    endpoints = EndpointCommunicator(world, count=4, threshold_bytes=1000)
    results = []
    for comm, count in product((pairwise, endpoints), (3, 5000, 300001)):
        plain = world.sum(array_of(world.rank, count))
        twice = [comm.sum(array_of(world.rank, count)) for _ in range(2)]
        assert torch.equal(*twice)
        torch.testing.assert_close(twice[0], plain, rtol=1e-14, atol=1e-12)
        results.append(twice[0].numpy().tobytes())
        root = comm.reduce(array_of(world.rank, count), world.size - 1)
        if root is not None:
            torch.testing.assert_close(root, plain, rtol=1e-14, atol=1e-12)
    return results


FOUR = pytest.param(4, "mpi", marks=pytest.mark.slow)  # four that wait without rest, where there are two cores


@pytest.mark.fast("2-gloo", "3-gloo", "2-mpi")
@pytest.mark.parametrize("size, transport", [(2, "gloo"), (4, "gloo"), (3, "gloo"), (2, "mpi"), FOUR])
def test_they_equal_the_plain_sum_with_the_same_bits_on_every_rank(ranks, size, transport):
    results = ranks(size, transport).run(compare)
    assert all(result == results[0] for result in results)


def several_on_their_way(world):
    for comm in (PairwiseCommunicator(world), EndpointCommunicator(world, count=2, threshold_bytes=100)):
        handles = [comm.start_sum(torch.full((200 + number,), float(number))) for number in range(6)]
        for number, handle in reversed(list(enumerate(handles))):
            assert torch.equal(handle.wait(), torch.full((200 + number,), float(number * world.size)))


@pytest.mark.parametrize("size, transport", [(4, "gloo"), (2, "mpi"), FOUR])
def test_sums_on_their_way_at_the_same_time_do_not_mix(ranks, size, transport):
    ranks(size, transport).run(several_on_their_way)


def recorded(world):
    comm = EndpointCommunicator(world, count=3, threshold_bytes=1000)
    before = {(record["verb"], record["transport"]): record["calls"] for record in world.trace.as_dict()["traffic"]}
    comm.sum(torch.ones(1000))
    after = {(record["verb"], record["transport"]): record["calls"] for record in world.trace.as_dict()["traffic"]}
    return {key: calls - before.get(key, 0) for key, calls in after.items() if calls != before.get(key, 0)}


def test_a_cut_sum_is_recorded_once(ranks):
    assert ranks(2, "gloo").run(recorded) == [{("sum", "gloo x3"): 1}] * 2


def refusals(world):
    with pytest.raises(InputError, match="0 endpoints"):
        EndpointCommunicator(world, count=0)
    comm = EndpointCommunicator(world, count=1)
    comm.check_device(torch.device("cuda", 0))  # Gloo: arrays of GPUs are added up in host memory
    world._reaches = lambda device: True
    with pytest.raises(InputError, match="host memory"):
        comm.check_device(torch.device("cuda", 0))
    del world._reaches
    world.takes_threads = False
    try:
        with pytest.raises(InputError, match="several threads"):
            EndpointCommunicator(world, count=2)
    finally:
        world.takes_threads = True


def test_endpoints_that_cannot_work_are_refused(ranks):
    ranks(2, "gloo").run(refusals)


def short_messages(world):
    from eigenwerk.parallel.transports.mpi import mpi_world

    comm = mpi_world(Trace(), message=7)
    size, rank = comm.size, comm.rank
    arrays = [torch.arange(size * 11.0) + 100 * other for other in range(size)]
    mine = arrays[rank]
    assert torch.equal(comm.sum(mine.clone()), sum(arrays))
    assert torch.equal(comm.broadcast(mine.clone(), 1), arrays[1])
    assert torch.equal(comm.all_gather(mine), torch.cat(arrays))
    assert torch.equal(comm.all_gather(mine[: 8 + rank]), torch.cat([a[: 8 + r] for r, a in enumerate(arrays)]))
    parts = torch.stack([array.view(size, 11)[rank] for array in arrays])
    assert torch.equal(comm.all_to_all(mine.view(size, 11).clone()), parts)
    assert torch.equal(comm.reduce_scatter(mine.view(size, 11).clone()), parts.sum(0))
    to, source = (rank + 1) % size, (rank - 1) % size
    assert torch.equal(comm.swap(mine, to, torch.empty_like(mine), source), arrays[source])
    reduced = comm.reduce(mine.clone(), 0)
    assert reduced is None if rank else torch.equal(reduced, sum(arrays))
    comm.close()
    return comm.path


@pytest.mark.parametrize("size", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_mpi_cuts_what_is_longer_than_a_message(ranks, size):
    """With messages of 7 numbers, as it must for more than 2^30."""
    paths = ranks(size, "mpi").run(short_messages)
    assert all("CUDA tensors are" in path for path in paths)
