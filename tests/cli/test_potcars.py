"""`eigenwerk potcars`: folders that pymatgen's input sets and ASE's Vasp take for their library."""

import pytest
from ase.build import molecule

from eigenwerk.cli.main import main
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.io.vasp.potcar_stand_in import SUFFIXES
from when_used import when_used

Vasp = when_used("ase.calculators.vasp", "Vasp")
Lattice = when_used("pymatgen.core", "Lattice")
Structure = when_used("pymatgen.core", "Structure")
SETTINGS = when_used("pymatgen.io.vasp.inputs", "SETTINGS")
MPScanStaticSet = when_used("pymatgen.io.vasp.sets", "MPScanStaticSet")
MPStaticSet = when_used("pymatgen.io.vasp.sets", "MPStaticSet")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("potcars") / "new"
    assert main(["potcars", str(folder)]) == 0
    return folder


@pytest.mark.slow
@pytest.mark.fast("MPScanStaticSet")
@pytest.mark.parametrize("input_set", [MPStaticSet, MPScanStaticSet], ids=["MPStaticSet", "MPScanStaticSet"])
def test_input_sets_of_pymatgen_write_a_folder(library, input_set, tmp_path, monkeypatch):
    monkeypatch.setitem(SETTINGS.itself, "PMG_VASP_PSP_DIR", str(library))
    silicon = Structure(Lattice.from_parameters(3.84, 3.84, 3.84, 60, 60, 60), ["Si", "Si"], [[0] * 3, [0.25] * 3])
    with pytest.warns(UserWarning, match="not known"):
        made = input_set(silicon)
        assert made.nelect == 8
        made.write_input(tmp_path)
    assert read_inputs(tmp_path).texts.species == ("Si",)


def test_ase_makes_the_potcar_of_a_molecule(library, tmp_path, monkeypatch):
    water = molecule("H2O", vacuum=3)
    calculator = Vasp(directory=tmp_path, xc="pbe", encut=300)
    monkeypatch.setenv("VASP_PP_PATH", str(library))
    calculator.write_input(water)
    assert sorted(read_inputs(tmp_path).texts.species) == ["H", "O"]


@pytest.mark.slow
def test_a_second_time_writes_the_same_and_foreign_files_are_kept(library, tmp_path, capsys):
    assert main(["potcars", str(library)]) == 0
    foreign = tmp_path / "potpaw_PBE" / "Ag" / "POTCAR"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("PAW_PBE Ag 02Apr2005\n")
    assert main(["potcars", str(tmp_path)]) == 2
    assert "is kept. Give another folder" in capsys.readouterr().err
    assert foreign.read_text() == "PAW_PBE Ag 02Apr2005\n"


@pytest.mark.slow
def test_links_of_another_origin_are_kept(tmp_path, capsys):
    (tmp_path / "POT_GGA_PAW_PBE").mkdir()
    assert main(["potcars", str(tmp_path)]) == 2
    assert "something else has this name" in capsys.readouterr().err


def test_every_name_of_an_element_is_there(library):
    assert {path.name for path in (library / "potpaw_PBE").glob("Fe*")} == {f"Fe{suffix}" for suffix in SUFFIXES}


def test_below_a_file_is_no_place_and_there_is_no_option_for_another(tmp_path, capsys):
    (tmp_path / "FILE").write_text("")
    for place in (tmp_path / "FILE", tmp_path / "FILE" / "below"):
        assert main(["potcars", str(place)]) == 2
        err = capsys.readouterr().err
        assert "is a file" in err and "Choose another folder." in err and "--output" not in err
