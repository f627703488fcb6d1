"""How a run ends: the first reason decides, echoes do not count, and it is the same for all ranks."""

import signal

import pytest

from eigenwerk.parallel.watch.coordinator import (
    AT_WORK,
    FAILED,
    FIRST_READS,
    GRACE,
    JOINS,
    PREPARES,
    SAME_TIME,
    SECONDARY_WAIT,
    START_TIME,
    Coordinator,
    Failure,
    ProcessPlace,
)

TERM = int(signal.SIGTERM)


@pytest.fixture
def coordinator():
    return Coordinator(3, steps=2, places={rank: ProcessPlace(f"node{rank}", 100 + rank) for rank in range(3)})


def how(coordinator):
    return None if coordinator.shutdown is None else coordinator.shutdown.how


def test_a_stop_waits_for_the_step(coordinator):
    coordinator.signal(1, TERM, 10.0)
    coordinator.tick(10.0 + 0.9 * GRACE)
    assert how(coordinator) is None and coordinator.next_due(10.0) == pytest.approx(GRACE)
    coordinator.step_ended()
    assert (coordinator.shutdown.how, coordinator.shutdown.code, coordinator.shutdown.rank) == ("step", 128 + TERM, 1)
    coordinator.tick(100.0)
    assert how(coordinator) == "step", "a step that ended in time needs no rescue"


def test_a_long_step_is_not_waited_for(coordinator):
    coordinator.signal(0, TERM, 10.0)
    coordinator.tick(10.0 + GRACE)
    assert (coordinator.shutdown.how, coordinator.shutdown.code) == ("rescue", 128 + TERM)
    coordinator.step_ended()
    assert how(coordinator) == "rescue", "too late"


def test_one_signal_to_every_rank_is_one_wish_but_a_second_to_one_rank_is_impatience(coordinator):
    for rank in range(3):
        coordinator.signal(rank, signal.SIGINT, 10.0)
    coordinator.tick(10.1)
    assert how(coordinator) is None
    coordinator.signal(2, signal.SIGINT, 11.0)
    coordinator.tick(11.0)
    assert how(coordinator) == "rescue"


def test_before_the_first_step_there_is_nothing_to_wait_for():
    coordinator = Coordinator(2)
    coordinator.signal(0, TERM, 1.0)
    coordinator.tick(1.0)
    assert how(coordinator) == "rescue"


def test_the_end_of_a_step_alone_ends_nothing(coordinator):
    coordinator.step_ended()
    coordinator.tick(1e9)
    assert how(coordinator) is None and coordinator.next_due(0.0) is None


def test_lost_rank_is_named_with_its_place(coordinator):
    coordinator.lost(2, "has died")
    assert (coordinator.shutdown.how, coordinator.shutdown.text, coordinator.shutdown.code) == (
        "lost", "Rank 2 (node2, process 102) has died.", FAILED,
    )  # fmt: skip
    coordinator.lost(1, "has died")
    assert coordinator.shutdown.rank == 2, "the first one is the reason"


def test_a_rank_that_has_left_cannot_be_lost(coordinator):
    coordinator.left(2)
    coordinator.lost(2, "has died")
    assert how(coordinator) is None


def test_failure_of_one_rank_names_it(coordinator):
    coordinator.failed(Failure(1, "no memory", 2, False, 5.0))
    coordinator.tick(5.0)
    assert how(coordinator) is None
    coordinator.tick(5.0 + SAME_TIME)
    assert (coordinator.shutdown.text, coordinator.shutdown.code) == ("Rank 1 (node1, process 101): no memory", 2)


def test_failure_of_all_ranks_is_nobodys(coordinator):
    for rank in range(3):
        coordinator.failed(Failure(rank, "KPAR = 5", 2, False, 5.0 + 0.1 * rank))
    coordinator.tick(6.0)
    assert coordinator.shutdown.text == "KPAR = 5"


def test_failure_of_all_ranks_is_decided_as_soon_as_the_last_one_tells_it(coordinator):
    for rank in range(3):
        assert coordinator.shutdown is None
        coordinator.failed(Failure(rank, "KPAR = 5", 2, False, 5.0 + rank, PREPARES))
        coordinator.tick(5.0 + rank)
    assert coordinator.shutdown.text == "KPAR = 5"


@pytest.mark.parametrize("stage", [PREPARES, JOINS])
def test_failure_at_the_start_waits_for_ranks_that_may_meet_it_too(coordinator, stage):
    coordinator.reached(0, stage)
    coordinator.reached(1, stage)  # rank 2 has not come yet
    coordinator.failed(Failure(0, "no such file", 2, False, 5.0, stage))
    assert coordinator.next_due(5.0) == pytest.approx(START_TIME)
    coordinator.reached(2, stage + 1)
    assert coordinator.next_due(5.0) == pytest.approx(START_TIME), "rank 1 is not behind that stage"
    coordinator.reached(1, stage + 1)
    assert coordinator.next_due(5.0) == pytest.approx(SAME_TIME)
    coordinator.tick(5.0 + SAME_TIME)
    assert coordinator.shutdown.text == "Rank 0 (node0, process 100): no such file"


@pytest.mark.parametrize("stage", [FIRST_READS, AT_WORK])
def test_failure_that_one_rank_alone_can_meet_waits_for_nobody(coordinator, stage):
    coordinator.failed(Failure(0, "no such file", 2, False, 5.0, stage))
    assert coordinator.next_due(5.0) == pytest.approx(SAME_TIME)


def test_broken_connections_do_not_decide_while_an_error_waits(coordinator):
    coordinator.failed(Failure(0, "no such file", 2, False, 5.0, JOINS))
    coordinator.failed(Failure(1, "connection closed", 1, True, 5.0, JOINS))
    coordinator.tick(5.0 + 1.1 * SECONDARY_WAIT)
    assert how(coordinator) is None
    coordinator.tick(5.0 + START_TIME)
    assert coordinator.shutdown.rank == 0 and coordinator.shutdown.code == 2


@pytest.mark.parametrize("lost", [0, 1])
def test_death_after_an_error_was_told_does_not_hide_it(coordinator, lost):
    coordinator.failed(Failure(0, "no memory", 2, False, 5.0))
    coordinator.lost(lost, "has died")
    assert (how(coordinator), coordinator.shutdown.rank, coordinator.shutdown.code) == ("failed", 0, 2)


@pytest.mark.parametrize("primary_first", [True, False])
def test_broken_connection_gives_way_to_the_error_behind_it(coordinator, primary_first):
    failures = [Failure(1, "cuda error", 1, False, 5.2), Failure(0, "connection closed", 1, True, 5.0)]
    for failure in failures if primary_first else reversed(failures):
        coordinator.failed(failure)
    coordinator.tick(5.2 + SAME_TIME)
    assert coordinator.shutdown.rank == 1 and "cuda error" in coordinator.shutdown.text


def test_broken_connection_gives_way_to_the_death_behind_it(coordinator):
    coordinator.failed(Failure(0, "connection closed", 1, True, 5.0))
    coordinator.tick(5.0 + 0.9 * SECONDARY_WAIT)
    assert how(coordinator) is None
    coordinator.lost(2, "has died")
    assert (how(coordinator), coordinator.shutdown.rank) == ("lost", 2)


def test_broken_connection_that_nothing_explains_is_told(coordinator):
    coordinator.failed(Failure(0, "connection closed", 1, True, 5.0))
    coordinator.tick(5.0 + coordinator.next_due(5.0))
    assert coordinator.shutdown.text == "Rank 0 (node0, process 100): connection closed"


def test_death_while_saving_after_a_stop_ends_the_saving(coordinator):
    coordinator.signal(0, TERM, 1.0)
    coordinator.step_ended()
    coordinator.lost(1, "has died")
    assert how(coordinator) == "lost"


def test_end_of_a_rank_during_rescue_is_expected(coordinator):
    coordinator.signal(0, TERM, 1.0)
    coordinator.tick(1.0 + GRACE)
    coordinator.lost(1, "has died")
    coordinator.failed(Failure(0, "connection closed", 1, True, 6.0))
    coordinator.tick(100.0)
    assert how(coordinator) == "rescue"
