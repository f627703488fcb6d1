"""What people ask of other programs and do not get here is refused by name, and what is hardly meant gets a warning."""

import pytest

from eigenwerk.cli.main import main
from input_folders import folder_reader, words

WATER = "water\n1\n9 0 0\n0 9 0\n0 0 9\nH O\n2 1\nCartesian\n.76 0 .59\n-.76 0 .59\n0 0 0\n"
SILICON = "Si\n{a}\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"
SHEET = "graphene\n1\n2.46 0 0\n-1.23 2.13 0\n0 0 12\nC\n2\nDirect\n.3333 .6667 .5\n.6667 .3333 .5\n"
DYNAMICS = "NSW = 3\nIBRION = 0\nPOTIM = 0.5\n"


@pytest.fixture
def read(tmp_path):
    return folder_reader(tmp_path, begin="ENCUT = 700\nISMEAR = 0\nSIGMA = 0.01\n", poscar=WATER, mesh="1 1 1")


# -- constraints and steering in dynamics ------------------------------------------------------------------------------


def test_constraints_of_iconst_forbid_dynamics_by_name(read, tmp_path, capsys):
    (tmp_path / "ICONST").write_text("# O-H\nR 1 3 0\nR 2 3 0 ! and the other\n")
    inputs = read(DYNAMICS)
    assert words(inputs, "error") == (
        "ICONST line 2: R 1 3 0 (and 1 more): constraints in molecular dynamics are not available. "
        "Remove the file, or hold atoms by selective dynamics in POSCAR."
    )
    for command in ("check", "run"):
        assert main([command, str(tmp_path)]) == 2
    assert "ICONST line 2: R 1 3 0" in capsys.readouterr().err


@pytest.mark.fast("R 1 3 0*--ICONST*", "*POTIM = 0.5*")
@pytest.mark.parametrize(
    ("text", "lines", "said"),
    [("R 1 3 0\n", "", "ICONST: not used: it acts only in molecular dynamics"),
     ("R 1 3 0\n", "NSW = 3\nIBRION = 2\n", "ICONST: not used: it acts only in molecular dynamics"),
     ("R 1 3 7\n", DYNAMICS, "ICONST: not used: coordinates are not monitored"),
     ("# R 1 3 0\n\n ! none\n", DYNAMICS, ""), ("", DYNAMICS, ""), ("\n", "", "")],
)  # fmt: skip
def test_an_iconst_that_changes_nothing_is_a_note_or_no_word(read, tmp_path, text, lines, said):
    (tmp_path / "ICONST").write_text(text)
    inputs = read(lines)
    assert not inputs.errors
    assert said in words(inputs, "note") if said else "ICONST" not in words(inputs, "note")


@pytest.mark.fast("SCALEE*")
@pytest.mark.parametrize(
    ("line", "message"),
    [("SCALEE = 0.5", "SCALEE = 0.5: energies and forces that are scaled (thermodynamic integration)"),
     ("INCREM = 0.001 0", "INCREM = 0.001 0: constraints that change during molecular dynamics (slow growth)"),
     ("LBLUEOUT = T", "LBLUEOUT = T: averages over constrained dynamics (blue moon) are not available")],
)  # fmt: skip
def test_tags_that_steer_dynamics_are_refused_there_and_noted_elsewhere(read, line, message):
    assert message in words(read(f"{DYNAMICS}{line}\n"), "error")
    assert message in words(read(f"NSW = 3\nPOTIM = 0.5\n{line}\n"), "error"), "IBRION = 0 where NSW is given"
    for other in ("", "NSW = 3\nIBRION = 2\n"):
        inputs = read(f"{other}{line}\n")
        assert not inputs.errors and "acts only in molecular dynamics (IBRION = 0)" in words(inputs, "note")


@pytest.mark.fast("SCALEE = 1", "LBLUEOUT = F", "INCREM = 2*0")
@pytest.mark.parametrize("line", ["SCALEE = 1", "SCALEE = 1.0", "INCREM = 0", "INCREM = 2*0", "LBLUEOUT = F"])
def test_values_that_ask_for_nothing_are_allowed_in_dynamics(read, line):
    inputs = read(f"{DYNAMICS}{line}\n")
    assert not inputs.errors and line.split()[0] not in words(inputs, "note")


def test_a_phonon_dispersion_is_refused_by_name(read):
    said = words(read("LPHON_DISPERSION = T\n"), "error")
    assert "LPHON_DISPERSION = T: phonon dispersions are not available" in said
    assert not read("LPHON_DISPERSION = F\n").errors


# -- what is hardly meant ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("poscar", "mesh", "suggested"),
    [(SILICON.format(a=5.43), "1 1 1", "7 x 7 x 7"), (SHEET, "1 1 1", "10 x 10 x 1"),
     (SILICON.format(a=5.43), "2 1 1", ""), (SILICON.format(a=14.5), "1 1 1", ""), (WATER, "1 1 1", "")],
)  # fmt: skip
def test_gamma_alone_in_a_short_cell_is_a_warning_with_a_mesh(read, poscar, mesh, suggested):
    said = words(read("", poscar=poscar, mesh=mesh), "warning")
    assert ("Gamma is the only k-point of a crystal whose cell is short" in said) == bool(suggested)
    assert f"a Gamma-centred mesh of {suggested} points" in said if suggested else "Gamma-centred mesh of" not in said


@pytest.mark.parametrize(
    ("poscar", "suggested"),
    [("water\n1\n6 0 0\n0 6 0\n0 0 6\nH O\n2 1\nCartesian\n.76 0 .59\n-.76 0 .59\n0 0 0\n", ""),
     ("CO2\n1\n6 0 0\n0 6 0\n0 0 6\nC O\n1 2\nCartesian\n3 3 3\n3 3 4.16\n3 3 1.84\n", ""),
     ("chain\n1\n6 0 0\n0 6 0\n0 0 2.5\nC\n2\nCartesian\n0 0 0\n0 0 1.25\n", "1 x 1 x 9"),
     ("sheet\n1\n2.46 0 0\n-1.23 2.13 0\n0 0 4.4\nC\n2\nCartesian\n0 0 0\n0 1.42 0\n", "10 x 10 x 1")],
)  # fmt: skip
def test_molecules_in_narrow_boxes_are_no_crystals(read, poscar, suggested):
    """Along axes where nothing touches from cell to cell one point is enough, however near the images are."""
    said = words(read("", poscar=poscar), "warning")
    assert f"a Gamma-centred mesh of {suggested} points" in said if suggested else "Gamma is the only" not in said


def test_a_hybrid_has_one_word_about_too_few_k_points(read):
    said = words(read("LHFCALC = T\nHFSCREEN = 0.2\n", poscar=SILICON.format(a=5.43)), "warning")
    assert "too few k-points for HFSCREEN" in said and "Gamma is the only k-point" not in said
    said = words(read("LHFCALC = T\nHFSCREEN = 0\n", poscar=SILICON.format(a=5.43)), "warning")
    assert "Gamma is the only k-point" in said, "of 1/r, which is corrected for images, nothing else is said"


def test_a_kept_density_has_no_word_about_its_k_points(read):
    inputs = read("ICHARG = 12\n", poscar=SILICON.format(a=5.43))
    assert "Gamma is the only k-point" not in words(inputs, "warning")


@pytest.mark.parametrize(
    ("lines", "warned"),
    [("ISPIN = 2\nNBANDS = 4", True), ("ISPIN = 2\nNBANDS = 5", False), ("NBANDS = 4", False),
     ("ISPIN = 2\nNBANDS = 4\nMAGMOM = 1 -1", False), ("ISPIN = 2\nNBANDS = 4\nNUPDOWN = 0", False)],
)  # fmt: skip
def test_full_channels_of_both_spins_are_a_warning_where_a_moment_is_wanted(read, lines, warned):
    said = words(read(f"{lines}\n", poscar=SILICON.format(a=5.43), mesh="2 2 2"), "warning")
    message = "NBANDS = 4: 4 bands of each spin are full with 8 electrons, so the moment can only be zero. Set NBANDS ="
    assert (message in said) == warned


@pytest.mark.parametrize(("electrons", "warned"), [(7, False), (4, False), (12, False), (3, True), (13, True)])
def test_a_charge_that_nothing_holds_is_a_warning_with_the_neutral_number(read, electrons, warned):
    inputs = read(f"NELECT = {electrons}\nNBANDS = 12\n", poscar=SILICON.format(a=5.43), mesh="2 2 2")
    said = f"the cell has charge {8 - electrons:+d}"
    assert said in words(inputs, "warning" if warned else "note") and not inputs.errors
    assert ("2.5 electrons" in words(inputs, "warning")) == warned
    assert ("remove the line, or set NELECT = 8." in words(inputs, "warning")) == warned
