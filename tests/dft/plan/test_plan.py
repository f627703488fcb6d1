"""Plans: what fits is taken, what does not is refused with the smallest change that would run."""

import re
from dataclasses import replace

import pytest

from eigenwerk.dft.plan.job_size import JobSize, SpeciesSize
from eigenwerk.dft.plan.layout import ProcessLayout
from eigenwerk.dft.plan.machine import H200, processor
from eigenwerk.dft.plan.plan import choose_layout, make_plan, plan_layout, require_room, smallest_plan
from eigenwerk.dft.plan.step_cost import points_per_block, step_cost
from eigenwerk.errors import InputError

HAFNIA = JobSize(
    spins=1, kpoints=8, bands=512, filled=384, plane_waves=20126,
    species=(SpeciesSize(32, 18, 10, 2), SpeciesSize(64, 13, 4, 2)), kinds=3, density_waves=34_000, dense_waves=228_000,
    columns=9_200, wave_points=54 * 56 * 56, fine_points=108 * 112 * 112, history=12, operations=4,
)  # fmt: skip


def test_memory_decides_between_groups_and_band_ranks():
    """Eight groups are fastest while each has room for its own k-points; the projectors alone are 0.45 GB per point."""
    plenty, little = H200, H200.with_memory(3.1e9)
    assert choose_layout(HAFNIA, 8, plenty) == ProcessLayout(8, 1)
    assert not plan_layout(HAFNIA, ProcessLayout(1, 1), little).fits
    taken = make_plan(HAFNIA, 64, little)
    assert taken.layout.band_ranks > 1 and taken.fits


def test_kpar_is_obeyed_or_refused():
    assert choose_layout(HAFNIA, 8, H200, groups=2) == ProcessLayout(2, 4)
    with pytest.raises(InputError, match=r"KPAR = 3 does not divide the 8 ranks. Set KPAR to 1 or 2 or 4 or 8,"):
        choose_layout(HAFNIA, 8, H200, groups=3)


def test_blocks_of_k_points_shrink_until_they_fit():
    loose, tight = (plan_layout(HAFNIA, ProcessLayout(), H200.with_memory(memory)) for memory in (200e9, 30e9))
    assert loose.block > tight.block >= 1
    assert tight.block_bytes == 16 * tight.block * HAFNIA.bands * HAFNIA.plane_waves


def test_a_gpu_takes_both_spins_in_one_block_if_they_fit():
    """Their launches count once; where a block is too small for all, each spin has its own."""
    magnet = replace(HAFNIA, spins=2, kpoints=2, bands=16, plane_waves=900)
    both = 2 * 2 * 16 * 900 * magnet.number_bytes
    assert points_per_block(magnet, ProcessLayout(), replace(H200, block_bytes=both)) == 4
    assert points_per_block(magnet, ProcessLayout(), replace(H200, block_bytes=both - 1)) == 2
    assert points_per_block(magnet, ProcessLayout(), processor(1e9)) == 2
    machines = (replace(H200, block_bytes=size) for size in (both, both - 1))
    together, apart = (dict(step_cost(magnet, ProcessLayout(), machine).phases)["vectors"] for machine in machines)
    assert apart - together == pytest.approx(H200.calls * H200.launch)


def test_the_smallest_machine_fits_and_the_next_smaller_does_not():
    device = H200.with_memory(9e9)
    smallest = smallest_plan(HAFNIA, device)
    assert smallest is not None and smallest.fits
    assert smallest.layout.ranks > 1
    assert not make_plan(HAFNIA, smallest.layout.ranks - 1, device).fits


def test_there_is_no_machine_for_devices_that_are_too_small():
    assert smallest_plan(HAFNIA, H200.with_memory(1.3e9)) is None


def test_what_fits_is_not_refused():
    assert require_room(HAFNIA, ProcessLayout(2, 2), H200).layout == ProcessLayout(2, 2)


def test_a_refusal_names_the_numbers_and_the_machine_that_would_do():
    device = H200.with_memory(9e9)
    with pytest.raises(InputError) as refused:
        require_room(HAFNIA, ProcessLayout(), device)
    text = str(refused.value)
    found = re.search(r"needs (\d+\.\d) GB on each of 1 rank \((\w+): \d+\.\d GB\), and there are 8\.\d GB", text)
    needed = plan_layout(HAFNIA, ProcessLayout(), device).memory.total
    assert found and float(found[1]) == pytest.approx(needed / 1e9, abs=0.05)
    wanted = int(re.search(r"(\d+) such ranks", text)[1])
    assert require_room(HAFNIA, choose_layout(HAFNIA, wanted, device), device).fits


def test_a_refusal_proposes_another_layout_of_the_same_ranks():
    """Sixteen groups hold whole spheres and solve in them; sixteen band ranks share each sphere."""
    size = JobSize(**{**HAFNIA.__dict__, "kpoints": 64})
    wide, deep = ProcessLayout(16, 1), ProcessLayout(1, 16)
    needed = {layout: plan_layout(size, layout, H200.with_memory(1.0)).memory.total for layout in (wide, deep)}
    assert needed[deep] < needed[wide]
    device = H200.with_memory((needed[deep] + needed[wide]) / 2 / (1 - H200.spare))
    with pytest.raises(InputError, match=r"With KPAR = (1|2|4|8) it would need \d+\.\d GB"):
        require_room(size, wide, device)


def test_without_any_way_out_the_job_must_shrink():
    with pytest.raises(InputError, match="Lower ENCUT, NBANDS"):
        require_room(HAFNIA, ProcessLayout(), processor(4e8))
