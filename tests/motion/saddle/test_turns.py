"""Springs of a band neither shift nor turn what is free to be shifted and turned."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from eigenwerk.motion.relaxation.chart import Chart
from eigenwerk.motion.saddle.band import Band, without_turns
from eigenwerk.motion.saddle.saddle_settings import BandSettings
from eigenwerk.motion.surface import SurfacePoint

RNG = np.random.default_rng(1)
PLACE_AV = RNG.normal(size=(5, 3))


def _shift_and_turn():
    axis = np.array([0.3, -1.0, 0.5])
    return np.cross(axis, PLACE_AV - PLACE_AV.mean(axis=0)), np.tile([0.2, 0.1, -0.7], (5, 1))


def _left(vector_av, turns=True):
    shiftless_av = Chart(8 * np.eye(3), np.ones((5, 3), bool), np.zeros((0, 6))).project_ions(vector_av)
    return without_turns(shiftless_av, PLACE_AV) if turns else shiftless_av


def test_shifts_and_turns_are_left_out_and_nothing_else():
    turn_av, shift_av = _shift_and_turn()
    inner_av = _left(RNG.normal(size=(5, 3)))
    assert np.linalg.norm(inner_av) > 0.1
    assert _left(inner_av + turn_av + shift_av) == pytest.approx(inner_av, abs=1e-12)
    assert np.cross(PLACE_AV, inner_av).sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)


def test_a_crystal_may_be_shifted_but_not_turned():
    turn_av, shift_av = _shift_and_turn()
    assert _left(turn_av + shift_av, turns=False) == pytest.approx(turn_av, abs=1e-12)


@pytest.mark.parametrize("turns", [True, False])
def test_a_band_whose_springs_turn_it_is_pulled_back_only_where_it_may_turn(turns):
    pytest.importorskip("ase")
    place_av = PLACE_AV - PLACE_AV.mean(axis=0)
    turned_av = place_av @ Rotation.from_rotvec([0.1, 0.3, -0.2]).as_matrix()
    image_xac = np.array([place_av, place_av + 0.01 * RNG.normal(size=(5, 3)), turned_av]) / 20
    band = Band(BandSettings(1), 20 * np.eye(3), image_xac, ("C",) * 5, np.ones((5, 3), bool), turns)
    none_av = np.zeros((5, 3))
    report = band.tell({x: SurfacePoint(found, 0.1 * (x == 1), none_av) for x, found in band.ask().items()})
    angular_v = np.cross(image_xac[1] * 20, report.forces.force_xav[0]).sum(axis=0)
    assert bool(np.linalg.norm(angular_v) < 1e-10) is turns


def test_a_line_does_not_turn_about_itself():
    line_av = np.array([[0, 0, 0], [0, 0, 1.0], [0, 0, 2.5]])
    across_av = np.array([[1.0, 0, 0], [-2.0, 0, 0], [1.0, 0, 0]])
    stretch_av = np.array([[0, 0, 1.0], [0, 0, 0], [0, 0, -1.0]])
    assert without_turns(stretch_av, line_av) == pytest.approx(stretch_av)
    assert np.linalg.norm(without_turns(across_av, line_av)) > 0.5
