"""The clock of a GPU sees the work in its queue, not the host that queues it."""

import time
from itertools import pairwise

import pytest
import torch

from eigenwerk.parallel.device_clock import CudaClock, record_device
from eigenwerk.record.packed import unpack
from eigenwerk.record.trace import Trace


def test_a_processor_has_no_clock_of_its_own():
    trace = Trace()
    record_device(trace, torch.device("cpu"))
    with trace.span("x"):
        pass
    assert trace.as_dict()["phases"][0]["device_seconds"] is None


@pytest.mark.gpu
def test_events_count_the_work_and_are_used_again():
    device = torch.device("cuda", 0)
    clock = CudaClock(device)
    matrix = torch.ones(4096, 4096, device=device)
    marks = [clock.mark()]
    for _ in range(2):
        for _ in range(10):
            matrix = matrix @ matrix * 1e-4
        marks.append(clock.mark())
    first, second = (clock.seconds(before, after) for before, after in pairwise(marks))
    assert first > 0 and second > 0
    assert clock.seconds(marks[0], marks[2]) == pytest.approx(first + second, abs=1e-5)
    assert clock.seconds(marks[2], marks[0]) == pytest.approx(-(first + second), abs=1e-5), "also backwards"
    clock.release(marks[0])
    assert clock.mark() is marks[0]


@pytest.mark.gpu
def test_spans_of_thousands_of_events_stand_on_the_hosts_clock():
    device = torch.device("cuda", 0)
    trace = Trace()
    record_device(trace, device)
    vector = torch.ones(1000, device=device)
    with trace.span("outer"):  # begins before the anchor of the last batch
        for _ in range(6000):
            with trace.span("inner"):
                vector = vector * 1.0
    torch.cuda.synchronize(device)
    ended = time.perf_counter()
    record = trace.as_dict(events=True)
    outer = record["phases"][0]
    assert 0 < outer["children"][0]["device_seconds"] < outer["device_seconds"]
    started_x, seconds_x = (unpack(record["device_timeline"][name]) for name in ("started", "seconds"))
    assert len(started_x) == 6001 and (seconds_x >= 0).all()
    assert record["started"] <= started_x.min() and (started_x + seconds_x).max() <= ended + 0.01
    assert started_x[-1] <= started_x[:-1].min() + 1e-4, "the outer span, which ended last, began first"
