"""PREC: all of the density where an element needs it, by default; what another choice costs is said."""

import pytest

from input_folders import folder_reader, words

WATER = "water\n1\n9 0 0\n0 9 0\n0 0 9\nH O\n2 1\nCartesian\n.76 0 .59\n-.76 0 .59\n0 0 0\n"
SILICON = "Si\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"


@pytest.fixture
def read(tmp_path):
    return folder_reader(tmp_path, begin="ISMEAR = 0\nSIGMA = 0.01\n", poscar=WATER, mesh="1 1 1")


def origin(inputs):
    return next(setting.origin for setting in inputs.settings if setting.tag == "PREC")


@pytest.mark.parametrize(("cutoff", "precision"), [(400, "Accurate"), (520, "Accurate"), (800, "Normal")])
def test_the_default_is_the_density_that_the_hardest_element_needs(read, cutoff, precision):
    inputs = read(f"ENCUT = {cutoff}\n")
    assert inputs.parameters.precision == precision
    assert ("for O at this ENCUT" in origin(inputs)) is (precision == "Accurate")


def test_soft_elements_keep_the_small_grids(tmp_path):
    read = folder_reader(tmp_path, begin="ISMEAR = 0\nSIGMA = 0.01\n", poscar=SILICON, mesh="2 2 2")
    assert read("ENCUT = 250\n").parameters.precision == "Normal"


def test_a_normal_that_was_asked_for_stays_and_says_what_it_costs(read):
    inputs = read("ENCUT = 400\nPREC = Normal\n")
    assert inputs.parameters.precision == "Normal"
    assert "an atom of O by some 70 meV" in words(inputs, "warning")
    assert "PREC" not in words(read("ENCUT = 800\nPREC = Normal\n"), "warning")
    assert "atom of O" not in words(read("ENCUT = 400\nPREC = Accurate\n"), "warning")


def test_a_grid_that_was_asked_for_is_one_for_normal(read):
    inputs = read("ENCUT = 400\nNGX = 48\nNGY = 48\nNGZ = 48\n")
    assert not inputs.errors
    assert inputs.parameters.precision == "Normal"
