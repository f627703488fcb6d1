"""Independent pieces of work for several threads."""

import threading

import pytest
import torch

from eigenwerk.parallel.memory.block_sizes import points_side_by_side
from eigenwerk.parallel.threads import HOST_THREADS, each, intraop_threads, threads_for
from eigenwerk.record.trace import Trace


@pytest.fixture
def four_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


def test_answers_come_in_the_order_of_the_pieces():
    for threads in (1, 2, 4, 20):
        assert each(lambda n: n * n, range(10), threads) == [n * n for n in range(10)]
    assert each(lambda n: n, [], 4) == []


def test_pieces_run_side_by_side():
    """Every piece waits for the other: alone, neither would end."""
    barrier = threading.Barrier(2, timeout=20)
    names = each(lambda _: (barrier.wait(), threading.get_ident())[1], range(2), 2)
    assert len(set(names)) == 2
    assert threading.get_ident() in names


def test_libraries_take_the_threads_that_are_left(four_threads):
    barrier = threading.Barrier(2, timeout=20)

    def threads_inside(_: int) -> int:
        barrier.wait()
        return torch.get_num_threads()

    assert each(threads_inside, range(2), threads_for(torch.device("cpu"))) == [2, 2]
    assert torch.get_num_threads() == 4


def test_an_error_ends_the_work_and_leaves_the_threads_as_they_were(four_threads):
    begun = []

    def fail(n: int) -> None:
        begun.append(n)
        raise ValueError(f"piece {n}")

    with pytest.raises(ValueError, match="piece"):
        each(fail, range(1000), 2)
    assert len(begun) <= 4
    assert torch.get_num_threads() == 4
    assert each(lambda n: n, range(3), 2) == [0, 1, 2]


def test_only_the_caller_enters_the_trace():
    """Two spans side by side last as long as one."""
    trace, barrier = Trace(), threading.Barrier(2, timeout=20)

    def work(_: int) -> None:
        with trace.span("work"):
            barrier.wait()

    each(work, range(2), 2)
    assert [(phase.name, phase.calls) for phase in trace.root.children.values()] == [("work", 1)]


def test_a_gpu_is_given_its_work_by_one_thread():
    assert threads_for(torch.device("meta")) == 1


def test_blocks_at_work_keep_to_the_memory_they_have():
    points, point_bytes = 40, 3 * 2**20
    for threads in (1, 2, 8, 64):
        step, together = points_side_by_side(points, point_bytes, 2**26, threads)
        assert 1 <= together <= threads
        assert step * together * point_bytes <= 2**26
    assert points_side_by_side(points, 2**27, 2**26, 4) == (1, 1)


def test_small_blocks_come_twice_for_each_thread():
    assert points_side_by_side(29, 1000, 2**26, 2) == (8, 2)
    assert points_side_by_side(29, 1000, 2**26, 1) == (29, 1)


def test_few_threads_beside_a_gpu_and_those_that_are_asked_for(monkeypatch):
    counts = []
    monkeypatch.setattr(torch, "get_num_threads", lambda: 64)
    monkeypatch.setattr(torch, "set_num_threads", counts.append)
    for wanted, kind in ((None, "cuda"), (None, "cpu"), (7, "cuda")):
        with intraop_threads(wanted, torch.device(kind)):
            pass
    assert counts == [HOST_THREADS, 64, 64, 64, 7, 64]
