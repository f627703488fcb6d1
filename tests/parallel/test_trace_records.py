"""The records of all ranks meet on rank 0, from real processes, and can be put together there."""

import time

import pytest
import torch

from eigenwerk.io.trace_file import write_trace_file
from eigenwerk.parallel import clock_offset as clocks
from eigenwerk.parallel.clock_offset import clock_offset
from eigenwerk.parallel.process_grid import ProcessGrid
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.trace_records import gather_texts, gather_trace_records
from eigenwerk.perf.communication import communication
from eigenwerk.perf.run_trace import load_run
from eigenwerk.record.trace import Trace

pytestmark = pytest.mark.ranks
CPU = torch.device("cpu")


def texts_of(world):
    return gather_texts(world, "é" * (world.rank + 1) + "x" * (2 - world.rank))


def test_texts_of_any_length_arrive_in_the_order_of_ranks(ranks):
    first, second = ranks(2).run(texts_of)
    assert first == ["éxx", "ééx"] and second == []


def recorded(world):
    """What rank 0 gets after a span and a sum to which rank 1 comes late."""
    before, world.trace = world.trace, Trace()
    try:
        runtime = Runtime(grid=ProcessGrid(world), trace=world.trace)
        world.barrier()
        with world.trace.span("bands"):
            time.sleep(0.05 * world.rank)
            world.sum(torch.ones(100, dtype=torch.float64))
        return gather_trace_records(runtime)
    finally:
        world.trace = before


def test_a_sum_of_two_ranks_is_seen_by_both_and_the_last_one_did_not_wait(ranks, tmp_path):
    records, nothing = ranks(2).run(recorded)
    assert nothing == [] and [record["rank"] for record in records] == [0, 1]
    write_trace_file(tmp_path / "eigenwerk-trace.json", records, {})
    found = communication(load_run(tmp_path))
    use = next(use for use in found.functions if use.function == ("sum", "world", "gloo"))
    assert use.call_p.tolist() == [1, 1] and use.byte_p.tolist() == [800, 800]
    assert use.wait_p.min() == 0.0 and use.wait_p.max() > 0.0
    assert (use.wait_p <= use.second_p + 1e-9).all()


def offset_of(world):
    """Ranks of one machine that believe they are on several."""
    before, clocks.machine_name = clocks.machine_name, lambda: str(world.rank)
    try:
        return clock_offset(world, CPU)
    finally:
        clocks.machine_name = before


def test_questions_and_answers_of_real_ranks_find_one_clock(ranks):
    offsets = ranks(4).run(offset_of)
    assert offsets[0] == 0.0 and offsets == pytest.approx([0.0] * 4, abs=1.0)
    assert 0.0 not in offsets[1:], "the others have asked"
