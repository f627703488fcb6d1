"""Hybrids that are stopped within the outer loop of exact exchange go on as if they had not been."""

import shutil
from functools import cache

import numpy as np
import pytest

from cost import shared
from covering import covering
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.run import run_inputs
from eigenwerk.dft.runs.saving import exchange_tree
from eigenwerk.errors import InputError
from eigenwerk.io.hdf5.hdf5_state import read_state, write_state

FOLDERS = {
    # name: POSCAR, KPOINTS, INCAR
    "real by inversion": (
        "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .26\n", "2 1 1",
        "HFSCREEN = 0.2\n",
    ),
    "complex, two spins": (
        "SiC\n4.36\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi C\n1 1\nDirect\n0 0 0\n.24 .26 .27\n", "1 1 2",
        "HFSCREEN = 0.2\nISPIN = 2\nMAGMOM = 1 1\n",
    ),
    "Gamma": ("LiH\n4.0\n0 .5 .5\n.5 0 .5\n.5 .5 0\nLi H\n1 1\nDirect\n0 0 0\n.49 .5 .52\n", "1 1 1", "ENCUT = 90\n"),
    "nickel oxide": (
        "NiO\n4.18\n0 .5 .5\n.5 0 .5\n.5 .5 0\nO Ni\n1 1\nDirect\n0 0 0\n.5 .5 .5\n", "2 2 2",
        "ENCUT = 300\nHFSCREEN = 0.2\nISPIN = 2\nNBANDS = 14\n",
    ),
}  # fmt: skip
COMMON = "ENCUT = 100\nEDIFF = 1E-6\nISMEAR = 0\nSIGMA = 0.05\nLHFCALC = .TRUE.\n"
MESH = "mesh\n0\nGamma\n{}\n"


def make_folder(path, name, more=""):
    path.mkdir(parents=True)
    poscar, mesh, lines = FOLDERS[name]
    given = [line.split()[0] for line in (lines + more).splitlines()]
    begin = "".join(line for line in COMMON.splitlines(True) if line.split()[0] not in given)
    (path / "POSCAR").write_text(poscar)
    (path / "KPOINTS").write_text(MESH.format(mesh))
    (path / "INCAR").write_text(begin + lines + more)
    return path


def run_saving(folder, output, copies=None, resume=False, runtime=None):
    """Run with every step saved; folders with the states after each step (numbers of ionic step and of step, if there
    are several), as kill -9 would leave them."""
    found, ionic = {}, [0]

    def on_step(step):
        file, several = output / "eigenwerk.h5", "NSW" in (folder / "INCAR").read_text()
        ionic[0] += step.step == 1
        if copies is not None and file.is_file():
            key = (ionic[0], step.step) if several else step.step
            found[key] = copies / str(len(found))
            found[key].mkdir(parents=True)
            shutil.copy(file, found[key])

    result = run_inputs(read_inputs(folder, output), output, on_step, save_every=0, resume=resume, runtime=runtime)
    return result, found


def renewals(result):
    """Steps after which there was a new operator."""
    return [step.step for step in result.steps if any("exact exchange" in event for event in step.events)]


def exchange_words(steps):
    return [event for step in steps for event in step.events if "exact exchange" in event]


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """(name) -> folder, the whole run, copies of what it had saved after each step."""

    @cache
    def of(name):
        place = tmp_path_factory.mktemp("whole")
        folder = make_folder(place / "in", name)
        with shared():
            return folder, *run_saving(folder, place / "out", place / "killed")

    return of


def copy_of(folder, path):
    """Of a saved state, that a run may go on from and write to."""
    return shutil.copytree(folder, path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "moment"),
    covering(
        ("Gamma", "real by inversion", "complex, two spins"), ("within PBE", "first operator", "operator of several"),
        fast=lambda name, moment: name == "Gamma" and moment != "within PBE",
    ),
)  # fmt: skip
def test_a_run_killed_after_any_step_ends_with_the_same_bits(killed, tmp_path, name, moment):
    """Nothing is done twice, PBE least of all."""
    folder, whole, copies = killed(name)
    first, *_, last = renewals(whole)
    assert whole.converged and len(renewals(whole)) > 2
    step = {"within PBE": first - 1, "first operator": first, "operator of several": last - 1}[moment]
    again, _ = run_saving(folder, copy_of(copies[step], tmp_path / "run"), resume=True)
    assert len(again.steps) == len(whole.steps) - step
    assert again.free_energy == whole.free_energy
    np.testing.assert_array_equal(again.forces_av, whole.forces_av)
    assert exchange_words(again.steps) == exchange_words(whole.steps[step:])


@pytest.mark.slow
def test_a_run_killed_after_pairs_have_become_double_goes_on_with_them(tmp_path):
    folder = make_folder(tmp_path / "in", "complex, two spins", "EDIFF = 1E-10\n")
    whole, copies = run_saving(folder, tmp_path / "out", tmp_path / "killed")
    (step,) = [
        step.step for step in whole.steps if any("pairs are in double precision" in event for event in step.events)
    ]
    again, _ = run_saving(folder, copies[step], resume=True)
    assert whole.converged and again.converged and len(again.steps) == len(whole.steps) - step
    assert again.free_energy == whole.free_energy


@pytest.mark.slow
@pytest.mark.parametrize("moments", ["0 2", "2 0"])
def test_moments_that_pbe_does_not_keep_are_there_with_exact_exchange(tmp_path, moments):
    """Whichever atom was asked; a run that was killed while fields held them goes on with these."""
    folder = make_folder(tmp_path / "in", "nickel oxide", f"PREC = Normal\nMAGMOM = {moments}\n")
    free, copies = run_saving(folder, tmp_path / "out", tmp_path / "killed")
    held = [step.step for step in free.steps if any("leaves no moments" in event for event in step.events)]
    assert len(held) == 1 and abs(free.steps[held[0] - 1].moment) < 0.01
    assert free.converged and free.moment == pytest.approx(2.0, abs=1e-3)
    # with NUPDOWN = 2; without a moment -19.0314 eV
    assert free.free_energy == pytest.approx(-19.48298, abs=1e-4)
    again, _ = run_saving(folder, copies[held[0] + 1], resume=True)
    assert again.free_energy == free.free_energy and len(again.steps) == len(free.steps) - held[0] - 1


@pytest.mark.slow
def test_a_run_goes_on_within_an_ionic_step(tmp_path):
    folder = make_folder(tmp_path / "in", "Gamma", "IBRION = 0\nNSW = 2\nPOTIM = 0.5\nTEBEG = 300\n")
    whole, copies = run_saving(folder, tmp_path / "out", tmp_path / "killed")
    last = max(copies)
    assert last[0] == 2
    again, _ = run_saving(folder, copies[2, last[1] - 2], resume=True)
    assert again.free_energy == whole.free_energy
    np.testing.assert_array_equal(again.forces_av, whole.forces_av)


@pytest.mark.slow
def test_beyond_the_limit_the_operator_in_use_is_saved_alone(tmp_path, monkeypatch):
    """The next one is not made of those before then; the energy is the same within EDIFF, and PBE is not asked."""
    folder = make_folder(tmp_path / "in", "Gamma")
    monkeypatch.setattr(exchange_tree, "OPERATOR_BYTES", 0)
    whole, copies = run_saving(folder, tmp_path / "out", tmp_path / "killed")
    step = renewals(whole)[1]
    kept = read_state(copies[step] / "eigenwerk.h5", only=["exchange"])["exchange"]
    assert not kept["kept"] and kept["in_use"] is not None and kept["applications"] == 2
    again, _ = run_saving(folder, copies[step], resume=True)
    assert again.converged and "exact exchange 3" in exchange_words(again.steps)[0]
    assert again.free_energy == pytest.approx(whole.free_energy, abs=1e-6)


def test_what_has_converged_holds_no_operators(killed):
    folder, _, _ = killed("Gamma")
    assert read_state(folder.parent / "out" / "eigenwerk.h5", only=["exchange"])["exchange"] is None


def spoiled(exchange, way):
    if way == "missing":
        del exchange["kept"]["0"]
    elif way == "infinite":
        exchange["kept"]["0"]["row_skmG"][0, 0, 0, 0] = np.inf
    elif way == "another size":
        exchange["kept"]["0"]["row_skmG"] = exchange["kept"]["0"]["row_skmG"][:, :, :-1]
    else:
        exchange["applications"] = 0
    return exchange


@pytest.mark.slow
@pytest.mark.parametrize("way", ["missing", "infinite", "another size", "none applied"])
def test_spoiled_operators_are_an_input_error(killed, tmp_path, way):
    folder, _, copies = killed("Gamma")
    copy = copy_of(copies[max(copies) - 1], tmp_path / "run")
    tree = read_state(copy / "eigenwerk.h5")
    tree["exchange"] = spoiled(tree["exchange"], way)
    write_state(copy / "eigenwerk.h5", tree, "0")
    with pytest.raises(InputError, match=r"eigenwerk\.h5: not a state that a run can go on from"):
        run_saving(folder, copy, resume=True)
