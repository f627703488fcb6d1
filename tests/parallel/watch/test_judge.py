"""How a run ends: the first reason decides, echoes do not count, and it is the same for all ranks."""

import signal

import pytest

from eigenwerk.parallel.watch.judge import FAILED, GRACE, SAME_TIME, SECOND_HAND, Failure, Judge, ProcessPlace

TERM = int(signal.SIGTERM)


@pytest.fixture
def judge():
    return Judge(3, steps=2, places={rank: ProcessPlace(f"node{rank}", 100 + rank) for rank in range(3)})


def how(judge):
    return None if judge.ending is None else judge.ending.how


def test_a_stop_waits_for_the_step(judge):
    judge.signal(1, TERM, 10.0)
    judge.tick(10.0 + 0.9 * GRACE)
    assert how(judge) is None and judge.next_due(10.0) == pytest.approx(GRACE)
    judge.step_ended()
    assert (judge.ending.how, judge.ending.code, judge.ending.rank) == ("step", 128 + TERM, 1)
    judge.tick(100.0)
    assert how(judge) == "step", "a step that ended in time needs no rescue"


def test_a_long_step_is_not_waited_for(judge):
    judge.signal(0, TERM, 10.0)
    judge.tick(10.0 + GRACE)
    assert (judge.ending.how, judge.ending.code) == ("rescue", 128 + TERM)
    judge.step_ended()
    assert how(judge) == "rescue", "too late"


def test_one_signal_to_every_rank_is_one_wish_but_a_second_to_one_rank_is_impatience(judge):
    for rank in range(3):
        judge.signal(rank, signal.SIGINT, 10.0)
    judge.tick(10.1)
    assert how(judge) is None
    judge.signal(2, signal.SIGINT, 11.0)
    judge.tick(11.0)
    assert how(judge) == "rescue"


def test_before_the_first_step_there_is_nothing_to_wait_for():
    judge = Judge(2)
    judge.signal(0, TERM, 1.0)
    judge.tick(1.0)
    assert how(judge) == "rescue"


def test_the_end_of_a_step_alone_ends_nothing(judge):
    judge.step_ended()
    judge.tick(1e9)
    assert how(judge) is None and judge.next_due(0.0) is None


def test_lost_rank_is_named_with_its_place(judge):
    judge.lost(2, "has died")
    assert (judge.ending.how, judge.ending.text, judge.ending.code) == (
        "lost", "Rank 2 (node2, process 102) has died.", FAILED,
    )  # fmt: skip
    judge.lost(1, "has died")
    assert judge.ending.rank == 2, "the first one is the reason"


def test_a_rank_that_has_left_cannot_be_lost(judge):
    judge.left(2)
    judge.lost(2, "has died")
    assert how(judge) is None


def test_failure_of_one_rank_names_it(judge):
    judge.failed(Failure(1, "no memory", 2, False, 5.0))
    judge.tick(5.0)
    assert how(judge) is None
    judge.tick(5.0 + SAME_TIME)
    assert (judge.ending.text, judge.ending.code) == ("Rank 1 (node1, process 101): no memory", 2)


def test_failure_of_all_ranks_is_nobodys(judge):
    for rank in range(3):
        judge.failed(Failure(rank, "KPAR = 5", 2, False, 5.0 + 0.1 * rank))
    judge.tick(6.0)
    assert judge.ending.text == "KPAR = 5"


@pytest.mark.parametrize("primary_first", [True, False])
def test_broken_connection_gives_way_to_the_error_behind_it(judge, primary_first):
    failures = [Failure(1, "cuda error", 1, False, 5.2), Failure(0, "connection closed", 1, True, 5.0)]
    for failure in failures if primary_first else reversed(failures):
        judge.failed(failure)
    judge.tick(5.2 + SAME_TIME)
    assert judge.ending.rank == 1 and "cuda error" in judge.ending.text


def test_broken_connection_gives_way_to_the_death_behind_it(judge):
    judge.failed(Failure(0, "connection closed", 1, True, 5.0))
    judge.tick(5.0 + 0.9 * SECOND_HAND)
    assert how(judge) is None
    judge.lost(2, "has died")
    assert (how(judge), judge.ending.rank) == ("lost", 2)


def test_broken_connection_that_nothing_explains_is_told(judge):
    judge.failed(Failure(0, "connection closed", 1, True, 5.0))
    judge.tick(5.0 + judge.next_due(5.0))
    assert judge.ending.text == "Rank 0 (node0, process 100): connection closed"


def test_death_while_saving_after_a_stop_ends_the_saving(judge):
    judge.signal(0, TERM, 1.0)
    judge.step_ended()
    judge.lost(1, "has died")
    assert how(judge) == "lost"


def test_end_of_a_rank_during_rescue_is_expected(judge):
    judge.signal(0, TERM, 1.0)
    judge.tick(1.0 + GRACE)
    judge.lost(1, "has died")
    judge.failed(Failure(0, "connection closed", 1, True, 6.0))
    judge.tick(100.0)
    assert how(judge) == "rescue"
