"""One GPU or all of them, by what all would save and what it costs to bring ranks together; threads by the size."""

from dataclasses import replace

import pytest

from eigenwerk.dft.plan.useful import (
    FEWEST,
    FIRST_STEPS,
    LIKELY_RELAXED,
    NEXT_STEPS,
    SECONDS_TO_MEET,
    GpuChoice,
    likely_steps,
    useful_gpus,
    useful_threads,
)

GB80 = 80 * 2**30


@pytest.fixture
def large(size):
    """As 64 atoms in place of two, at 200 k-points."""
    species = tuple(replace(one, atoms=32 * one.atoms) for one in size.species)
    many = {name: 32 * getattr(size, name) for name in ("bands", "filled", "plane_waves", "wave_points", "fine_points")}
    return replace(size, species=species, kpoints=200, **many)


def test_a_small_cell_takes_one_gpu(size):
    choice = useful_gpus(size, 4, GB80, FIRST_STEPS)
    assert choice.ranks == 1 and choice.saved < SECONDS_TO_MEET


def test_a_large_one_takes_all_and_saves_more_than_they_cost(large):
    choice = useful_gpus(large, 4, GB80, FIRST_STEPS)
    assert choice.ranks == 4 and choice.saved > SECONDS_TO_MEET


def test_many_steps_pay_for_more_gpus(size):
    few, many = (useful_gpus(size, 4, GB80, steps) for steps in (FIRST_STEPS, 10**6))
    assert (few.ranks, many.ranks) == (1, 4)


def test_what_one_gpu_does_not_hold_takes_all(large):
    assert useful_gpus(large, 4, 4 * 2**30, 1).ranks == 4
    assert useful_gpus(large, 4, GB80, 1).ranks == 1


def test_exact_exchange_and_unknown_memory_take_all(size):
    assert useful_gpus(size, 4, None, 1) == GpuChoice(4)
    assert useful_gpus(replace(size, mesh=64), 4, GB80, 1) == GpuChoice(4)


def test_steps_of_relaxations_are_bounded_those_of_dynamics_are_not():
    assert likely_steps(0) == FIRST_STEPS
    assert likely_steps(1000, relaxes=True) == FIRST_STEPS + NEXT_STEPS * LIKELY_RELAXED
    assert likely_steps(1000) == FIRST_STEPS + NEXT_STEPS * 1000


def test_a_small_cell_leaves_cores_alone(size):
    assert useful_threads(size, 16) == FEWEST and useful_threads(size, 1) == 1


def test_more_work_takes_more_threads_up_to_all_cores(size):
    """As 64 atoms in place of two."""
    species = tuple(replace(one, atoms=32 * one.atoms) for one in size.species)
    large = replace(size, bands=32 * size.bands, plane_waves=32 * size.plane_waves, species=species)
    assert FEWEST < useful_threads(replace(size, kpoints=40 * size.kpoints), 64) < 64
    assert [useful_threads(large, cores) for cores in (1, 4, 64)] == [1, 4, 64]
