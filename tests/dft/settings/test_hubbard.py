"""LDAU and its lists: which shells are corrected, and what is said about wrong ones."""

import re

import pytest

from eigenwerk.cli.checking.check_document import document
from eigenwerk.cli.main import main
from eigenwerk.dft.runs.run_report import description
from eigenwerk.units import HARTREE_EV
from input_folders import folder_reader, words

NIO = "NiO\n4.17\n1 .5 .5\n.5 1 .5\n.5 .5 1\nNi O\n2 2\nDirect\n0 0 0\n.5 .5 .5\n.25 .25 .25\n.75 .75 .75\n"
TWICE = "NiO\n4.17\n1 .5 .5\n.5 1 .5\n.5 .5 1\nNi O Ni\n1 2 1\nDirect\n0 0 0\n.25 .25 .25\n.75 .75 .75\n.5 .5 .5\n"
PLUS_U = "ISMEAR = 0\nSIGMA = 0.05\nISPIN = 2\nMAGMOM = 2 -2 0 0\nLDAU = .TRUE.\n"


@pytest.fixture
def read(tmp_path):
    """INCAR lines after LDAU = .TRUE. (or a whole INCAR) and POSCAR -> Inputs."""
    return folder_reader(tmp_path, begin=PLUS_U, poscar=NIO, mesh="2 2 2")


def test_u_minus_j_goes_to_the_named_shells(read):
    inputs = read("LDAUL = 2 -1\nLDAUU = 6.0 3.0\nLDAUJ = 1.0 0\n")
    assert words(inputs, "error") == ""
    assert dict(inputs.parameters.hubbard) == {"Ni": (2, pytest.approx(5.0 / HARTREE_EV))}
    assert (inputs.setting("LDAU"), inputs.setting("LDAUTYPE")) == (True, 2)


def test_equal_species_may_stand_apart(read):
    inputs = read("LDAUL = 2 -1 2\nLDAUU = 6 0 6\nLDAUJ = 3*1\n", poscar=TWICE)
    assert dict(inputs.parameters.hubbard) == {"Ni": (2, pytest.approx(5.0 / HARTREE_EV))}


def test_species_of_one_element_may_differ_and_then_symmetry_does_not_exchange_them(read):
    inputs = read("LDAUL = 2 -1 2\nLDAUU = 6 0 4\n", poscar=TWICE, begin=PLUS_U.replace("2 -2 0 0", "4*0.5"))
    assert words(inputs, "error") == ""
    expected = {"Ni": (2, pytest.approx(6.0 / HARTREE_EV)), "Ni 2": (2, pytest.approx(4.0 / HARTREE_EV))}
    assert dict(inputs.parameters.hubbard) == expected
    assert inputs.structure.kinds == ("Ni", "O", "O", "Ni 2") and inputs.structure.symbols == ("Ni", "O", "O", "Ni")
    assert (inputs.symmetry.atom_map_oa[:, 0] == 0).all() and (inputs.symmetry.atom_map_oa[:, 3] == 3).all()
    same = read("LDAUL = 2 -1 2\nLDAUU = 6 0 6\n", poscar=TWICE, begin=PLUS_U.replace("2 -2 0 0", "4*0.5"))
    assert (same.symmetry.atom_map_oa[:, 0] == 3).any()


def test_one_of_two_species_may_have_none(read):
    inputs = read("LDAUL = 2 -1 -1\nLDAUU = 6 0 0\n", poscar=TWICE)
    assert dict(inputs.parameters.hubbard) == {"Ni": (2, pytest.approx(6.0 / HARTREE_EV))}
    assert inputs.structure.kinds == ("Ni", "O", "O", "Ni 2")


def test_a_shell_that_does_not_exist_is_an_error_of_check_as_well(read):
    found = document(read("LDAUL = 5 -1\nLDAUU = 6 0\n"))
    assert not found["ok"] and any("l = 5 for Ni is no shell" in problem["text"] for problem in found["problems"])


@pytest.mark.parametrize(
    ("lines", "poscar", "expected"),
    [
        ("LDAUL = 2\nLDAUU = 6 0\n", NIO, "INCAR line 6: LDAUL = 2: 1 values, but POSCAR has 2 species (Ni O)"),
        ("LDAUL = 2 -1\nLDAUU = 6 0 0\n", NIO, "LDAUU = 6 0 0: 3 values, but POSCAR has 2 species (Ni O)"),
        ("LDAUL = 3 -1\nLDAUU = 6 0\n", NIO, "l = 3 for Ni, but its data set Ni.PBE has only s, p, d channels"),
        ("LDAUL = 4 -1\nLDAUU = 6 0\n", NIO, "l = 4 for Ni is no shell. Use 0 to 3, or -1 for none."),
        ("LDAUL = 2 -1 3\nLDAUU = 6 0 4\n", TWICE, "l = 3 for Ni, but its data set Ni.PBE has only s, p, d channels"),
        ("LDAUTYPE = 4\nLDAUL = 2 -1\nLDAUU = 6 0\n", NIO, "this form of +U is not available. Set LDAUTYPE = 2"),
    ],
)
def test_wrong_lists_are_refused_with_their_numbers(read, lines, poscar, expected):
    assert expected in words(read(lines, poscar=poscar), "error")


def test_a_correction_of_nothing_is_told(read):
    inputs = read("LDAUL = -1 -1\n")
    assert "LDAU = .TRUE. corrects nothing" in words(inputs, "note")
    assert dict(inputs.parameters.hubbard) == {}


def test_without_the_switch_nothing_is_corrected_and_given_lists_are_told(read):
    inputs = read("LDAUU = 6 0\n", begin="ISMEAR = 0\nSIGMA = 0.05\n")
    assert "LDAUU = 6 0: it acts only with LDAU = .TRUE." in words(inputs, "note")
    assert dict(inputs.parameters.hubbard) == {}
    assert inputs.setting("LDAUL") is None and inputs.setting("LDAU") is False


def test_check_run_and_report_name_the_method_with_its_shells(read, tmp_path, capsys):
    lists = "LDAUL = 2 -1 2\nLDAUU = 6 0 4\nLDAUJ = 0.5 0 0\n"
    inputs = read(lists, poscar=TWICE, begin=PLUS_U.replace("2 -2 0 0", "4*0.5"))
    rows = description(inputs)  # of the terminal, OUTCAR, vasprun.xml and the report
    assert dict(rows)["method"].startswith("PBE+U, cutoff")
    assert [text for label, text in rows if label == "+U"] == [
        "Ni d: U - J = 5.5 eV (Dudarev)", "Ni 2 d: U - J = 4 eV (Dudarev)",
    ]  # fmt: skip
    main(["check", str(tmp_path)])
    text = capsys.readouterr().out
    assert "functional        PBE+U\n  +U                Ni d: U - J = 5.5 eV (Dudarev)\n" in text
    plain = dict(description(read("", begin=PLUS_U.replace("LDAU = .TRUE.", ""))))
    assert plain["method"].startswith("PBE, cutoff") and "+U" not in plain


@pytest.mark.parametrize(
    ("lines", "poscar", "severity", "expected"),
    [
        ("LDAUL = -1 2\nLDAUU = 0 6.2\n", NIO, "warning", "free atom of O has no electrons in.* and Ni, which has"),
        ("LDAUL = -1 2\nLDAUU = 0 6\n", NIO.replace("Ni", "Cu"), "warning", "the d shell.* and Cu, which has some"),
        ("LDAUL = 2 2\nLDAUU = 6.2 1\n", NIO, "note", "free atom of O has no electrons in the d shell"),
        ("LDAUL = 2 1\nLDAUU = 6.2 3\n", NIO, "none", ""),
    ],
)
def test_a_shell_that_the_atom_does_not_fill_gets_a_word(read, lines, poscar, severity, expected):
    """Lists in the order of other species: U on the d shell of oxygen, and none on nickel."""
    inputs = read(lines, poscar=poscar)
    found = {kind: " ".join(p.message for p in inputs.problems if p.severity == kind and p.tag == "LDAUL")
             for kind in ("warning", "note")}  # fmt: skip
    for kind, text in found.items():
        assert re.search(expected, text) if kind == severity else "free atom" not in text
