"""How many threads a calculation can use, by its size."""

from dataclasses import replace

from eigenwerk.dft.plan.useful_threads import FEWEST, useful_threads


def test_a_small_cell_leaves_cores_alone(size):
    assert useful_threads(size, 16) == FEWEST and useful_threads(size, 1) == 1


def test_more_work_takes_more_threads_up_to_all_cores(size):
    """As 64 atoms in place of two."""
    species = tuple(replace(one, atoms=32 * one.atoms) for one in size.species)
    large = replace(size, bands=32 * size.bands, plane_waves=32 * size.plane_waves, species=species)
    assert FEWEST < useful_threads(replace(size, kpoints=40 * size.kpoints), 64) < 64
    assert [useful_threads(large, cores) for cores in (1, 4, 64)] == [1, 4, 64]
