"""Records become values, and damage inside them becomes a message that names the file."""

import json

import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.trace_file import TRACE_FILE
from eigenwerk.perf.run_trace import load_run


def test_phases_traffic_and_events_of_a_rank(entries, written):
    inner = entries.phase("local", 2.0, device=1.5, bytes=8.0)
    rank = entries.rank(
        0, phases=[entries.phase("bands", 5.0, [inner], device=4.0)], clock_offset=1.0,
        traffic=[entries.traffic("send", "world", [0.5], peers=[(0, 77)])],
        timeline=entries.events([("bands", 100.25, 0.5, 3)]),
    )  # fmt: skip
    run = load_run(written([rank]))
    (found,) = run.ranks
    bands, local = found.phases
    assert (bands.path, bands.own_seconds, bands.own_device_seconds) == (("bands",), 3.0, 2.5)
    assert (local.path, local.bytes) == (("bands", "local"), 8.0)
    traffic = found.traffic["send", "world", "gloo"]
    assert (traffic.held, dict(traffic.peers), traffic.sizes[0].from_bytes) == (0.5, {0: (1, 77)}, 512)
    assert (found.started, found.events.started.tolist(), found.events.names) == (101.0, [101.25], ("bands",))
    assert found.communication == 0.5 and run.about["system"] == "Si2"


def test_ranks_of_the_groups_of_a_grid(entries, written):
    run = load_run(written([entries.rank(rank) for rank in range(6)], groups=2))
    assert run.groups_of("world") == [(0, 1, 2, 3, 4, 5)]
    assert run.groups_of("bands") == [(0, 1, 2), (3, 4, 5)]
    assert run.groups_of("kpoints") == [(0, 3), (1, 4), (2, 5)]
    assert run.groups_of("something else") == []


def spoil_column(document):
    document["ranks"][0]["traffic"][0]["samples"]["entered"]["packed"] = "abc"


SPOILED = {
    "a column": spoil_column,
    "a phase without name": lambda document: document["ranks"][0]["phases"][0].pop("name"),
    "a word for a number": lambda document: document["ranks"][0].update(seconds="long"),
    "a partner that does not exist": lambda document: document["ranks"][0]["traffic"][0].update(
        peers=[{"rank": 7, "calls": 1, "bytes": 1}]
    ),
    "a grid of another size": lambda document: document["grid"].update(groups=3),
    "no time": lambda document: document["ranks"][0].update(seconds=0.0),
    "a list for a tree": lambda document: document["ranks"][0].update(laps=[]),
}


@pytest.mark.parametrize("case", SPOILED)
def test_damage_inside_is_refused_with_the_name_of_the_file(entries, written, case):
    rank = entries.rank(0, phases=[entries.phase("a", 1.0)], traffic=[entries.traffic("sum", "world", [0.5])])
    path = written([rank]) / TRACE_FILE
    document = json.loads(path.read_text())
    load_run(path)
    SPOILED[case](document)
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="damaged") as caught:
        load_run(path)
    assert str(path) in str(caught.value)
