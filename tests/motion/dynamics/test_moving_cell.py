"""A cell that moves: reversible, continued to the last bit, not turned, and stopped before it collapses."""

from dataclasses import replace

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.motion.dynamics.build import dynamics
from eigenwerk.motion.dynamics.dynamics_settings import DynamicsSettings
from eigenwerk.motion.mover import drive
from eigenwerk.motion.surface import Arrangement
from moving_crystals import EDGE, ElasticCrystal

BATH = DynamicsSettings(steps=60, time_step=0.5, temperature=400.0, thermostat="langevin", friction=(0.02,))
RESCALING = {"compressibility": 20.0, "cell_time": 50.0, "pressure": 0.002}
CELLS = {
    "parrinello-rahman": replace(
        BATH, barostat="parrinello-rahman", cell_mass=50.0, cell_friction=0.01, pressure=0.002
    ),
    "full": replace(BATH, barostat="cell rescaling", **RESCALING),
    "isotropic": replace(BATH, barostat="isotropic cell rescaling", **RESCALING),
    "csvr": replace(BATH, barostat="cell rescaling", thermostat="csvr", thermostat_time=50.0, **RESCALING),
}


class ObliqueCrystal(ElasticCrystal):
    """The same in a cell without right angles, left-handed."""

    def __init__(self):
        super().__init__()
        lattice_cv = np.array([[9.0, 1.0, 0.0], [0.5, 2.0, 10.0], [-1.0, 11.0, 3.0]])
        self.start = Arrangement(lattice_cv, self.start.scaled_ac)


def test_model_has_the_forces_and_stress_of_its_energy():
    crystal = ObliqueCrystal()
    generator = np.random.default_rng(0)
    lattice_cv = crystal.start.lattice_cv @ (np.eye(3) + 0.05 * generator.normal(size=(3, 3)))
    scaled_ac = crystal.start.scaled_ac + 0.01 * generator.normal(size=(8, 3))
    point = crystal(Arrangement(lattice_cv, scaled_ac))
    shift_av, strain_vv, small = generator.normal(size=(8, 3)), generator.normal(size=(3, 3)), 1e-5
    inverse_vc = np.linalg.inv(lattice_cv)
    ends = [
        crystal(Arrangement(lattice_cv, scaled_ac + s * small * shift_av @ inverse_vc)).free_energy for s in (1, -1)
    ]
    assert (ends[1] - ends[0]) / (2 * small) == pytest.approx((point.forces_av * shift_av).sum(), rel=1e-7)
    ends = [
        crystal(Arrangement(lattice_cv @ (np.eye(3) + s * small * strain_vv), scaled_ac)).free_energy for s in (1, -1)
    ]
    work = (point.stress_vv * strain_vv).sum() * point.arrangement.volume
    assert (ends[0] - ends[1]) / (2 * small) == pytest.approx(work, rel=1e-6)


@pytest.mark.parametrize("cell", CELLS)
def test_a_continued_trajectory_is_the_same_to_the_last_bit(cell):
    crystal = ObliqueCrystal()
    settings = replace(CELLS[cell], end_temperature=200.0)
    whole = drive(dynamics(settings, crystal.start, crystal.masses_a), crystal)
    first = dynamics(settings, crystal.start, crystal.masses_a)
    drive(first, crystal, most=25)
    second = dynamics(settings, crystal.start, crystal.masses_a)
    second.restore(first.state())
    rest = drive(second, crystal)
    assert len(rest) == 35
    for (point, report), (point_2, report_2) in zip(whole[25:], rest, strict=True):
        assert np.array_equal(point.arrangement.lattice_cv, point_2.arrangement.lattice_cv)
        assert np.array_equal(point.arrangement.scaled_ac, point_2.arrangement.scaled_ac)
        assert np.array_equal(report.velocities_av, report_2.velocities_av)
        assert report.conserved == report_2.conserved and report.more == report_2.more


@pytest.mark.parametrize("cell", CELLS)
def test_the_cell_is_strained_but_not_turned(cell):
    crystal = ObliqueCrystal()
    found = drive(dynamics(CELLS[cell], crystal.start, crystal.masses_a), crystal)
    assert found[0][0].arrangement is crystal.start
    for point, _ in found:
        strain_vv = np.linalg.solve(crystal.start.lattice_cv, point.arrangement.lattice_cv)
        assert np.abs(strain_vv - strain_vv.T).max() < 1e-13
    off_diagonal = np.abs(strain_vv - np.eye(3) * np.trace(strain_vv) / 3).max()
    assert off_diagonal < 1e-13 if cell == "isotropic" else off_diagonal > 1e-4


@pytest.mark.slow
def test_cell_of_parrinello_and_rahman_is_reversible_without_baths():
    crystal = ElasticCrystal()
    settings = replace(CELLS["parrinello-rahman"], friction=(0.0,), cell_friction=0.0, steps=300)
    rate_cv = np.random.default_rng(2).normal(size=(3, 3)) * 0.002
    there = dynamics(settings, crystal.start, crystal.masses_a, lattice_rate_cv=rate_cv)
    point, report = drive(there, crystal)[-1]
    back_av, back_cv = -report.velocities_av, -report.lattice_velocity_cv
    back = dynamics(settings, point.arrangement, crystal.masses_a, back_av, lattice_rate_cv=back_cv)
    home = drive(back, crystal)[-1][0].arrangement
    turned_vv = np.linalg.solve(home.lattice_cv, crystal.start.lattice_cv)  # the orientation is that of the new start
    assert np.abs(turned_vv @ turned_vv.T - np.eye(3)).max() < 1e-11
    assert np.abs(home.scaled_ac - crystal.start.scaled_ac).max() < 1e-11


def test_velocities_of_atoms_and_cell_are_all_that_a_run_without_baths_goes_on_from():
    """As a CONTCAR has them: the points after it are those of the run that was not stopped."""
    crystal = ObliqueCrystal()
    settings = replace(CELLS["parrinello-rahman"], friction=(0.0,), cell_friction=0.0, steps=40)
    rate_cv = np.random.default_rng(2).normal(size=(3, 3)) * 0.002
    whole = drive(dynamics(settings, crystal.start, crystal.masses_a, lattice_rate_cv=rate_cv), crystal)
    point, report = whole[15]
    again = dynamics(
        settings, point.arrangement, crystal.masses_a, report.velocities_av,
        lattice_rate_cv=report.lattice_velocity_cv,
    )  # fmt: skip
    rest = drive(again, crystal, most=25)
    assert "velocities of the lattice vectors: as they are given" in rest[0][1].words
    for (one, _), (other, _) in zip(rest, whole[15:], strict=True):
        np.testing.assert_allclose(one.arrangement.scaled_ac, other.arrangement.scaled_ac, rtol=0, atol=1e-12)
        # each keeps the orientation of its own start
        turned_vv = np.linalg.solve(other.arrangement.lattice_cv, one.arrangement.lattice_cv)
        assert np.abs(turned_vv @ turned_vv.T - np.eye(3)).max() < 1e-12


@pytest.mark.slow
@pytest.mark.fast("isotropic-2.0")
@pytest.mark.parametrize(("cell", "factor"), [("parrinello-rahman", 4.0), ("full", 2.0), ("isotropic", 2.0)])
def test_error_of_the_conserved_quantity_falls_with_the_step(cell, factor):
    """With its square for a cell with a mass; random scaling has a bounded part M δ |dE/dε|² / 4 of first order."""
    crystal = ElasticCrystal()
    errors = []
    no_bath = {"friction": (0.0,), "cell_friction": 0.0} if cell == "parrinello-rahman" else {}
    for refined in (1, 2, 4):
        settings = replace(CELLS[cell], steps=200 * refined, time_step=1.0 / refined, **no_bath)
        energies = [
            report.conserved for _, report in drive(dynamics(settings, crystal.start, crystal.masses_a), crystal)
        ]
        errors.append(np.std(np.subtract(energies[refined::refined], energies[:-refined:refined])))
    print(cell, errors)
    assert np.allclose(np.divide(errors[:-1], errors[1:]), factor, rtol=0.25), errors


def test_what_does_not_go_with_a_moving_cell_is_refused():
    crystal = ElasticCrystal()
    free_ac = np.ones((8, 3), bool)
    free_ac[0, 0] = False
    with pytest.raises(InputError, match="all free"):
        dynamics(CELLS["full"], crystal.start, crystal.masses_a, None, free_ac)
    for changes in ({"thermostat": "none"}, {"cell_mass": 0.0}, {"thermostat": "csvr", "thermostat_time": 10.0}):
        with pytest.raises(InputError, match="cell"):
            replace(CELLS["parrinello-rahman"], **changes)
    for changes in ({"compressibility": 0.0}, {"cell_time": 0.0}):
        with pytest.raises(InputError, match="above 0"):
            replace(CELLS["full"], **changes)


def test_run_stops_before_the_cell_collapses_and_without_stress():
    crystal = ElasticCrystal(bulk=0.01)
    mover = dynamics(replace(CELLS["parrinello-rahman"], pressure=1.0, steps=1000), crystal.start, crystal.masses_a)
    found = drive(mover, crystal)
    assert not mover.finished and "cell" in mover.status
    assert found[-1][0].arrangement.volume > 0.3 * EDGE**3
    mover = dynamics(CELLS["full"], crystal.start, crystal.masses_a)
    drive(mover, lambda arrangement: replace(crystal(arrangement), stress_vv=None))
    assert mover.told == 0 and "no stress" in mover.status


@pytest.mark.fast("chain", "parrinello-rahman")
@pytest.mark.parametrize("cell", [*CELLS, "chain"])
def test_the_conserved_quantity_stays_when_the_wanted_temperature_changes(cell):
    chain = {"thermostat": "nose-hoover", "thermostat_time": 20.0, "chain_length": 3}
    settings = replace(CELLS["csvr"], barostat="none", **chain) if cell == "chain" else CELLS[cell]
    crystal = ElasticCrystal()
    mover = dynamics(replace(settings, end_temperature=100.0, steps=600), crystal.start, crystal.masses_a)
    found = drive(mover, crystal)
    conserved = np.array([report.conserved for _, report in found])
    heat = np.ptp([point.free_energy + report.kinetic for point, report in found])
    assert np.abs(conserved - conserved[0]).max() < (0.03 if "rescaling" in settings.barostat else 0.001) * heat
