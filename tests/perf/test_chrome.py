"""The timeline is in the format that viewers of Chrome traces read, one process per rank."""

import json

import pytest

from eigenwerk.perf.chrome import write_chrome_trace
from eigenwerk.perf.run_trace import load_run


@pytest.fixture
def trace(entries, written, tmp_path):
    """What is written for two ranks, the second one on another machine and with a device."""
    ranks = [
        entries.rank(0, timeline=entries.events([("local", 100.5, 0.25, 0), ("bands", 100.0, 1.0, 0)])),
        entries.rank(
            1, started=1100.0, clock_offset=-999.0, device="NVIDIA H200 GPU-1", host="other",
            timeline=entries.events([("sum world", 1101.0, 0.5, 77)]),
            device_timeline=entries.events([("sum world", 1101.25, 0.5, 77)]),
        ),
    ]  # fmt: skip
    count = write_chrome_trace(tmp_path / "chrome.json", load_run(written(ranks)))
    return count, json.loads((tmp_path / "chrome.json").read_text())["traceEvents"]


def test_events_are_complete_and_in_microseconds_from_the_first_start(trace):
    count, events = trace
    complete = [event for event in events if event["ph"] == "X"]
    assert count == len(complete) == 4
    assert [(event["name"], event["pid"], event["tid"], event["ts"], event["dur"]) for event in complete] == [
        ("local", 0, 0, 0.5e6, 0.25e6), ("bands", 0, 0, 0.0, 1e6), ("sum world", 1, 0, 2e6, 0.5e6),
        ("sum world", 1, 1, 2.25e6, 0.5e6),
    ]  # fmt: skip
    assert complete[2]["args"] == {"bytes": 77} and "args" not in complete[0]


def test_ranks_and_tracks_have_names(trace):
    threads = [event for event in trace[1] if event["name"] == "thread_name"]
    names = {(event["pid"], event["tid"]): event["args"]["name"] for event in threads}
    assert names == {(0, 0): "host", (1, 0): "host", (1, 1): "device"}
    processes = [event["args"]["name"] for event in trace[1] if event["name"] == "process_name"]
    assert processes == ["rank 0 on node (cpu)", "rank 1 on other (NVIDIA H200 GPU-1)"]
