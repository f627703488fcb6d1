"""`eigenwerk relax`: rounds until the plane waves fit the cell, and what INCAR leaves out is chosen."""

import subprocess
import sys

import numpy as np
import pytest

from eigenwerk.cli.main import main
from eigenwerk.cli.series import relax as series_relax
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.series.eos import equation_of_state, volumes
from eigenwerk.io.vasp.input.incar import read_incar
from eigenwerk.io.vasp.input.poscar import read_poscar
from eigenwerk.parallel.runtime import Runtime

POSCAR = "silicon\n{a}\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"


def relax(folder):
    command = [sys.executable, "-m", "eigenwerk.cli.main", "relax", str(folder), "--quiet"]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "POSCAR").write_text(POSCAR.format(a=5.35))
    (tmp_path / "KPOINTS").write_text("mesh\n0\nGamma\n2 2 2\n")
    (tmp_path / "INCAR").write_text("ENCUT = 160\nISMEAR = 0\nSIGMA = 0.05\nLCHARG = F\nNSW = 0\n")
    return tmp_path


@pytest.mark.slow
def test_a_crystal_ends_in_a_cell_that_its_plane_waves_fit(folder):
    done = relax(folder)
    assert done.returncode == 0, done.stderr
    rounds = sorted(path.name for path in (folder / "relaxed").iterdir() if path.is_dir())
    assert len(rounds) >= 2 and "At rest after" in done.stdout
    edges = [read_poscar(folder / "relaxed" / name / "CONTCAR").lattice_cv for name in rounds]
    assert np.abs(np.linalg.solve(edges[-2], edges[-1]) - np.eye(3)).max() < 0.002
    assert (folder / "relaxed" / "CONTCAR").read_text() == (folder / "relaxed" / rounds[-1] / "CONTCAR").read_text()
    incar = read_incar(folder / "relaxed" / "1" / "INCAR")
    assert (incar.values["ISIF"], incar.values["IBRION"], incar.values["NSW"]) == (3, 2, 150)
    assert incar.values["PULAY_CORRECTION"] is True
    assert not (folder / "eigenwerk.h5").exists()
    again = relax(folder)
    assert again.returncode == 0 and again.stdout.count("Nothing is left to do") == len(rounds)
    assert "--restart" not in again.stdout and f"Remove {folder / 'relaxed'} to begin anew." in again.stdout


def test_a_cell_that_does_not_settle_is_not_converged(folder, capsys, monkeypatch):
    monkeypatch.setattr(series_relax, "MOST_ROUNDS", 1)
    assert main(["relax", str(folder), "--quiet"]) == 3
    message = capsys.readouterr().err
    assert "the cell still changes, by a strain of 0.0" in message and "start again from POSCAR" in message


@pytest.mark.slow
def test_a_cell_with_a_vacuum_stays(folder):
    (folder / "POSCAR").write_text("h2\n1\n8 0 0\n0 8 0\n0 0 8\nH\n2\nCartesian\n0 0 0\n0 0 0.76\n")
    (folder / "KPOINTS").write_text("mesh\n0\nGamma\n1 1 1\n")
    done = relax(folder)
    assert done.returncode == 0, done.stderr
    found = read_poscar(folder / "relaxed" / "CONTCAR")
    assert np.array_equal(found.lattice_cv, 8 * np.eye(3))
    bond = np.linalg.norm(np.diff(found.scaled_ac, axis=0) * 8)
    assert bond == pytest.approx(0.75, abs=0.01)  # PBE, at this low cutoff


def test_no_relaxation_is_refused(folder, capsys):
    with (folder / "INCAR").open("a") as incar:
        incar.write("IBRION = 0\n")
    assert main(["relax", str(folder)]) == 2
    assert "IBRION = 0 is no relaxation" in capsys.readouterr().err
    assert not (folder / "relaxed").exists()


@pytest.mark.slow
def test_tags_that_share_a_line_are_taken_apart(folder, monkeypatch):
    (folder / "INCAR").write_text("ENCUT = 160; NSW = 0\nISMEAR = 0; SIGMA = 0.05\nLCHARG = F\n")
    (folder / "POSCAR").write_text(POSCAR.format(a=5.45))
    (folder / "KPOINTS").write_text("mesh\n0\nGamma\n1 1 1\n")
    monkeypatch.setattr(series_relax, "MOST_ROUNDS", 1)
    assert main(["relax", str(folder), "--quiet"]) in (0, 3)
    incar = read_incar(folder / "relaxed" / "1" / "INCAR")
    assert (incar.values["NSW"], incar.values["ENCUT"], incar.values["SIGMA"]) == (150, 160.0, 0.05)


def test_rounds_of_another_relaxation_are_not_gone_on_with(folder, capsys):
    place = folder / "relaxed" / "1"
    place.mkdir(parents=True)
    (place / "INCAR").write_text("ENCUT = 300\n")
    assert main(["relax", str(folder)]) == 2
    assert "is of another relaxation" in capsys.readouterr().err


def test_a_path_is_not_relaxed_and_nothing_is_written(path, capsys):
    assert main(["relax", str(path)]) == 2
    err = capsys.readouterr().err
    assert "`eigenwerk relax` does not relax paths" in err and "`eigenwerk run` computes paths" in err
    assert not (path / "relaxed").exists()


@pytest.mark.parametrize("words", [["--max-time", "1e"], ["--device", "foo"], ["--transport", "foo"]])
def test_options_that_mean_nothing_are_refused_before_anything_is_written(folder, capsys, words):
    assert main(["relax", str(folder), *words]) == 2
    assert words[1] in capsys.readouterr().err and not (folder / "relaxed").exists()


@pytest.mark.parametrize("tag", ["ICHARG = 11", "ICHARG = 12"])
def test_a_kept_density_is_refused_by_the_line_of_the_user_before_anything_is_written(folder, capsys, tag):
    with (folder / "INCAR").open("a") as incar:
        incar.write(f"{tag}\n")
    (folder / "CHGCAR").write_text("of an earlier run")
    assert main(["relax", str(folder)]) == 2
    said = capsys.readouterr().err
    assert f"INCAR line 6: {tag}: it keeps the density fixed, so there are no forces" in said
    assert "Remove the line." in said
    assert "NSW" not in said and not (folder / "relaxed").exists()


def test_what_forbids_the_relaxation_is_said_before_anything_is_written(folder, capsys):
    head = POSCAR.format(a=5.35).split("Direct")[0]
    (folder / "POSCAR").write_text(f"{head}Selective\nDirect\n0 0 0 F F F\n.25 .25 .25 F F F\n")
    with (folder / "INCAR").open("a") as incar:
        incar.write("ISIF = 2\n")
    assert main(["relax", str(folder)]) == 2
    assert "every coordinate has F" in capsys.readouterr().err and not (folder / "relaxed").exists()


@pytest.mark.slow
def test_copper_ends_where_its_energies_at_constant_cutoff_are_lowest(folder):
    """At fixed plane waves it ends at 3.59 Å; its energies at 400 eV are lowest at 3.651 (6 x 6 x 6)."""
    (folder / "POSCAR").write_text("copper\n3.62\n0 .5 .5\n.5 0 .5\n.5 .5 0\nCu\n1\nDirect\n0 0 0\n")
    (folder / "KPOINTS").write_text("mesh\n0\nGamma\n6 6 6\n")
    (folder / "INCAR").write_text("ENCUT = 400\nISMEAR = 1\nSIGMA = 0.2\nLCHARG = F\nLWAVE = F\n")
    done = relax(folder)
    assert done.returncode == 0, done.stderr
    found = read_poscar(folder / "relaxed" / "CONTCAR")
    assert 2 * found.lattice_cv[0, 1] == pytest.approx(3.6508, rel=1e-3)
    document = (folder / "relaxed" / "2" / "vasprun.xml").read_text()
    assert "Pulay stress: -7" in document, "kB, in the notes, beside a stress that is that of fixed waves"
    (folder / "POSCAR").write_text((folder / "relaxed" / "CONTCAR").read_text())
    inputs = read_inputs(folder)
    curve = equation_of_state(inputs, volumes(inputs, 0.06, 7), Runtime(), lambda so_far, point: None)
    assert curve.scale0 == pytest.approx(1, abs=1e-3) and curve.found.residual < 5e-4
