"""`eigenwerk perf` as its users see it: words, pictures, exit codes."""

import json
import shutil

import pytest

from eigenwerk.cli.main import main
from eigenwerk.io.trace_file import TRACE_FILE, trace_document
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.trace_records import gather_trace_records
from eigenwerk.record.trace import Trace
from warm_start import warm_run

SILICON = {
    "POSCAR": "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .26\n",
    "KPOINTS": "mesh\n0\nGamma\n2 2 1\n",
    "INCAR": "ENCUT = 150\nEDIFF = 1E-9\nNELM = 2\nISMEAR = 0\nSIGMA = 0.05\nNBANDS = 6\nKPAR = 1\n",
}
"""Two steps of self-consistency that reach nothing."""


@pytest.fixture
def run(tmp_path):
    """The folder of a run of one rank that recorded one of everything."""
    runtime = Runtime(trace=Trace())
    with runtime.trace.span("bands"), runtime.trace.span("local", bytes=8.0):
        runtime.trace.traffic("sum", "world", "gloo", 800, 1e-4, entered=1.0)
    runtime.trace.lap("LOOP", 0.5)
    document = trace_document(gather_trace_records(runtime), {"system": "Si2"})
    folder = tmp_path / "case"
    folder.mkdir()
    (folder / TRACE_FILE).write_text(json.dumps(document))
    return folder


@pytest.mark.slow
def test_communication_prints_and_draws(run, capsys):
    assert main(["perf", "communication", str(run)]) == 0
    out, err = capsys.readouterr()
    assert "The top five" in out and "sum over world (gloo)" in out and err == ""
    assert str(run / "communication.png") in out
    assert (run / "communication.png").read_bytes().startswith(b"\x89PNG")


def test_profile_prints_draws_and_writes_a_timeline(run, capsys):
    assert main(["perf", "profile", str(run / TRACE_FILE), "--chrome", str(run / "timeline.json")]) == 0
    out, _ = capsys.readouterr()
    assert "bands" in out and "LOOP" in out and "elapsed" in out and "timeline.json, 3 events" in out
    assert (run / "profile.png").read_bytes().startswith(b"\x89PNG")
    events = json.loads((run / "timeline.json").read_text())["traceEvents"]
    assert {event["name"] for event in events if event["ph"] == "X"} == {"bands", "local", "sum world"}


@pytest.mark.parametrize(("command", "key"), [("communication", "functions"), ("profile", "phases")])
def test_json_is_all_that_is_printed_and_nothing_is_drawn(run, capsys, command, key):
    assert main(["perf", command, str(run), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["format"] == f"eigenwerk-perf-{command}" and document[key]
    assert [path.name for path in run.iterdir()] == [TRACE_FILE]


@pytest.mark.fast("profile")
@pytest.mark.parametrize("command", ["communication", "profile"])
def test_a_picture_can_be_left_out_or_put_elsewhere(run, tmp_path, command):
    assert main(["perf", command, str(run), "--no-plot"]) == 0
    assert main(["perf", command, str(run), "--plot", str(tmp_path / "other.png")]) == 0
    assert [path.name for path in run.iterdir()] == [TRACE_FILE] and (tmp_path / "other.png").is_file()


def test_a_picture_that_was_asked_for_and_cannot_be_written_is_an_error(run, tmp_path, capsys):
    assert main(["perf", "profile", str(run), "--plot", str(tmp_path / "no" / "where.png")]) == 2
    message = capsys.readouterr().err
    assert "where.png" in message and "--plot" in message and "--output" not in message


@pytest.mark.parametrize("command", ["communication", "profile", "schemes"])
def test_a_name_that_is_no_picture_is_refused_before_a_word(run, tmp_path, capsys, command):
    assert main(["perf", command, str(run), "--plot", str(tmp_path / "x.foo")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and "pictures are PNG, SVG or PDF" in err and not (tmp_path / "x.foo").exists()


def test_the_usual_picture_may_fail(run, capsys):
    (run / "profile.png").mkdir()
    assert main(["perf", "profile", str(run)]) == 0
    assert "No picture" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["communication", "profile"])
def test_missing_and_damaged_records_are_bad_input(run, capsys, command):
    (run / TRACE_FILE).write_text((run / TRACE_FILE).read_text()[:-9])
    assert main(["perf", command, str(run)]) == 2
    assert "not a whole record" in capsys.readouterr().err
    shutil.rmtree(run)
    assert main(["perf", command, str(run)]) == 2
    assert "no such folder or file" in capsys.readouterr().err


@pytest.mark.ranks
def test_a_run_on_two_ranks_tells_where_its_time_went(tmp_path, capsys):
    for name, text in SILICON.items():
        (tmp_path / name).write_text(text)
    done = warm_run(["-m", "eigenwerk.cli.main", "run", str(tmp_path), "--ranks", "2", "--no-plot"])
    assert done.returncode == 3, done.stdout + done.stderr
    assert main(["perf", "communication", str(tmp_path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["ranks"] == 2 and document["grid"] == {"groups": 1, "band_ranks": 2}
    used = {(function["verb"], function["group"]): function for function in document["functions"]}
    turns = used["all_to_all", "bands"]
    assert turns["transport"] == "gloo" and turns["calls"][0] == turns["calls"][1] > 0
    assert None not in turns["waiting_seconds"] and sum(turns["waiting_seconds"]) <= sum(turns["seconds"])
    sent = document["bytes_from_to"]
    assert sent[0][1] > 0 and sent[1][0] > 0 and sent[0][0] == sent[1][1] == 0
    for elapsed, work, talk in zip(
        document["elapsed_seconds"], document["work_seconds"], document["communication_seconds"], strict=True
    ):
        assert elapsed == pytest.approx(work + talk) and 0 < talk < elapsed
    assert main(["perf", "profile", str(tmp_path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["loops"]["LOOP"]) == 2 and len(document["loops"]["LOOP+"]) == 1
    assert ["bands", "local", "communication"] in [phase["path"] for phase in document["phases"]]
