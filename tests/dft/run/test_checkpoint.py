"""What a later run takes from eigenwerk.h5: the converged energy never depends on it, the number of steps does."""

from pathlib import Path

import numpy as np
import pytest
import torch

from eigenwerk import __version__
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.density import electrons_of
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.run.checkpoint import load_start
from eigenwerk.dft.run.run import run_folder
from eigenwerk.dft.scf.carried import common_points
from eigenwerk.errors import InputError
from eigenwerk.io.hdf5_state import read_state, write_state
from eigenwerk.io.paw_xml import read_paw_xml

POSCAR = "silicon\n{a}\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 {last}\n"
KPOINTS = "mesh\n0\nGamma\n{mesh}\n"
INCAR = {"ENCUT": 150, "EDIFF": "1E-7", "ISMEAR": 0, "SIGMA": 0.05, "NBANDS": 6}


def make_folder(path, a=5.43, last=0.26, mesh="2 2 1", **tags):
    path.mkdir(exist_ok=True)
    (path / "POSCAR").write_text(POSCAR.format(a=a, last=last))
    (path / "KPOINTS").write_text(KPOINTS.format(mesh=mesh))
    (path / "INCAR").write_text("".join(f"{tag} = {value}\n" for tag, value in (INCAR | tags).items()))
    return path


def make_calculation(folder):
    inputs = read_inputs(folder)
    datasets = {symbol: read_paw_xml(file) for symbol, file in inputs.datasets.items()}
    return Calculation(inputs.structure, inputs.kpoints, inputs.parameters, datasets)


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """A converged run: (its state file, its result)."""
    folder = make_folder(tmp_path_factory.mktemp("earlier") / "run")
    return folder / "eigenwerk.h5", run_folder(folder)


@pytest.fixture
def folder_with_state(earlier, tmp_path):
    """Makes a folder that holds the state of the earlier run and asks for it."""

    def make(state=None, **changes):
        folder = make_folder(tmp_path / "later", **({"ISTART": 1} | changes))
        (folder / "eigenwerk.h5").write_bytes(Path(state or earlier[0]).read_bytes())
        return folder

    return make


def test_nothing_is_left_to_do_for_the_same_input(earlier, folder_with_state):
    result = run_folder(folder_with_state())
    assert len(result.steps) == 2
    assert result.free_energy == pytest.approx(earlier[1].free_energy, abs=1e-7)  # EDIFF
    # the first residual is the one that the finished run had left, a hundredth of a fresh start's at least
    assert result.steps[0].density_residual < 1.5 * earlier[1].steps[-1].density_residual
    assert result.steps[0].density_residual < 0.01 * earlier[1].steps[0].density_residual


def test_stored_state_comes_back_unchanged(earlier, folder_with_state):
    calculation = make_calculation(folder_with_state())
    start, state = load_start(earlier[0], calculation), earlier[1].ground_state.state
    assert torch.allclose(start.density.density_sg, state.following.density_sg, rtol=1e-13, atol=0)
    assert torch.allclose(start.density.occupancy_sx, state.following.occupancy_sx, rtol=1e-13, atol=0)
    assert torch.allclose(start.coeff_sknG, state.coeff_sknG, rtol=1e-14, atol=0)
    assert start.notes == ()


CHANGES = {
    "larger cutoff": {"ENCUT": 200},
    "smaller cutoff": {"ENCUT": 120},
    "finer density": {"PREC": "Accurate"},
    "more bands": {"NBANDS": 9},
    "fewer bands": {"NBANDS": 5},
    "two spin channels": {"ISPIN": 2, "MAGMOM": "0.1 0.1"},
    "other k-points": {"mesh": "2 2 2"},
    "moved atoms": {"last": 0.255},
    "strained cell": {"a": 5.5},
    "density only": {"ISTART": 0, "ICHARG": 1},
}


def steps_to_a_microelectronvolt(result):
    return next(step.step for step in result.steps if abs(step.free_energy - result.free_energy) < 1e-6)


@pytest.mark.parametrize("change", CHANGES)
def test_result_does_not_depend_on_the_start(folder_with_state, tmp_path, change):
    scratch = run_folder(make_folder(tmp_path / "scratch", **({"ISTART": 0} | CHANGES[change])))
    again = run_folder(folder_with_state(**CHANGES[change]))
    assert scratch.converged and again.converged
    assert again.free_energy == pytest.approx(scratch.free_energy, abs=1e-7)  # EDIFF
    if change != "other k-points":  # on meshes this coarse the density of another one is no better than atoms
        assert steps_to_a_microelectronvolt(again) <= steps_to_a_microelectronvolt(scratch)
    taken = "density" if change in ("other k-points", "density only") else "density and orbitals"
    assert again.notes[0].startswith(f"starting from the {taken} of") and not scratch.notes


@pytest.mark.parametrize(("change", "words"), [
    ("other k-points", "the k-points differ"),
    ("moved atoms", "atoms have moved by up to 0.0"),
    ("strained cell", "the cell has changed"),
    ("two spin channels", "ISPIN was 1, now it is 2"),
])  # fmt: skip
def test_differences_are_told(folder_with_state, change, words):
    folder = folder_with_state(**CHANGES[change])
    notes = load_start(folder / "eigenwerk.h5", make_calculation(folder)).notes
    assert any(words in note for note in notes), notes


@pytest.mark.parametrize("change", CHANGES)
def test_start_has_the_right_shapes_and_electrons(folder_with_state, change):
    folder = folder_with_state(**CHANGES[change])
    calculation = make_calculation(folder)
    start = load_start(folder / "eigenwerk.h5", calculation)
    assert float(electrons_of(start.density, calculation.atoms).sum()) == pytest.approx(8, abs=1e-12)
    assert start.density.spin == calculation.basis.spin
    assert start.density.density_sg.shape[1] == calculation.basis.density_count
    if start.coeff_sknG is not None:
        spins, bands = calculation.parameters.spins, calculation.parameters.bands
        assert start.coeff_sknG.shape[:1] + start.coeff_sknG.shape[2:3] == (spins, bands)
        assert float((start.coeff_sknG.abs() * (1 - calculation.basis.mask_kG[:, None])).max()) == 0


def test_polarised_state_serves_an_unpolarised_run(tmp_path):
    folder = make_folder(tmp_path / "x", ISPIN=2, MAGMOM="0.5 0.5", NELM=4)
    run_folder(folder)
    scratch = run_folder(make_folder(tmp_path / "y"))
    again = run_folder(make_folder(folder, ISTART=1))
    assert again.free_energy == pytest.approx(scratch.free_energy, abs=2e-8)
    assert any("ISPIN was 2" in note for note in again.notes)


def test_other_number_of_electrons_is_reached(folder_with_state):
    folder = folder_with_state(NELECT=7.5)
    calculation = make_calculation(folder)
    start = load_start(folder / "eigenwerk.h5", calculation)
    assert float(electrons_of(start.density, calculation.atoms).sum()) == pytest.approx(7.5, abs=1e-12)


def test_orbitals_can_be_left_out(tmp_path):
    folder = make_folder(tmp_path / "x", LWAVE=".FALSE.", NELM=3)
    run_folder(folder)
    assert "coeff_sknG" not in read_state(folder / "eigenwerk.h5")["bands"]
    again = run_folder(make_folder(folder, ISTART=1, NELM=3))
    assert "the file holds no orbitals: density only" in again.notes


# --- refusals --------------------------------------------------------------------------------------------------------


def altered(earlier, tmp_path, change):
    """A state file with something changed in its tree."""
    state = read_state(earlier[0])
    change(state)
    write_state(tmp_path / "altered.h5", state, __version__)
    return tmp_path / "altered.h5"


def test_other_atoms_are_refused(earlier, folder_with_state, tmp_path):
    def change(state):
        state["structure"]["symbols"] = ("Ge", "Si")

    folder = folder_with_state(altered(earlier, tmp_path, change))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(InputError, match=r"2 atoms Ge Si, but POSCAR has the 2 atoms Si Si.*ISTART = 0"):
        run_folder(folder)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_other_paw_data_are_refused(earlier, folder_with_state, tmp_path):
    def change(state):
        state["setups"]["Si"]["md5"] = "0" * 32

    with pytest.raises(InputError, match=r"PAW data Si.PBE \(md5 00000000\) for Si"):
        run_folder(folder_with_state(altered(earlier, tmp_path, change)))


def test_state_of_something_else_is_refused(folder_with_state, tmp_path):
    write_state(tmp_path / "other.h5", {"levels": np.zeros(3)}, __version__)
    with pytest.raises(InputError, match="no ground state of a crystal"):
        run_folder(folder_with_state(tmp_path / "other.h5"))


# --- plane waves -----------------------------------------------------------------------------------------------------


def test_common_points_are_found_by_their_integers():
    here = np.array([[0, 0, 0], [1, 0, 0], [0, -2, 1], [3, 3, 3]])
    there = np.array([[0, -2, 1], [5, 0, 0], [0, 0, 0]])
    here_x, there_x = common_points(here, there)
    assert sorted(map(tuple, here[here_x])) == [(0, -2, 1), (0, 0, 0)]
    assert np.array_equal(here[here_x], there[there_x])
