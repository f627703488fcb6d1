"""Covering arrays of tests: nothing is lost, every pair runs, and runs are few."""

from itertools import combinations, product

import pytest

from covering import covering, covering_array

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
