"""A trajectory obeys Newton, can be reversed and continued to the last bit, and stops before nonsense."""

from dataclasses import replace

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.motion.dynamics.build import dynamics
from eigenwerk.motion.dynamics.dynamics_settings import DynamicsSettings
from eigenwerk.motion.dynamics.trajectory import nearest_pair
from eigenwerk.motion.mover import drive
from eigenwerk.motion.surface import Arrangement, SurfacePoint
from moving_crystals import HarmonicCrystal

NVE = DynamicsSettings(steps=50, time_step=1.0, temperature=300.0)
ENSEMBLES = {
    "none": {},
    "scaling": {"scaling_stride": 3, "end_temperature": 100.0},
    "andersen": {"collision_chance": 0.1},
    "nose-hoover": {"thermostat_time": 10.0, "chain_length": 3, "chain_substeps": 2, "chain_yoshida": 3},
    "langevin": {"friction": (0.01, 0.03)},
    "csvr": {"thermostat_time": 20.0},
}


def settings_of(thermostat, **changes):
    return replace(NVE, thermostat=thermostat, **{**ENSEMBLES[thermostat], **changes})


def mover_of(crystal, settings, velocities_av=None, free_ac=None):
    species_a = np.arange(len(crystal.masses_a)) % 2
    return dynamics(settings, crystal.start, crystal.masses_a, velocities_av, free_ac, species_a)


@pytest.mark.parametrize("thermostat", ENSEMBLES)
@pytest.mark.parametrize("stop", [1, 20])
def test_a_continued_trajectory_is_the_same_to_the_last_bit(thermostat, stop):
    crystal = HarmonicCrystal()
    whole = drive(mover_of(crystal, settings_of(thermostat)), crystal)
    first = mover_of(crystal, settings_of(thermostat))
    drive(first, crystal, most=stop)
    second = mover_of(crystal, settings_of(thermostat))
    second.restore(first.state())
    rest = drive(second, crystal)
    assert len(rest) == len(whole) - stop
    for (point, report), (point_2, report_2) in zip(whole[stop:], rest, strict=True):
        assert np.array_equal(point.arrangement.scaled_ac, point_2.arrangement.scaled_ac)
        assert np.array_equal(report.velocities_av, report_2.velocities_av)
        assert report.conserved == report_2.conserved


def test_first_point_is_the_start_and_there_are_nsw_points():
    crystal = HarmonicCrystal()
    mover = mover_of(crystal, NVE)
    assert mover.ask() is mover.ask() is crystal.start
    found = drive(mover, crystal)
    assert len(found) == NVE.steps and mover.finished and mover.ask() is None
    assert found[0][1].temperature == pytest.approx(300.0, rel=1e-12)


@pytest.mark.parametrize("thermostat", ["none", "nose-hoover"])
def test_reversed_velocities_lead_back_to_the_start(thermostat):
    """Frictions of the chain change their sign with the velocities."""
    crystal = HarmonicCrystal()
    settings = settings_of(thermostat, steps=400)
    there = mover_of(crystal, settings)
    last, report = drive(there, crystal)[-1]
    back = mover_of(crystal, settings, -report.velocities_av)
    back.arrangement = last.arrangement
    if thermostat == "nose-hoover":
        # `there` has begun the next step already, at the forces of its last point
        there.thermostat.restore({"energy": 0.0, "rate_x": -there.thermostat.rate_x})
        at_rest_av = there.velocity_av - 0.5 * there.freedom.accelerations(last.forces_av)
        there.thermostat.half(-at_rest_av, there.kt())
        back.thermostat.restore({"energy": 0.0, "rate_x": there.thermostat.rate_x})
    home = drive(back, crystal)[-1][0].arrangement
    assert np.abs(home.scaled_ac - crystal.start.scaled_ac).max() < 1e-11


def test_energy_error_is_of_second_order_in_the_step():
    crystal = HarmonicCrystal()
    errors = []
    for refined in (1, 2, 4):
        settings = replace(NVE, steps=500 * refined, time_step=1.0 / refined)
        energies = [report.conserved for _, report in drive(mover_of(crystal, settings), crystal)]
        errors.append(np.std(energies))
    assert np.allclose(np.divide(errors[:-1], errors[1:]), 4, rtol=0.05), errors


@pytest.mark.parametrize("thermostat", [name for name in ENSEMBLES if name != "langevin"])
def test_momentum_stays_zero_though_forces_have_a_sum(thermostat):
    crystal = HarmonicCrystal(tethered=True)
    mover = mover_of(crystal, settings_of(thermostat))
    report = drive(mover, crystal)[-1][1]
    assert mover.freedom.count == 21
    assert np.abs(crystal.masses_a @ report.velocities_av).max() < 1e-13 * crystal.masses_a.sum()


def test_langevin_moves_the_centre_of_mass_too():
    crystal = HarmonicCrystal()
    assert mover_of(crystal, settings_of("langevin")).freedom.count == 24
    assert mover_of(crystal, settings_of("langevin", friction=(0.0, 0.0))).freedom.count == 21


def test_fixed_coordinates_stay_in_an_oblique_cell():
    crystal = HarmonicCrystal()
    lattice_cv = np.array([[10.0, 0, 0], [3.0, 9.0, 0], [-2.0, 1.0, 11.0]])
    crystal.start = Arrangement(lattice_cv, crystal.start.scaled_ac)
    free_ac = np.random.default_rng(1).random((8, 3)) < 0.6
    free_ac[0], free_ac[1] = False, True
    for thermostat in ENSEMBLES:
        mover = mover_of(crystal, settings_of(thermostat), free_ac=free_ac)
        assert mover.freedom.count == free_ac.sum()
        found = drive(mover, crystal)
        moved_ac = found[-1][0].arrangement.scaled_ac - crystal.start.scaled_ac
        assert np.abs(moved_ac[~free_ac]).max() < 1e-14 and (np.abs(moved_ac[free_ac]) > 1e-6).all()


def test_atoms_in_planes_share_a_drift_in_the_plane():
    crystal = HarmonicCrystal()
    free_ac = np.ones((8, 3), bool)
    free_ac[:, 2] = False
    assert mover_of(crystal, NVE, free_ac=free_ac).freedom.count == 16 - 2


def test_given_velocities_are_kept_and_a_drift_only_without_thermostat():
    crystal = HarmonicCrystal()
    velocities_av = np.full((8, 3), 0.01) + np.random.default_rng(0).normal(size=(8, 3)) * 0.001
    kept = drive(mover_of(crystal, NVE, velocities_av), crystal, most=1)[0][1]
    assert np.array_equal(kept.velocities_av, velocities_av)
    changed = drive(mover_of(crystal, settings_of("csvr"), velocities_av), crystal, most=1)[0][1]
    assert np.abs(crystal.masses_a @ changed.velocities_av).max() < 1e-13 and "drift" in " ".join(changed.words)


def test_zero_velocities_of_a_finished_relaxation_are_drawn_anew():
    crystal = HarmonicCrystal()
    report = drive(mover_of(crystal, NVE, np.zeros((8, 3))), crystal, most=1)[0][1]
    assert report.temperature == pytest.approx(300.0) and "all zero" in " ".join(report.words)
    cold = replace(NVE, temperature=0.0)
    assert drive(mover_of(crystal, cold, np.zeros((8, 3))), crystal, most=1)[0][1].temperature == 0


def test_constant_velocities_ignore_the_forces():
    crystal = HarmonicCrystal()
    velocities_av = np.random.default_rng(0).normal(size=(8, 3)) * 0.01
    settings = replace(NVE, thermostat="constant velocities")
    found = drive(mover_of(crystal, settings, velocities_av), crystal)
    moved_av = found[-1][0].arrangement.position_av - crystal.start.position_av
    assert np.allclose(moved_av, 49 * velocities_av, atol=1e-12) and found[-1][1].conserved is None
    with pytest.raises(InputError, match="needs velocities"):
        mover_of(crystal, settings)


def test_noise_depends_on_seed_and_start_alone():
    crystal, shifted = HarmonicCrystal(), HarmonicCrystal()
    shifted.start = Arrangement(shifted.start.lattice_cv, shifted.start.scaled_ac + 0.001)
    settings = settings_of("langevin")
    ends = [
        drive(mover_of(*arguments), arguments[0])[-1][1].velocities_av
        for arguments in [
            (crystal, settings), (crystal, settings), (crystal, replace(settings, seed=(1,))), (shifted, settings)
        ]
    ]  # fmt: skip
    assert np.array_equal(ends[0], ends[1])
    assert not np.allclose(ends[0], ends[2]) and not np.allclose(ends[0], ends[3])


def test_temperature_follows_the_ramp():
    crystal = HarmonicCrystal()
    found = drive(mover_of(crystal, settings_of("scaling", scaling_stride=1)), crystal)
    wanted = [300.0 - 200.0 * point / 50 for point in range(1, 51)]
    assert np.allclose([report.temperature for _, report in found], wanted)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"time_step": 0.0}, "time step of 0 fs"),
        ({"time_step": float("nan")}, "no number"),
        ({"temperature": -1.0}, "below absolute zero"),
        ({"end_temperature": -1.0}, "below absolute zero"),
        ({"steps": 0}, "at least 1"),
        ({"thermostat": "langevin", "temperature": 0.0}, "above 0 K"),
        ({"thermostat": "andersen", "collision_chance": 1.5}, "no probability"),
        ({"thermostat": "langevin", "friction": (-1.0,)}, "negative friction"),
        ({"thermostat": "nose-hoover"}, "time above 0"),
        ({"thermostat": "nose-hoover", "thermostat_time": 1.0, "chain_length": 21}, "1 to 20"),
        ({"thermostat": "csvr"}, "time above 0"),
        ({"thermostat": "berendsen"}, "knows no"),
    ],
)
def test_senseless_settings_are_refused_in_words(changes, words):
    with pytest.raises(InputError, match=words):
        replace(NVE, **changes)


def test_nothing_left_to_move_is_refused():
    crystal = HarmonicCrystal()
    with pytest.raises(InputError, match="nothing is left to move"):
        mover_of(crystal, NVE, free_ac=np.zeros((8, 3), bool))
    with pytest.raises(InputError, match="nothing is left to move"):
        dynamics(NVE, Arrangement(np.eye(3) * 5, np.zeros((1, 3))), np.ones(1))


def free_flight(arrangement):
    return SurfacePoint(arrangement, 0.0, np.zeros_like(arrangement.scaled_ac))


def test_run_stops_before_atoms_meet_across_the_boundary():
    start = Arrangement(np.eye(3) * 8, np.array([[0.05, 0.5, 0.5], [0.95, 0.5, 0.5], [0.5, 0.1, 0.1]]))
    velocities_av = np.array([[-0.04, 0, 0], [0.04, 0, 0], [0, 0, 0]])
    mover = dynamics(NVE, start, np.ones(3), velocities_av)
    found = drive(mover, free_flight)
    assert 0.8 - 0.08 * len(found) < 0.4 <= 0.8 - 0.08 * (len(found) - 1) + 1e-9
    assert not mover.finished and "atoms 2 and 1 meet: 0.3" in mover.status.replace("atoms 1 and 2", "atoms 2 and 1")
    assert found[-1][1].words[-1] in mover.status


def test_a_start_with_atoms_on_top_of_each_other_is_refused():
    start = Arrangement(np.eye(3) * 8, np.array([[0.0, 0.5, 0.5], [0.99, 0.5, 0.5], [0.5, 0.1, 0.1]]))
    with pytest.raises(InputError, match="cannot begin here: atoms 2 and 1 meet"):
        dynamics(NVE, start, np.ones(3))


def test_run_stops_where_a_step_is_too_long():
    mover = dynamics(NVE, Arrangement(np.eye(3) * 8, np.array([[0, 0, 0], [0.5, 0.5, 0.5]])), np.ones(2))
    drive(mover, lambda arrangement: SurfacePoint(arrangement, 0.0, np.array([[300.0, 0, 0], [-300.0, 0, 0]])))
    assert "would move" in mover.status and not mover.finished


def test_points_without_meaning_end_the_run_and_do_not_count():
    crystal = HarmonicCrystal()
    mover = mover_of(crystal, NVE)
    found = drive(mover, lambda arrangement: replace(crystal(arrangement), converged=False))
    assert len(found) == 5 and mover.told == 4 and "did not converge" in mover.status and not mover.finished
    assert "did not converge" in " ".join(found[0][1].words)
    mover = mover_of(crystal, NVE)
    drive(mover, lambda arrangement: replace(crystal(arrangement), free_energy=float("nan")))
    assert mover.told == 0 and "no numbers" in mover.status


def test_a_trajectory_of_another_ensemble_is_not_continued():
    crystal = HarmonicCrystal()
    state = mover_of(crystal, NVE).state()
    with pytest.raises(InputError, match="start anew"):
        mover_of(crystal, settings_of("csvr")).restore(state)
    with pytest.raises(InputError, match="start anew"):
        mover_of(crystal, replace(NVE, time_step=0.5)).restore(state)


def test_nearest_pair_is_that_of_all_pairs():
    generator = np.random.default_rng(3)
    for atoms in (2, 5, 40):
        lattice_cv = np.diag([5.0, 7.0, 6.0]) + generator.normal(size=(3, 3))
        arrangement = Arrangement(lattice_cv, generator.normal(size=(atoms, 3)))
        apart_aac = arrangement.scaled_ac[:, None] - arrangement.scaled_ac[None]
        images_xc = np.stack(np.meshgrid(*3 * [np.arange(-1, 2)], indexing="ij"), -1).reshape(-1, 3)
        apart_aaxc = (apart_aac - np.round(apart_aac))[:, :, None] + images_xc
        distance_aa = np.linalg.norm(apart_aaxc @ lattice_cv, axis=3).min(2) + np.diag(np.full(atoms, np.inf))
        least = distance_aa.min()
        found = nearest_pair(arrangement, least * 1.01) if least < 2 else None
        if least < 2:
            assert found[0] == pytest.approx(least) and distance_aa[found[1:]] == pytest.approx(least)
            assert nearest_pair(arrangement, least * 0.99) is None
        else:
            assert nearest_pair(arrangement, 1.0) is None
