"""How many GPUs `eigenwerk run` takes by itself: all where they pay, one where they would only make it wait."""

from dataclasses import replace
from pathlib import Path

import pytest

from eigenwerk.cli import ranks
from eigenwerk.cli.ranks import RunOptions, usual_ranks
from eigenwerk.dft.inputs.inputs import read_inputs

OPTIONS = RunOptions(Path(), None, False, False, False, 30.0, None, "auto", "auto", "library", None, 60.0, 0.0)


@pytest.fixture(autouse=True)
def four_gpus(monkeypatch):
    """A machine with four GPUs of 80 GB, as far as the choice is concerned."""
    monkeypatch.setattr(ranks, "count_gpus", lambda: 4)
    monkeypatch.setattr(ranks, "smallest_memory_of_gpus", lambda: 80e9)


@pytest.fixture
def inputs(folder):
    """Of a folder with these tags."""
    return lambda **tags: read_inputs(folder(**tags))


def test_a_small_job_takes_one_and_says_how_to_take_all(inputs):
    count, words = usual_ranks(inputs(), OPTIONS)
    assert count == 1
    assert words.startswith("One of the 4 GPUs: ") and "--ranks 4" in words


def test_long_dynamics_take_all_where_a_step_is_shorter_on_them(inputs):
    large = {"ENCUT": 900, "NBANDS": 300}
    assert usual_ranks(inputs(IBRION=0, NSW=10**6, POTIM=1, **large), OPTIONS) == (4, "")
    assert usual_ranks(inputs(IBRION=0, NSW=2, POTIM=1, **large), OPTIONS)[0] == 1


@pytest.mark.parametrize("tags", [{"KPAR": 2}, {"IBRION": 6, "NSW": 1}, {"LHFCALC": ".TRUE."}])
def test_groups_displacements_and_exact_exchange_take_all(inputs, tags):
    assert usual_ranks(inputs(**tags), OPTIONS) == (4, "")


@pytest.mark.parametrize("asked", [{"transport": "nccl"}, {"reductions": "pairwise"}])
def test_who_asks_for_a_way_between_ranks_gets_them(inputs, asked):
    assert usual_ranks(inputs(), replace(OPTIONS, **asked)) == (4, "")


def test_what_one_gpu_does_not_hold_takes_all(inputs, monkeypatch):
    for memory in (1e8, None):
        monkeypatch.setattr(ranks, "smallest_memory_of_gpus", lambda known=memory: known)
        assert usual_ranks(inputs(), OPTIONS) == (4, ""), memory


def test_processors_have_one_rank(inputs):
    assert usual_ranks(inputs(), replace(OPTIONS, device="cpu")) == (1, "")
