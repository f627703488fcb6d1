"""Phases of all ranks come together by their places in the tree."""

import json

import numpy as np
import pytest

from eigenwerk.perf.documents import profile_document
from eigenwerk.perf.profile import profile
from eigenwerk.perf.profile_plot import draw_profile, profile_figure
from eigenwerk.perf.profile_text import profile_lines
from eigenwerk.perf.run_trace import load_run
from figure_faults import faults_of


@pytest.fixture
def two(entries, written):
    """Rank 0 has a phase that rank 1 never entered, and another order."""
    local = entries.phase("local", 2.0, bytes=6e9, calls=4, device=1.0)
    first = [entries.phase("start", 1.0), entries.phase("bands", 5.0, [local, entries.phase("files", 1.0)], device=4.0)]
    local = entries.phase("local", 4.0, bytes=6e9, calls=4, device=2.0)
    second = [entries.phase("bands", 7.0, [local], device=6.0), entries.phase("start", 2.0)]
    return load_run(written([entries.rank(0, 10.0, phases=first), entries.rank(1, 10.0, phases=second)]))


def test_phases_are_matched_by_their_place(two):
    found = profile(two)
    assert [phase.path for phase in found.phases] == [("start",), ("bands",), ("bands", "local"), ("bands", "files")]
    start, bands, local, files = found.phases
    assert start.second_p == pytest.approx([1.0, 2.0]) and files.second_p == pytest.approx([1.0, 0.0])
    assert bands.own_p == pytest.approx([2.0, 3.0]) and bands.device_seconds == pytest.approx(5.0)
    assert local.calls == 4.0 and local.depth == 1 and local.name == "local"
    assert found.rest_p == pytest.approx([4.0, 1.0])


def test_uneven_is_what_equal_shares_would_save(entries, written):
    def phases(seconds):
        return [entries.phase("work", 3.0, [entries.phase("communication", 3.0 - seconds)])]

    run = load_run(written([entries.rank(rank, phases=phases(seconds)) for rank, seconds in enumerate((2.5, 0.5))]))
    work, talk = profile(run).phases
    assert work.uneven == pytest.approx(1.0) and talk.uneven is None


def test_rates_are_those_of_the_clock_that_saw_the_work(two):
    local = profile(two).phases[2]
    assert local.rate(local.bytes) == pytest.approx(12e9 / 3.0)
    assert local.rate(local.flops) is None


def test_a_turn_takes_as_long_as_its_slowest_rank(two):
    loop, ionic = profile(two).laps
    assert (loop.name, loop.seconds) == ("LOOP", (1.0, 3.0))
    assert (ionic.name, ionic.seconds) == ("LOOP+", (4.0,))


def test_text_shows_the_tree_with_spread_loops_and_memory(two):
    lines = profile_lines(profile(two))
    head = next(line for line in lines if line.split()[:1] == ["phase"]).split()
    assert head == ["phase", "calls", "seconds", "min", "max", "own", "uneven", "device", "share", "GB/s", "GFLOP/s"]
    local = next(line for line in lines if line.split()[:1] == ["local"])
    assert local.split() == ["local", "4", "3.000", "2.000", "4.000", "3.000", "0.500", "1.500", "30.0", "%", "4.0"]
    assert local.startswith("    local")
    assert next(line for line in lines if line.split()[:2] == ["LOOP", "2"]).split() == [
        "LOOP", "2", "2.000", "1.000", "3.000", "4.000",
    ]  # fmt: skip
    assert any(line.split()[:2] == ["elapsed", "10.000"] for line in lines)
    assert any(line.split()[:1] == ["host"] and "1 GiB" in line for line in lines)


def test_one_rank_without_a_device_has_fewer_columns(entries, written):
    lines = profile_lines(profile(load_run(written([entries.rank(0, phases=[entries.phase("a", 1.0)])]))))
    head = next(line for line in lines if line.split()[:1] == ["phase"]).split()
    assert head == ["phase", "calls", "seconds", "own", "share", "GB/s", "GFLOP/s"]


def test_document_holds_the_same_numbers(two):
    document = json.loads(json.dumps(profile_document(profile(two)), allow_nan=False))
    assert document["phases"][2]["path"] == ["bands", "local"]
    assert document["phases"][2]["seconds"] == [2.0, 4.0] and document["phases"][0]["device_seconds"] == [None, None]
    assert document["loops"]["LOOP"] == [1.0, 3.0]
    assert document["everything_else_seconds"] == pytest.approx([4.0, 1.0])


@pytest.mark.fast("laps1-0.5")
@pytest.mark.parametrize("device", [None, 0.5])
@pytest.mark.parametrize("laps", [{}, {"LOOP": [1.0, 2.0, 1.5]}])
def test_picture_is_drawn_whatever_was_recorded(entries, written, tmp_path, device, laps):
    phases = [entries.phase(f"phase {number}", 0.1 * number, device=device) for number in range(25)]
    found = profile(load_run(written([entries.rank(0, phases=phases, laps=laps)])))
    draw_profile(tmp_path / "picture.png", found)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.fast("1e-07")
@pytest.mark.parametrize("scale", [1e-7, 1e5])
def test_words_of_the_picture_stand_apart(entries, written, scale):
    inner = [entries.phase(f"a phase of a long name inside {i}", scale * i, device=0.1 * scale) for i in range(1, 25)]
    phases = [entries.phase("a phase of a long name that holds others", 300 * scale, inner, device=scale)]
    laps = {"LOOP": [scale * (1 + 0.001 * i) for i in range(300)]}
    ranks = [entries.rank(rank, phases=phases, laps=laps, host=f"long-name-of-a-node-{rank}") for rank in range(5)]
    assert faults_of(profile_figure(profile(load_run(written(ranks, system="Ba8Ca4Cu12Hg4O32" * 12))))) == []


def test_all_time_is_accounted_for(two):
    found = profile(two)
    assert np.allclose(sum(phase.own_p for phase in found.phases) + found.rest_p, found.elapsed_p)
