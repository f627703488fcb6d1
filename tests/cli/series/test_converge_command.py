"""`eigenwerk converge` from folder to files, words and exit codes."""

import json

import pytest

from eigenwerk.cli.main import main
from eigenwerk.dft.runs.series import points


@pytest.mark.parametrize(
    ("more", "names", "count"),
    [((), ["cutoff"], 3), pytest.param(("--sigma", "0.1,0.05"), ["cutoff", "smearing"], 5, marks=pytest.mark.slow)],
)
def test_cutoffs_and_widths_with_table_document_and_picture(folder, capsys, more, names, count):
    words = ["--encut", "180:240:30", *more, "-o", str(folder / "o")]
    assert main(["converge", str(folder), *words]) == 0
    out = capsys.readouterr().out
    assert f"{count} calculations, about" in out and "<- recommended" in out and "as a geometric series" in out
    document = json.loads((folder / "o" / "converge.json").read_text())
    assert [one["name"] for one in document["series"]] == names
    assert (folder / "o" / "converge.png").stat().st_size > 10000
    assert {path.name for path in folder.iterdir()} == {"INCAR", "POSCAR", "KPOINTS", "o"}


@pytest.mark.slow
def test_a_series_that_is_too_short_is_exit_code_3(folder, capsys):
    assert main(["converge", str(folder), "--kpoints", "1:2:1", "--no-plot", "--json"]) == 3
    said = capsys.readouterr()
    assert "none of these settings; go on with better ones" in said.err
    (series,) = json.loads(said.out)["series"]
    assert series["sufficient"][0]["setting"] is None


@pytest.mark.slow
def test_by_itself_it_varies_cutoff_and_mesh_and_says_the_cost(folder, capsys):
    assert main(["converge", str(folder), "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "8 calculations, about" in out and "cutoff: ENCUT = 140" in out and "k-points: 1 x 1 x 1" in out
    assert len(list(folder.iterdir())) == 3
    (folder / "KPOINTS").write_text("mesh\n0\nGamma\n1 1 1\n")
    assert main(["converge", str(folder), "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "4 calculations" in out and "k-points are left alone" in out


@pytest.mark.parametrize(
    "words", [["--encut", "180"], ["--kpoints", "0:4:1"], ["--tolerance", "0"], ["--sigma", "0.1:x:1"]]
)
def test_bad_options_are_exit_code_2(folder, words, capsys):
    assert main(["converge", str(folder), *words]) == 2
    assert words[0] in capsys.readouterr().err


@pytest.mark.slow
def test_ctrl_c_keeps_finished_settings(folder, capsys, monkeypatch):
    computed, attempt = [], points._attempt

    def stopping(inputs, runtime, start):
        if len(computed) == 3:
            raise KeyboardInterrupt
        computed.append(inputs)
        return attempt(inputs, runtime, start)

    monkeypatch.setattr(points, "_attempt", stopping)
    words = ["converge", str(folder), "--encut", "140,180", "--kpoints", "1,2", "--no-plot", "--tolerance", "1e5"]
    assert main(words) == 130
    assert "3 finished points are kept in " in capsys.readouterr().out
    document = json.loads((folder / "converge.json").read_text())
    assert document["interrupted"] and [len(series["settings"]) for series in document["series"]] == [2, 1]
    computed.clear()
    assert main(words) == 0
    assert "3 of 4 are those of " in capsys.readouterr().out and len(computed) == 1
    document = json.loads((folder / "converge.json").read_text())
    assert not document["interrupted"] and all(series["complete"] for series in document["series"])
