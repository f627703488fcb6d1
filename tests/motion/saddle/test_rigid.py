"""Springs of a band neither shift nor turn what is free to be shifted and turned."""

import numpy as np
import pytest

from eigenwerk.motion.saddle.rigid import turns_freely, without_rigid_motions

RNG = np.random.default_rng(1)
PLACE_AV = RNG.normal(size=(5, 3))


def _shift_and_turn():
    axis = np.array([0.3, -1.0, 0.5])
    return np.cross(axis, PLACE_AV - PLACE_AV.mean(axis=0)), np.tile([0.2, 0.1, -0.7], (5, 1))


def test_shifts_and_turns_are_left_out_and_nothing_else():
    turn_av, shift_av = _shift_and_turn()
    inner_av = without_rigid_motions(RNG.normal(size=(5, 3)), PLACE_AV, True)
    assert np.linalg.norm(inner_av) > 0.1
    assert without_rigid_motions(inner_av + turn_av + shift_av, PLACE_AV, True) == pytest.approx(inner_av, abs=1e-12)
    assert np.cross(PLACE_AV, inner_av).sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)


def test_a_crystal_may_be_shifted_but_not_turned():
    turn_av, shift_av = _shift_and_turn()
    assert without_rigid_motions(turn_av + shift_av, PLACE_AV, False) == pytest.approx(turn_av, abs=1e-12)


def test_a_line_does_not_turn_about_itself():
    line_av = np.array([[0, 0, 0], [0, 0, 1.0], [0, 0, 2.5]])
    across_av = np.array([[1.0, 0, 0], [-2.0, 0, 0], [1.0, 0, 0]])
    stretch_av = np.array([[0, 0, 1.0], [0, 0, 0], [0, 0, -1.0]])
    assert without_rigid_motions(stretch_av, line_av, True) == pytest.approx(stretch_av)
    assert np.linalg.norm(without_rigid_motions(across_av, line_av, True)) > 0.5


@pytest.mark.parametrize(("edge", "free"), [(8.0, True), (4.0, False)])
def test_a_molecule_turns_where_there_is_vacuum_on_all_sides(edge, free):
    place_xav = np.array([[[3.9, 4, 4], [4.9, 4, 4]], [[4.0, 4, 4], [5.2, 4, 4]]])
    assert turns_freely(edge * np.eye(3), place_xav / edge) is free
    slab_xav = np.concatenate([place_xav, place_xav + [2.5, 0, 0]], axis=1)
    assert not turns_freely(np.diag([5.0, 8.0, 8.0]), slab_xav / [5.0, 8.0, 8.0])
