"""The heading of a run says what will move, how, and until when."""

import pytest

from eigenwerk.cli.checking.check_document import document
from eigenwerk.cli.checking.check_text import lines
from eigenwerk.cli.moving.words import motion_rows, points
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.errors import InputError

POSCAR = "Si2\n5.43\n 0 .5 .5\n .5 0 .5\n .5 .5 0\nSi\n2\nDirect\n 0 0 0\n .25 .25 .25\n"
KPOINTS = "k\n0\nGamma\n2 2 2\n"


@pytest.fixture
def inputs_of(tmp_path):
    def read(tags):
        for name, text in (("POSCAR", POSCAR), ("KPOINTS", KPOINTS), ("INCAR", f"ENCUT = 200\n{tags}")):
            (tmp_path / name).write_text(text)
        inputs = read_inputs(tmp_path)
        inputs.raise_on_errors()
        return inputs

    return read


def test_nothing_moves(inputs_of):
    inputs = inputs_of("NSW = 0")
    assert motion_rows(inputs) == [] and points(inputs) == 1


@pytest.mark.parametrize(
    ("tags", "count", "words"),
    [
        (
            "NSW = 9\nIBRION = 2\nISIF = 3\nEDIFFG = -0.02\nPSTRESS = 10",
            9,
            [
                "relaxation of ions and cell by quasi-Newton steps: 6 coordinates of ions and 6 strains of the cell, "
                "pressure 10 kbar",
                "ends at forces of 0.02 eV/Å and stresses of 0.5 kbar, or after 9 steps",
            ],
        ),
        (
            "NSW = 1\nIBRION = 2\nISIF = 7\nEDIFFG = 1E-3",
            1,
            [
                "relaxation of volume of the cell by quasi-Newton steps: 1 strain of the cell",
                "ends when the energy changes by less than 0.001 eV, or after 1 step",
            ],
        ),
        (
            "NSW = 100\nIBRION = 0\nPOTIM = 2\nTEBEG = 300\nTEEND = 600\nMDALGO = 5\nCSVR_PERIOD = 50\nPOMASS = 30",
            100,
            [
                "molecular dynamics: 100 points of 2 fs, 198 fs, 300 to 600 K",
                "thermostat: csvr (50 fs); barostat: none",
                "3 degrees of freedom; Si 30 u; random numbers from RANDOM_SEED = 0",
            ],
        ),
        (
            "NSW = 1\nIBRION = 6\nPOTIM = 0.02",
            2,
            ["finite displacements of 0.02 Å, inequivalent directions: 2 points to do: the start, and 1 directions"],
        ),
        (
            "NSW = 1\nIBRION = 5\nNFREE = 2",
            13,
            ["finite displacements of 0.015 Å, all directions: 13 points to do: the start, and 6 directions"],
        ),
    ],
)
def test_what_moves_in_words(inputs_of, tags, count, words):
    inputs = inputs_of(tags)
    rows = motion_rows(inputs)
    assert [text for label, text in rows if label == "motion"] == words and points(inputs) == count
    assert rows[-1][0] == "prediction"


def test_check_says_what_moves_and_how_long_files_get(inputs_of):
    found = {}
    for steps in (1, 11):
        inputs = inputs_of(f"NSW = {steps}\nIBRION = 0\nPOTIM = 1\nTEBEG = 300")
        found[steps] = document(inputs)
        text = "\n".join(line for line, _ in lines(found[steps]))
        assert f"ionic steps       {steps}, after which" in text and "3 degrees of freedom" in text
    assert found[11]["motion"]["ionic_steps"] == 11 and found[11]["motion"]["kind"] == "dynamics"
    more = {name: size - found[1]["files"].get(name, 0) for name, size in found[11]["files"].items()}
    assert more["XDATCAR"] == 10 * (27 + 2 * 61) and more["trajectory.h5"] > 24_000 and more["DOSCAR"] == 0
    assert document(inputs_of("NSW = 0"))["motion"] is None


def test_check_says_that_a_single_atom_cannot_move(inputs_of, tmp_path):
    inputs = inputs_of("NSW = 5\nIBRION = 0\nPOTIM = 1\nTEBEG = 300")
    (tmp_path / "POSCAR").write_text(POSCAR.replace("\n2\n", "\n1\n").replace(" .25 .25 .25\n", ""))
    found = document(read_inputs(tmp_path))
    assert found["motion"] is None and not found["ok"] and "nothing is left to move" in found["problems"][0]["text"]
    with pytest.raises(InputError, match="nothing is left to move"):
        motion_rows(read_inputs(tmp_path))
    assert motion_rows(inputs)
