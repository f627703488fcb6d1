"""Vectors in segments: whole again, summed up, from the first rank and to it; odd lengths and ranks without any."""

import pytest
import torch

from eigenwerk.ncci.ranks.segments import Segments


@pytest.mark.parametrize("dimension", [1, 6, 7, 23])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
def test_segments_cover_all_components_once(dimension, ranks):
    class Ranks:
        size = ranks

    segments = Segments(dimension, Ranks())
    places = [place for rank in range(ranks) for place in range(*segments.of(rank).indices(dimension))]
    assert places == list(range(dimension)) and sum(segments.lengths) == dimension
    assert max(segments.lengths) == segments.length


def round_trip(world, dimension, count, single):
    dtype = torch.float32 if single else torch.float64
    segments = Segments(dimension, world)
    x_nb = torch.arange(count * dimension, dtype=dtype).view(count, dimension)
    own_ns = x_nb[:, segments.own]
    whole_nb = segments.whole(own_ns)
    sum_ns = segments.own_sum((world.rank + 1) * x_nb)
    first = segments.on_first(own_ns[0])
    given = segments.from_first(x_nb[0] if world.rank == 0 else None, own_ns[0])
    weight = world.size * (world.size + 1) / 2
    return [
        torch.equal(whole_nb, x_nb),
        torch.equal(sum_ns, weight * own_ns) and sum_ns.is_contiguous(),
        torch.equal(first, x_nb[0]) if world.rank == 0 else first is None,
        torch.equal(given, own_ns[0]) and given.dtype == dtype,
    ]


@pytest.mark.ranks
@pytest.mark.parametrize(("transport", "size"), [
    ("gloo", 2), ("gloo", 3), ("mpi", 2),
    *(pytest.param(*other, marks=pytest.mark.slow) for other in (("gloo", 5), ("mpi", 3))),
])  # fmt: skip
@pytest.mark.parametrize(("dimension", "count"), [(23, 1), (6, 3), (30, 2)])
def test_what_travels_arrives(ranks, transport, size, dimension, count):
    for single in (False, True):
        found = ranks(size, transport).run(round_trip, dimension, count, single)
        assert found == [[True] * 4] * size


def round_trip_with_cuts(world, cuts):
    segments = Segments(cuts[-1], world, cuts)
    x_nb = torch.arange(2.0 * cuts[-1]).view(2, -1)
    own_ns = x_nb[:, segments.own]
    first = segments.on_first(own_ns[0])
    return [
        torch.equal(segments.whole(own_ns), x_nb),
        torch.equal(segments.own_sum(x_nb), world.size * own_ns),
        first is None or torch.equal(first, x_nb[0]),
        torch.equal(segments.from_first(x_nb[0] if world.rank == 0 else None, own_ns[0]), own_ns[0]),
    ]


@pytest.mark.ranks
@pytest.mark.parametrize("cuts", [(0, 4, 9, 10), (0, 0, 5, 5)])
def test_segments_may_be_cut_anywhere(ranks, cuts):
    assert ranks(3).run(round_trip_with_cuts, cuts) == [[True] * 4] * 3


def test_one_rank_copies_nothing():
    segments, x_nb = Segments(7), torch.ones(2, 7)
    assert segments.whole(x_nb) is x_nb and segments.own_sum(x_nb) is x_nb
