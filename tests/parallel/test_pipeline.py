"""The pipeline gives every result in order, starts each block before the one before it is used, and holds two."""

import weakref

import pytest
import torch

from eigenwerk.parallel.communicator import Ready
from eigenwerk.parallel.pipeline import pipeline


class Logged:
    """A handle that writes down when it was waited for."""

    def __init__(self, log, block):
        self.log, self.block = log, block
        log.append(f"start {block}")

    def wait(self):
        self.log.append(f"arrive {self.block}")
        return self.block


def test_the_next_block_travels_while_this_one_is_used():
    log = []
    for block in pipeline([1, 2, 3], lambda block: Logged(log, block)):
        log.append(f"use {block}")
    assert log == "start 1,arrive 1,start 2,use 1,arrive 2,start 3,use 2,arrive 3,use 3".split(",")


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_results_come_in_order_and_none_is_lost(count):
    assert list(pipeline(iter(range(count)), lambda block: Ready(block * 10))) == [10 * i for i in range(count)]


def test_no_more_than_two_blocks_are_alive():
    alive = weakref.WeakSet()

    def start(number):
        tensor = torch.full((2,), number)
        alive.add(tensor)
        return Ready(tensor)

    most = 0
    for block in pipeline(range(6), start):
        most = max(most, len(alive))
        del block
    assert most == 2


def rotated(world):
    """Bands over ranks to plane waves over ranks and back, block by block."""
    blocks = [torch.full((world.size, 3), 10.0 * number + world.rank) for number in range(5)]
    sums = []
    for number, block in enumerate(pipeline(blocks, world.start_all_to_all)):
        assert torch.equal(block, (10.0 * number + torch.arange(world.size))[:, None].expand(-1, 3))
        sums.append(block.sum().item())
    return sums


@pytest.mark.ranks
@pytest.mark.parametrize("transport", ["gloo", "mpi"])
def test_blocks_travel_in_order_between_ranks(ranks, transport):
    results = ranks(2, transport).run(rotated)
    assert results[0] == results[1] == [3.0 + 60 * number for number in range(5)]


@pytest.mark.gpu
def test_on_a_gpu_results_and_later_work_keep_their_order():
    """The transfer runs on its own stream; blocks made just before, and results freed just after, stay whole."""
    device = torch.device("cuda", torch.cuda.current_device())

    def blocks():
        for number in range(20):
            block = torch.full((2000, 2000), float(number), device=device)
            yield block @ torch.eye(2000, device=device)

    def start(block):
        class Copy:
            def wait(self):
                return block + 1

        return Copy()

    totals = [result.sum() for result in pipeline(blocks(), start, device)]
    assert [total.item() / 4e6 for total in totals] == pytest.approx([number + 1.0 for number in range(20)])
