"""A run goes on from the orbitals of a WAVECAR alone; a file that does not fit is refused before it begins."""

import os
import shutil

import numpy as np
import pytest

from cost import shared
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.run import run_folder
from eigenwerk.errors import InputError
from input_folders import words

POSCAR = "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 {z}\n"
KPOINTS = "mesh\n0\nGamma\n2 2 {k}\n0 0 0\n"


def make_folder(path, z=0.26, k=1, **tags):
    """A folder with silicon; tags replace those of a quick calculation."""
    path.mkdir()
    values = {"ENCUT": 150, "EDIFF": "1E-7", "ISMEAR": 0, "SIGMA": 0.05, "NBANDS": 6} | tags
    (path / "INCAR").write_text("".join(f"{tag} = {value}\n" for tag, value in values.items()))
    (path / "POSCAR").write_text(POSCAR.format(z=z))
    (path / "KPOINTS").write_text(KPOINTS.format(k=k))
    return path


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """Results by number of spins, made when asked for; only WAVECAR is left of their files."""
    return Firsts(tmp_path_factory.mktemp("first"))


class Firsts(dict):
    def __init__(self, folder):
        self.folder = folder

    def __missing__(self, spins):
        folder = make_folder(self.folder / f"spins{spins}", ISPIN=spins, MAGMOM="0.5 -0.5")
        with shared():
            self[spins] = run_folder(folder)
        os.remove(folder / "eigenwerk.h5")
        return self[spins]


def _again(first, path, spins=1, **changes):
    folder = make_folder(path, ISTART=1, ISPIN=spins, MAGMOM="0.5 -0.5", **changes)
    shutil.copy(first[spins].folder / "WAVECAR", folder)
    return folder


@pytest.mark.fast("1")
@pytest.mark.parametrize("spins", [1, 2])
def test_the_first_step_has_the_energy_of_the_file(first, tmp_path, spins):
    result = run_folder(_again(first, tmp_path / "again", spins))
    assert "density and orbitals" in result.notes[0] and "WAVECAR" in result.notes[0]
    assert result.steps[0].free_energy == pytest.approx(first[spins].free_energy, abs=1e-7)
    assert len(result.steps) <= 3 and result.converged
    assert result.free_energy == pytest.approx(first[spins].free_energy, abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{"ENCUT": 170}, {"NBANDS": 9}, {"NBANDS": 5}, {"z": 0.255}])
def test_cutoff_bands_and_places_may_be_others(first, tmp_path, changes):
    result = run_folder(_again(first, tmp_path / "again", **changes))
    (tmp_path / "again" / "INCAR").write_text((tmp_path / "again" / "INCAR").read_text().replace("ISTART = 1", ""))
    fresh = run_folder(tmp_path / "again", output=tmp_path / "fresh")
    assert result.free_energy == pytest.approx(fresh.free_energy, abs=2e-7)
    assert abs(result.steps[0].free_energy - fresh.free_energy) < abs(fresh.steps[0].free_energy - fresh.free_energy)


def test_orbitals_of_another_normalisation_are_made_orthonormal(first, tmp_path):
    """As those of other PAW data would be: scaled, and mixed with each other."""
    folder = _again(first, tmp_path / "again")
    whole = np.fromfile(folder / "WAVECAR")
    size = int(whole[0]) // 8
    points, bands = int(whole[size]), int(whole[size + 1])
    records_xr = whole.reshape(-1, size)
    for k in range(points):
        start = 2 + k * (1 + bands) + 1
        records_xr[start + 1] = 1.3 * records_xr[start + 1] + 0.2 * records_xr[start]
    whole.tofile(folder / "WAVECAR")
    result = run_folder(folder)
    assert result.free_energy == pytest.approx(first[1].free_energy, abs=1e-7) and len(result.steps) <= 4


@pytest.mark.slow
def test_orbitals_of_other_points_are_not_used_and_that_is_said(first, tmp_path):
    """As VASP begins anew; with ICHARG = 1 from a density, if there is one."""
    folder = make_folder(tmp_path / "x", ISTART=1, ICHARG=1, k=2, LCHARG="T")
    shutil.copy(first[1].folder / "WAVECAR", folder)
    inputs = read_inputs(folder)
    (said,) = [str(problem) for problem in inputs.problems if problem.file == "WAVECAR"]
    assert "has 3 k-points, this run" in said and said.endswith("the run starts from atoms.")
    assert inputs.restart is None and inputs.setting("ISTART") == 0
    result = run_folder(folder)
    assert result.converged and any("k-points" in text for text in result.warnings)
    for name in ("WAVECAR", "CHGCAR"):
        shutil.copy(first[1].folder / name, folder)
    os.remove(folder / "eigenwerk.h5")
    inputs = read_inputs(folder)
    assert inputs.restart == "density" and inputs.restart_file == folder / "CHGCAR" and not inputs.errors
    os.truncate(folder / "WAVECAR", 0)
    inputs = read_inputs(folder)
    assert inputs.restart == "density" and "starts from the density alone" in words(inputs, "warning")


@pytest.mark.fast("2-1")
@pytest.mark.parametrize(("spins", "now"), [(1, 2), (2, 1)])
def test_orbitals_of_another_number_of_spins_serve(first, tmp_path, spins, now):
    """Both spins begin with those of one, and with the starting moments; of two the first serves."""
    folder = make_folder(tmp_path / "x", ISTART=1, ISPIN=now, MAGMOM="0.5 -0.5")
    shutil.copy(first[spins].folder / "WAVECAR", folder)
    assert not read_inputs(folder).errors
    result = run_folder(folder)
    assert any(f"ISPIN was {spins}, now it is {now}" in text for text in result.notes)
    assert result.free_energy == pytest.approx(first[now].free_energy, abs=2e-7)
    assert abs(result.steps[0].free_energy - result.free_energy) < 0.1


@pytest.mark.slow
def test_a_moment_that_is_fixed_starts_from_orbitals_without_spin(first, tmp_path):
    folder = make_folder(tmp_path / "x", ISTART=1, ISPIN=2, NUPDOWN=2, MAGMOM="1 1")
    shutil.copy(first[1].folder / "WAVECAR", folder)
    fresh = make_folder(tmp_path / "y", ISPIN=2, NUPDOWN=2, MAGMOM="1 1")
    kept, other = run_folder(folder), run_folder(fresh)
    assert kept.moment == pytest.approx(2) and kept.free_energy == pytest.approx(other.free_energy, abs=1e-6)


@pytest.mark.slow
def test_an_empty_file_is_left_and_is_read_as_none(tmp_path):
    """As flows expect it: they copy WAVECAR from job to job."""
    folder = make_folder(tmp_path / "x", LWAVE="F", NELM=2)
    assert "WAVECAR" not in run_folder(folder).files and (folder / "WAVECAR").stat().st_size == 0
    again = make_folder(tmp_path / "y", ISTART=1, ICHARG=1)
    for name in ("WAVECAR", "CHGCAR", "POTCAR"):
        (again / name).touch()
    inputs = read_inputs(again)
    assert not inputs.errors and inputs.restart is None
    notes = [problem.file for problem in inputs.problems if "empty, so it is read as if" in problem.message]
    assert notes == ["POTCAR", "WAVECAR"]
    (again / "INCAR").write_text(
        (again / "INCAR").read_text().replace("ISTART = 1", "").replace("ICHARG = 1", "ICHARG = 11")
    )
    (error,) = read_inputs(again).errors
    assert "no density of an earlier run" in str(error)
    (folder / "WAVECAR").write_text("of another run")
    run_folder(folder)
    assert (folder / "WAVECAR").read_text() == "of another run"


def test_dependent_orbitals_and_missing_electrons_are_refused(first, tmp_path):
    for name, said in (("dependent", "depend on each other"), ("empty", "mean 0 electrons")):
        folder = _again(first, tmp_path / name)
        whole = np.fromfile(folder / "WAVECAR")
        size = int(whole[0]) // 8
        points, bands = int(whole[size]), int(whole[size + 1])
        records_xr = whole.reshape(-1, size)
        for k in range(points):
            start = 2 + k * (1 + bands)
            if name == "empty":
                records_xr[start, 6 : 4 + 3 * bands : 3] = 0
            else:
                records_xr[start + 2] = records_xr[start + 1]
        whole.tofile(folder / "WAVECAR")
        with pytest.raises(InputError, match=said):
            run_folder(folder)


@pytest.mark.fast("tags0-True", "tags2-False")
@pytest.mark.parametrize(
    ("tags", "there"), [({}, True), ({"LWAVE": ".TRUE."}, True), ({"LWAVE": ".FALSE."}, False), ({"LH5": "T"}, False)]
)
def test_when_a_wavecar_is_written(tmp_path, tags, there):
    result = run_folder(make_folder(tmp_path / "x", NELM=2, **tags))
    assert ("WAVECAR" in result.files) == there


@pytest.mark.slow
def test_large_files_are_written_only_if_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr("eigenwerk.dft.inputs.steps.field_files.UP_TO", 1000)
    assert "WAVECAR" not in run_folder(make_folder(tmp_path / "x", NELM=2)).files
    assert "WAVECAR" in run_folder(make_folder(tmp_path / "y", NELM=2, LWAVE="T")).files
