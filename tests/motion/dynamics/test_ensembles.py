"""Baths and moving cells have the laws of their ensembles, on surfaces for which these are known exactly.

Seeds are fixed, so that a test passes or fails always; a probability below 0.001 fails.  Longer trajectories of all
ensembles: benchmarks/moving/dynamics.
"""

import pytest

from eigenwerk.motion.dynamics.build import dynamics
from eigenwerk.motion.dynamics.dynamics_settings import DynamicsSettings
from eigenwerk.motion.mover import drive
from eigenwerk.units import BOLTZMANN_EV_KELVIN
from ensemble_statistics import drift, isobaric, kinetic, modes, positions, pressures
from moving_crystals import ElasticCrystal, HarmonicCrystal, LennardJones

KELVIN, STEP, PRESSURE, LEAST = 600.0, 1.0, 0.001, 1e-3
KT = KELVIN * BOLTZMANN_EV_KELVIN
LANGEVIN = {"thermostat": "langevin", "friction": (0.05,)}
CSVR = {"thermostat": "csvr", "thermostat_time": 20.0}
CHAIN = {"thermostat": "nose-hoover", "thermostat_time": 20.0, "chain_length": 4}
RESCALING = {"compressibility": 50.0, "cell_time": 50.0, "pressure": PRESSURE}


def trajectory(crystal, steps, **changes):
    """The mover and its points without the first of them."""
    settings = DynamicsSettings(steps=steps, time_step=STEP, temperature=KELVIN, **changes)
    mover = dynamics(settings, crystal.start, crystal.masses_a)
    found = drive(mover, crystal)
    assert mover.finished, mover.status
    return mover, found[steps // 20 :]


def accepted(probabilities):
    """Prints all, and says whether none is too small."""
    print(probabilities)
    return min(probabilities.values()) > LEAST


@pytest.mark.slow
@pytest.mark.parametrize("bath", [LANGEVIN, {"thermostat": "andersen", "collision_chance": 0.04}])
def test_baths_of_single_atoms_are_canonical_in_every_mode_of_a_harmonic_crystal(bath):
    crystal = HarmonicCrystal()
    mover, found = trajectory(crystal, 8000, **bath)
    assert accepted(kinetic(crystal, found, KT, mover.freedom.count) | modes(crystal, found, KT, STEP))
    assert min(kinetic(crystal, found, 1.1 * KT, mover.freedom.count).values()) < LEAST, "ten per cent would be seen"


@pytest.mark.slow
@pytest.mark.parametrize("bath", [CSVR, CHAIN, CHAIN | {"chain_yoshida": 3}])
def test_baths_of_all_atoms_are_canonical_where_modes_exchange_energy(bath):
    crystal = LennardJones()
    settings = DynamicsSettings(steps=8000, time_step=8.0, temperature=50.0, **bath | {"thermostat_time": 100.0})
    mover = dynamics(settings, crystal.start, crystal.masses_a)
    found = drive(mover, crystal)[400:]
    kt = 50.0 * BOLTZMANN_EV_KELVIN
    assert accepted(kinetic(crystal, found, kt, mover.freedom.count) | positions(crystal, found, kt))
    slope, spread = drift([report.conserved for _, report in found], 32, 8.0)
    assert abs(slope) < 0.001 and spread < 0.01, "meV per atom (and ps)"


@pytest.mark.slow
@pytest.mark.parametrize(
    "cell",
    [
        LANGEVIN | {"barostat": "parrinello-rahman", "cell_mass": 30.0, "cell_friction": 0.02, "pressure": PRESSURE},
        LANGEVIN | {"barostat": "cell rescaling", **RESCALING},
        CSVR | {"barostat": "isotropic cell rescaling", **RESCALING},
    ],
)
def test_volume_shape_and_pressure_of_a_moving_cell_fluctuate_as_they_should(cell):
    crystal = ElasticCrystal(bulk=0.02, shear=0.02)
    mover, found = trajectory(crystal, 8000, **cell)
    missing = 8 - mover.freedom.count / 3
    free_shape, massive = "isotropic" not in cell["barostat"], cell["barostat"] == "parrinello-rahman"
    answers = isobaric(crystal, found, KT, PRESSURE, free_shape, massive)
    velocities = kinetic(crystal, found, KT, mover.freedom.count)
    if cell["thermostat"] == "csvr":
        del velocities["kinetic energy by atom and direction"]  # which a bath of all atoms does not level here
    assert accepted(answers | velocities | pressures(found, KT, PRESSURE, missing))
    assert min(isobaric(crystal, found, KT, PRESSURE + 0.003, free_shape, massive).values()) < LEAST


def test_a_bath_heats_and_cools_along_the_ramp():
    crystal = HarmonicCrystal()
    _, found = trajectory(crystal, 2000, **LANGEVIN, end_temperature=100.0)
    late = [report.temperature for _, report in found[-200:]]
    assert sum(late) / len(late) == pytest.approx(125.0, rel=0.25)
