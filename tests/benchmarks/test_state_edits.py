"""States that somebody edited, with checksums that fit: a run goes on from them, or says what is wrong."""

import random
import runpy

import pytest


@pytest.fixture(scope="module")
def edits(repository):
    return runpy.run_path(str(repository / "benchmarks" / "robustness" / "state_edits.py"))


@pytest.mark.slow
def test_edited_states_are_used_or_refused_in_words(edits, tmp_path):
    """The first of those that the script makes; `refused` means InputError."""
    trees = edits["base_states"](tmp_path)
    ends = [edits["attempt"](tmp_path, trees, 14, number) for number in range(15)]
    assert {end for end, _, _ in ends} == {"went on", "refused"}, ends


def test_an_edit_can_be_made_again(edits, tmp_path):
    tree = {"density": {"index_gc": [1, 2]}, "status": {"converged": True, "words": "x"}}
    copies = [edits["copied"](tree) for _ in range(2)]
    assert len({edits["edit_tree"](copy, random.Random("1 2")) for copy in copies}) == 1 and copies[0] == copies[1]
