"""PREC: all of the density where an element needs it, by default; what another choice costs is said."""

import pytest

from input_folders import folder_reader, words

FLUORIDE = "HF\n1\n6 0 0\n0 6 0\n0 0 6\nH F\n1 1\nCartesian\n0 0 .92\n0 0 0\n"
WATER = "water\n1\n9 0 0\n0 9 0\n0 0 9\nH O\n2 1\nCartesian\n.76 0 .59\n-.76 0 .59\n0 0 0\n"
SILICON = "Si\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"


@pytest.fixture
def read(tmp_path):
    return folder_reader(tmp_path, begin="ISMEAR = 0\nSIGMA = 0.01\n", poscar=WATER, mesh="1 1 1")


def origin(inputs):
    return next(setting.origin for setting in inputs.settings if setting.tag == "PREC")


@pytest.fixture
def read_fluoride(tmp_path):
    return folder_reader(tmp_path, begin="ISMEAR = 0\nSIGMA = 0.01\n", poscar=FLUORIDE, mesh="1 1 1")


@pytest.mark.parametrize(("cutoff", "precision"), [(300, "Accurate"), (400, "Normal"), (520, "Normal")])
def test_the_default_is_the_density_that_the_hardest_element_needs(read_fluoride, cutoff, precision):
    inputs = read_fluoride(f"ENCUT = {cutoff}\n")
    assert inputs.parameters.precision == precision
    assert ("for F at this ENCUT" in origin(inputs)) is (precision == "Accurate")


def test_oxides_have_the_small_grids(read):
    assert read("ENCUT = 400\n").parameters.precision == "Normal"


def test_soft_elements_keep_the_small_grids(tmp_path):
    read = folder_reader(tmp_path, begin="ISMEAR = 0\nSIGMA = 0.01\n", poscar=SILICON, mesh="2 2 2")
    assert read("ENCUT = 250\n").parameters.precision == "Normal"


def test_a_normal_that_was_asked_for_stays_and_says_what_it_costs(read_fluoride):
    inputs = read_fluoride("ENCUT = 300\nPREC = Normal\n")
    assert inputs.parameters.precision == "Normal"
    assert "an atom of F by some 2.8 meV" in words(inputs, "warning")
    assert "PREC" not in words(read_fluoride("ENCUT = 500\nPREC = Normal\n"), "warning")
    assert "atom of F" not in words(read_fluoride("ENCUT = 300\nPREC = Accurate\n"), "warning")


def test_a_grid_that_was_asked_for_is_one_for_normal(read):
    inputs = read("ENCUT = 400\nNGX = 48\nNGY = 54\nNGZ = 54\n")
    assert not inputs.errors
    assert inputs.parameters.precision == "Normal"
    assert "NGX = 48: is coarser than PREC = Normal means, 54" in words(inputs, "warning")
    assert "NGY" not in words(inputs, "warning")
    assert "needs at least" in words(read("ENCUT = 400\nNGX = 40\n"), "error")
