"""Which levels of one k-point hold neither none nor all of their electrons."""

import numpy as np

from eigenwerk.dft.filling.part_levels import part_levels


def test_neighbours_that_are_near_are_one_level():
    eig_sn = np.array([[-4.0, -1.02, -1.01, -1.0, 0.0, 0.5], [-3.0, -0.5, 0.2, 0.2, 0.2, 0.9]])
    occ_sn = np.array([[1.0, 0.7, 0.7, 0.6, 0.0, 0.0], [1.0, 0.5, 0.0, 0.0, 0.001, 0.0]])
    three, one = part_levels(eig_sn, occ_sn, 0.015, 0.01)
    assert (three.spin, three.bands, three.count, round(three.electrons, 9)) == (0, slice(1, 4), 3, 2.0)
    assert (one.spin, one.bands, one.count) == (1, slice(1, 2), 1)
    assert three.words == "bands 2 to 4, 2.00 of 3 filled"
    assert [level.count for level in part_levels(eig_sn, occ_sn, 0.005, 0.01)] == [1, 1, 1, 1]
    assert len(part_levels(eig_sn, occ_sn, 0.015, 0.0005)) == 3


def test_full_and_empty_levels_are_none():
    assert part_levels(np.array([[-1.0, -1.0, 1.0]]), np.array([[1.0, 0.99, 0.01]]), 0.1, 0.02) == ()
