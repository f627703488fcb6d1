"""`eigenwerk build`: a POSCAR in, a POSCAR out."""

import numpy as np
import pytest

from eigenwerk.cli.main import main
from eigenwerk.io.vasp.input.poscar import parse_poscar, read_poscar


@pytest.fixture
def silicon(repository):
    return str(repository / "examples" / "01_silicon_pbe")


def test_the_text_is_a_poscar(silicon, capsys):
    assert main(["build", silicon, "--supercell", "2", "2", "2", "--replace", "Si:Ge:2", "--remove", "3"]) == 0
    made = parse_poscar(capsys.readouterr().out)
    assert made.species_runs == (("Si", 13), ("Ge", 2))
    assert "2 x 2 x 2 supercell; Ge for Si" in made.title


def test_a_file_is_written_and_described(silicon, tmp_path, capsys):
    target = tmp_path / "POSCAR"
    words = ["build", silicon + "/POSCAR", "--slab", "1", "-1", "1", "--layers", "6", "--vacuum", "10"]
    assert main([*words, "--output", str(target)]) == 0
    assert f"{target}: Si6, 6 atoms" in capsys.readouterr().out
    assert len(read_poscar(target).symbols) == 6


def test_missing_folders_are_made_and_a_folder_gets_a_poscar(silicon, tmp_path, capsys):
    folder = tmp_path / "new" / "big"
    assert main(["build", silicon, "--supercell", "2", "1", "1", "-o", str(folder / "POSCAR")]) == 0
    assert len(read_poscar(folder / "POSCAR").symbols) == 4
    assert main(["build", silicon, "--supercell", "2", "1", "1", "-o", str(folder.parent)]) == 0
    assert f"{folder.parent / 'POSCAR'}: Si4" in capsys.readouterr().out
    assert [entry.name for entry in folder.iterdir()] == ["POSCAR"]
    assert main(["build", silicon, "--supercell", "2", "1", "1", "-o", str(folder / "POSCAR" / "below")]) == 2
    assert "it is a file" in capsys.readouterr().err


def test_an_existing_file_is_kept_unless_forced(silicon, tmp_path, capsys):
    target = tmp_path / "POSCAR"
    target.write_text("mine")
    words = ["build", silicon, "--remove", "1", "--output", str(target)]
    assert main(words) == 2
    assert "exists. Choose another name" in capsys.readouterr().err
    assert target.read_text() == "mine"
    assert main([*words, "--force"]) == 0
    assert len(read_poscar(target).symbols) == 1


def test_a_matrix_makes_the_cubic_cell(silicon, capsys):
    assert main(["build", silicon, "--matrix", *"-1 1 1 1 -1 1 1 1 -1".split()]) == 0
    made = parse_poscar(capsys.readouterr().out)
    assert len(made.symbols) == 8
    assert made.lattice_cv == pytest.approx(made.lattice_cv[0, 0] * np.eye(3), abs=1e-9)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--layers", "3"], "--layers: of which plane?"),
        (["--supercell", "2", "2", "0"], "three whole numbers above zero"),
        (["--supercell", "2", "2", "2", "--matrix", *"1 0 0 0 1 0 0 0 1".split()], "Give one of them"),
        (["--remove", "7"], "There is no atom 7"),
        ([], "Nothing to do"),
    ],
)
def test_mistakes_are_messages_and_exit_code_two(silicon, capsys, words, message):
    assert main(["build", silicon, *words]) == 2
    streams = capsys.readouterr()
    assert message in streams.err
    assert streams.out == ""
