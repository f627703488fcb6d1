"""Bands of images come to rest on the saddle point, whatever way they were interpolated, and go on after a stop."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from eigenwerk.motion.relaxation.chart import Chart
from eigenwerk.motion.saddle.band import Band, unwrapped, without_turns
from eigenwerk.motion.saddle.barrier import PathEnergy
from eigenwerk.motion.saddle.saddle_settings import BandSettings
from eigenwerk.motion.surface import SurfacePoint
from pair_surface import FCC, Pairwise

pytest.importorskip("ase")
BOX = 3.9 * 2 * np.eye(3)


def crystal_with_vacancy():
    """31 atoms about a vacancy, and the same after the first atom has hopped into it."""
    cubes = np.array([[i, j, k] for i in range(2) for j in range(2) for k in range(2)])
    sites = ((FCC[:, None] + cubes[None]) / 2).reshape(-1, 3)
    hopper = next(x for x, site in enumerate(sites) if np.allclose(site, [0, 0.25, 0.25]))
    rest = np.delete(sites, [0, hopper], axis=0)
    return np.vstack([sites[hopper], rest]), np.vstack([sites[0], rest])


def band_between(first, last, images=3, **settings):
    shares = np.linspace(0, 1, images + 2)[:, None, None]
    image_xac = unwrapped(list((1 - shares) * first + shares * last))
    free = np.ones(first.shape, bool)
    return Band(BandSettings(images, **settings), BOX, image_xac, ("Ag",) * len(first), free)


def drive(band, surface, most=200):
    """To the end, or for so many steps; the last report."""
    report, done = None, 0
    while done < most and (wanted := band.ask()):
        report, done = band.tell({x: surface(arrangement) for x, arrangement in wanted.items()}), done + 1
    return report


@pytest.fixture(scope="module")
def saddle():
    """The energy of the atom half way, everything else relaxed: by symmetry the saddle point."""
    first, last = crystal_with_vacancy()
    surface, band = Pairwise(), band_between(first, last, images=1, force_tolerance=1e-3)
    report = drive(band, surface)
    assert band.finished
    return report.energies.energy_x[1] - report.energies.energy_x[0]


@pytest.mark.fast("False-diis*")
@pytest.mark.parametrize(("method", "pace", "most"), [("diis", 1.0, 15), ("quick-min", 0.2, 60)])
@pytest.mark.parametrize("climb", [True, False])
def test_a_hop_has_the_barrier_of_its_symmetric_saddle_point(saddle, method, pace, most, climb):
    first, last = crystal_with_vacancy()
    band = band_between(first, last, method=method, pace=pace, climb=climb, force_tolerance=0.01)
    report = drive(band, Pairwise())
    assert band.finished and band.steps_done <= most and report.highest == 2
    assert report.energies.forward == pytest.approx(saddle, abs=1e-3)
    assert report.largest <= 0.01


@pytest.mark.slow
def test_an_even_number_of_images_climbs_to_the_saddle_point_between_them(saddle):
    first, last = crystal_with_vacancy()
    rest = drive(band_between(first, last, images=4, climb=False, force_tolerance=0.01), Pairwise())
    climbed = drive(band_between(first, last, images=4, climb=True, force_tolerance=0.01), Pairwise())
    height = lambda report: report.energies.energy_x[1:-1].max() - report.energies.energy_x[0]  # noqa: E731
    assert height(climbed) == pytest.approx(saddle, abs=1e-3) and climbed.climbing
    assert height(rest) < saddle - 2e-3  # its images lie on both sides
    assert rest.energies.forward == pytest.approx(saddle, abs=0.01)  # but the curve knows


def test_a_band_goes_on_from_its_state_to_the_last_bit():
    first, last = crystal_with_vacancy()
    surface = Pairwise()
    whole = band_between(first, last, force_tolerance=0.01)
    drive(whole, surface)
    begun = band_between(first, last, force_tolerance=0.01)
    drive(begun, surface, most=3)
    again = band_between(first, last, force_tolerance=0.01)
    again.restore(begun.state())
    drive(again, surface)
    assert again.steps_done == whole.steps_done
    np.testing.assert_array_equal(again.image_xac, whole.image_xac)


def test_what_may_not_move_stays_to_the_last_bit():
    first, last = crystal_with_vacancy()
    band = band_between(first, last)
    band.free_ac[5:] = False
    band.__post_init__()
    drive(band, Pairwise(), most=4)
    np.testing.assert_array_equal(band.image_xac[2][5:], first[5:])
    assert np.abs(band.image_xac[2][:5] - (first[:5] + last[:5]) / 2).max() > 1e-3


@pytest.mark.slow
def test_points_that_do_not_converge_shorten_the_step_and_then_end_the_search():
    first, last = crystal_with_vacancy()
    band, surface = band_between(first, last), Pairwise()
    drive(band, surface, most=2)
    good = band.computed_xac[2]

    def failing(arrangement):
        point = surface(arrangement)
        return SurfacePoint(arrangement, point.free_energy, point.forces_av, converged=False)

    before = np.abs(band.image_xac[2] - good).max()
    report = drive(band, failing, most=1)
    assert "did not converge" in report.words[0] and report.forces is None
    assert np.abs(band.image_xac[2] - good).max() == pytest.approx(before / 2)
    drive(band, failing)
    assert band.ended and not band.finished and band.status.startswith("given up")


@pytest.mark.slow
def test_steps_run_out_and_a_band_that_is_not_to_move_is_computed_once():
    first, last = crystal_with_vacancy()
    band = band_between(first, last, most_points=2, force_tolerance=1e-6)
    drive(band, Pairwise())
    assert not band.finished and band.status.startswith("not at rest after 2 steps")
    short = band_between(first, last, most_points=1, force_tolerance=1e-6)
    drive(short, Pairwise())
    assert short.status.startswith("not at rest after 1 step:")
    still, surface = band_between(first, last, most_points=0), Pairwise()
    drive(still, surface)
    assert still.finished and surface.calls == 5


def test_images_are_unwrapped_across_the_cell():
    images = unwrapped([np.array([[0.98, 0, 0]]), np.array([[0.02, 0, 0]]), np.array([[0.06, 0.99, 0]])])
    np.testing.assert_allclose(images[:, 0], [[0.98, 0, 0], [1.02, 0, 0], [1.06, -0.01, 0]], atol=1e-12)


def test_the_curve_through_images_has_their_energies_and_slopes_and_finds_the_top():
    place = np.array([0.0, 0.5, 1.3, 2.0])
    energy, slope = np.sin(1.5 * place) ** 2, 1.5 * np.sin(3 * place)
    found = PathEnergy(place, energy, slope)
    x, y = found.curve()
    np.testing.assert_allclose(np.interp(place, x, y), energy, atol=1e-9)
    for at, wanted in zip(place[1:-1], slope[1:-1], strict=True):
        near = np.abs(x - at) < 0.01
        assert np.polyfit(x[near] - at, y[near], 2)[1] == pytest.approx(wanted, abs=0.02)
    assert found.top[1] == pytest.approx(1.0, abs=0.03) and found.top[0] == pytest.approx(np.pi / 3, abs=0.05)
    assert found.backward == pytest.approx(found.top[1] - energy[-1])


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
