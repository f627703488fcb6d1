"""Seconds and number of applications of exact exchange, and what fewer orbitals at a time save."""

from dataclasses import replace

import pytest

from eigenwerk.dft.plan.exchange_cost import application_seconds, expected_applications
from eigenwerk.dft.plan.job_size import JobSize, SpeciesSize
from eigenwerk.dft.plan.layout import ProcessLayout
from eigenwerk.dft.plan.machine import H200, processor
from eigenwerk.dft.plan.memory import EXCHANGE, estimate_memory
from eigenwerk.dft.plan.plan import plan_layout, require_room
from eigenwerk.errors import InputError

HYBRID = JobSize(
    spins=1, kpoints=8, bands=512, filled=384, plane_waves=20126,
    species=(SpeciesSize(32, 18, 10, 2), SpeciesSize(64, 13, 4, 2)), kinds=3, density_waves=34_000, dense_waves=228_000,
    columns=9_200, wave_points=54 * 56 * 56, fine_points=108 * 112 * 112, history=12, operations=4, mesh=27,
)  # fmt: skip
ONE = processor(1e12, 1)


def test_there_is_none_without_exact_exchange():
    assert application_seconds(replace(HYBRID, mesh=0), ProcessLayout(), ONE) == 0.0


def test_pairs_are_counted_and_shared():
    whole = application_seconds(HYBRID, ProcessLayout(), ONE)
    assert application_seconds(replace(HYBRID, mesh=54), ProcessLayout(), ONE) == pytest.approx(2 * whole)
    assert application_seconds(replace(HYBRID, filled=192), ProcessLayout(), ONE) == pytest.approx(whole / 2, rel=1e-3)
    assert application_seconds(replace(HYBRID, spins=2), ProcessLayout(), ONE) == pytest.approx(2 * whole)
    assert application_seconds(replace(HYBRID, real=True), ProcessLayout(), ONE) == pytest.approx(whole / 2, rel=1e-3)
    for layout in (ProcessLayout(8, 1), ProcessLayout(1, 8), ProcessLayout(4, 2)):
        assert application_seconds(HYBRID, layout, ONE) == pytest.approx(whole / 8, rel=1e-3)
    assert application_seconds(HYBRID, ProcessLayout(), H200) < whole / 20


def test_pairs_that_come_once_are_counted_once_on_any_ranks():
    every_point = replace(HYBRID, mesh=8, real=True)
    whole = application_seconds(replace(every_point, exchange_block=64), ProcessLayout(), H200)
    once = application_seconds(every_point, ProcessLayout(), H200)
    assert 0.6 * whole < once < 0.8 * whole
    for layout in (ProcessLayout(8, 1), ProcessLayout(4, 2)):
        assert application_seconds(every_point, layout, H200) == pytest.approx(once / 8, rel=1e-2)
    # all orbitals on their grids at a time do not fit into what a processor has for them
    assert application_seconds(every_point, ProcessLayout(), ONE) == pytest.approx(
        application_seconds(replace(every_point, exchange_block=64), ProcessLayout(), ONE)
    )


def test_a_gpu_takes_about_as_long_as_was_measured():
    measured = 17.6
    assert application_seconds(replace(HYBRID, mesh=8, real=True), ProcessLayout(), H200) == pytest.approx(measured,
        rel=0.15)


def test_tighter_tolerances_need_more():
    counts = [expected_applications(10.0**-x) for x in (2, 4, 5, 7, 30)]
    assert counts == sorted(counts) and counts[2] == 5 and counts[0] >= 2


def test_fewer_orbitals_at_a_time_take_less_memory_and_are_offered():
    def passing(block):
        items = estimate_memory(replace(HYBRID, exchange_block=block), ProcessLayout(), ONE).items
        return next(item.bytes for item in items if item.name == EXCHANGE)

    grid = 16 * HYBRID.wave_points
    assert passing(40) - passing(8) == pytest.approx(2 * 32 * grid, abs=2)
    # on a small device exact exchange is the largest of what passes
    small = replace(HYBRID, bands=40, filled=20, kpoints=1, mesh=1, plane_waves=800, wave_points=64**3,
                    fine_points=64**3, kinds=1)  # fmt: skip
    needs = [plan_layout(replace(small, exchange_block=block), ProcessLayout(), ONE).memory.total for block in (4, 40)]
    machine = ONE.with_memory((needs[0] + needs[1]) / 2 / (1 - ONE.spare))
    assert not plan_layout(small, ProcessLayout(), machine).fits
    with pytest.raises(InputError, match=r"This run needs .* GB.*With NBLOCK_FOCK = 16 \(orbitals that exact"):
        require_room(small, ProcessLayout(), machine)


def test_without_room_for_any_the_ranks_that_do_are_named():
    machine = H200.with_memory(9e9)
    with pytest.raises(InputError, match=r"such ranks, each with that much memory, would do; or lower ENCUT, NB"):
        require_room(HYBRID, ProcessLayout(), machine)
