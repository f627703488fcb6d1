"""LORBIT and RWIGS: on which spheres orbitals are projected, and what is said about wrong ones."""

import pytest

from eigenwerk.units import BOHR_ANGSTROM
from input_folders import folder_reader, words

NIO = "NiO\n4.17\n1 .5 .5\n.5 1 .5\n.5 .5 1\nNi O\n2 2\nDirect\n0 0 0\n.5 .5 .5\n.25 .25 .25\n.75 .75 .75\n"
TWICE = "NiO\n4.17\n1 .5 .5\n.5 1 .5\n.5 .5 1\nNi O Ni\n1 2 1\nDirect\n0 0 0\n.25 .25 .25\n.75 .75 .75\n.5 .5 .5\n"


@pytest.fixture
def read(tmp_path):
    """INCAR and POSCAR -> Inputs."""
    return folder_reader(tmp_path, begin="ISMEAR = 0\nSIGMA = 0.05\n", poscar=NIO, mesh="2 2 2")


@pytest.mark.parametrize("lines", ["", "LORBIT = 0\n"])
def test_nothing_is_projected_unless_asked_for(read, lines):
    inputs = read(lines)
    assert inputs.parameters.projection is None and inputs.setting("RWIGS") is None


@pytest.mark.parametrize(("lorbit", "phases"), [(10, False), (11, False), (12, True), (13, True), (14, True)])
def test_spheres_end_where_partial_waves_match(read, lorbit, phases):
    inputs = read(f"LORBIT = {lorbit}\n")
    wanted = inputs.parameters.projection
    for symbol, radius in wanted.radius.items():
        assert radius == max(state.rc for state in inputs.data[symbol].header.states if state.rc)
    assert wanted.phases is phases
    assert inputs.setting("RWIGS") == pytest.approx([wanted.radius[s] * BOHR_ANGSTROM for s in ("Ni", "O")], abs=1e-6)


@pytest.mark.parametrize("lines", ["LORBIT = 1\n", "", "LORBIT = 11\n"])
def test_radii_are_those_of_the_user(read, lines):
    inputs = read(f"{lines}RWIGS = 1.2 0.8\n")
    assert words(inputs, "error") == ""
    radius = inputs.parameters.projection.radius
    assert [radius[s] * BOHR_ANGSTROM for s in ("Ni", "O")] == pytest.approx([1.2, 0.8])
    assert ("VASP has those of its data sets" in words(inputs, "note")) == ("11" in lines)


@pytest.mark.parametrize(
    ("lines", "poscar", "expected"),
    [
        ("LORBIT = 1\n", NIO, "LORBIT = 1: LORBIT = 1 needs the radius of the sphere of each species. Set LORBIT = 11"),
        ("LORBIT = 2\n", NIO, "Set LORBIT = 12, which takes radii from the data sets, or RWIGS = "),
        ("LORBIT = 5\n", NIO, "Set LORBIT = 10"),
        ("LORBIT = 1\nRWIGS = 1.2\n", NIO, "RWIGS = 1.2: 1 value, but POSCAR has 2 species (Ni O). Write one radius"),
        ("LORBIT = 11\nRWIGS = 3*1\n", NIO, "3 values, but POSCAR has 2 species (Ni O)"),
        ("LORBIT = 11\nRWIGS = 1.2 -1\n", NIO, "the radius of O is -1 Å; it must be above 0 and at most 10"),
        ("LORBIT = 11\nRWIGS = 12 1\n", NIO, "the radius of Ni is 12 Å"),
        ("LORBIT = 11\nRWIGS = 1 1 2\n", TWICE, "Ni has several radii (1, 2); an element has one here"),
        ("LORBIT = 7\n", NIO, "Write one of 0, 1, 2, 5, 10, 11, 12, 13, 14"),
    ],
)
def test_wrong_radii_are_refused_with_their_numbers(read, lines, poscar, expected):
    assert expected in words(read(lines, poscar=poscar), "error")


def test_values_that_are_not_quite_those_of_vasp_get_a_word(read):
    assert "PROOUT is not" in words(read("LORBIT = 5\nRWIGS = 1 1\n"), "note")
    assert "nothing to optimise" in words(read("LORBIT = 14\n"), "note")
