"""The recorder counts what was done, where it was done, and costs next to nothing."""

import json
import sys

import pytest

from eigenwerk.record.phases import Phase
from eigenwerk.record.trace import FORMAT_VERSION, Trace


class Clock:
    """A clock that is moved by hand, in place of time.perf_counter."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("eigenwerk.record.trace.time.perf_counter", clock)
    return clock


def test_nested_spans_make_a_tree_with_calls_and_seconds(clock):
    trace = Trace()
    for _ in range(3):
        with trace.span("step"):
            clock.now += 1.0
            with trace.span("hamiltonian"):
                clock.now += 4.0
    step = trace.root.children["step"]
    assert (step.calls, step.seconds, sum(child.seconds for child in step.children.values())) == (3, 15.0, 12.0)
    assert (step.children["hamiltonian"].calls, step.children["hamiltonian"].seconds) == (3, 12.0)
    assert list(trace.root.children) == ["step"]


def test_same_name_at_two_places_is_two_phases(clock):
    trace = Trace()
    with trace.span("fft"):
        clock.now += 1.0
    with trace.span("density"), trace.span("fft"):
        clock.now += 2.0
    assert trace.root.children["fft"].seconds == 1.0
    assert trace.root.children["density"].children["fft"].seconds == 2.0


def test_a_phase_inside_itself_is_its_own_child(clock):
    trace = Trace()
    with trace.span("a"), trace.span("a"):
        clock.now += 1.0
    assert trace.root.children["a"].seconds == 1.0
    assert trace.root.children["a"].children["a"].seconds == 1.0


def test_bytes_and_flops_belong_to_the_span_not_to_the_outer_one():
    trace = Trace()
    with trace.span("outer"):
        with trace.span("sum", bytes=80):
            pass
        with trace.span("sum", bytes=20, flops=7):
            trace.add(flops=3)
        trace.add(bytes=5)
    outer = trace.root.children["outer"]
    assert (outer.bytes, outer.flops) == (5, 0)
    assert (outer.children["sum"].bytes, outer.children["sum"].flops) == (100, 10)


def test_an_error_inside_still_counts_and_closes_the_span(clock):
    trace = Trace()
    with pytest.raises(ValueError), trace.span("outer"), trace.span("inner"):
        clock.now += 2.0
        raise ValueError
    with trace.span("after"):
        pass
    assert list(trace.root.children) == ["outer", "after"]
    assert trace.root.children["outer"].calls == 1
    assert trace.root.children["outer"].children["inner"].seconds == 2.0


def test_as_dict_survives_json_and_keeps_the_tree(clock):
    trace = Trace()
    with trace.span("a", bytes=1), trace.span("b", flops=2):
        clock.now += 0.5
    record = json.loads(json.dumps(trace.as_dict()))
    assert (record["format"], record["version"], record["seconds"]) == ("eigenwerk-trace", FORMAT_VERSION, 0.5)
    (a,) = record["phases"]
    assert (a["name"], a["calls"], a["seconds"], a["bytes"]) == ("a", 1, 0.5, 1)
    assert [(b["name"], b["flops"], b["children"]) for b in a["children"]] == [("b", 2, [])]


def test_disabled_trace_records_nothing():
    trace = Trace(enabled=False)
    with trace.span("a", bytes=1) as span, trace.span("b"):
        trace.add(flops=1)
    assert trace.root == Phase("run")
    assert trace.span("c") is span


def test_a_span_costs_a_few_calls_however_many_came_before():
    """A microsecond each; benchmarks/parts/trace_cost measures it."""
    trace = Trace()
    first, *_, last = (_calls_of_a_span(trace) for _ in range(1000))
    assert 0 < last <= first and last <= 24  # 17 today


def _calls_of_a_span(trace):
    """Functions that are called, of Python and of C."""
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        with trace.span("x"):
            pass
    finally:
        sys.setprofile(None)
    return calls


def test_traffic_is_counted_by_verb_group_and_transport(clock):
    trace = Trace()
    with trace.span("bands"):
        trace.traffic("sum", "bands", "gloo", 1024, 0.5, clock.now)
        trace.traffic("sum", "bands", "gloo", 1025, 0.25, clock.now)
        trace.traffic("sum", "world", "gloo", 8, 0.125, clock.now)
    bands, world = trace.as_dict()["traffic"]
    assert (bands["group"], bands["calls"], bands["bytes"], bands["seconds"]) == ("bands", 2, 2049, 0.75)
    assert (world["group"], world["calls"], world["bytes"], world["seconds"]) == ("world", 1, 8, 0.125)
    assert trace.root.children["bands"].children["communication"].calls == 3
    assert trace.root.children["bands"].children["communication"].seconds == 0.875


def test_sizes_of_messages_are_sorted_into_powers_of_two():
    trace = Trace()
    for bytes in (0, 1, 7, 8, 15, 16):
        trace.traffic("broadcast", "world", "mpi", bytes, 1.0)
    (record,) = trace.as_dict()["traffic"]
    assert [(size["from_bytes"], size["calls"], size["bytes"]) for size in record["sizes"]] == [
        (0, 1, 0), (1, 1, 1), (4, 1, 7), (8, 2, 23), (16, 1, 16),
    ]  # fmt: skip


def test_partners_of_point_to_point_are_counted_each():
    trace = Trace()
    trace.traffic("send", "world", "gloo", 10, 0.1, peers=[(3, 10)])
    trace.traffic("send", "world", "gloo", 30, 0.1, peers=[(3, 20), (1, 10)])
    (record,) = trace.as_dict()["traffic"]
    assert record["peers"] == [{"rank": 1, "calls": 1, "bytes": 10}, {"rank": 3, "calls": 2, "bytes": 30}]


def test_disabled_trace_records_no_traffic():
    trace = Trace(enabled=False)
    trace.traffic("sum", "world", "gloo", 8, 1.0)
    assert trace.as_dict()["traffic"] == [] and trace.root == Phase("run")
