"""`eigenwerk eos` from folder to files, words and exit codes."""

import json
import subprocess
import sys

import pytest

from eigenwerk.cli.main import main
from eigenwerk.dft.runs.series import points

POSCAR = "silicon\n5.58\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "INCAR").write_text("ENCUT = 180\nISMEAR = 0\nSIGMA = 0.05\n")
    (tmp_path / "POSCAR").write_text(POSCAR)
    (tmp_path / "KPOINTS").write_text("mesh\n0\nGamma\n2 2 2\n")
    return tmp_path


def test_curve_document_and_picture(folder, capsys):
    words = ["--points", "5", "--plot", str(folder / "curve.svg"), "-o", str(folder / "o")]
    assert main(["eos", str(folder), *words]) == 0
    out = capsys.readouterr().out
    assert "5 calculations" in out and "B0'" in out and "length scale" in out and "Warning" not in out
    document = json.loads((folder / "o" / "eos.json").read_text())
    assert document["complete"] and len(document["points"]) == 5
    assert (folder / "curve.svg").read_text().lstrip().startswith("<?xml")
    names = {path.name for path in folder.iterdir()}
    assert names == {"INCAR", "POSCAR", "KPOINTS", "o", "curve.svg"}, "the folder is not touched"


@pytest.mark.slow
def test_a_minimum_elsewhere_is_exit_code_3_and_the_way_to_it(folder, capsys):
    (folder / "POSCAR").write_text(POSCAR.replace("5.58", "5.2"))
    assert main(["eos", str(folder), "--points", "5", "--range", "0.04", "--json", "--no-plot"]) == 3
    said = capsys.readouterr()
    assert "the minimum is not between the points" in said.err and "extrapolation" in said.err
    assert not json.loads(said.out)["bracketed"]


@pytest.mark.slow
def test_points_that_do_not_converge_are_exit_code_3(folder, capsys):
    (folder / "INCAR").write_text("ENCUT = 180\nISMEAR = 0\nSIGMA = 0.05\nNELM = 2\n")
    assert main(["eos", str(folder), "--points", "5"]) == 3
    out = capsys.readouterr().out
    assert "0 points converged, and a curve needs 5" in out and "no equation of state" in out
    assert json.loads((folder / "eos.json").read_text())["birch_murnaghan"] is None
    assert (folder / "eos.png").stat().st_size > 5000


def test_dry_run_says_the_cost_and_writes_nothing(folder, capsys):
    assert main(["eos", str(folder), "--dry-run"]) == 0
    assert "7 calculations, about" in capsys.readouterr().out
    assert len(list(folder.iterdir())) == 3
    (folder / "POSCAR").write_text("dimer\n8\n1 0 0\n0 1 0\n0 0 1\nSi\n2\nCartesian\n0 0 0\n.28 0 0\n")
    assert main(["eos", str(folder), "--dry-run"]) == 0
    assert "the cell has 8.0 Å without atoms" in capsys.readouterr().out


def test_bad_numbers_and_folders_are_exit_code_2(folder, capsys):
    assert main(["eos", str(folder), "--points", "3"]) == 2
    assert "--points 3" in capsys.readouterr().err
    assert main(["eos", str(folder / "none")]) == 2
    assert main(["eos", str(folder), "--plot", "curve.txt"]) == 2
    assert "ends in .png, .svg or .pdf" in capsys.readouterr().err


def test_one_process_computes_a_series(folder, monkeypatch, capsys):
    monkeypatch.setenv("RANK", "0")
    for name, value in {"WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    assert main(["eos", str(folder)]) == 2
    assert "a series is computed by one process" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.ci
def test_help_waits_for_no_slow_package():
    program = (
        "import sys\nfrom eigenwerk.cli.main import main\nmain(['eos', '--help'])\n"
        "assert not {'torch', 'scipy', 'matplotlib'} & set(sys.modules), sorted(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0 and "Birch-Murnaghan" in done.stdout, done.stderr


@pytest.mark.slow
def test_ctrl_c_keeps_finished_points_and_the_same_command_goes_on(folder, capsys, monkeypatch):
    whole = folder / "whole"
    assert main(["eos", str(folder), "--points", "5", "--no-plot", "-o", str(whole)]) == 0
    computed, attempt = [], points._attempt

    def stopping(inputs, runtime, start):
        if len(computed) == 2:
            raise KeyboardInterrupt
        computed.append(inputs.poscar.volume)
        return attempt(inputs, runtime, start)

    monkeypatch.setattr(points, "_attempt", stopping)
    words = ["eos", str(folder), "--points", "5", "--no-plot"]
    capsys.readouterr()
    assert main(words) == 130
    assert "2 finished points are kept in " in capsys.readouterr().out
    document = json.loads((folder / "eos.json").read_text())
    assert document["interrupted"] and not document["complete"] and len(document["points"]) == 2
    computed[:] = [0.0] * 3  # no more stops
    assert main(words) == 0
    assert "2 of 5 are those of " in capsys.readouterr().out and len(computed) == 3 + 3
    again, expected = (json.loads((place / "eos.json").read_text()) for place in (folder, whole))
    assert again["complete"] and not again["interrupted"]
    for one, other in zip(again["points"], expected["points"], strict=True):
        assert one["free_energy_eV"] == pytest.approx(other["free_energy_eV"], abs=2e-6)
    # a whole series is computed again, and so is one of other inputs
    assert points.finished_points(folder / "eos.json") == {}
    (folder / "INCAR").write_text("ENCUT = 190\nISMEAR = 0\nSIGMA = 0.05\n")
    (folder / "eos.json").write_text(json.dumps(document))
    assert len(points.finished_points(folder / "eos.json")) == 2
    assert main(words) == 0 and "are those of" not in capsys.readouterr().out


def test_documents_of_others_are_no_finished_points(tmp_path):
    marked = [{"interrupted": True, **rest} for rest in ({}, {"points": [{}]}, {"points": 1}, {"series": 3})]
    for text in ("", "[]", "{}", *map(json.dumps, marked)):
        (tmp_path / "eos.json").write_text(text)
        assert points.finished_points(tmp_path / "eos.json") == {}
    assert points.finished_points(tmp_path / "none.json") == {}
