"""`dft.run`: what a folder gives, without files; never silent about what went wrong."""

import inspect
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from ase.build import bulk, molecule

from eigenwerk import dft
from eigenwerk.dft.runs.api.run import InputWarning, NotConverged
from eigenwerk.dft.runs.run import run_folder
from eigenwerk.errors import InputError

SETTINGS = {"encut": 150, "ediff": 1e-6, "ismear": 0, "sigma": 0.05}


def silicon():
    atoms = bulk("Si")
    atoms.rattle(0.05, seed=1)
    return atoms


@pytest.fixture(scope="module")
def result():
    return dft.run(silicon(), kpts=(2, 2, 1), **SETTINGS)


def test_the_result_has_arrays_and_units(result):
    assert result.converged and result.symbols == ("Si", "Si") and result.files == {}
    assert result.forces_eV_per_A.shape == (2, 3) and result.stress_GPa.shape == (3, 3)
    assert result.eigenvalues_eV.shape == result.occupations.shape
    assert result.weights.sum() == pytest.approx(1) and result.moments_muB is None
    assert "converged in" in repr(result) and "<th" in result._repr_html_()


@pytest.mark.slow
def test_a_folder_gives_the_same_and_can_be_computed_again(result, tmp_path):
    before = os.listdir()
    written = dft.run(silicon(), kpts=(2, 2, 1), folder=tmp_path / "new", **SETTINGS)
    assert {"vasprun.xml", "eigenwerk.h5"} <= written.files.keys()
    again = run_folder(tmp_path / "new", output=tmp_path / "again")
    for other in (written.run, again):
        assert other.free_energy == pytest.approx(result.free_energy_eV, abs=1e-8)
        np.testing.assert_allclose(other.forces_av, result.forces_eV_per_A, atol=1e-5)
    assert os.listdir() == before


def test_a_result_is_a_start_for_moved_atoms(result):
    atoms = silicon()
    atoms.positions[1] += 0.01
    kept, fresh = (dft.run(atoms, kpts=(2, 2, 1), start=start, **SETTINGS) for start in (result, None))
    assert kept.free_energy_eV == pytest.approx(fresh.free_energy_eV, abs=1e-5)
    assert kept.run.applications < fresh.run.applications


def test_an_unconverged_result_is_a_warning():
    with pytest.warns(NotConverged, match="NOT CONVERGED in 2 steps"):
        result = dft.run(silicon(), kpts=(1, 1, 1), **SETTINGS, nelm=2)
    assert not result.converged and result.advice and "#b00000" in result._repr_html_()


@pytest.mark.slow
def test_doubts_about_the_input_are_warnings():
    atoms = silicon()
    with pytest.warns(InputWarning, match="starting moments are zero"):
        dft.run(atoms, kpts=(1, 1, 1), **SETTINGS, magmom=[0, 0])


def test_errors_come_before_anything_is_written(tmp_path):
    with pytest.raises(InputError, match="enct"):
        dft.run(silicon(), enct=300, folder=tmp_path)
    assert os.listdir(tmp_path) == []
    with pytest.raises(InputError, match="no cell"):
        dft.run(molecule("H2O"))
    with pytest.raises(InputError, match="device"):
        dft.run(silicon(), device="abacus")


def test_other_ranks_are_refused(monkeypatch):
    for name, value in {"RANK": 0, "WORLD_SIZE": 2, "MASTER_ADDR": "localhost", "MASTER_PORT": 29500}.items():
        monkeypatch.setenv(name, str(value))
    with pytest.raises(InputError, match="torchrun has started this script as one of 2 ranks"):
        dft.run(silicon())


def test_python_can_be_asked_for_the_keywords():
    names = inspect.signature(dft.run).parameters
    assert {"structure", "folder", "encut", "kspacing", "ismear"} <= names.keys()
    with pytest.raises(AttributeError, match="no attribute 'ruin'"):
        _ = dft.ruin


@pytest.mark.slow
@pytest.mark.ci
def test_check_does_not_wait_for_it(repository):
    words = "import sys; from eigenwerk import dft; from eigenwerk.dft.inputs.inputs import read_inputs; "
    words += "assert 'torch' not in sys.modules; dft.run; assert 'torch' in sys.modules and 'ase' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", words], cwd=repository).returncode == 0


@pytest.mark.parametrize(
    "argument",
    [{"start": "x"}, {"start": 123}, {"bands": 5}, {"device": 5}, {"folder": 123}, {"on_step": 5}, {"threads": -1},
     {"threads": 0}, {"threads": 2.5}, {"threads": True}, {"threads": 10**6}],
)  # fmt: skip
def test_an_argument_of_another_kind_is_told_by_its_name(argument):
    with pytest.raises(InputError, match=next(iter(argument))):
        dft.run(silicon(), kpts=(1, 1, 1), **argument, **SETTINGS)


def test_a_result_goes_to_other_processes_and_is_a_start_there(result):
    there = pickle.loads(pickle.dumps(result))
    assert there.free_energy_eV == result.free_energy_eV
    assert (there.forces_eV_per_A == result.forces_eV_per_A).all()
    again = dft.run(silicon(), kpts=(2, 2, 1), start=there, **SETTINGS)
    assert again.converged and again.free_energy_eV == pytest.approx(result.free_energy_eV, abs=1e-5)


def test_a_dispersion_correction_is_in_all_energies_forces_and_stress():
    """D2, which needs no library; by the function and by the calculator."""
    given = {"kpts": (1, 1, 1), **SETTINGS}
    plain, with_it = dft.run(silicon(), **given), dft.run(silicon(), ivdw=1, **given)
    assert plain.dispersion_eV is None and with_it.dispersion_eV < -0.1
    for name in ("energy_eV", "free_energy_eV", "energy_without_entropy_eV", "absolute_energy_eV"):
        assert getattr(with_it, name) - getattr(plain, name) == pytest.approx(with_it.dispersion_eV, abs=1e-7)
    assert np.abs(with_it.forces_eV_per_A - plain.forces_eV_per_A).max() > 1e-3
    assert with_it.pressure_GPa < plain.pressure_GPa - 0.1  # it pulls
    assert "dispersion correction" in repr(with_it)
    document = with_it.run.as_dict()["energies_eV"]
    assert document["dispersion"] == document["components"]["dispersion"] == with_it.dispersion_eV


@pytest.mark.slow
def test_a_state_with_a_correction_goes_on_and_another_correction_is_told(tmp_path):
    """Its settings come back from eigenwerk.h5 as they were."""
    given = {"ivdw": 1, "folder": tmp_path, **SETTINGS}
    first = dft.run(silicon(), vdw_s6=0.7, **given)
    same, other = (dft.run(silicon(), vdw_s6=scale, istart=1, **given) for scale in (0.7, 0.35))
    assert same.dispersion_eV == first.dispersion_eV and not any("IVDW" in note for note in same.run.notes)
    assert other.dispersion_eV == pytest.approx(first.dispersion_eV / 2)
    assert any("not the same IVDW" in note for note in other.run.notes) and len(other.run.steps) < 5
