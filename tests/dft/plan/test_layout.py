"""The layout that is chosen: groups first, unless k-points leave ranks idle, or memory forbids it."""

import pytest

from eigenwerk.dft.plan.job_size import JobSize, SpeciesSize
from eigenwerk.dft.plan.layout import ProcessLayout, fastest_layout, possible_layouts, wished_layout
from eigenwerk.dft.plan.machine import H200, processor
from eigenwerk.dft.plan.step_cost import step_cost
from eigenwerk.errors import InputError

GAAS = JobSize(
    spins=1, kpoints=36, bands=192, filled=133, plane_waves=27278, species=(SpeciesSize(64, 13, 4, 2),), kinds=64,
    density_waves=92_000, dense_waves=309_000, columns=12_700, wave_points=70**3, fine_points=140**3,
    history=12, operations=1,
)  # fmt: skip


def chosen(size, ranks, machine=H200, room=lambda layout: 1.0):
    layouts = possible_layouts(ranks, size.kpoints)
    return fastest_layout(layouts, lambda layout: step_cost(size, layout, machine).seconds, room)


def changed(**values):
    return JobSize(**{**GAAS.__dict__, **values})


@pytest.mark.parametrize("machine", [H200, processor(16e9)])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6, 9, 12, 18, 36])
def test_k_points_that_can_be_dealt_out_evenly_make_one_group_for_each_rank(machine, ranks):
    assert chosen(GAAS, ranks, machine) == ProcessLayout(ranks, 1)


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_one_k_point_is_shared_by_all_ranks(ranks):
    assert chosen(changed(kpoints=1), ranks) == ProcessLayout(1, ranks)


def test_groups_never_outnumber_the_k_points():
    assert {layout.groups for layout in possible_layouts(12, 5)} == {1, 2, 3, 4}
    assert all(layout.ranks == 12 for layout in possible_layouts(12, 5))


def test_idle_groups_are_avoided():
    """Five k-points on four ranks: four groups would need two rounds for what two groups of two do in 1.5."""
    big = changed(kpoints=5, bands=640, plane_waves=62_000, wave_points=70 * 70 * 210)
    assert ProcessLayout(4, 1).balance(5) == pytest.approx(5 / 8)
    assert chosen(big, 4).groups < 4


def test_a_layout_that_does_not_fit_is_not_taken():
    assert chosen(GAAS, 4, room=lambda layout: 1.0 if layout.groups == 2 else -1.0) == ProcessLayout(2, 2)


def test_without_room_anywhere_the_roomiest_is_taken():
    assert chosen(GAAS, 4, room=lambda layout: -float(layout.groups)) == ProcessLayout(1, 4)


def test_time_falls_with_ranks_but_not_faster_than_their_number():
    for groups, band_ranks in ((2, 1), (4, 1), (1, 2), (1, 4), (2, 2)):
        one = step_cost(GAAS, ProcessLayout(), H200).seconds
        many = step_cost(GAAS, ProcessLayout(groups, band_ranks), H200).seconds
        assert one / (groups * band_ranks) <= many < one


def test_the_most_loaded_group_decides():
    """Nine groups of four points each, and ten groups of which some have four, take the same time per point."""
    nine, ten = (step_cost(GAAS, ProcessLayout(groups), H200) for groups in (9, 10))
    assert dict(nine.phases)["projectors"] == dict(ten.phases)["projectors"]


def test_a_wish_is_kept_and_one_rank_takes_any():
    assert [wished_layout(4, 8, kpar) for kpar in (1, 2, 4)] == [ProcessLayout(1, 4), ProcessLayout(2, 2),
        ProcessLayout(4, 1)]
    assert wished_layout(1, 8, 4) == ProcessLayout()


def test_wishes_that_do_not_fit():
    with pytest.raises(InputError, match=r"KPAR = 3 does not divide the 4 ranks. Set KPAR to 1 or 2 or 4"):
        wished_layout(4, 8, 3)
    with pytest.raises(InputError, match=r"KPAR = 4, but there are 2 irreducible k-points.*Set KPAR to 1 or 2, or"):
        wished_layout(4, 2, 4)
