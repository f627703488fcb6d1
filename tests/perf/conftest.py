"""Records of runs that never happened, with round numbers that can be checked by hand."""

import pytest

from eigenwerk.io.trace_file import TRACE_FILE, write_trace_file
from eigenwerk.record.packed import pack


def traffic_entry(verb, group, seconds, *, bytes=1000, entered=None, device=None, peers=(), transport="gloo"):
    """One function of one rank; `seconds` and `device` of each call."""
    calls = len(seconds)
    entered = list(range(calls)) if entered is None else entered
    sums = {
        "calls": calls, "bytes": bytes * calls, "seconds": sum(seconds),
        "device_seconds": None if device is None else sum(device),
    }  # fmt: skip
    columns = {"entered": entered, "blocked": seconds, "device_blocked": device or []}
    return {
        "verb": verb, "group": group, "transport": transport, **sums,
        "sizes": [{"from_bytes": 2 ** bytes.bit_length() // 2, **sums}],
        "peers": [{"rank": rank, "calls": calls, "bytes": count} for rank, count in peers],
        "samples": {name: {"stride": 1, **pack(column)} for name, column in columns.items()},
    }  # fmt: skip


def phase_entry(name, seconds, children=(), *, calls=1, device=None, bytes=0.0, flops=0.0):
    """One phase of one rank."""
    return {
        "name": name, "calls": calls, "seconds": seconds, "device_seconds": device, "bytes": bytes, "flops": flops,
        "children": list(children),
    }  # fmt: skip


def events_entry(events):
    """A timeline from (name, started, seconds, bytes)."""
    names = list(dict.fromkeys(event[0] for event in events))
    return {
        "names": names, "name": pack([names.index(event[0]) for event in events], 1),
        "started": pack([event[1] for event in events]), "seconds": pack([event[2] for event in events]),
        "bytes": pack([event[3] for event in events], 1), "dropped": 0,
    }  # fmt: skip


def rank_entry(rank, seconds=10.0, **fields):
    """One rank; anything may be replaced."""
    return {
        "rank": rank, "host": "node", "device": "cpu", "threads": 1, "seconds": seconds, "started": 100.0,
        "clock_offset": 0.0, "peak_bytes": {"host": 2**30 + rank}, "laps": {"LOOP": [1.0, 2.0 + rank], "LOOP+": [4.0]},
        "phases": [], "traffic": [], "timeline": None, "device_timeline": None,
    } | fields  # fmt: skip


@pytest.fixture
def entries():
    """The makers of entries."""

    class Makers:
        traffic = staticmethod(traffic_entry)
        phase = staticmethod(phase_entry)
        events = staticmethod(events_entry)
        rank = staticmethod(rank_entry)

    return Makers


@pytest.fixture
def written(tmp_path):
    """Writes ranks as the record of a run; returns its folder."""

    def write(ranks, groups=1, system="Si2"):
        folder = tmp_path / "case"
        folder.mkdir(exist_ok=True)
        grid = {"groups": groups, "band_ranks": len(ranks) // groups}
        write_trace_file(folder / TRACE_FILE, ranks, {"grid": grid, "system": system})
        return folder

    return write
