"""Times of a device are those between its marks, whenever they are read, and its marks are used again."""

import pytest

from eigenwerk.record.device_times import DeviceTimes
from eigenwerk.record.packed import unpack
from eigenwerk.record.phases import Phase
from eigenwerk.record.trace import Trace
from eigenwerk.record.traffic import Traffic


class Queue:
    """A device whose clock stands at `now` where the next mark goes; it knows which marks are in use."""

    def __init__(self):
        self.now = 0.0
        self.marks = {}
        self.reads = 0

    def mark(self):
        number = len(self.marks)
        while number in self.marks:
            number += 1
        self.marks[number] = self.now
        return number

    def seconds(self, began, ended):
        self.reads += 1
        return self.marks[ended] - self.marks[began]

    def release(self, mark):
        del self.marks[mark]


def work(trace, queue, seconds):
    with trace.span("step"):
        queue.now += seconds
        with trace.span("inner"):
            queue.now += 2 * seconds


def test_spans_get_the_seconds_of_the_device():
    queue = Queue()
    trace = Trace(device_clock=queue)
    for seconds in (1.0, 2.0):
        work(trace, queue, seconds)
    (step,) = trace.as_dict()["phases"]
    assert (step["device_seconds"], step["children"][0]["device_seconds"]) == (9.0, 6.0)


def test_nothing_is_read_before_somebody_asks():
    queue = Queue()
    trace = Trace(device_clock=queue)
    work(trace, queue, 1.0)
    assert queue.reads == 0
    trace.as_dict()
    assert queue.reads > 0


def test_traffic_gets_the_seconds_from_its_mark():
    queue = Queue()
    trace = Trace(device_clock=queue)
    for seconds in (0.5, 0.25):
        began = trace.mark()
        queue.now += seconds
        trace.traffic("sum", "bands", "nccl", 8, 1e-5, began=began)
    (record,) = trace.as_dict(events=True)["traffic"]
    assert record["device_seconds"] == record["sizes"][0]["device_seconds"] == 0.75
    assert unpack(record["samples"]["device_blocked"]) == pytest.approx([0.5, 0.25])
    assert trace.root.children["communication"].device_seconds == 0.75


def test_what_travels_beside_the_work_ends_at_its_own_mark_and_holds_up_no_phase():
    queue = Queue()
    trace = Trace(device_clock=queue)
    began = trace.mark()
    queue.now += 0.5
    ended = trace.mark()
    queue.now += 2.0  # the host asks for the result late
    trace.traffic("swap", "world", "nccl", 8, 1e-5, began=began, travel=0.0, ended=ended)
    (record,) = trace.as_dict()["traffic"]
    assert record["travel_seconds"] == record["device_seconds"] == 0.5
    assert trace.root.children["communication"].device_seconds is None
    assert len(queue.marks) == 1


def test_few_marks_serve_many_spans_and_only_the_anchor_stays():
    queue = Queue()
    times = DeviceTimes(queue, now=0.0, limit=8)
    for _ in range(1000):
        times.add(queue.mark(), Phase("x"), "x")
        assert len(queue.marks) <= 2 * 8 + 1
    times.read_all()
    assert len(queue.marks) == 1


def test_events_stand_on_the_hosts_clock_over_many_batches():
    queue, phase, traffic = Queue(), Phase("x"), Traffic("sum", "world", "nccl")
    times = DeviceTimes(queue, now=100.0, limit=4)
    for _ in range(11):
        began = queue.mark()
        queue.now += 0.5
        traffic.add(8, 0.0, 0.0, ())
        times.add(began, phase, "x", traffic, 8)
        queue.now += 0.5
    times.read_all()
    assert unpack(times.timeline.as_dict()["started"]) == pytest.approx([100.0 + n for n in range(11)])
    assert phase.device_seconds == traffic.device_seconds == pytest.approx(5.5)


def test_without_a_device_clock_there_are_no_device_times():
    trace = Trace()
    work(trace, Queue(), 1.0)
    assert trace.mark() is None
    assert trace.as_dict()["phases"][0]["device_seconds"] is None


def test_a_clock_that_comes_late_counts_from_then_on():
    queue, trace = Queue(), Trace()
    with trace.span("outer"):
        queue.now += 1.0
        trace.attach(queue)
        work(trace, queue, 1.0)
    outer = trace.as_dict()["phases"][0]
    assert outer["device_seconds"] is None and outer["children"][0]["device_seconds"] == 3.0
