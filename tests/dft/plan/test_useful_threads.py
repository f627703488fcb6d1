"""How many threads a calculation can use, by its size."""

from dataclasses import replace

import pytest

from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.plan.useful_threads import FEWEST, useful_threads

POSCAR = "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"


@pytest.fixture
def size(tmp_path):
    """Of two silicon atoms on a mesh of 8 x 8 x 8."""
    for name, text in {"POSCAR": POSCAR, "INCAR": "ENCUT = 250\n", "KPOINTS": "m\n0\nGamma\n8 8 8\n"}.items():
        (tmp_path / name).write_text(text)
    return read_inputs(tmp_path).size


def test_a_small_cell_leaves_cores_alone(size):
    assert useful_threads(size, 16) == FEWEST and useful_threads(size, 1) == 1


def test_more_work_takes_more_threads_up_to_all_cores(size):
    """As 64 atoms in place of two."""
    species = tuple(replace(one, atoms=32 * one.atoms) for one in size.species)
    large = replace(size, bands=32 * size.bands, plane_waves=32 * size.plane_waves, species=species)
    assert FEWEST < useful_threads(replace(size, kpoints=40 * size.kpoints), 64) < 64
    assert [useful_threads(large, cores) for cores in (1, 4, 64)] == [1, 4, 64]
