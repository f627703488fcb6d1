"""`eigenwerk run` as its users see it: words, exit codes, files, signals."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from eigenwerk.cli.main import main
from eigenwerk.cli.run import seconds_of
from eigenwerk.cli.running.computing import long_step_words
from eigenwerk.cli.running.ending import jsonable
from eigenwerk.cli.running.text import heading, threads_row
from eigenwerk.cli.running.view import RunView
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.plan import useful
from eigenwerk.io.hdf5.hdf5_state import read_state
from eigenwerk.io.vasp.elements import formula
from eigenwerk.parallel.launch.environment import available_threads
from running import WRITTEN
from warm_start import PIPE, WarmProcess
from when_used import when_used

Oszicar = when_used("pymatgen.io.vasp.outputs", "Oszicar")
UnconvergedVASPWarning = when_used("pymatgen.io.vasp.outputs", "UnconvergedVASPWarning")
Vasprun = when_used("pymatgen.io.vasp.outputs", "Vasprun")

POSCAR = "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .26\n"
INCAR = {"ENCUT": 150, "EDIFF": "1E-5", "ISMEAR": 0, "SIGMA": 0.05, "NBANDS": 6}
FILES = sorted({*WRITTEN, "convergence.png"})
SUMMARY_WORDS = (
    "free energy", "extrapolated to zero smearing", "eV/atom", "band gap", "conduction band bottom", "largest is",
    "2 Si", "potential", "applications of the Hamiltonian", "vasprun.xml", "convergence.png",
)  # fmt: skip
INPUTS = ["INCAR", "KPOINTS", "POSCAR"]


@pytest.fixture
def folder(tmp_path):
    """Makes a small folder; tags replace and add to INCAR."""

    def make(poscar=POSCAR, kpoints="mesh\n0\nGamma\n2 2 1\n", **tags):
        path = tmp_path / "case"
        path.mkdir(exist_ok=True)
        (path / "POSCAR").write_text(poscar)
        (path / "KPOINTS").write_text(kpoints)
        (path / "INCAR").write_text("".join(f"{tag} = {value}\n" for tag, value in (INCAR | tags).items()))
        return path

    return make


def names(path):
    return sorted(entry.name for entry in path.iterdir())


def steps_of(text):
    """The numbers in the first column of the table."""
    return [int(line[:5]) for line in text.splitlines() if line[:5].strip().isdigit() and line[5:25].strip()]


def test_converged_run_tells_its_story(folder, tmp_path, capsys):
    path = folder()
    assert main(["run", str(path), "--output", str(tmp_path / "out")]) == 0
    out, err = capsys.readouterr()
    assert err == "" and "\x1b" not in out, "plain text where there is no terminal"
    heading, table = out.split(" step ")[0], out.split(" step ")[1]
    for words in ("Si2: silicon", "PBE, cutoff 150 eV", "8 in 6 bands", "2 x 2 x 1 mesh: 3 of 4", "Si.PBE", "1e-05 eV"):
        assert words in heading, words
    steps = steps_of(table)
    assert steps[0] == 1 and steps == list(range(1, len(steps) + 1))
    for words in SUMMARY_WORDS:
        assert words in table, words
    assert out.rstrip().endswith(f"Converged in {len(steps)} steps.")
    assert names(tmp_path / "out") == FILES and names(path) == INPUTS


def test_current_folder_is_the_default(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder())
    assert main(["run", "--no-plot", "--quiet"]) == 0
    out, _ = capsys.readouterr()
    assert out.splitlines() == [line for line in out.splitlines() if line.startswith(("Converged in", "Warning"))]
    assert names(folder()) == sorted({*INPUTS, *FILES} - {"convergence.png"})


def test_json_is_all_that_stands_on_stdout(folder, capsys):
    assert main(["run", str(folder(ISPIN=2, NELM=2)), "--json", "--no-plot"]) == 3
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert result["format"] == "eigenwerk-run" and result["converged"] is False
    assert result["status"].startswith("NOT CONVERGED") and len(result["steps"]) == 2 and result["advice"]
    assert result["energies_eV"]["free"] == pytest.approx(result["steps"][-1]["free_energy"])
    assert sorted(result["files"]) == sorted({*FILES} - {"convergence.png"})
    assert result["forces_reliable"] is False and len(result["moment_per_atom_muB"]) == 2
    assert "free energy" in err and "NOT CONVERGED" in err


def test_programs_that_drive_vasp_get_0_for_an_unconverged_run(folder, capsys):
    path = folder(NELM=2)
    assert main(["run", str(path), "--vasp-exit-codes", "--no-plot"]) == 0
    assert "NOT CONVERGED in 2 steps" in capsys.readouterr().out
    assert "EDIFF was not reached (unconverged)" in (path / "OUTCAR").read_text(), "the files say it"
    assert main(["run", str(folder(NBANDS=1)), "--vasp-exit-codes"]) == 2, "bad input stays bad"


def test_unconverged_run_ends_with_3_and_advice(folder, capsys):
    path = folder(NELM=3, EDIFF="1E-9")
    assert main(["run", str(path), "--no-plot"]) == 3
    out, _ = capsys.readouterr()
    assert "NOT CONVERGED in 3 steps" in out and "What to try:" in out and "ISTART = 1" in out
    assert "NOT RELIABLE" in out and names(path) == sorted({*INPUTS, *FILES} - {"convergence.png"})


BAD = {
    "an unknown tag": ({"ENCUTT": 300}, "ENCUT"),
    "too few bands": ({"NBANDS": 3}, "at least 4 bands"),
    "overlapping atoms": ({"poscar": POSCAR.replace(".25 .25 .26", "0 0 0.01")}, "apart"),
    "a wrong count": ({"poscar": POSCAR.replace("\n2\n", "\n3\n")}, "POSCAR"),
    "not a number": ({"poscar": POSCAR.replace(".26", "nan")}, "POSCAR line 10"),
    "an unknown element": ({"poscar": POSCAR.replace("Si", "Xx")}, "Xx"),
    "a later capability": ({"METAGGA": "SCAN"}, "METAGGA"),
    "no restart data": ({"ISTART": 2}, "ISTART"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_2_and_nothing_is_written(folder, tmp_path, capsys, case):
    changes, words = BAD[case]
    path = folder(**changes)
    assert main(["run", str(path), "--output", str(tmp_path / "out")]) == 2
    out, err = capsys.readouterr()
    assert words in err and "Traceback" not in err + out
    assert names(path) == INPUTS and not (tmp_path / "out").exists()


def test_folders_that_cannot_be_used_are_2(folder, tmp_path, capsys):
    assert main(["run", str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err
    path = folder()
    assert main(["run", str(path), "--output", str(path / "POSCAR")]) == 2
    assert "--output" in capsys.readouterr().err
    assert names(path) == INPUTS


def test_file_that_cannot_be_written_is_2_and_known_before_the_first_step(folder, capsys):
    path = folder(NELM=2)
    (path / "OSZICAR").mkdir()
    assert main(["run", str(path)]) == 2
    out, err = capsys.readouterr()
    assert "cannot write" in err and "a folder of this name exists" in err and " step " not in out


def test_file_that_cannot_be_written_any_more_is_2_after_the_summary(folder, capsys, monkeypatch):
    path, step = folder(NELM=2), RunView.step

    def with_a_folder(view, record):
        (path / "OSZICAR").mkdir(exist_ok=True)
        step(view, record)

    monkeypatch.setattr(RunView, "step", with_a_folder)
    assert main(["run", str(path), "--no-plot"]) == 2
    out, _ = capsys.readouterr()
    assert "cannot write" in out and "free energy" in out and (path / "vasprun.xml").is_file()


# --- signals: whole processes ----------------------------------------------------------------------------------------


def start(path, *options, program=("-m", "eigenwerk.cli.main")):
    words = ["-u", *program, "run", str(path), "--no-plot", *options]
    return WarmProcess(words, stdout=PIPE, stderr=PIPE)


def wait_for_step(process, number):
    """Reads until the row of a step; the lines read."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        if steps_of(line) == [number]:
            return lines
    raise AssertionError("".join(lines) + process.stderr.read())


@pytest.mark.fast("2-130")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_saves_the_last_step(folder, number, code):
    path = folder(EDIFF="1E-30", NELM=2000)
    process = start(path)
    wait_for_step(process, 3)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, out + err
    last = steps_of(out)[-1] if steps_of(out) else 3
    assert f"Interrupted after step {last}." in out and f"{number.name}: stopping" in out and err == ""
    assert read_state(path / "eigenwerk.h5", only=["status"])["status"]["words"] == f"interrupted after step {last}"
    assert len(Oszicar(path / "OSZICAR").electronic_steps[0]) == last
    assert "Forces: not computed" in out


HANGING = """
import sys, time
from eigenwerk.cli import main, run

def step(self, step, before=run.RunView.step):
    before(self, step)
    if step.step == 5:
        time.sleep(600)

run.RunView.step = step
sys.exit(main.main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_step_without_an_end_is_cut_and_the_last_one_saved(folder):
    path = folder(EDIFF="1E-30", NELM=2000)
    process = start(path, program=("-c", HANGING))
    wait_for_step(process, 5)
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 143 and "the last finished step is saved" in out and err == "", out + err
    assert read_state(path / "eigenwerk.h5", only=["status"])["status"]["words"] == "interrupted after step 5"


def test_signal_before_the_first_step_ends_at_once(folder):
    process = start(path := folder(EDIFF="1E-30", NELM=2000))
    next(line for line in process.stdout if "stops when" in line)
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert process.returncode in (143, -signal.SIGTERM) and names(path) == INPUTS, out + err


def test_second_run_in_a_folder_is_2_and_told_who_is_there(folder, capsys):
    path = folder(EDIFF="1E-30", NELM=2000)
    process = start(path)
    wait_for_step(process, 1)
    before = names(path)
    assert main(["run", str(path)]) == 2
    assert f"process {process.pid} on" in capsys.readouterr().err and names(path) == before
    process.terminate()
    process.communicate(timeout=60)
    assert "eigenwerk.lock" in before and "eigenwerk.lock" not in names(path)


@pytest.mark.parametrize("text", ["0", "-3", "1:2:3:4", "soon", "1e9", "9" * 400])
def test_times_that_are_none_are_2(folder, text, capsys):
    assert main(["run", str(folder()), "--max-time", text]) == 2
    assert "D-H:M:S" in capsys.readouterr().err or text == "-3"


def test_times_are_read_as_schedulers_write_them():
    assert [seconds_of(text) for text in ("90", "1.5", "2:05", "1:00:00", "1-02:00:00")] == [90, 1.5, 125, 3600, 93600]


@pytest.mark.slow
def test_run_that_is_out_of_time_ends_with_3_and_its_last_step(folder):
    path = folder(EDIFF="1E-30", NELM=2000)
    process = start(path, "--max-time", "12")  # ends the process if a step takes long, so not that of the tests
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3, out + err
    last = steps_of(out)[-1]
    if "Interrupted within a step" not in out:  # a machine that is very busy
        assert f"Stopped after step {last}: --max-time leaves" in out and "ISTART = 1" in out
    assert len(read_state(path / "eigenwerk.h5", only=["history"])["history"]["step"]) == last


@pytest.mark.slow
def test_step_without_an_end_is_cut_when_the_time_is_over(folder):
    path = folder(EDIFF="1E-30", NELM=2000)
    process = start(path, "--max-time", "10", program=("-c", HANGING))
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3 and "the last finished step is saved" in out and err == "", out + err
    assert read_state(path / "eigenwerk.h5", only=["status"])["status"]["words"] == "interrupted after step 5"
    assert "eigenwerk.lock" not in names(path)


def test_grace_is_what_the_user_says_and_the_last_finished_step_is_saved(folder):
    path = folder(EDIFF="1E-30", NELM=2000)
    process = start(path, "--grace", "0.5", program=("-c", HANGING))
    wait_for_step(process, 5)
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 143 and "or in 0.5 seconds" in out and err == "", out + err
    assert "the last finished step is saved" in out
    assert read_state(path / "eigenwerk.h5", only=["status"])["status"]["words"] == "interrupted after step 5"


@pytest.mark.slow
def test_killed_run_leaves_whole_files(folder):
    path = folder(EDIFF="1E-30", NELM=2000)
    process = start(path, "--save-every", "0")
    wait_for_step(process, 4)
    process.kill()
    process.communicate()
    saved = len(read_state(path / "eigenwerk.h5")["history"]["step"])
    assert saved >= 4
    assert len(Oszicar(path / "OSZICAR").electronic_steps[0]) >= saved
    with pytest.warns(UnconvergedVASPWarning.itself):
        assert not Vasprun(path / "vasprun.xml", parse_potcar_file=False).converged


CLUSTER = """seven aluminium atoms
1.0
8.2 0 0
0 8.2 0
0 0 7.4
Al
7
Cartesian
0.0 0.0 1.1
0.0 0.0 -1.1
2.25 0.0 0.0
0.70 2.14 0.05
-1.82 1.32 0.0
-1.82 -1.30 0.1
0.70 -2.14 0.0
"""


@pytest.mark.slow
def test_a_run_that_stopped_goes_on_where_it_was(folder):
    """Seven aluminium atoms: five steps and those after the restart are as many as without it, by the command alone."""
    metal = {"ENCUT": 120, "ISMEAR": 1, "SIGMA": 0.2, "EDIFF": "1E-6", "NBANDS": 17}
    case = {"poscar": CLUSTER, "kpoints": "mesh\n0\nGamma\n1 1 1\n"} | metal

    def steps_of_run(code, **tags):
        path = folder(**case, **tags)
        assert main(["run", str(path), "--quiet", "--no-plot"]) == code
        oszicar = Oszicar(path / "OSZICAR")
        return [step["E"] for step in oszicar.electronic_steps[0]], float(oszicar.ionic_steps[-1]["F"])

    whole, energy = steps_of_run(0)
    (begin, _), (rest, again) = steps_of_run(3, NELM=5), steps_of_run(0, ISTART=1)
    assert len(whole) > 9 and abs(5 + len(rest) - len(whole)) <= 1
    assert [*begin, rest[0]] == pytest.approx(whole[:6], abs=1e-7)
    assert again == pytest.approx(energy, abs=1e-6)
    assert len(steps_of_run(0, ISTART=1)[0]) <= 3, "nothing is left to do"


@pytest.fixture
def told(folder, capsys):
    """`told(*options, **tags)`: exit code, words and free energy of a run, here and there a hybrid."""

    def run(*options, **more):
        path = folder(kpoints="mesh\n0\nGamma\n1 1 1\n", ENCUT=100, EDIFF="1E-6", ISMEAR=0, SIGMA=0.05, **more)
        code = main(["run", str(path), "--no-plot", *options])
        return code, capsys.readouterr().out, read_state(path / "eigenwerk.h5", only=["history"])["history"]["free"][-1]

    return run


@pytest.mark.slow
def test_a_hybrid_begins_with_the_orbitals_of_pbe(told):
    hybrid = {"LHFCALC": ".TRUE.", "HFSCREEN": 0.2}
    _, text, alone = told(**hybrid)
    steps, _ = len(steps_of(text)), told()
    code, text, energy = told("--restart", **hybrid)
    assert code == 0 and "the state is of PBE: exact exchange of HSE06 begins with its orbitals" in text
    assert len(steps_of(text)) < steps - 2 and energy == pytest.approx(alone, abs=1e-7)


@pytest.mark.slow
def test_a_hybrid_begins_with_the_orbitals_of_pbe_and_the_other_way_round(told):
    """By --restart and by ISTART = 1, as users go on; what is over stays over."""
    hybrid = {"LHFCALC": ".TRUE.", "HFSCREEN": 0.2}
    _, text, alone = told(**hybrid)
    steps, pbe = len(steps_of(text)), told()[2]
    assert told("--restart")[1].startswith("Nothing is left to do")
    over = json.loads(told("--restart", "--json")[1])
    assert over["nothing_left"] and over["converged"] and over["status"].startswith("converged in")
    code, text, energy = told("--restart", **hybrid)
    assert code == 0 and "the state is of PBE: exact exchange of HSE06 begins with its orbitals" in text
    assert "is not read" not in text
    assert len(steps_of(text)) < steps - 2 and "before this step exact exchange 1" in text
    assert energy == pytest.approx(alone, abs=1e-7)
    assert told("--restart", **hybrid)[1].startswith("Nothing is left to do")
    code, text, energy = told("--restart")
    assert code == 0 and "the state is of HSE06, and this run one with PBE" in text
    assert energy == pytest.approx(pbe, abs=1e-7)
    code, text, energy = told(ISTART=1, NBANDS=9, **hybrid)
    assert code == 0 and "begins with its orbitals" in text and "before this step exact exchange 1" in text
    assert energy == pytest.approx(alone, abs=1e-7)
    code, text, energy = told(ICHARG=1, **hybrid)
    assert code == 0 and "exact exchange needs orbitals: the first ones come from PBE" in text
    assert energy == pytest.approx(alone, abs=1e-7)


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.slow
@pytest.mark.fast("*LORBIT*", "POSCAR-*")
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("POSCAR", ".26", ".27"), slow("POSCAR", "5.43", "5.5"),
        slow("KPOINTS", "2 2 1", "3 2 1"), ("KPOINTS", "Gamma", "Monk"),
        slow("INCAR", "NBANDS = 6", "NBANDS = 8"), ("INCAR", "NBANDS = 6", "NBANDS = 6\nLORBIT = 11"),
        ("INCAR", "NBANDS = 6", "NBANDS = 6\nNSW = 1\nIBRION = 2"),
    ],
)  # fmt: skip
def test_a_finished_run_of_another_input_is_not_over(folder, capsys, file, old, new):
    path = folder()
    assert main(["run", str(path), "--no-plot"]) == 0
    text = (path / file).read_text()
    assert old in text
    (path / file).write_text(text.replace(old, new))
    capsys.readouterr()
    code = main(["run", str(path), "--no-plot", "--restart"])
    told = capsys.readouterr().out
    assert "Nothing is left" not in told
    assert (code == 0 and "Converged in" in told) or "NSW" in new, told
    assert read_state(path / "eigenwerk.h5", only=["status"])["status"]["converged"]


@pytest.mark.slow
def test_a_finished_run_goes_on_for_bands_that_it_has_not_made(folder, capsys):
    path = folder()
    assert main(["run", str(path), "--no-plot"]) == 0
    for words in ("Converged in", "Nothing is left"):
        assert main(["run", str(path), "--no-plot", "--restart", "--bands", "auto"]) == 0
        assert words in capsys.readouterr().out.split("Files in")[-1] and (path / "bands.json").is_file()


SHORT_HYBRID = {"ENCUT": 100, "EDIFF": "1E-6", "ISMEAR": 0, "SIGMA": 0.05, "LHFCALC": ".TRUE."}


def test_a_hybrid_out_of_steps_tells_what_its_energies_lack(folder, capsys):
    assert main(["run", str(folder(NELM=2, **SHORT_HYBRID)), "--no-plot"]) == 3
    assert "there is no exact exchange in these energies yet" in capsys.readouterr().out


@pytest.mark.slow
def test_a_hybrid_out_of_steps_after_exchange_goes_on_with_its_operators(folder, capsys):
    path = folder(NELM=9, **SHORT_HYBRID)
    assert main(["run", str(path), "--no-plot"]) == 3
    text = capsys.readouterr().out
    assert "no self-consistency of exact exchange yet" in text and "AMIX" not in text
    assert main(["run", str(path), "--no-plot", "--restart"]) in (0, 3)
    assert "exact exchange 1:" not in capsys.readouterr().out, "it goes on with its operators"


@pytest.mark.slow
def test_reader_that_goes_away_does_not_stop_the_run(folder):
    path = folder()
    process = start(path)
    wait_for_step(process, 1)
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert read_state(path / "eigenwerk.h5", only=["status"])["status"]["converged"]


DEPENDENT = """
import sys
from dataclasses import replace
from types import SimpleNamespace
from eigenwerk.cli import main, run

def compute(*given, before=run.compute_here):
    from eigenwerk.dft.scf import cycle
    def orbitals(*given, before=cycle.first_orbitals):
        coeff_sknG = before(*given)
        coeff_sknG[:, :, 1:3] = coeff_sknG[:, :, :1]
        return coeff_sknG
    cycle.first_orbitals = orbitals
    return before(*given)

run.compute_here = compute
assert "torch" not in sys.modules, "the command loads it in its own way"
sys.exit(main.main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.ci
def test_dependent_orbitals_are_replaced_by_noise(folder):
    """Random numbers of PyTorch, as the command has loaded it."""
    command = [sys.executable, "-c", DEPENDENT, "run", str(folder()), "--no-plot", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "dependent start vectors filled up with noise" in done.stdout


# --- small parts -----------------------------------------------------------------------------------------------------


def test_formula_counts_each_element_once():
    assert formula(("Mg", "O", "Mg")) == "Mg2O"


def test_json_has_no_infinities():
    assert jsonable({"a": [1.0, float("inf")], "b": (float("nan"), "x", True, None)}) == {
        "a": [1.0, None], "b": [None, "x", True, None],
    }  # fmt: skip


def test_threads_are_those_asked_for_or_as_many_as_the_cell_can_use(monkeypatch, folder):
    inputs = read_inputs(folder())
    monkeypatch.setattr(useful, "available_threads", lambda: 64)
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    assert useful.threads_of_run(inputs.size) == 64
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert useful.threads_of_run(inputs.size) == 2


def test_the_row_about_threads_says_why_cores_are_left_alone():
    assert threads_row(4, 4) == "4 threads"
    assert threads_row(2, 16) == "2 threads (of 16; for a cell of this size more would wait for each other)"


@pytest.mark.slow
def test_a_charged_molecule_is_told_what_could_be_added_and_nothing_is(folder, capsys):
    box = "He+\n4.6\n1 0 0\n0 1 0\n0 0 1\nHe\n1\nDirect\n0.9 0.5 0.3\n"
    path = folder(box, "point\n0\nGamma\n1 1 1\n", NELECT=1, ISPIN=2, NBANDS=2, ENCUT=120, ISIF=0)
    assert main(["run", str(path), "--no-plot", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    cell, parts = done["charged_cell"], done["charged_cell"]["corrections_not_in_the_energies_eV"]
    assert len(done["core_potentials_eV"]) == 1 and done["core_potentials_eV"][0] < -10.0
    assert cell["charge_e"] == 1.0 and cell["madelung_constant"] == pytest.approx(2.837297, abs=1e-6)
    assert cell["length_A"] == pytest.approx(4.6) and cell["dielectric_constant"] == 1.0
    assert parts["monopole"] == -cell["background_eV"] == pytest.approx(14.39964548 * 2.837297479 / 2 / 4.6, abs=1e-6)
    assert parts["potential_alignment"] == pytest.approx(parts["quadrupole"], abs=0.02)
    assert sum(done["energies_eV"]["components"].values()) == pytest.approx(done["energies_eV"]["free"], abs=1e-6)
    outcar = (path / "OUTCAR").read_text()
    assert " charged cell, corrections that are NOT in TOTEN: charge     1.000000 e" in outcar
    assert f"  Makov-Payne, first order        {parts['monopole']:14.6f} eV" in outcar
    assert main(["run", str(path), "--no-plot"]) == 0
    out = capsys.readouterr().out
    assert f"  Makov-Payne, second order         {parts['quadrupole']:+12.4f} eV, not added\n" in out
    assert "not added, in place of the second order" in out


def test_a_charged_crystal_is_told_of_its_medium(folder, capsys):
    assert main(["run", str(folder(NELECT=7, EPSILON=12)), "--no-plot"]) == 0
    out = capsys.readouterr().out
    assert "Makov-Payne, first order (ε = 12)" in out and "potential alignment: from the neutral cell" in out
    assert "second order" not in out


def test_the_functional_has_its_whole_name(folder):
    path = folder(GGA="PZ")
    assert any("LDA of Perdew and Zunger, cutoff 150 eV" in line for line in heading(read_inputs(path), path))


def test_available_threads_are_those_asked_for_or_all(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert available_threads() == 3
    for unset in ("", "many", "0"):
        monkeypatch.setenv("OMP_NUM_THREADS", unset)
        assert available_threads() >= 1


def test_a_run_of_long_steps_says_so_before_the_first(folder):
    inputs = read_inputs(folder())
    assert long_step_words(inputs, 1, 2) == "" == long_step_words(inputs, 1, None)
    size = replace(inputs.size, kpoints=200_000, bands=200)
    words = long_step_words(SimpleNamespace(size=size), 1, 2)
    assert words.startswith("A step of self-consistency takes some ") and "200000 k-points, 200 bands" in words
