"""Tables find the images of points that searching finds; meshes of any size take seconds."""

import time

import numpy as np
import pytest

from eigenwerk.dft.crystal import lattice_points
from eigenwerk.dft.crystal.kpoints import MOST_POINTS, monkhorst_pack
from eigenwerk.dft.crystal.lattice_points import image_indices, integer_points
from eigenwerk.errors import InputError


def test_tables_find_what_searching_finds(monkeypatch):
    random = np.random.default_rng(1)
    for size in (1, 2, 3, 5, 8):
        integer_kc = np.array(list(np.ndindex(size, size, size)))
        integer_kc = integer_kc[random.random(len(integer_kc)) < 0.8] if size > 2 else integer_kc
        matrix_xcc = random.integers(-2, 3, (9, 3, 3))
        by_table = image_indices(integer_kc, size + 1, matrix_xcc)
        with monkeypatch.context() as without:
            without.setattr(lattice_points, "LARGEST_TABLE", 0)
            np.testing.assert_array_equal(image_indices(integer_kc, size + 1, matrix_xcc), by_table)
    assert (by_table >= 0).any() and (by_table < 0).any()


def test_long_axes_take_no_minutes():
    began = time.process_time()
    points_kc = monkhorst_pack((100_000, 1, 1))
    integer_kc, denominator = integer_points(points_kc)
    assert len(np.unique(integer_kc[:, 0])) == 100_000
    assert image_indices(integer_kc, denominator, -np.eye(3, dtype=int)[None]).min() >= 0
    assert time.process_time() - began < 5


def test_larger_meshes_are_refused():
    with pytest.raises(InputError, match=f"more than {MOST_POINTS} points"):
        monkhorst_pack((100, 100, 100))
