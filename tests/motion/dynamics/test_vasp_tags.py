"""VASP's tags mean what its wiki says."""

from math import pi

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.motion.dynamics.build import dynamics
from eigenwerk.motion.dynamics.nose_hoover import nose_mass_of_period
from eigenwerk.motion.dynamics.vasp_tags import settings_of_tags
from eigenwerk.motion.mover import drive
from eigenwerk.motion.surface import SurfacePoint
from eigenwerk.units import BOLTZMANN_EV_KELVIN
from moving_crystals import HarmonicCrystal

PLAIN = {"nsw": 100, "potim": 2.0, "first_vector": 10.0, "tebeg": 300.0}


@pytest.mark.parametrize(
    ("tags", "thermostat"),
    [
        ({}, "none"),
        ({"smass": -1}, "scaling"),
        ({"smass": -2.0}, "constant velocities"),
        ({"smass": 0}, "nose-hoover"),
        ({"mdalgo": 1}, "none"),
        ({"mdalgo": 1, "andersen_prob": 0.1}, "andersen"),
        ({"mdalgo": 2, "smass": 0.5}, "nose-hoover"),
        ({"mdalgo": 2, "smass": -3}, "none"),
        ({"mdalgo": 2}, "none"),
        ({"mdalgo": 3, "langevin_gamma": [10.0]}, "langevin"),
        ({"mdalgo": 4}, "none"),
        ({"mdalgo": 4, "nhc_nchains": 4}, "nose-hoover"),
        ({"mdalgo": 5}, "none"),
        ({"mdalgo": 5, "csvr_period": 100}, "csvr"),
    ],
)
def test_thermostats(tags, thermostat):
    assert settings_of_tags(**PLAIN, **tags).thermostat == thermostat


def test_units():
    settings = settings_of_tags(
        **PLAIN, mdalgo=3, isif=3, langevin_gamma=[10.0, 5.0], langevin_gamma_l=1.0, pmass=20.0, pstress=10.0
    )
    assert settings.friction == (0.01, 0.005) and settings.cell_friction == 0.001 and settings.cell_mass == 20.0
    assert settings.pressure == pytest.approx(0.00624150907)  # 1 GPa
    full = settings_of_tags(
        **PLAIN, mdalgo=5, isif=3, csvr_period=50, cell_rescaling="full", cell_rescaling_time=100.0, bulk_modulus=100.0
    )
    assert full.barostat == "cell rescaling" and full.compressibility == pytest.approx(1.602176634)
    assert settings_of_tags(**PLAIN, mdalgo=4, nhc_nchains=2).thermostat_time == 80.0
    assert settings_of_tags(**PLAIN, mdalgo=2, smass=2.0).nose_mass == pytest.approx(2 * 100 * 103.642696527)


def test_smass_zero_swings_the_temperature_with_forty_steps():
    """A friction of Nosé's mass, on many free atoms near equilibrium: no other time is in the problem."""
    settings = settings_of_tags(nsw=2000, potim=2.0, first_vector=10.0, tebeg=300.0, smass=0)
    crystal = HarmonicCrystal()
    mover = dynamics(settings, crystal.start, crystal.masses_a)
    kt = 300 * BOLTZMANN_EV_KELVIN
    assert mover.thermostat.mass_x == pytest.approx([nose_mass_of_period(21, kt, 80.0)])
    mover.velocity_av *= 1.01
    free = [
        report.temperature
        for _, report in drive(mover, lambda arrangement: SurfacePoint(arrangement, 0.0, np.zeros((8, 3))), most=400)
    ]
    spectrum = np.abs(np.fft.rfft(np.subtract(free, np.mean(free))))
    assert np.argmax(spectrum) == 400 // 40


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        ({"smass": -4}, "SMASS = -4"),
        ({"mdalgo": 2, "smass": -1}, "SMASS of at least 0, or -3"),
        ({"mdalgo": 13}, "MDALGO = 13"),
        ({"isif": 3}, "ISIF = 3 with MDALGO = 0"),
        ({"isif": 3, "mdalgo": 5, "csvr_period": 10}, "ISIF = 3 with MDALGO = 5"),
        ({"isif": 4, "mdalgo": 3, "langevin_gamma": [1.0]}, "ISIF = 4"),
        ({"isif": 2, "mdalgo": 3, "cell_rescaling": "full"}, "ISIF = 3"),
        ({"isif": 3, "cell_rescaling": "full"}, "MDALGO = 3 or 5"),
        ({"isif": 3, "mdalgo": 3, "cell_rescaling": "sideways"}, "none of"),
        ({"mdalgo": 4, "nhc_nchains": 3, "nhc_ns": 5}, "1, 3 or 7"),
    ],
)
def test_what_does_not_go_together_is_refused(tags, words):
    with pytest.raises(InputError, match=words):
        settings_of_tags(**PLAIN, **tags)


def test_a_period_of_nose_is_that_of_its_formula():
    assert nose_mass_of_period(3, 2.0, 2 * pi) == pytest.approx(12.0)
