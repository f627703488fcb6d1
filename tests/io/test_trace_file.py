"""The record of all ranks comes back as it was, and what is no such record is refused with words."""

import json

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.trace_file import TRACE_FILE, read_trace_file, trace_document, write_trace_file
from eigenwerk.record.packed import unpack
from eigenwerk.record.trace import FORMAT_VERSION, Trace

PLACE = {"host": "node", "device": "cpu", "threads": 1, "peak_bytes": {"host": 1000}}


def record(rank):
    trace = Trace()
    with trace.span("step"):
        trace.traffic("sum", "world", "gloo", 8, 0.25, entered=10.0 + rank)
    trace.lap("LOOP", 0.5)
    return trace.as_dict(events=True) | PLACE | {"rank": rank}


def test_records_of_ranks_survive_the_file_in_the_order_of_ranks(tmp_path):
    written = [record(rank) for rank in (1, 3, 0, 2)]
    write_trace_file(tmp_path / TRACE_FILE, written, {"grid": {"groups": 2, "band_ranks": 2}, "system": "Si2"})
    document = read_trace_file(tmp_path)
    assert document == read_trace_file(tmp_path / TRACE_FILE)
    assert (document["grid"], document["system"]) == ({"groups": 2, "band_ranks": 2}, "Si2")
    assert [rank["rank"] for rank in document["ranks"]] == [0, 1, 2, 3]
    for rank in document["ranks"]:
        (original,) = [entry for entry in written if entry["rank"] == rank["rank"]]
        assert {name: original[name] for name in rank} == rank
        assert np.allclose(unpack(rank["traffic"][0]["samples"]["entered"]), [10.0 + rank["rank"]], atol=1e-9)


def test_missing_or_double_ranks_and_grids_that_do_not_fit_are_faults():
    with pytest.raises(ValueError, match="ranks"):
        trace_document([record(0), record(0)], {})
    with pytest.raises(ValueError, match="3 x 1"):
        trace_document([record(0), record(1)], {"grid": {"groups": 3, "band_ranks": 1}})


def good(tmp_path):
    write_trace_file(tmp_path / TRACE_FILE, [record(0)], {})
    return json.loads((tmp_path / TRACE_FILE).read_text())


def without(document, name):
    return {key: value for key, value in document.items() if key != name}


DAMAGED = {
    "half a file": (lambda document: json.dumps(document)[:-200], "not a whole record"),
    "binary": (lambda document: "\x89HDF\r\n", "not a whole record"),
    "other JSON": (lambda document: "[1, 2]", "not a record of a run"),
    "newer": (lambda document: json.dumps(document | {"version": FORMAT_VERSION + 1}), "newer eigenwerk"),
    "older": (lambda document: json.dumps(document | {"version": 1}), "older eigenwerk"),
    "no ranks": (lambda document: json.dumps(without(document, "ranks")), "ranks are missing"),
    "no grid": (lambda document: json.dumps(without(document, "grid")), "grid missing"),
    "no phases": (
        lambda document: json.dumps(document | {"ranks": [without(document["ranks"][0], "phases")]}),
        "phases missing",
    ),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_files_are_refused_with_their_name_and_the_reason(tmp_path, case):
    spoil, words = DAMAGED[case]
    (tmp_path / TRACE_FILE).write_text(spoil(good(tmp_path)))
    with pytest.raises(InputError, match=words) as caught:
        read_trace_file(tmp_path)
    assert str(tmp_path / TRACE_FILE) in str(caught.value)


def test_missing_files_are_named_with_a_remedy(tmp_path):
    with pytest.raises(InputError, match=r"no eigenwerk-trace.json in this folder.*give that folder"):
        read_trace_file(tmp_path)
    with pytest.raises(InputError, match="no such folder or file"):
        read_trace_file(tmp_path / "nothing")
