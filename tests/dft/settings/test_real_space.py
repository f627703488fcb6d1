"""LREAL and ROPT: which projectors are used on the grid, what is said about their spheres, and wrong values."""

import re

import pytest

from input_folders import folder_reader, words

SIC = "SiC\n4.36\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi C\n1 1\nDirect\n0 0 0\n.25 .25 .25\n"
SILICON = "Si\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"
BEGIN = "ISMEAR = 0\nSIGMA = 0.05\nENCUT = 400\n"


@pytest.fixture
def read(tmp_path):
    """INCAR lines after ENCUT, POSCAR and mesh -> Inputs."""
    return folder_reader(tmp_path, begin=BEGIN, poscar=SIC, mesh="3 3 3")


def test_on_is_honoured_and_tells_radius_and_error(read):
    inputs = read("LREAL = On\n")
    assert words(inputs, "error") == ""
    assert dict(inputs.parameters.real_space) == {"Si": 2e-4, "C": 2e-4}
    begin = "LREAL = On: projectors in real space, within spheres (and with errors) of "
    note = next(line for line in words(inputs, "note").splitlines() if begin in line)
    found = re.findall(r"(Si|C) (\d\.\d\d) Å \((\d)e-0(\d)\)", note)
    assert [symbol for symbol, *_ in found] == ["Si", "C"]
    assert all(0.6 < float(radius) < 2.5 and float(f"{a}e-{b}") <= 2e-4 for _, radius, a, b in found)
    assert (inputs.setting("LREAL"), inputs.setting("ROPT")) == ("On", (2e-4, 2e-4))


@pytest.mark.slow
def test_small_cells_are_told_that_reciprocal_space_is_faster(read):
    assert "LREAL = .FALSE. is as fast or faster" in words(read("LREAL = On\n"), "note")
    cell = SIC.replace("4.36", "26.16").replace("1 1\n", "216 216\n")
    point = "\n".join(f"{a / 12} {b / 12} {c / 12}" for a in range(6) for b in range(6) for c in range(6))
    shifted = "\n".join(f"{a / 12 + .02083} {b / 12 + .02083} {c / 12 + .02083}" for a in range(6) for b in range(6)
                        for c in range(6))  # fmt: skip
    large = read("LREAL = On\n", poscar=cell.split("0 0 0")[0] + f"{point}\n{shifted}\n", mesh="1 1 1")
    assert "within spheres" in words(large, "note") and ".FALSE. is as fast" not in words(large, "note")


def test_auto_stays_with_exact_projectors_and_says_so(read):
    inputs = read("LREAL = Auto\n")
    assert dict(inputs.parameters.real_space) == {} and inputs.setting("LREAL") == "Auto"
    assert "LREAL = Auto: projectors stay in reciprocal space" in words(inputs, "note")
    assert "LREAL = On takes real space" in words(inputs, "note")


def test_values_go_to_their_species_and_signs_mean_nothing(read):
    inputs = read("LREAL = On\nROPT = -1e-3 5e-4\n")
    assert dict(inputs.parameters.real_space) == {"Si": 1e-3, "C": 5e-4}
    assert inputs.setting("ROPT") == (1e-3, 5e-4)


def test_default_is_reciprocal_space(read):
    inputs = read("ROPT = 1e-3 1e-3\n")
    assert dict(inputs.parameters.real_space) == {}
    assert "ROPT = 1e-3 1e-3: it acts only with LREAL = On" in words(inputs, "note")
    assert inputs.setting("ROPT") is None and inputs.setting("LREAL") is False


def test_orbitals_that_are_real_by_inversion_keep_theirs(read):
    inputs = read("LREAL = On\n", poscar=SILICON)
    assert dict(inputs.parameters.real_space) == {} and inputs.size.real
    assert "stay in reciprocal space: orbitals are real by inversion" in words(inputs, "note")
    assert dict(read("LREAL = On\n", poscar=SILICON, mesh="2 2 2").parameters.real_space) == {"Si": 2e-4}


@pytest.mark.fast("*species*", "*700*", "*= 0 1e-3*")
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("LREAL = On\nROPT = 1e-3\n", "INCAR line 5: ROPT = 1e-3: 1 values, but POSCAR has 2 species (Si C)"),
        ("LREAL = On\nROPT = 700 1e-3\n", "an accuracy above 0 and up to 0.1 is meant"),
        ("LREAL = On\nROPT = 0 1e-3\n", "an accuracy above 0 and up to 0.1 is meant"),
        ("LREAL = On\nROPT = 1e-9 1e-3\n", "INCAR line 4: LREAL = On: in real space the projectors of Si reach"),
    ],
)  # fmt: skip
def test_wrong_values_are_errors_with_their_numbers(read, lines, expected):
    assert expected in words(read(lines), "error")
