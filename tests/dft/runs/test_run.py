"""One calculation from folder to files: what is returned, what is written, and what stays after an accident."""

import json
import shutil
import signal
import threading
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import ase.io
import numpy as np
import pytest

from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.quantities.advice import advice
from eigenwerk.dft.runs.quantities.report import RunInterrupted
from eigenwerk.dft.runs.run import run_folder, run_inputs
from eigenwerk.dft.runs.saving.output_folder import OutputFolder
from eigenwerk.dft.runs.saving.saving import Saver
from eigenwerk.errors import InputError
from eigenwerk.functionals.table import FUNCTIONALS
from eigenwerk.io.hdf5.hdf5_state import read_state
from eigenwerk.io.run_stamp import stamp_of
from eigenwerk.io.trace_file import read_trace_file
from eigenwerk.io.vasp.input.poscar import read_poscar
from eigenwerk.io.vasp.output.files import OUTPUT_FILES
from eigenwerk.io.vasp.output.record import StepRecord
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.units import STRESS_KILOBAR
from running import WRITTEN
from warm_start import warm_run
from when_used import when_used

Poscar = when_used("pymatgen.io.vasp.inputs", "Poscar")
Oszicar = when_used("pymatgen.io.vasp.outputs", "Oszicar")
UnconvergedVASPWarning = when_used("pymatgen.io.vasp.outputs", "UnconvergedVASPWarning")
Vasprun = when_used("pymatgen.io.vasp.outputs", "Vasprun")

POSCAR = """silicon
5.43
0.0 0.5 0.5
0.5 0.0 0.5
0.5 0.5 0.0
Si
2
Direct
0.00 0.00 0.00
0.25 0.25 {last}
"""
KPOINTS = "mesh\n0\nGamma\n2 2 2\n"
INCAR = {"ENCUT": 200, "EDIFF": "1E-7", "ISMEAR": 0, "SIGMA": 0.05}


def make_folder(path, last=0.25, poscar=POSCAR, kpoints=KPOINTS, **tags):
    """A folder with two silicon atoms, or another POSCAR; tags replace and add to INCAR."""
    path.mkdir(exist_ok=True)
    (path / "POSCAR").write_text(poscar.format(last=last))
    (path / "KPOINTS").write_text(kpoints)
    (path / "INCAR").write_text("".join(f"{tag} = {value}\n" for tag, value in (INCAR | tags).items()))
    return path


@pytest.fixture(scope="module")
def silicon(tmp_path_factory):
    """A converged run of slightly distorted silicon: (folder, result, what on_step was given)."""
    folder, seen = make_folder(tmp_path_factory.mktemp("run") / "silicon", last=0.26), []
    return folder, run_folder(folder, on_step=seen.append), seen


WATER = (
    "H2O\n1\n5 0 0\n0 5.2 0\n0 0 5.4\nO H\n1 2\nCartesian\n2.5 2.5 2.5\n2.5 3.26 3.09\n2.5 1.74 3.09\n",
    "mesh\n0\nGamma\n1 1 1\n",
)


@pytest.mark.slow
def test_exchange_whose_enhancement_has_no_bound_becomes_self_consistent_in_vacuum(tmp_path):
    """B88 of the noise of densities there would give potentials of thousands of eV."""
    blyp = {"GGA": "LIBXC", "LIBXC1": "GGA_X_B88", "LIBXC2": "GGA_C_LYP", "ENCUT": 250, "EDIFF": "1E-4", "ISIF": 0}
    result = run_folder(make_folder(tmp_path / "water", poscar=WATER[0], kpoints=WATER[1], **blyp))
    assert result.converged and len(result.steps) < 25


def test_result_is_whole_and_consistent(silicon):
    _, result, seen = silicon
    assert result.converged and not result.interrupted and result.status == f"converged in {len(seen)} steps"
    assert result.symbols == ("Si", "Si")
    assert result.energy_without_entropy == pytest.approx(result.free_energy - result.entropy_term)
    components = result.record.last.components
    assert components["atomic_reference"] == pytest.approx(result.free_energy - result.absolute_energy)
    assert sum(components.values()) == pytest.approx(result.free_energy, abs=1e-8)
    assert result.steps[-1].free_energy == result.free_energy
    assert [step.step for step in seen] == list(range(1, len(seen) + 1))
    assert result.gap.gap > 0 and not result.gap.metal
    assert result.gap.bottom.energy - result.gap.top.energy == pytest.approx(result.gap.gap)
    assert result.gap.top.energy < result.fermi_level < result.gap.bottom.energy
    electrons = 2 * np.einsum("k,skn->", result.weight_k, result.occ_skn)
    assert electrons == pytest.approx(8, abs=1e-9)
    assert np.abs(result.forces_av.sum(0)).max() < 0.05 < result.largest_force
    assert result.moment is None and result.moment_a is None
    assert result.advice == () and result.unwritten == ()
    json.dumps(result.as_dict(), allow_nan=False)


def test_files_hold_the_result(silicon):
    folder, result, _ = silicon
    assert set(result.files) == WRITTEN
    assert all(path.is_file() for path in result.files.values())
    assert not [path for path in folder.iterdir() if path.name.endswith(".part")]
    vasprun = Vasprun(folder / "vasprun.xml", parse_potcar_file=False)
    assert vasprun.converged
    assert vasprun.final_energy == pytest.approx(result.free_energy, abs=1e-7)
    assert vasprun.efermi == pytest.approx(result.fermi_level, abs=1e-7)
    bands = vasprun.get_band_structure(efermi=vasprun.efermi)
    assert bands.get_band_gap()["energy"] == pytest.approx(result.gap.gap, abs=1e-6)
    assert np.allclose(vasprun.ionic_steps[-1]["forces"], result.forces_av, atol=1e-7)
    assert vasprun.parameters["NELECT"] == 8 and vasprun.incar["ENCUT"] == 200
    oszicar = Oszicar(folder / "OSZICAR")
    assert len(oszicar.electronic_steps[0]) == len(result.steps)
    assert float(oszicar.final_energy) == pytest.approx(result.energy_zero, abs=1e-6)
    assert np.allclose(read_poscar(folder / "CONTCAR").scaled_ac, read_poscar(folder / "POSCAR").scaled_ac, atol=1e-12)


def test_state_tells_everything_about_the_run(silicon):
    folder, result, _ = silicon
    state = read_state(folder / "eigenwerk.h5")
    assert state["status"]["converged"] and state["results"]["forces_reliable"]
    assert state["bands"]["coeff_sknG"].shape[:3] == result.eig_skn.shape
    assert len(state["history"]["free"]) == len(result.steps)
    assert state["input"]["texts"]["INCAR"] == (folder / "INCAR").read_text()
    assert len(state["setups"]["Si"]["md5"]) == 32
    assert state["trace"]["phases"]
    assert [rank["rank"] for rank in read_trace_file(folder)["ranks"]] == [0]
    assert len(read_trace_file(folder)["ranks"][0]["laps"]["LOOP"]) == len(state["history"]["step"])


def test_stress_is_the_same_in_the_result_in_files_and_for_readers(silicon):
    folder, result, _ = silicon
    assert result.pressure == pytest.approx(-np.trace(result.stress_vv) / 3) and -20 < result.pressure < 20
    np.testing.assert_allclose(result.stress_vv, result.stress_vv.T, atol=1e-12)
    document = json.loads(json.dumps(result.as_dict()))
    assert document["pressure_GPa"] == result.pressure and document["pulay_pressure_GPa"] < 0
    np.testing.assert_allclose(document["stress_GPa"], result.stress_vv)
    ours_x = result.stress_vv[[0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1]] / 160.2176634
    np.testing.assert_allclose(ase.io.read(folder / "vasprun.xml").get_stress(), ours_x, atol=1e-9)
    kilobar_vv = Vasprun(folder / "vasprun.xml", parse_potcar_file=False).ionic_steps[-1]["stress"]
    np.testing.assert_allclose(kilobar_vv, -10 * result.stress_vv, atol=1e-7)
    state = read_state(folder / "eigenwerk.h5")
    np.testing.assert_allclose(state["results"]["stress_vv"] * STRESS_KILOBAR / 10, result.stress_vv, rtol=1e-9)
    np.testing.assert_allclose(state["ionic_steps"]["stress_xvv"][0], state["results"]["stress_vv"], rtol=1e-9)


@pytest.mark.slow
def test_no_stress_with_isif_0(tmp_path):
    result = run_folder(make_folder(tmp_path / "run", ISIF=0, NELM=2))
    assert result.stress_vv is None and result.as_dict()["pressure_GPa"] is None
    assert "stress" not in (tmp_path / "run" / "vasprun.xml").read_text().replace("ISIF", "")


def test_output_goes_to_another_folder_that_need_not_exist(tmp_path):
    folder = make_folder(tmp_path / "in", NELM=1, NELMIN=1)
    before = sorted(path.name for path in folder.iterdir())
    result = run_folder(folder, output=tmp_path / "deep" / "out")
    assert {path.parent for path in result.files.values()} == {tmp_path / "deep" / "out"}
    assert sorted(path.name for path in folder.iterdir()) == before


def test_unconverged_run_says_so_everywhere(tmp_path):
    result = run_folder(make_folder(tmp_path / "x", NELM=3))
    assert not result.converged and result.status.startswith("NOT CONVERGED in 3 steps") and result.advice
    assert "electrons out of place" in result.status and "EDIFF = 1e-07" in result.status
    assert not result.as_dict()["forces_reliable"]
    with pytest.warns(UnconvergedVASPWarning.itself):
        assert not Vasprun(result.files["vasprun.xml"], parse_potcar_file=False).converged
    state = read_state(result.files["eigenwerk.h5"], only=["status", "results"])
    assert not state["status"]["converged"] and not state["results"]["forces_reliable"]
    own = ElementTree.parse(result.files["vasprun.xml"]).find("calculation/separator[@name='eigenwerk']")
    assert own.find("i[@name='converged']").text.strip() == "F"


def test_magnetic_atom_has_its_moment(tmp_path):
    atom = "hydrogen\n4.0\n1 0 0\n0 1 0\n0 0 1\nH\n1\nDirect\n0 0 0\n"
    gamma = "one\n0\nGamma\n1 1 1\n"
    folder = make_folder(tmp_path / "h", poscar=atom, kpoints=gamma, ISPIN=2, EDIFF="1E-5", ENCUT=250)
    result = run_folder(folder)
    assert result.converged
    assert result.moment == pytest.approx(1, abs=0.01) and 0.2 < result.moment_a[0] < 1
    assert result.eig_skn.shape[0] == 2
    assert Oszicar(folder / "OSZICAR").ionic_steps[-1]["mag"] == pytest.approx(result.moment, abs=1e-4)


@pytest.mark.slow
def test_a_functional_that_is_not_compiled_gives_the_same_energy_and_a_note(silicon, tmp_path, monkeypatch):
    pbe = FUNCTIONALS["PE"]
    odd = replace(pbe, energy=lambda n_sx, s_yx: pbe.energy(n_sx, s_yx) + 0.0 * (n_sx[0].abs() + 1.0).lgamma())
    monkeypatch.setitem(FUNCTIONALS, "PE", odd)
    said: list[str] = []
    result = run_inputs(read_inputs(make_folder(tmp_path / "odd", last=0.26)), on_note=said.append)
    assert result.free_energy == pytest.approx(silicon[1].free_energy, abs=1e-10)
    assert said == list(result.notes) and "PBE is not compiled" in said[0] and "lgamma" in said[0]
    assert silicon[1].notes == ()


def test_bad_input_and_an_impossible_folder_leave_nothing_behind(tmp_path):
    folder = make_folder(tmp_path / "bad", NBANDS=2)
    with pytest.raises(InputError, match="NBANDS"):
        run_folder(folder, output=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    folder = make_folder(tmp_path / "good")
    with pytest.raises(InputError, match="--output"):
        run_folder(folder, output=folder / "POSCAR")
    with pytest.raises(InputError, match="--output"):
        run_folder(folder, output=folder / "POSCAR" / "below")
    assert sorted(path.name for path in folder.iterdir()) == ["INCAR", "KPOINTS", "POSCAR"]


def test_a_file_that_cannot_be_written_costs_no_other(tmp_path):
    """It became impossible after the start, which would have refused it."""
    folder = make_folder(tmp_path / "x", NELM=2)
    result = run_folder(folder, on_step=lambda step: (folder / "eigenwerk.h5").mkdir(exist_ok=True))
    assert len(result.unwritten) == 1 and "eigenwerk.h5" in result.unwritten[0]
    assert set(result.files) == WRITTEN - {"eigenwerk.h5"}


@pytest.mark.slow
def test_a_record_of_times_that_cannot_be_written_costs_no_result(tmp_path):
    folder = make_folder(tmp_path / "x", NELM=2)
    (folder / "eigenwerk-trace.json").mkdir()
    result = run_folder(folder)
    assert len(result.unwritten) == 1 and "eigenwerk-trace.json" in result.unwritten[0]
    assert set(result.files) == WRITTEN - {"eigenwerk-trace.json"}


@pytest.mark.slow
def test_running_twice_gives_the_same_numbers(tmp_path):
    folder = make_folder(tmp_path / "x", NELM=4)
    first, second = (run_folder(folder, output=tmp_path / name) for name in "ab")
    assert [step.free_energy for step in first.steps] == pytest.approx([s.free_energy for s in second.steps], abs=1e-10)


def test_files_of_a_run_carry_one_mark(silicon):
    folder, result, _ = silicon
    stamps = {name: stamp_of(folder / name) for name in WRITTEN - {"eigenwerk-trace.json"}}
    assert set(stamps.values()) == {result.stamp}
    state, trace = read_state(folder / "eigenwerk.h5", only=["run"])["run"], read_trace_file(folder)
    assert state == result.as_dict()["run"] == {"id": result.stamp.run, "save": result.stamp.save}
    assert trace["run"] == result.stamp.run
    assert ase.io.read(folder / "CONTCAR").get_chemical_formula() == "Si2", "readers pass over it"
    assert len(Poscar.from_file(folder / "CONTCAR").structure) == 2


@pytest.mark.slow
def test_files_of_two_saves_are_noticed(tmp_path):
    """As a kill leaves them between two names; the state counts."""
    folder = make_folder(tmp_path / "x", NELM=2)
    run = run_folder(folder).stamp
    before = (folder / "OSZICAR").read_text()
    (folder / "OSZICAR").write_text(before.replace(str(run), f"eigenwerk run {run.run}, save {run.save + 1}"))
    notes = run_folder(make_folder(folder, NELM=2, ISTART=1)).notes
    told = [note for note in notes if "not of one save" in note]
    assert len(told) == 1 and told[0].startswith(f"OSZICAR (eigenwerk run {run.run}, save {run.save + 1})")
    assert not any("not of one save" in note for note in run_folder(folder).notes)


def test_an_edit_during_a_run_is_not_its_input(tmp_path):
    folder = make_folder(tmp_path / "x", NELM=2)
    texts = {name: (folder / name).read_text() for name in ("INCAR", "POSCAR", "KPOINTS")}

    def edit(step):
        for name in texts:
            (folder / name).write_text("something else")

    run_folder(folder, on_step=edit)
    assert read_state(folder / "eigenwerk.h5", only=["input"])["input"]["texts"] == texts


@pytest.mark.slow
def test_a_nul_in_a_name_costs_nothing(tmp_path):
    folder = make_folder(tmp_path / "x", NELM=2, SYSTEM="a\0b")
    result = run_folder(folder)
    assert not result.unwritten and "SYSTEM = a\0b" in read_state(folder / "eigenwerk.h5")["input"]["texts"]["INCAR"]


@pytest.mark.slow
def test_a_second_run_in_a_folder_is_refused(tmp_path):
    folder, other = make_folder(tmp_path / "x", NELM=2), []

    def second(step):
        with pytest.raises(InputError, match=r"in use by a run of .*--output"):
            run_folder(folder)
        other.append(run_folder(folder, output=tmp_path / "y"))

    run_folder(folder, on_step=second)
    assert len(other) == 2 and not list(tmp_path.glob("*/eigenwerk.lock"))


def test_an_error_in_one_writer_costs_no_other_file(tmp_path, monkeypatch):
    def fail(path, record):
        raise KeyError("a fault")

    files = tuple(replace(file, write=fail) if file.name == "vasprun.xml" else file for file in OUTPUT_FILES)
    monkeypatch.setattr("eigenwerk.io.vasp.output.files.OUTPUT_FILES", files)
    result = run_folder(make_folder(tmp_path / "x", NELM=2))
    assert len(result.unwritten) == 1 and "a fault of eigenwerk (KeyError: 'a fault')" in result.unwritten[0]
    assert set(result.files) == WRITTEN - {"vasprun.xml"}


# --- stopping --------------------------------------------------------------------------------------------------------


def _stop_by_file(folder, text):
    def on_step(step):
        if step.step == 2:
            (folder / "STOPCAR").write_text(text)

    return run_folder(folder, on_step=on_step)


def test_labort_ends_a_run_after_the_step(tmp_path):
    folder = make_folder(tmp_path / "x", EDIFF="1E-30")
    result = _stop_by_file(folder, "LABORT = .TRUE.\n")
    assert result.status == "stopped after step 2: LABORT = .TRUE. in STOPCAR"
    assert result.interrupted and not result.converged and len(Oszicar(folder / "OSZICAR").electronic_steps[0]) == 2
    words = read_state(folder / "eigenwerk.h5", only=["status"])["status"]["words"]
    assert words == result.status
    again = run_folder(make_folder(folder, EDIFF="1E-30", ISTART=1, NELM=2))
    assert any("is from before this run" in note for note in again.notes) and len(again.steps) == 2


@pytest.mark.slow
def test_lstop_waits_for_convergence(tmp_path):
    result = _stop_by_file(make_folder(tmp_path / "x"), "LSTOP = .TRUE.\n")
    assert result.converged and any("no other ionic step" in note for note in result.notes)


@pytest.mark.slow
def test_a_run_ends_before_its_time_is_over(tmp_path):
    result = run_folder(make_folder(tmp_path / "x", EDIFF="1E-30", NELM=3000), max_time=3)
    assert result.interrupted and "--max-time leaves" in result.status
    before_the_last = result.seconds - result.steps[-1].seconds
    assert len(result.steps) == 1 or before_the_last < 3.5, "unless the machine is too busy for two steps"


@pytest.mark.slow
def test_another_folder_is_found_when_that_of_the_run_vanishes(tmp_path, monkeypatch):
    """Made anew where it can be; else in the current one."""
    folder = make_folder(tmp_path / "x", NELM=3)

    def remove(step):
        if step.step == 1:
            (tmp_path / "out").rename(tmp_path / "gone")

    result = run_folder(folder, output=tmp_path / "out", on_step=remove)
    assert "made anew" in " ".join(result.warnings) and set(result.files) == WRITTEN
    assert (tmp_path / "out" / "eigenwerk.h5").is_file() and not (tmp_path / "out" / "eigenwerk.lock").exists()

    def block(step):
        if step.step == 1:
            shutil.rmtree(tmp_path / "out")
            (tmp_path / "out").write_text("no folder any more")

    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    result = run_folder(folder, output=tmp_path / "out", on_step=block)
    assert result.folder.parent == tmp_path / "here" and (result.folder / "eigenwerk.h5").is_file()
    assert f"{result.folder} takes its place" in " ".join(result.warnings) and set(result.files) == WRITTEN


# --- accidents -------------------------------------------------------------------------------------------------------

KILLED_RUN = """
import os, signal, sys
from eigenwerk.dft.runs.run import run_folder

def on_step(step):
    if step.step == 5:
        os.kill(os.getpid(), signal.SIGKILL)

run_folder(sys.argv[1], on_step=on_step, save_every=0)
"""


def test_a_killed_run_goes_on_from_its_last_step(silicon, tmp_path):
    _, reference, _ = silicon
    folder = make_folder(tmp_path / "x", last=0.26)
    killed = warm_run(["-c", KILLED_RUN, str(folder)])
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    state = read_state(folder / "eigenwerk.h5", only=["status", "history"])
    assert not state["status"]["converged"] and state["status"]["words"].startswith("unfinished: step 5")
    assert len(Oszicar(folder / "OSZICAR").electronic_steps[0]) == 5
    with pytest.warns(UnconvergedVASPWarning.itself):
        assert not Vasprun(folder / "vasprun.xml", parse_potcar_file=False).converged
    result = run_folder(make_folder(folder, last=0.26, ISTART=1))
    assert result.converged and abs(5 + len(result.steps) - len(reference.steps)) <= 1
    assert result.free_energy == pytest.approx(reference.free_energy, abs=2e-8)
    assert np.allclose(result.forces_av, reference.forces_av, atol=1e-4)
    assert "ended without a word" in result.notes[0], "it left its lock"
    assert "density and orbitals" in result.notes[1] and "had not converged (unfinished" in result.notes[2]


@pytest.mark.slow
def test_an_interrupted_run_saves_its_last_step(tmp_path):
    def stop(step):
        if step.step == 3:
            raise KeyboardInterrupt

    folder = make_folder(tmp_path / "x")
    with pytest.raises(RunInterrupted) as caught:
        run_folder(folder, on_step=stop)
    result = caught.value.result
    assert result.interrupted and not result.converged and result.status == "interrupted after step 3"
    assert result.forces_av is None and result.ground_state is None
    assert read_state(folder / "eigenwerk.h5", only=["status"])["status"]["words"] == "interrupted after step 3"
    assert len(Oszicar(folder / "OSZICAR").electronic_steps[0]) == 3


def test_an_interruption_before_the_first_step_writes_nothing(tmp_path, monkeypatch):
    def stop(self, *arguments, **settings):
        raise KeyboardInterrupt

    folder = make_folder(tmp_path / "x")
    monkeypatch.setattr("eigenwerk.dft.calculation.Calculation.run", stop)
    with pytest.raises(RunInterrupted) as caught:
        run_folder(folder)
    assert caught.value.result is None
    assert sorted(path.name for path in folder.iterdir()) == ["INCAR", "KPOINTS", "POSCAR"]


@pytest.mark.slow
def test_a_rescue_saves_the_last_step_beside_the_computation(tmp_path):
    folder, protected, said = make_folder(tmp_path / "x"), [], []

    def in_step_3(step):
        if step.step == 3:
            beside = threading.Thread(target=lambda: said.append(protected[0]()))
            beside.start()
            beside.join()
            said.append(read_state(folder / "eigenwerk.h5", only=["status", "history"]))
            raise KeyboardInterrupt

    with pytest.raises(RunInterrupted):
        run_inputs(read_inputs(folder), on_step=in_step_3, protect=protected.append)
    assert "is saved" in said[0] and said[1]["status"]["words"] == "interrupted after step 3"
    assert len(said[1]["history"]["step"]) == 3


@pytest.mark.parametrize(("every", "elapsed", "spent", "saves"), [
    (0.0, 0.1, 9.0, True),      # each step, whatever it takes
    (30.0, 29.0, 0.0, False),   # too early
    (30.0, 31.0, 0.0, True),
    (30.0, 60.0, 2.9, False),   # 2.9 s spent and 0.5 s expected are more than 5 % of a minute
    (30.0, 90.0, 2.9, True),
])  # fmt: skip
def test_states_on_the_way_are_saved_now_and_then(tmp_path, monkeypatch, every, elapsed, spent, saves):
    written = []
    monkeypatch.setattr(Saver, "write", lambda self, *arguments: written.append(arguments))
    inputs = read_inputs(make_folder(tmp_path / "x"))
    saver = Saver(inputs, SimpleNamespace(runtime=Runtime()), OutputFolder(tmp_path), every)
    saver._began, saver._last = saver._began - elapsed, saver._last - elapsed
    saver._spent, saver._duration = spent, 0.5
    saver.save_if_due(FakeState)
    assert bool(written) == saves


class FakeState:
    """As much of a state as `save_if_due` looks at."""

    class coeff_sknG:
        nbytes = 1

    history = (StepRecord(1, "DAV", 0, 0, 0, 0, 0, 0, 0),)
    exchange = None


# --- advice ----------------------------------------------------------------------------------------------------------


def steps_with(residuals):
    return tuple(
        StepRecord(i, "DAV", -1.0, -1.0, -1.0, 1e-3, 1e-3, 10, 0.1, density_residual=residual)
        for i, residual in enumerate(residuals, start=1)
    )


def test_advice_fits_the_trouble():
    tags = {"NELM": 60, "ISPIN": 2, "SIGMA": 0.01, "ISMEAR": 0, "AMIX": 0.4, "AMIX_MAG": 1.6}
    falling = advice(steps_with([1, 0.3, 0.1, 0.03, 0.01, 0.003]), tags)
    assert len(falling) == 1 and "NELM = 120" in falling[0] and "ISTART = 1" in falling[0]
    stuck = " ".join(advice(steps_with([1, 2, 1, 2, 1, 2, 1, 2]), tags))
    assert "tetrahedra" not in stuck
    cycle = advice(steps_with([0.04, 0.25, 0.24, 0.04, 0.25, 0.24, 0.09]), tags | {"ISMEAR": -5})
    assert "ISMEAR = -4" in cycle[0] and not any("getting better" in words for words in cycle)
    assert "AMIX = 0.2" in stuck and "AMIX_MAG = 0.8" in stuck and "SIGMA = 0.2" in stuck
    calm = " ".join(advice(steps_with([1, 2, 1, 2, 1, 2, 1, 2]), tags | {"ISPIN": 1, "SIGMA": 0.2}))
    assert "AMIX_MAG" not in calm and "SIGMA" not in calm
    still = [replace(step, change=-3e-13) for step in steps_with([1e-14, 2e-14] * 4)]
    (rounding,) = advice(tuple(still), tags | {"EDIFF": 0.0})
    assert "EDIFF = 1E-8 (it was 0)" in rounding and "3e-13 eV" in rounding
    assert "more bands" in advice(steps_with([1, 2] * 4), tags, ("Set NBANDS = 20.",))[0]


def test_lack_of_memory_is_explained(tmp_path, monkeypatch):
    def fail(self, *arguments, **settings):
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:75] DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr("eigenwerk.dft.calculation.Calculation.run", fail)
    with pytest.raises(Exception, match=r"Not enough memory.*eigenwerk check") as caught:
        run_inputs(read_inputs(make_folder(tmp_path / "x")))
    assert type(caught.value).__name__ == "EigenwerkError"


ALGOS = [
    ("Fast", {"DAV", "RMM"}), ("All", {"CG"}), ("Exact", {"EXA"}), ("Chebyshev", {"CHE"}),
    ("Damped", {"DMP", "DAV"}),  # it stalls, and blocked Davidson takes over
]  # fmt: skip


@pytest.mark.parametrize(("algo", "names"), ALGOS)
def test_algo_in_incar_gives_the_energy_and_the_names_in_oszicar(silicon, tmp_path, algo, names):
    """From INCAR to the answer: the energy of the default, and the solver of each step where VASP writes it."""
    folder = make_folder(tmp_path / algo, last=0.26, ALGO=algo)
    result = run_folder(folder)
    assert result.converged
    assert result.free_energy == pytest.approx(silicon[1].free_energy, abs=2e-7)
    assert {step.algorithm for step in result.steps} == names
    lines = (folder / "OSZICAR").read_text().splitlines()
    assert {line.split(":")[0].strip() for line in lines if ":" in line} == names
    assert len(Oszicar(str(folder / "OSZICAR")).electronic_steps[0]) == len(result.steps)
