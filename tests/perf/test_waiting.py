"""Waiting is the time until the last rank of the group has come, and never longer than the call."""

import numpy as np
import pytest

from eigenwerk.perf.run_trace import load_run
from eigenwerk.perf.waiting import waiting


@pytest.fixture
def run(entries, written):
    """A run whose ranks made one function's calls, given as (entered, blocked) or (entered, blocked, device)."""

    def make(columns, verb="sum", group="world", groups=1, offsets=None):
        ranks = []
        for rank, column in enumerate(columns):
            entered, blocked = column[0], column[1]
            device = column[2] if len(column) > 2 else None
            traffic = entries.traffic(verb, group, blocked, entered=entered, device=device)
            offset = 0.0 if offsets is None else offsets[rank]
            ranks.append(entries.rank(rank, traffic=[traffic], clock_offset=offset))
        return load_run(written(ranks, groups))

    return make


def test_the_last_to_come_waits_for_nobody(run):
    found = run([([1.0, 11.0], [2.5, 0.5]), ([3.0, 10.0], [0.5, 1.5])])
    assert waiting(found, ("sum", "world", "gloo")) == pytest.approx([2.0, 1.0])


def test_who_need_not_wait_does_not(run):
    """The root of a broadcast enters first and leaves at once."""
    found = run([([1.0], [0.125]), ([3.0], [0.5])], verb="broadcast")
    assert waiting(found, ("broadcast", "world", "gloo")) == pytest.approx([0.125, 0.0])


def test_groups_wait_among_themselves(run):
    found = run([([1.0], [9.0]), ([2.0], [9.0]), ([5.0], [9.0]), ([9.0], [9.0])], group="bands", groups=2)
    assert waiting(found, ("sum", "bands", "gloo")) == pytest.approx([1.0, 0.0, 4.0, 0.0])
    found = run([([1.0], [9.0]), ([2.0], [9.0]), ([5.0], [9.0]), ([9.0], [9.0])], group="kpoints", groups=2)
    assert waiting(found, ("sum", "kpoints", "gloo")) == pytest.approx([4.0, 7.0, 0.0, 0.0])


def test_clocks_of_machines_are_brought_together(run):
    found = run([([1.0], [9.0]), ([1001.0], [9.0])], offsets=[0.0, -998.0])
    assert waiting(found, ("sum", "world", "gloo")) == pytest.approx([2.0, 0.0])


def test_on_a_device_the_shortest_call_only_moves_data(run):
    found = run([([0.0, 5.0], [1e-5, 1e-5], [0.5, 0.75]), ([4.0, 5.0], [1e-5, 1e-5], [2.0, 0.25])])
    assert waiting(found, ("sum", "world", "gloo")) == pytest.approx([0.5, 1.5])


def test_waiting_is_unknown_where_calls_cannot_be_matched(run):
    unequal = run([([1.0, 2.0], [0.5, 0.5]), ([1.0], [0.5])])
    assert np.isnan(waiting(unequal, ("sum", "world", "gloo"))).all()
    strange = run([([1.0], [0.5]), ([2.0], [0.5])], group="endpoint 3")
    assert np.isnan(waiting(strange, ("sum", "endpoint 3", "gloo"))).all()
    pair = run([([1.0], [0.5]), ([2.0], [0.5])], verb="send")
    assert np.isnan(waiting(pair, ("send", "world", "gloo"))).all()


def test_every_second_call_stands_for_two(entries, written):
    ranks = []
    for rank in range(2):
        traffic = entries.traffic("sum", "world", [4.0, 4.0], entered=[10.0 - rank, 20.0])
        traffic["calls"] = 4
        for column in traffic["samples"].values():
            column["stride"] = 2
        ranks.append(entries.rank(rank, traffic=[traffic]))
    assert waiting(load_run(written(ranks)), ("sum", "world", "gloo")) == pytest.approx([0.0, 2.0])
