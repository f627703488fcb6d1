"""Sums over functions, sizes, ranks and pairs are those of the records."""

import json

import numpy as np
import pytest

from eigenwerk.perf.communication import communication
from eigenwerk.perf.communication_plot import communication_figure, draw_communication
from eigenwerk.perf.communication_text import communication_lines
from eigenwerk.perf.documents import communication_document
from eigenwerk.perf.run_trace import load_run
from figure_faults import faults_of

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def two(entries, written):
    """Two ranks: rank 1 comes to every sum one second late; rank 0 sends it a message; rank 1 alone gathers."""
    first = [
        entries.traffic("sum", "world", [1.5, 1.5], entered=[10.0, 20.0], bytes=1000),
        entries.traffic("send", "world", [0.25], peers=[(1, 3000)], bytes=3000),
    ]
    second = [
        entries.traffic("sum", "world", [0.5, 0.5], entered=[11.0, 21.0], bytes=1000),
        entries.traffic("exchange", "bands", [0.125], peers=[(0, 5), (1, 500)], bytes=505),
    ]
    return load_run(written([entries.rank(0, 10.0, traffic=first), entries.rank(1, 10.0, traffic=second)]))


def test_functions_are_summed_over_ranks_and_sorted_by_time(two):
    found = communication(two)
    assert [use.function[0] for use in found.functions] == ["sum", "send", "exchange"]
    use = found.functions[0]
    assert (use.calls, use.message, use.seconds) == (2.0, 1000.0, 2.0)
    assert use.wait_p == pytest.approx([2.0, 0.0]) and use.waiting == pytest.approx(1.0)
    assert use.rate == pytest.approx(4000 / (4.0 - 2.0))
    assert found.functions[1].waiting is None and found.functions[1].rate is None


def test_the_time_of_a_rank_is_work_moving_and_waiting(two):
    found = communication(two)
    assert found.held_p == pytest.approx([3.25, 1.125])
    assert found.work_p == pytest.approx([6.75, 8.875])
    assert found.wait_p == pytest.approx([2.0, 0.0])
    assert found.share == pytest.approx((0.325 + 0.1125) / 2)
    assert found.imbalance == pytest.approx(8.875 / 7.8125 - 1)


def test_sizes_of_all_ranks_come_together_without_gaps(two):
    found = communication(two)
    assert [entry.from_bytes for entry in found.sizes] == [256, 512, 1024, 2048]
    assert [entry.calls for entry in found.sizes] == [1, 4, 0, 1]
    assert [entry.seconds for entry in found.sizes] == pytest.approx([0.125, 4.0, 0.0, 0.25])


def test_pairs_are_counted_from_row_to_column_and_nobody_sends_to_himself(two):
    found = communication(two)
    assert found.sent_pp.tolist() == [[0, 3000], [5, 0]]
    assert found.call_pp.tolist() == [[0, 1], [1, 0]]


def test_only_five_are_at_the_top(entries, written):
    traffic = [entries.traffic(f"verb{number}", "world", [1.0 + number]) for number in range(7)]
    found = communication(load_run(written([entries.rank(0, 100.0, traffic=traffic)])))
    assert [use.function[0] for use in found.top] == ["verb6", "verb5", "verb4", "verb3", "verb2"]


def test_text_names_what_a_person_wants_to_know(two):
    text = "\n".join(communication_lines(communication(two)))
    for words in (
        "Si2", "2 ranks: 1 k-group x 2 band ranks", "imbalance: rank 1 works 13.6 % longer", "21.9 %",
        "1. sum over world (gloo): 2.000 s, 20.0 % of elapsed, of that 1.000 s waiting", "from 0", "2.93 KiB", "to 1",
    ):  # fmt: skip
        assert words in text, words


def test_one_rank_alone_has_nothing_to_tell(entries, written):
    lines = communication_lines(communication(load_run(written([entries.rank(0)]))))
    assert "one rank alone" in lines[-1]


def test_document_holds_the_same_numbers(two):
    document = json.loads(json.dumps(communication_document(communication(two)), allow_nan=False))
    assert document["format"] == "eigenwerk-perf-communication"
    assert document["functions"][0]["waiting_seconds"] == pytest.approx([2.0, 0.0])
    assert document["functions"][1]["waiting_seconds"] == [None, None]
    assert document["bytes_from_to"] == [[0, 3000], [5, 0]]
    assert document["grid"] == {"groups": 1, "band_ranks": 2}


@pytest.mark.slow
@pytest.mark.fast("peers1")
@pytest.mark.parametrize("peers", [(), [(1, 3000)]])
def test_picture_is_drawn_with_and_without_pairs(entries, written, tmp_path, peers):
    traffic = [entries.traffic("send", "world", [0.25], peers=peers)]
    found = communication(load_run(written([entries.rank(rank, traffic=traffic) for rank in range(2)])))
    draw_communication(tmp_path / "picture.png", found)
    assert (tmp_path / "picture.png").read_bytes().startswith(PNG)


@pytest.mark.slow
def test_words_of_the_picture_stand_apart(entries, written):
    """Many functions of one long name, many ranks, small and large messages, a system of any length."""
    functions = [("sum_of_several_endpoints", f"group {i}") for i in range(12)]
    traffic = [entries.traffic(*one, [1e-7], peers=[(1, 3)], bytes=2 ** (2 * i)) for i, one in enumerate(functions)]
    ranks = [entries.rank(rank, traffic=traffic, host=f"long-name-of-a-node-{rank}") for rank in range(7)]
    found = communication(load_run(written(ranks, system="Ba8Ca4Cu12Hg4O32" * 12)))
    assert faults_of(communication_figure(found)) == []


def test_times_of_a_device_stand_in_place_of_the_hosts(entries, written):
    traffic = [entries.traffic("sum", "world", [1e-5], device=[0.5], bytes=64, transport="nccl")]
    found = communication(load_run(written([entries.rank(0, traffic=traffic)])))
    assert found.held_p == pytest.approx([0.5]) and found.functions[0].on_device
    assert found.sizes[0].seconds == pytest.approx(0.5)
    assert np.isclose(found.share, 0.05)
