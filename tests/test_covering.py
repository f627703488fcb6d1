"""Covering arrays of tests: nothing is lost, every pair runs, and runs are few."""

from itertools import combinations, product
from types import SimpleNamespace

import pytest

from covering import covering, covering_array, mark_slow

FACTORS = ("a", "b", "c", "d", "e"), (1, 2, 4), (True, False), ("gloo", "mpi")


def pairs(rows):
    return {pair for row in rows for pair in combinations(enumerate(row), 2)}


def test_every_pair_is_in_the_array_and_the_array_is_small():
    every = list(product(*FACTORS))
    chosen = covering_array(every)
    assert pairs(chosen) == pairs(every)
    assert 15 <= len(chosen) <= 18 < len(every) == 60  # 5 * 3 pairs of the longest two are the least


def test_with_one_value_at_a_time_the_longest_factor_says_how_many():
    chosen = covering_array(list(product(*FACTORS)), together=1)
    assert len(chosen) == 5
    for place, factor in enumerate(FACTORS):
        assert {row[place] for row in chosen} == set(factor)


def test_all_that_is_possible_runs_and_what_is_not_in_the_array_is_slow():
    params = covering(
        *FACTORS,
        possible=lambda name, size, spins, transport: name != "a" or size == 1,
        fast=lambda name, size, spins, transport: size < 4,
    )
    rows = [tuple(param.values) for param in params]
    possible = [row for row in product(*FACTORS) if row[0] != "a" or row[1] == 1]
    assert rows == possible
    fast = [row for row, param in zip(rows, params, strict=True) if not param.marks]
    assert all(param.marks == (pytest.mark.slow,) for param in params if param.marks)
    assert all(row[1] < 4 for row in fast)
    assert pairs(fast) == pairs([row for row in possible if row[1] < 4])


class Case:
    """A test of this name, marked `fast`; hashable and with marks, as those of pytest."""

    def __init__(self, name, fast):
        self.nodeid, self.callspec, self.marks = f"test_x[{name}]", SimpleNamespace(id=name), []
        self.add_marker, self._fast = self.marks.append, pytest.mark.fast(*fast).mark

    def get_closest_marker(self, name):
        return self._fast if name == "fast" else None


def test_cases_that_are_not_named_fast_are_slow():
    items = [Case(name, ("metal-*",)) for name in ("metal-2", "metal-4", "Gamma-2")]
    mark_slow(items)
    assert [item.marks for item in items] == [[], [], [pytest.mark.slow]]


def test_a_name_without_a_case_is_an_error():
    with pytest.raises(pytest.UsageError, match="no case has the name insulator-"):
        mark_slow([Case("metal-2", ("metal-2", "insulator-*"))])
