"""The ranks of tests tell what went wrong in them: an error with its rank, a death, and go on with the next test."""

import os
import signal

import pytest

pytestmark = pytest.mark.ranks


def ranks_of(world, factor):
    return factor * world.rank


def fails_on_one(world):
    if world.rank == 1:
        raise ValueError("made up")
    return world.rank


def dies_on_one(world):
    if world.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    world.barrier()


def test_results_come_by_rank(ranks):
    assert ranks(2, "gloo").run(ranks_of, 10) == [0, 10]


def test_an_error_names_its_rank_and_new_ranks_follow(ranks):
    with pytest.raises(AssertionError, match=r"(?s)^rank 1:.*ValueError: made up"):
        ranks(2, "gloo").run(fails_on_one)
    assert ranks(2, "gloo").run(ranks_of, 1) == [0, 1]


def test_a_rank_that_dies_is_noticed(ranks):
    with pytest.raises(AssertionError, match=r"died|rank 0"):
        ranks(2, "gloo").run(dies_on_one)
    assert ranks(2, "gloo").run(ranks_of, 1) == [0, 1]
