"""`eigenwerk ncci` says what it found, draws it, and has the exit codes that it promises."""

import os
import re
import signal
import time

import pytest

from eigenwerk.cli.main import main
from eigenwerk.io.folder_lock import lock_folder
from eigenwerk.ncci.inputs.inputs import read_cases
from eigenwerk.ncci.interaction.files import interaction
from eigenwerk.ncci.interaction.two_body import PairSpace
from eigenwerk.ncci.orbitals import no_core_orbitals
from eigenwerk.ncci.results.levels_file import read_levels
from eigenwerk.ncci.run import run_case
from h2_writing import h2_bytes, h2_from_two_body
from warm_start import PIPE, WarmProcess

CASE = 'nucleus = "4He"\ninteraction = "JISP16"\nhw = 20\nNmax = [0, 2]\nstates = 1\n'


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with a case and its results."""
    folder = tmp_path_factory.mktemp("helium")
    (folder / "helium.toml").write_text(CASE)
    assert main(["ncci", "run", str(folder / "helium.toml"), "--quiet"]) == 0
    return folder


def said(capsys, *words):
    code = main(["ncci", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_run_writes_beside_the_case_under_its_name(finished):
    inside = sorted(path.relative_to(finished / "helium").as_posix() for path in (finished / "helium").rglob("*.*"))
    levels = [f"hw20_Nmax0{n}/levels.{kind}" for n in (0, 2) for kind in ("h5", "res", "txt")]
    assert inside == ["eigenwerk-trace.json", *levels]


def test_the_record_of_a_run_is_shown_by_perf(finished, capsys):
    assert main(["perf", "profile", str(finished / "helium"), "--no-plot"]) == 0
    out = capsys.readouterr().out
    for phase in ("basis", "matrix elements", "operator", "states", "products", "orthogonalisation", "observables"):
        assert f"{phase}  " in out


def test_one_rank_of_a_starter_computes(tmp_path, monkeypatch, capsys):
    (tmp_path / "helium.toml").write_text(CASE.replace("[0, 2]", "0"))
    for name, value in {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}.items():
        monkeypatch.setenv(name, value)
    code, out, _ = said(capsys, "run", str(tmp_path / "helium.toml"))
    assert code == 0 and "4He" in out


@pytest.mark.parametrize(
    ("device", "expected"),
    [("tpu", "--device tpu: it can be auto, cpu"), ("cuda:99", "--device cuda:99, but on .* or use --device cpu")],
)
def test_a_device_that_is_not_there_is_refused_in_the_words_of_run(tmp_path, capsys, device, expected):
    (tmp_path / "helium.toml").write_text(CASE)
    code, _, err = said(capsys, "run", str(tmp_path / "helium.toml"), "--device", device)
    assert code == 2 and re.search(expected, err)
    assert [path.name for path in tmp_path.iterdir()] == ["helium.toml"]


def test_a_device_on_the_command_line_counts_more_than_that_of_the_case(tmp_path, capsys):
    path = tmp_path / "helium.toml"
    path.write_text(CASE.replace("[0, 2]", "0") + '[solver]\ndevice = "cuda:99"\n')
    assert said(capsys, "run", str(path))[0] == 2
    code, out, _ = said(capsys, "run", str(path), "--device", "cpu")
    assert code == 0 and "csb on cpu" in out


@pytest.mark.slow
def test_levels_are_shown_with_the_series(finished, capsys):
    code, out, _ = said(capsys, "levels", str(finished / "helium"))
    assert code == 0 and "4He, JISP16, hbar-omega 20 MeV, Nmax 2, M = 0" in out
    assert "-23.6254" in out and "The lowest level at the largest Nmax" in out and "59 many-body states" in out


@pytest.mark.slow
def test_other_interactions_have_rows_of_their_own(finished, tmp_path, capsys):
    (tmp_path / "softer.toml").write_text(CASE.replace("JISP16", "Minnesota").replace("[0, 2]", "2"))
    assert main(["ncci", "run", str(tmp_path / "softer.toml"), "--quiet"]) == 0
    capsys.readouterr()
    code, out, _ = said(capsys, "levels", str(finished / "helium"), str(tmp_path / "softer"))
    rows = out[out.index("The lowest level at the largest Nmax") :].splitlines()[1:]
    assert code == 0 and len(rows) == 3
    assert rows[0].startswith("  JISP16, hbar-omega 20  0: ") and rows[0].endswith("2: -23.6254")
    assert rows[1] == "    no limit: 2 values of Nmax; it takes 4"
    assert rows[2].startswith("  Minnesota, hbar-omega 20  2: ")


@pytest.mark.fast("extra0")
@pytest.mark.parametrize("extra", [[], ["--convergence"]])
def test_pictures_are_drawn(finished, tmp_path, capsys, extra):
    target = tmp_path / "p.png"
    code, out, _ = said(capsys, "plot", str(finished / "helium"), "--plot", str(target), *extra)
    assert code == 0 and str(target) in out
    assert target.read_bytes().startswith(b"\x89PNG") and target.stat().st_size > 5000


@pytest.mark.slow
def test_check_counts_the_largest_published_case_and_refuses_it_here(tmp_path, capsys):
    path = tmp_path / "boron.toml"
    path.write_text('nucleus = "10B"\ninteraction = "JISP16"\nhw = 20\nNmax = 6\n[solver]\nmemory_gb = 16\n')
    code, out, err = said(capsys, "check", str(path))
    assert "12 060 706" in out and "5 477 207 789" in out
    assert code == 2 and "there are 16.0 GB" in err and "It would fit with" in err
    assert "fits" in out and "csb" in out and "pairs" in out


def test_check_passes_what_fits(finished, capsys):
    code, out, err = said(capsys, "check", str(finished / "helium.toml"))
    assert code == 0 and not err and "a run takes this one" in out


def test_check_tells_of_each_case_of_a_series(tmp_path, capsys):
    """One that has no state does not hide the next one; a GPU that the file asks for is not one that was judged."""
    (tmp_path / "case.toml").write_text(CASE + 'M = 2\n[solver]\ndevice = "cuda"\n')
    code, out, err = said(capsys, "check", str(tmp_path / "case.toml"))
    assert code == 2 and f"{tmp_path}/case.toml: 4He" in err and "Nmax 0, M = 2 has no many-body state" in err
    assert "Nmax 2, M = 2" in out and 'device = "cuda" in the file wants a GPU' in out


def test_more_states_than_there_are_is_refused_before_any_work(tmp_path, capsys):
    path = tmp_path / "helium.toml"
    path.write_text(CASE.replace("states = 1", "states = 2"))
    for command in ("check", "run"):
        code, _, err = said(capsys, command, str(path))
        assert code == 2 and "has 1 many-body state. Set states = 1, or take more than Nmax = 0" in err
    assert not (tmp_path / "helium").exists()


@pytest.mark.fast("check")
@pytest.mark.parametrize("command", ["check", "run"])
def test_states_that_nobody_asked_for_are_as_many_as_the_smallest_space_has(tmp_path, capsys, command):
    """3H has one state at Nmax 0; asked for, as many as usual are refused."""
    path = tmp_path / "triton.toml"
    given = CASE.replace("4He", "3H").replace("states = 1\n", "")
    path.write_text(given)
    code, out, _ = said(capsys, command, str(path))
    assert code == 0 and "states     1 in place of the usual 4: 3H, JISP16, hbar-omega 20 MeV, Nmax 0" in out
    if command == "run":
        assert all(len(read_levels(tmp_path / "triton" / f"hw20_Nmax0{n}").energy_n) == 1 for n in (0, 2))
    path.write_text(given + "states = 4\n")
    code, out, err = said(capsys, command, str(path))
    assert code == 2 and "has 1 many-body state. Set states = 1" in err and "in place of" not in out


UNFIT = {
    "parity": ("JISP16_hw20.bin", 6, "has no matrix elements for the proton orbitals .*, or lower Nmax to 2, the larg"),
    "odd": ("JISP16_hw20.bin", 5, r"lower Nmax to 1, the largest of this parity that the file allows\.$"),
    "none": ("none_hw20.bin", 2, "there is no smaller Nmax of this parity for which the file is enough"),
    "hw": ("rel.dat", 2, r"rel.dat does not say which hw its elements belong to\. Write file_hw = 20.0"),
    "three": ("n3lo.me3j.gz", 2, "n3lo.me3j.gz is no file of two-body matrix elements"),
}


@pytest.mark.fast("hw", "none", "parity")
@pytest.mark.parametrize("name", UNFIT)
def test_check_refuses_a_file_that_does_not_suit_in_the_words_of_run(tmp_path, capsys, name):
    for quanta, file in ((4, "JISP16_hw20.bin"), (1, "none_hw20.bin")):
        orbitals = no_core_orbitals(quanta)
        space = PairSpace(orbitals, orbitals, quanta, quanta, quanta)
        (tmp_path / file).write_bytes(h2_bytes(h2_from_two_body(interaction("JISP16", space, 20.0))))
    (tmp_path / "rel.dat").write_text("0 0 0 0 0 0 -1.0\n")
    (tmp_path / "n3lo.me3j.gz").write_bytes(b"\x1f\x8b\x08\0")
    file, nmax, words = UNFIT[name]
    path = tmp_path / "lithium.toml"
    path.write_text(f'nucleus = "6Li"\ninteraction = "{file}"\nhw = 20\nNmax = {nmax}\nstates = 1\n')
    told = []
    for command in ("check", "run"):
        code, out, err = said(capsys, command, str(path))
        assert code == 2 and re.search(words, err.strip()) and not out
        told.append(err)
    assert told[0] == told[1] and not (tmp_path / "lithium").exists()


def test_help_names_both_engines(capsys):
    assert main(["--help"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "density-functional theory" in out and "nuclei" in out


def test_keys_name_every_setting_with_its_default(capsys):
    code, out, _ = said(capsys, "keys")
    assert code == 0 and "lawson" in out and "default 50.0" in out and "[solver]" in out


@pytest.mark.slow
def test_states_that_do_not_converge_are_written_and_marked(tmp_path, capsys):
    path = tmp_path / "short.toml"
    path.write_text(CASE.replace("[0, 2]", "2") + "[solver]\nproducts = 5\n")
    code, out, err = said(capsys, "run", str(path))
    assert code == 3 and "Not converged" in out and "largest residual" in err
    assert (tmp_path / "short" / "levels.h5").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "absent.toml"], "no case file absent.toml"),
        (["levels", "."], "no levels.h5"),
        (["plot", "absent.h5"], "absent.h5"),
        (["plot", "absent.h5", "--plot", "levels.txt"], "'.txt' is no format of pictures"),
    ],
)
def test_what_is_not_there_is_named(tmp_path, monkeypatch, capsys, words, expected):
    monkeypatch.chdir(tmp_path)
    code, _, err = said(capsys, *words)
    assert code == 2 and expected in err and "ISTART" not in err


def test_a_damaged_or_foreign_result_is_refused(finished, tmp_path, capsys):
    whole = (finished / "helium" / "hw20_Nmax02" / "levels.h5").read_bytes()
    for name, content in {"cut.h5": whole[: len(whole) // 2], "text.h5": b"nothing"}.items():
        (tmp_path / name).write_bytes(content)
        code, _, err = said(capsys, "levels", str(tmp_path / name))
        assert code == 2 and name in err and "run the case again" in err and "ISTART" not in err


def test_ctrl_c_stops_after_a_step_and_the_run_goes_on(tmp_path):
    path = tmp_path / "long.toml"
    path.write_text(
        'nucleus = "4He"\ninteraction = "JISP16"\nhw = 20\nNmax = 4\n'
        '[solver]\nbackend = "pairs"\nproducts = 20000\nfixed = true\nspace = 30\n'
    )
    process = WarmProcess(["-m", "eigenwerk.cli.main", "ncci", "run", str(path)], stdout=PIPE, stderr=PIPE)
    for line in process.stdout:
        if "products" in line:
            break
    time.sleep(0.5)  # past the first step, before which a signal ends the run at once
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "stopping after this step" in out and "Interrupted" in err
    assert (tmp_path / "long" / "checkpoint" / "state.h5").exists()


def test_a_second_run_in_a_folder_is_refused(tmp_path, capsys):
    (tmp_path / "helium.toml").write_text(CASE)
    (tmp_path / "helium").mkdir()
    lock = lock_folder(tmp_path / "helium")
    code, _, err = said(capsys, "run", str(tmp_path / "helium.toml"), "--quiet")
    assert code == 2 and f"process {os.getpid()} on" in err
    lock.release()
    assert not list((tmp_path / "helium").iterdir())


REFUSED = {
    'M = 20\n': "M = 20 has no many-body state of this parity. Set M closer to zero",
    '[solver]\nstart = "nowhere"\n': 'nowhere": there are no results',
    '[solver]\nstart = "{finished}"\n': "holds states of 4He, not of 6Li",
    '[solver]\nscheme = "gloo"\n': '[solver] scheme = "gloo" is about several ranks, but there is one rank alone',
    '[solver]\nscheme = ""\n': '[solver] scheme = "": it can be auto',
    '[solver]\ntolerance = 1e-9\nprecision = "single"\n': 'is below the rounding of single precision, 1.2e-07. Set',
    '[solver]\ntolerance = 1e-30\n': "is below the rounding of double precision, 2.3e-16. Set a larger one.",
}  # fmt: skip


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize("lines", REFUSED)
def test_check_refuses_what_run_refuses_before_it_builds(finished, tmp_path, capsys, command, lines):
    case, results = tmp_path / "lithium.toml", finished / "helium" / "hw20_Nmax00"
    given = CASE.replace("4He", "6Li").replace("[0, 2]", "2") + lines.replace("{finished}", str(results))
    case.write_text(given)
    code, out, err = said(capsys, command, str(case))
    assert code == 2 and "\noperator  " not in out
    if not (command == "check" and lines.startswith("M")):  # its space has no states, which it says in its own words
        assert REFUSED[lines] in err and str(case) in err


@pytest.mark.slow
def test_a_run_that_goes_on_says_so_and_another_case_is_refused_before_it_builds(tmp_path, capsys):
    case = tmp_path / "lithium.toml"
    given = CASE.replace("4He", "6Li").replace("[0, 2]", "2") + "[solver]\ncheckpoint_minutes = 0\nspace = 12\n"
    case.write_text(given + "products = 4\n")
    folder = tmp_path / "lithium"
    process = WarmProcess(["-m", "eigenwerk.cli.main", "ncci", "run", case], stdout=PIPE, stderr=PIPE)
    process.communicate(timeout=60)
    assert not (folder / "checkpoint").exists()  # it came to its end
    cases = read_cases(case)
    with pytest.raises(KeyboardInterrupt):
        run_case(cases[0], checkpoint=folder / "checkpoint", report=_stop_after_three())
    case.write_text(given)
    code, out, _ = said(capsys, "run", str(case))
    assert code == 0 and f"continues  from {folder / 'checkpoint'}, after 3 products" in out
    with pytest.raises(KeyboardInterrupt):
        run_case(cases[0], checkpoint=folder / "checkpoint", report=_stop_after_three())
    case.write_text(given.replace("hw = 20", "hw = 15"))
    code, out, err = said(capsys, "run", str(case))
    assert code == 2 and "belongs to another case: 6Li, JISP16, hbar-omega 20" in err and "operator  " not in out


def _stop_after_three():
    def report(step):
        if step.products == 3:
            raise KeyboardInterrupt

    return report


@pytest.mark.slow
def test_check_tells_seconds_of_matrix_elements_and_stops_counting_in_time(tmp_path, capsys):
    """3H at Nmax 10 takes 14 s; 1.7 were told."""
    path = tmp_path / "triton.toml"
    path.write_text('nucleus = "3H"\ninteraction = "JISP16"\nhw = 20\nNmax = 10\nstates = 1\nobservables = []\n')
    code, out, _ = said(capsys, "check", str(path))
    chosen = next(line for line in out.splitlines() if "a run takes this one" in line)
    assert code == 0 and 8 < float(chosen.split(" s   yes")[0].split()[-1]) < 25
    path.write_text(path.read_text().replace("3H", "6Li").replace("10", "12"))
    _, out, _ = said(capsys, "check", str(path), "--seconds", "0.01")
    assert "nonzeros     not counted: counting takes longer than it may" in out and "\n  csb " not in out


@pytest.mark.slow
def test_check_judges_the_memory_that_ranks_on_gpus_have_in_common(tmp_path, capsys):
    path = tmp_path / "lithium.toml"
    path.write_text('nucleus = "6Li"\ninteraction = "JISP16"\nhw = 20\nNmax = 8\n[solver]\nbackend = "csb"\n')
    words = ("check", str(path), "--gpu-gb", "80", "--ranks", "6")
    code, out, _ = said(capsys, *words)
    assert code == 0 and re.search(r"not judged: [\d.]+ [MG]B that ranks have in common in the memory of each", out)
    code, out, _ = said(capsys, *words, "--host-gb", "64")
    assert code == 0 and "not judged" not in out
    code, _, err = said(capsys, *words, "--host-gb", "0.1")
    assert code == 2 and "in the memory of each machine" in err and "there are 0.1 GB" in err
    code, _, err = said(capsys, "check", str(path), "--host-gb", "64")
    assert code == 2 and "give --gpu-gb, too" in err
