"""Each pair of orbitals of all ranks is done once, or both ways within a small block, by a rank that has both."""

from collections import Counter

import pytest

from eigenwerk.dft.exchange.pairs.pair_shares import Turn, width_of


def met(size, points, unit, block):
    """How often the source n of rank p, point k meets the target t of rank q, point l, with what comes back counted;
    points: bands of each point of each rank."""
    count = Counter()
    for rank in range(size):
        for step in range(size):
            turn = Turn(rank, (rank - step) % size, size)
            for k, sources in enumerate(points[turn.owner]):
                for first in range(0, sources, block):
                    n = slice(first, min(first + block, sources))
                    for m, targets in enumerate(points[rank]):
                        width = width_of(targets, 3, unit)
                        for meeting in turn.meetings((m, targets), (k, sources), n, unit, width):
                            assert n.start <= meeting.n.start < meeting.n.stop <= n.stop
                            assert meeting.n.start % unit == meeting.t.start % unit == 0
                            assert 0 <= meeting.t.start < meeting.t.stop <= targets
                            for i in range(meeting.n.start, meeting.n.stop):
                                for j in range(meeting.t.start, meeting.t.stop):
                                    source, target = (turn.owner, k, i), (rank, m, j)
                                    count[source, target] += 1
                                    count[target, source] += meeting.both
                            assert turn.gives_back or turn.owner == rank
    return count


@pytest.mark.parametrize("unit", [1, 2])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
def test_every_orbital_meets_every_orbital_once(size, unit):
    points = [[unit * (3 + (rank + k) % 3) for k in range(1 + rank % 2)] for rank in range(size)]
    count = met(size, points, unit, block=2 * unit)
    orbitals = [(p, k, n) for p in range(size) for k, bands in enumerate(points[p]) for n in range(bands)]
    assert count == {(one, other): 1 for one in orbitals for other in orbitals}


@pytest.mark.parametrize("size", [2, 4, 8])
def test_ranks_that_have_each_other_share_their_pairs_evenly(size):
    done = []
    for rank in range(size):
        turn = Turn(rank, (rank - size // 2) % size, size)
        meetings = list(turn.meetings((0, 10), (0, 10), slice(0, 10), 1, 5))
        done.append(sum((one.n.stop - one.n.start) * (one.t.stop - one.t.start) for one in meetings))
    assert done == [50] * size
