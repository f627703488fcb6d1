"""Parts of the search that an ordinary crystal does not reach."""

from itertools import product

import numpy as np
import pytest

from covering import covering
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry_search import _closed, search_operations

DIAMOND = Structure(5.13 * np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]]), ("Si", "Si"), [[0, 0, 0], [0.25] * 3])


@pytest.mark.fast("1-*")
@pytest.mark.parametrize(("cell", "seed"), covering((1, 2), range(5), fast=lambda cell, seed: cell == 1 or seed == 1))
def test_operations_left_after_random_losses_are_thinned_to_a_group(cell, seed):
    image_xc = np.array(list(product(range(cell), repeat=3)))
    scaled_ac = ((DIAMOND.scaled_ac[:, None] + image_xc) / cell).reshape(-1, 3)
    structure = Structure(cell * DIAMOND.lattice_cv, ("Si",) * len(scaled_ac), scaled_ac)
    found = search_operations(structure, 1e-4)
    order = len(found.rotation_occ)
    lost = np.random.default_rng(seed).choice(np.arange(1, order), size=1 + 3 * seed, replace=False)
    rotation_occ, map_oa = np.delete(found.rotation_occ, lost, axis=0), np.delete(found.atom_map_oa, lost, axis=0)
    keep_o = _closed(rotation_occ, map_oa)
    rotation_occ, map_oa = rotation_occ[keep_o], map_oa[keep_o]
    assert keep_o[0]
    assert order % len(rotation_occ) == 0
    known = {(rotation_cc.tobytes(), map_a.tobytes()) for rotation_cc, map_a in zip(rotation_occ, map_oa, strict=True)}
    for first in range(len(rotation_occ)):
        both_occ, both_oa = rotation_occ[first] @ rotation_occ, map_oa[first][map_oa]
        assert known.issuperset((r.tobytes(), m.tobytes()) for r, m in zip(both_occ, both_oa, strict=True))


def test_one_lost_operation_still_leaves_a_group_of_use():
    found = search_operations(DIAMOND, 1e-4)
    keep_o = _closed(found.rotation_occ[:-1], found.atom_map_oa[:-1])
    assert keep_o.sum() > 1
