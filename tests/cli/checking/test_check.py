"""`eigenwerk check`: what it shows, what it returns, and how fast it is."""

import json
import os
import re
import shutil

import pytest

from eigenwerk.cli.checking import check_document
from eigenwerk.cli.checking.check_text import compact, size
from eigenwerk.cli.main import main
from loaded_modules import SLOW_PACKAGES, modules_loaded_by

EXAMPLES = ("01_silicon_pbe", "02_aluminium_metal", "03_iron_magnet", "04_water_molecule", "07_silicon_bands")


@pytest.fixture
def silicon(repository, tmp_path):
    """A copy of the silicon example that a test may damage."""
    return shutil.copytree(repository / "examples" / "01_silicon_pbe", tmp_path / "silicon")


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_are_ready_to_run(repository, capsys, example):
    assert main(["check", str(repository / "examples" / example)]) == 0
    out, err = capsys.readouterr()
    assert "Ready to run" in out
    assert err == ""


def test_the_text_shows_every_part(repository, capsys):
    main(["check", str(repository / "examples" / "01_silicon_pbe")])
    text = capsys.readouterr().out
    for line in (
        r"Si2: silicon in the diamond structure, PBE",
        r"  ENCUT +400 eV +INCAR line 3",
        r"  NGX +24 +from PREC and ENCUT",
        r"  defaults  .*NELM 120",
        r"  atoms +2 \(2 Si\)",
        r"  volume +40\.\d+ Å³, 20\.\d+ Å³ per atom",
        r"  shortest distance 2\.351\d Å, atoms 1 \(Si\) and 2 \(Si\)",
        r"  space group +Fd-3m \(227\), point group m-3m",
        r"  operations +48; k and -k are the same",
        r"  points +Gamma-centred 4 x 4 x 4 mesh: 64 points, 8 irreducible",
        r"    1 +0.000000   0.000000   0.000000   weight 0.015625",
        r"  electrons +8",
        r"  bands +8, of which the electrons need 4",
        r"  per k-point +716 to 740, 5809 in all",
        r"  density grid +48 x 48 x 48",
        r"  Si +Si.PBE: 4 electrons, 13 projectors, PBE",
        r" +cutoff 220 eV recommended, 150 eV at least",
        r" +md5 [0-9a-f]{32}",
        r"  total +\d+ MB; this machine has",
    ):
        assert re.search(rf"^{line}", text, re.MULTILINE), line
    assert "\x1b[" not in text, "no colours where there is no terminal"
    assert text.rstrip().endswith("Ready to run.")


def test_errors_come_first_and_give_exit_code_two(silicon, capsys):
    (silicon / "INCAR").write_text("ALGO = Old\nENCUT = 40\nNBANDS = 2\nENCOT = 5\n")
    assert main(["check", str(silicon)]) == 2
    text = capsys.readouterr().out
    kinds = re.findall(r"^  (error|warning|note) ", text, re.MULTILINE)
    assert kinds == ["error", "error", "warning", "note", "note"]
    assert re.search(r"error +INCAR line 4: ENCOT = 5: there is no tag ENCOT. Did you mean ENCUT\?", text)
    assert "INCAR line 3: NBANDS = 2, but 8 electrons need at least 4 bands" in text
    assert text.rstrip().endswith("Not ready to run: 2 errors, 1 warning, 2 notes.")
    assert "Fd-3m (227)" in text, "the rest of the input is shown all the same"


def test_without_a_structure_the_rest_is_shown(silicon, capsys):
    (silicon / "POSCAR").unlink()
    assert main(["check", str(silicon)]) == 2
    text = capsys.readouterr().out
    assert "POSCAR: there is no such file" in text
    assert "ENCUT" in text
    assert "Structure" not in text


def test_json_is_one_document_with_the_same_content(repository, capsys):
    assert main(["check", "--json", str(repository / "examples" / "03_iron_magnet")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is True
    assert found["formula"] == "Fe"
    assert found["structure"]["volume"] == pytest.approx(2.83**3 / 2, rel=1e-6)
    assert found["structure"]["shortest_distance"]["distance"] == pytest.approx(2.83 * 3**0.5 / 2)
    assert found["symmetry"]["operations"] == 48
    assert (found["kpoints"]["full"], found["kpoints"]["irreducible"]) == (512, 29)
    assert sum(found["kpoints"]["weights"]) == pytest.approx(1.0)
    assert found["electrons"]["starting_moment"] == 3.0
    assert found["electrons"]["width"] == pytest.approx(0.1)
    (data,) = found["datasets"]
    assert (data["element"], data["name"], data["valence"]) == ("Fe", "Fe.PBE", 8.0)
    assert len(data["md5"]) == 32
    settings = {setting["tag"]: setting for setting in found["settings"]}
    assert settings["SIGMA"] == {
        "tag": "SIGMA", "value": 0.1, "unit": "eV", "origin": "INCAR line 6", "given": True, "text": "0.1"
    }  # fmt: skip
    memory = found["memory"]
    assert memory["total"] <= sum(memory["items"].values())


def test_json_of_bad_input_lists_the_problems(silicon, tmp_path, capsys):
    (silicon / "INCAR").write_text("NBANDS = 2\n")
    assert main(["check", "--json", str(silicon)]) == 2
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is False
    first = found["problems"][0]
    assert (first["severity"], first["file"], first["line"], first["tag"]) == ("error", "INCAR", 1, "NBANDS")
    assert main(["check", "--json", str(tmp_path / "nowhere")]) == 2
    assert "no such folder" in json.loads(capsys.readouterr().out)["problems"][0]["text"]


def test_a_missing_folder_is_a_message_and_exit_code_two(tmp_path, capsys):
    assert main(["check", str(tmp_path / "nowhere")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "there is no such folder" in err


def test_the_current_folder_is_the_default(silicon, monkeypatch, capsys):
    monkeypatch.chdir(silicon)
    assert main(["check"]) == 0
    assert "Si2" in capsys.readouterr().out


def test_nothing_is_written(silicon):
    before = sorted(os.listdir(silicon))
    silicon.chmod(0o555)
    assert main(["check", str(silicon)]) == 0
    silicon.chmod(0o755)
    assert sorted(os.listdir(silicon)) == before


def test_too_little_memory_is_a_warning(repository, monkeypatch, capsys):
    monkeypatch.setattr(check_document, "installed_memory", lambda: 10**8)
    assert main(["check", str(repository / "examples" / "01_silicon_pbe")]) == 0
    assert re.search(
        r"warning +INCAR: about 0\.\d GB of memory are needed, this machine has 0\.1 GB", capsys.readouterr().out
    )


def test_titles_may_hold_anything(silicon, capsys):
    (silicon / "INCAR").write_text("SYSTEM = [bold] {x} \x1b[31m 100% [/]\n")
    main(["check", str(silicon)])
    out = capsys.readouterr().out
    assert "[bold] {x}" in out
    assert "\x1b" not in out


def test_few_modules_are_loaded_and_no_slow_package(repository):
    """What makes the answer come within a second."""
    loaded = modules_loaded_by("check", str(repository / "examples" / "01_silicon_pbe"))
    assert not SLOW_PACKAGES & loaded
    assert len(loaded) < 800  # 799 today, 321 of them eigenwerk's; PyTorch alone has 1100


@pytest.mark.parametrize(
    ("values", "text"), [((1.0, 1.0, 1.0), "3*1"), ((0.6, -1.0), "0.6 -1"), ((("Si", "v3"), ("O", "v2")), "Si:v3 O:v2")]
)
def test_lists_are_written_as_in_the_file(values, text):
    assert compact(values) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1234, "1.23 kB"),
        (99_960, "100 kB"),
        (396e6, "396 MB"),
        (2.3e9, "2.3 GB"),
        (1e16, "10000 TB"),
    ],
)
def test_sizes_have_about_three_digits(count, text):
    assert size(count) == text


def test_bands_besides_are_told(repository, capsys):
    assert main(["check", str(repository / "examples" / "07_silicon_bands")]) == 0
    text = capsys.readouterr().out
    assert "bands besides     path of 3 lines in KPOINTS_OPT: 63 points, in the potential of the run" in text


@pytest.mark.parametrize("command", ["check", "run", "plan", "eos", "relax"])
def test_a_file_in_place_of_its_folder_names_the_folder(silicon, capsys, command):
    assert main([command, str(silicon / "POSCAR")]) == 2
    assert f"POSCAR: it is a file. Give its folder ({silicon}) with INCAR" in capsys.readouterr().err
