"""Every verb of every transport gives what its docstring says, for all number types, on two and four processes.

The checks run inside the ranks; each rank knows what every other rank holds, since the arrays follow from the rank.
"""

from itertools import product

import pytest
import torch

from eigenwerk.parallel.transports.endpoints import EndpointCommunicator
from eigenwerk.parallel.transports.pairwise import PairwiseCommunicator

pytestmark = pytest.mark.ranks

NUMBERS = [torch.float64, torch.float32, torch.complex128, torch.complex64, torch.int64, torch.int32, torch.int16]
DTYPES = [*NUMBERS, torch.bool]
FEW_DTYPES = [torch.float64, torch.complex128, torch.bool, torch.int16]


PLAIN = [(2, "gloo", ""), (4, "gloo", ""), (2, "mpi", ""), (4, "mpi", "")]
LAYERED = [(4, "gloo", "pairwise"), (3, "gloo", "pairwise"), (4, "gloo", "endpoints"), (2, "mpi", "endpoints")]
DEVICE = [(2, "nccl", ""), (2, "nccl", "pairwise"), (2, "gloo", "on device"), (2, "mpi", "on device")]
DEVICE += [(2, "gloo", "pairwise on device"), (2, "mpi", "pairwise on device")]
DEVICE += [(3, "nccl", ""), (4, "nccl", ""), (3, "nccl", "pairwise"), (4, "nccl", "pairwise")]


def name_of(kind):
    return "-".join(map(str, kind)).strip("-")


FAST = [(2, "gloo", ""), (4, "gloo", ""), (3, "gloo", "pairwise"), (2, "mpi", ""), (2, "mpi", "endpoints")]
"""What `make test` tries: every transport, layer and number of ranks; all are tried by `make test-all`."""

KINDS = [
    pytest.param(kind, id=name_of(kind), marks=() if kind in FAST else pytest.mark.slow)
    for kind in sorted(PLAIN + LAYERED)
]
KINDS += [pytest.param(kind, id=name_of(kind), marks=pytest.mark.gpu) for kind in DEVICE]


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


class Pool:
    """The ranks of a test, which see a layer on their world."""

    def __init__(self, pool, layer):
        self.size, self._pool, self._layer = pool.size, pool, layer

    def run(self, function, *args):
        return self._pool.run(on_layer, self._layer, function.__name__, *args)


@pytest.fixture
def pool(kind, ranks):
    size, transport, layer = kind
    if transport == "nccl" and torch.cuda.device_count() < size:
        pytest.skip(f"NCCL needs {size} GPUs")
    return Pool(ranks(size, transport), layer)


def on_layer(world, layer, name, *args, made={}):  # noqa: B006 (a layer is made once)
    """In a rank: a check on this layer; sizes so small that arrays of the checks take both ways."""
    global DEVICE_OF_ARRAYS
    if world.transport == "nccl":
        DEVICE_OF_ARRAYS = torch.device("cuda", world.rank)
    elif "on device" in layer:
        DEVICE_OF_ARRAYS = torch.device("cuda", 0)
    if layer not in made:
        layers = {
            "": lambda world: world,
            "on device": lambda world: world,
            "pairwise": lambda world: PairwiseCommunicator(world, whole_bytes=64),
            "pairwise on device": lambda world: PairwiseCommunicator(world, whole_bytes=64),
            "endpoints": lambda world: EndpointCommunicator(world, count=3, threshold_bytes=64),
        }
        made[layer] = layers[layer](world)
    return globals()[name](made[layer], *args)


def each(world, name, *lists):
    """In a rank: a check with every combination of arguments."""
    for arguments in product(*lists):
        try:
            globals()[name](world, *arguments)
        except BaseException as error:
            error.add_note(f"with {arguments}")
            raise


DEVICE_OF_ARRAYS = torch.device("cpu")


def array_of(rank, shape, dtype):
    """Small whole numbers, different on each rank, so that sums are exact."""
    count = torch.Size(shape).numel()
    values = (torch.arange(count, device=DEVICE_OF_ARRAYS).reshape(shape) * 7 + 3 * rank) % 11
    if dtype.is_complex:
        return values.to(dtype) + 1j * ((values * 5 + rank) % 7).to(dtype)
    return values % 2 == 0 if dtype == torch.bool else values.to(dtype)


def same(got, wanted):
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    assert torch.equal(got, wanted), f"{got} is not {wanted}"


def total(arrays):
    """Sum in exact arithmetic; "or" for bools."""
    stacked = torch.stack(arrays)
    return stacked.any(0) if stacked.dtype == torch.bool else stacked.sum(0).to(stacked.dtype)


# --- sums and maxima -------------------------------------------------------------------------------------------------


def sums(world, dtype, shape):
    arrays = [array_of(rank, shape, dtype) for rank in range(world.size)]
    same(world.sum(array_of(world.rank, shape, dtype)), total(arrays))
    same(world.start_sum(array_of(world.rank, shape, dtype)).wait(), total(arrays))
    for root in range(world.size):
        reduced = world.reduce(array_of(world.rank, shape, dtype), root)
        assert (reduced is None) == (world.rank != root)
        if reduced is not None:
            same(reduced, total(arrays))
    if not dtype.is_complex:
        same(world.max(array_of(world.rank, shape, dtype)), torch.stack(arrays).amax(0))


def test_sum_reduce_and_max(pool):
    pool.run(each, "sums", DTYPES, [(), (1,), (5,), (3, 4, 2), (0, 3)])


def reduce_scatters(world, dtype, shape):
    arrays = [array_of(rank, (world.size, *shape), dtype) for rank in range(world.size)]
    same(world.reduce_scatter(arrays[world.rank].clone()), total(arrays)[world.rank])


def test_reduce_scatter(pool):
    pool.run(each, "reduce_scatters", DTYPES, [(), (5,), (3, 4), (0,)])


def sum_bits(world):
    generator = torch.Generator().manual_seed(world.rank)
    array = torch.randn(10007, generator=generator, dtype=torch.float64) * 10.0 ** (world.rank % 3)
    array = array.to(DEVICE_OF_ARRAYS)
    return [world.sum(part.clone()).cpu().numpy().tobytes() for part in (array, array[:3])]


def test_sums_are_the_same_bits_on_every_rank(pool):
    results = pool.run(sum_bits)
    assert all(result == results[0] for result in results)


# --- copies ----------------------------------------------------------------------------------------------------------


def copies(world, dtype):
    shape = (world.size, 3, 2)
    arrays = [array_of(rank, shape, dtype) for rank in range(world.size)]
    for root in range(world.size):
        same(world.broadcast(array_of(world.rank, shape, dtype), root), arrays[root])
    same(world.all_to_all(array_of(world.rank, shape, dtype)), torch.stack([array[world.rank] for array in arrays]))
    same(world.all_gather(array_of(world.rank, shape, dtype)), torch.cat(arrays))


def test_broadcast_all_to_all_and_all_gather(pool):
    pool.run(each, "copies", DTYPES)


def joins(world, dtype, lengths):
    arrays = [array_of(rank, (length, 2, 3), dtype) for rank, length in enumerate(lengths)]
    same(world.all_gather(arrays[world.rank].clone()), torch.cat(arrays))
    same(world.all_gather(arrays[world.rank].clone(), lengths), torch.cat(arrays))
    for root in range(world.size):
        gathered = world.gather(arrays[world.rank].clone(), root, lengths if root else None)
        assert (gathered is None) == (world.rank != root)
        if gathered is not None:
            same(gathered, torch.cat(arrays))


def test_arrays_of_uneven_lengths_are_joined(pool):
    lengths = [[3, 3, 3, 3], [1, 4, 2, 5], [0, 3, 0, 1], [0, 0, 0, 0]]
    pool.run(each, "joins", FEW_DTYPES, [some[: pool.size] for some in lengths])


def exchanges(world, dtype, known):
    def shape(source, to):
        return (source, to + 1) if (source + to) % 2 else (2 * to + source,)

    outgoing = [array_of(world.rank + 10 * to, shape(world.rank, to), dtype) for to in range(world.size)]
    shapes = [shape(source, world.rank) for source in range(world.size)] if known else None
    incoming = world.exchange(outgoing, shapes)
    assert len(incoming) == world.size
    for source, array in enumerate(incoming):
        same(array, array_of(source + 10 * world.rank, shape(source, world.rank), dtype))


def test_arrays_of_any_shapes_are_exchanged(pool):
    pool.run(each, "exchanges", FEW_DTYPES, [True, False])


# --- point to point --------------------------------------------------------------------------------------------------


def ring(world, dtype):
    to, source = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    mine, wanted = array_of(world.rank, (4, 3), dtype), array_of(source, (4, 3), dtype)
    if world.transport.endswith("nccl") and world.rank % 2:  # NCCL does one after the other
        received = world.start_receive(torch.empty_like(mine), source)
        sent = world.start_send(mine, to)
    else:
        sent = world.start_send(mine, to)
        received = world.start_receive(torch.empty_like(mine), source)
    same(received.wait(), wanted)
    assert sent.wait() is None
    same(world.swap(mine, to, torch.empty_like(mine), source), wanted)
    same(world.swap(mine, world.rank, torch.empty_like(mine), world.rank), mine)
    if world.rank == 0:
        world.send(mine, world.size - 1)
    if world.rank == world.size - 1:
        same(world.receive(torch.zeros_like(mine), 0), array_of(0, (4, 3), dtype))


def test_messages_around_a_ring(pool):
    pool.run(each, "ring", DTYPES)


def messages_in_order(world):
    if world.rank == 0:
        handles = [world.start_send(torch.full((100 + i,), i), 1) for i in range(5)]
    elif world.rank == 1:
        handles = [world.start_receive(torch.empty(100 + i, dtype=torch.int64), 0) for i in range(5)]
        assert [int(handle.wait()[0]) for handle in handles] == [0, 1, 2, 3, 4]
    else:
        handles = []
    for handle in handles:
        handle.wait()


def test_messages_between_two_ranks_keep_their_order(pool):
    pool.run(messages_in_order)


# --- shapes of memory ------------------------------------------------------------------------------------------------


def strided(world):
    def views(rank):
        base = array_of(rank, (world.size * 2, 6), torch.complex128)
        return [base.T, base[:, ::2], base[::2, :].conj(), base.imag, base[:, :1].expand(-1, 4), base.conj().imag]

    everyone = [views(rank) for rank in range(world.size)]
    for number, view in enumerate(views(world.rank)):
        arrays = [views[number] for views in everyone]
        same(world.sum(view.clone(memory_format=torch.preserve_format)), total(arrays))
        same(world.all_gather(view), torch.cat(arrays))
        same(world.broadcast(view.clone(memory_format=torch.preserve_format), 1), arrays[1].contiguous())
        same(world.exchange([view] * world.size)[0], arrays[0].contiguous())


def test_views_that_are_not_contiguous_travel(pool):
    pool.run(strided)


# --- handles ---------------------------------------------------------------------------------------------------------


def overlapping(world):
    arrays = [[array_of(rank + 5 * i, (world.size, 50), torch.float64) for i in range(4)] for rank in range(world.size)]
    mine = [array.clone() for array in arrays[world.rank]]
    handles = [
        world.start_sum(mine[0]),
        world.start_all_to_all(mine[1]),
        world.start_all_gather(mine[2], [world.size] * world.size),
        world.start_reduce_scatter(mine[3]),
    ]
    results = [handle.wait() for handle in reversed(handles)][::-1]
    assert all(handle.wait() is result for handle, result in zip(handles, results, strict=True))
    same(results[0], total([own[0] for own in arrays]))
    same(results[1], torch.stack([own[1][world.rank] for own in arrays]))
    same(results[2], torch.cat([own[2] for own in arrays]))
    same(results[3], total([own[3] for own in arrays])[world.rank])


def test_verbs_on_their_way_at_the_same_time_do_not_mix(pool):
    pool.run(overlapping)


# --- groups and agreement --------------------------------------------------------------------------------------------


def splits(world):
    parity = world.split(world.rank % 2, name="parity")
    assert parity.world_ranks == tuple(range(world.rank % 2, world.size, 2))
    assert (parity.name, parity.size) == ("parity", (world.size + 1 - world.rank % 2) // 2)
    assert parity.world_ranks[parity.rank] == world.rank
    same(parity.sum(torch.tensor([world.rank])), torch.tensor([sum(parity.world_ranks)]))

    backwards = world.split(-3, key=-world.rank)
    assert backwards.world_ranks == tuple(reversed(range(world.size)))
    same(backwards.all_gather(torch.tensor([world.rank])), torch.arange(world.size).flip(0))

    alone = world.split(world.rank)
    assert (alone.size, alone.world_ranks) == (1, (world.rank,))
    same(alone.sum(torch.ones(2)), torch.ones(2))

    inner = backwards.split(int(world.rank == 0), name="inner")  # a split of a split knows the ranks of the world
    assert inner.world_ranks == ((0,) if world.rank == 0 else tuple(range(world.size - 1, 0, -1)))
    for group in (inner, backwards, parity):
        group.barrier()
        group.close()
        group.close()


def test_splits_hold_the_ranks_of_one_colour_in_the_order_of_keys(pool):
    pool.run(splits)


def decides(world):
    for flags in ([False] * 4, [True] * 4, [False, True, False, False]):
        flag = flags[world.rank]
        assert world.any(flag) == any(flags[: world.size])
        assert world.all(flag) == all(flags[: world.size])


def test_decisions_are_taken_together(pool):
    pool.run(decides)


# --- errors ----------------------------------------------------------------------------------------------------------


def refusals(world):
    with pytest.raises(ValueError, match=f"rank {world.size} does not exist"):
        world.broadcast(torch.ones(1), world.size)
    with pytest.raises(ValueError, match=f"{world.size + 1} entries"):
        world.all_to_all(torch.ones(world.size + 1))
    with pytest.raises(ValueError, match="complex"):
        world.max(torch.ones(1, dtype=torch.complex128))
    with pytest.raises(ValueError, match="without axes"):
        world.all_gather(torch.tensor(1.0))
    with pytest.raises(ValueError, match="lengths"):
        world.all_gather(torch.ones(2), [1] * world.size)


def test_calls_that_make_no_sense_are_refused_before_anything_travels(pool):
    pool.run(refusals)


# --- the trace -------------------------------------------------------------------------------------------------------


def recorded(world):
    part = world.split(0, name="part")
    part.sum(torch.ones(10, dtype=torch.complex128))  # in host memory, also with NCCL
    to, source = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    part.swap(torch.ones(3), to, torch.ones(3), source)
    part.all_to_all(torch.ones(world.size, 2))
    records = world.trace.as_dict()["traffic"]
    part.close()
    return [record for record in records if (record["group"], record["transport"]) == ("part", world.transport)]


def test_every_call_is_in_the_trace(pool):
    for records in pool.run(recorded):
        assert [(record["verb"], record["bytes"]) for record in records] == [
            ("sum", 160),
            ("swap", 12),
            ("all_to_all", 8 * pool.size),
        ]
