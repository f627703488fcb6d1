"""A dimer climbs to the saddle point that its direction leads to, ends there, and goes on after a stop."""

import numpy as np
import pytest

from eigenwerk.motion.mover import drive
from eigenwerk.motion.saddle.dimer import Dimer
from eigenwerk.motion.saddle.pulled import Pulled
from eigenwerk.motion.saddle.saddle_settings import DimerSettings
from eigenwerk.motion.surface import Arrangement, SurfacePoint

pytest.importorskip("ase")
BOX = 10 * np.eye(3)
HEIGHT, LENGTH = 0.5, 1.0
HARD = np.array([12.0, 7.0, 5.0])


def double_well(arrangement):
    """h (x²/l² - 1)² of the first atom, with a valley that bends, about the third one; springs hold everything else."""
    place = arrangement.position_av - arrangement.position_av[2]
    x = place[0, 0]
    energy = HEIGHT * (x**2 / LENGTH**2 - 1) ** 2
    force = np.zeros_like(place)
    force[0, 0] = -4 * HEIGHT * x / LENGTH**2 * (x**2 / LENGTH**2 - 1)
    bend = place[0, 1] - 0.3 * x**2
    energy += 0.5 * HARD[0] * bend**2
    force[0, 1] -= HARD[0] * bend
    force[0, 0] += HARD[0] * bend * 0.6 * x
    energy += 0.5 * HARD[1] * place[0, 2] ** 2 + 0.5 * HARD[2] * ((place[1] - [2, 0, 0]) ** 2).sum()
    force[0, 2] -= HARD[1] * place[0, 2]
    force[1] -= HARD[2] * (place[1] - [2, 0, 0])
    force[2] = -force[:2].sum(axis=0)
    return SurfacePoint(arrangement, float(energy), force)


def start(x=0.6):
    return Arrangement(BOX, np.array([[5 + x, 5 + 0.3 * x**2, 5.02], [7.03, 5, 5], [5, 5, 5]]) / 10)


DIRECTION = np.array([[1.0, 0.3, 0.2], [0.0, 0.1, 0.0], [0.0, 0.0, 0.0]])


FREE = np.array([[True] * 3, [True] * 3, [False] * 3])


def dimer(**settings):
    return Dimer(DimerSettings(**({"force_tolerance": 0.01, "most_points": 300} | settings)), start(), DIRECTION, FREE)


@pytest.mark.parametrize("settings", [{}, {"central": True}, {"rotations": 4}])
def test_it_ends_on_the_saddle_point_with_its_curvature(settings):
    search = dimer(**settings)
    found = drive(search, double_well)
    assert search.finished and "at a saddle point" in search.status
    last, report = found[-1]
    assert last.free_energy == pytest.approx(HEIGHT, abs=1e-3)
    assert np.linalg.norm(last.forces_av, axis=1).max() <= 0.01
    assert search.curvature == pytest.approx(-4 * HEIGHT / LENGTH**2, rel=0.1)
    assert report.words == ("middle",) and abs(report.direction_av[0, 0]) > 0.9


def test_the_last_point_is_the_middle_also_when_points_run_out():
    search = dimer(most_points=9)
    found = drive(search, double_well)
    assert len(found) == 9 and not search.finished and search.status.startswith("not at a saddle point after 9 points")
    assert found[-1][1].words == ("middle",)


def test_it_goes_on_from_its_state_to_the_last_bit():
    whole = drive(dimer(), double_well)
    begun = dimer()
    drive(begun, double_well, most=17)
    again = dimer()
    again.restore(begun.state())
    rest = drive(again, double_well)
    assert 17 + len(rest) == len(whole)
    np.testing.assert_array_equal(rest[-1][0].arrangement.scaled_ac, whole[-1][0].arrangement.scaled_ac)


def test_what_may_not_move_stays_and_takes_no_part_in_the_direction():
    free = np.array([[True, True, True], [False, False, False], [False, False, False]])
    search = Dimer(DimerSettings(force_tolerance=0.01, most_points=300), start(), None, free)
    assert not search.direction_av[1].any()
    found = drive(search, double_well)
    for point, _ in found:
        np.testing.assert_array_equal(point.arrangement.scaled_ac[1], start().scaled_ac[1])
    assert search.finished


def test_a_random_direction_is_that_of_its_seed():
    one, same, other = (Dimer(DimerSettings(seed=seed), start(), None, None) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.direction_av, same.direction_av)
    assert not np.allclose(one.direction_av, other.direction_av)


def test_a_direction_of_fixed_atoms_alone_is_refused():
    free = np.array([[True, True, True], [False, False, False], [True, True, True]])
    with pytest.raises(ValueError, match="nothing that may move"):
        Dimer(DimerSettings(), start(), np.array([[0, 0, 0], [1.0, 0, 0], [0, 0, 0]]), free)


def test_points_that_do_not_converge_end_it():
    search = dimer()
    drive(search, double_well, most=3)
    point = double_well(search.ask())
    search.tell(SurfacePoint(point.arrangement, point.free_energy, point.forces_av, converged=False))
    assert search.ask() is None and not search.finished and "given up" in search.status


def test_pulled_hands_on_what_a_function_raises_and_lets_it_go():
    def broken(evaluate):
        assert evaluate(1) == 2
        raise ArithmeticError("no more")

    pulled = Pulled(broken)
    assert pulled.wanted() == 1 and pulled.wanted() == 1
    pulled.answer(2)
    with pytest.raises(ArithmeticError, match="no more"):
        pulled.wanted()

    left = []

    def endless(evaluate):
        try:
            while True:
                evaluate(0)
        finally:
            left.append(True)

    pulled = Pulled(endless)
    pulled.wanted()
    pulled.close()
    assert left == [True] and pulled.wanted() is None
