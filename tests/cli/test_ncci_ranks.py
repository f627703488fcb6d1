"""`eigenwerk ncci run` on several ranks, as its users see it: one voice, one set of files, an end whatever happens."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eigenwerk.cli.main import main
from eigenwerk.ncci import estimate
from eigenwerk.ncci.results.levels_file import read_levels
from rank_pool import find_mpirun, why_no_mpi
from running import EIGENWERK, START, Run, ranks_below
from warm_start import warm_run

pytestmark = pytest.mark.ranks

CASE = 'nucleus = "4He"\ninteraction = "JISP16"\nhw = 20\nNmax = 2\nstates = 2\n'
TINY = CASE.replace("Nmax = 2", "Nmax = 0").replace("states = 2", "states = 1")
LONG = CASE.replace("Nmax = 2", "Nmax = 4") + "[solver]\nfixed = true\nproducts = 5000\nspace = 20\n"


@pytest.fixture
def case(tmp_path):
    """A case file with this text."""

    def write(text=CASE):
        (tmp_path / "helium.toml").write_text(text)
        return tmp_path / "helium.toml"

    return write


def run(path, *words):
    command = [*EIGENWERK[1:], "ncci", "run", str(path), *map(str, words)]
    return warm_run(command, env=os.environ | {"OMP_NUM_THREADS": "1"})


def test_two_ranks_tell_one_story_with_the_levels_of_one(case, tmp_path):
    path = case()
    one, two = run(path, "-o", tmp_path / "one"), run(path, "-o", tmp_path / "two", "--ranks", 2, "--transport", "gloo")
    assert two.returncode == 0, two.stderr
    for words in ("2, started by eigenwerk", "ranks 0 and 1 on", "Gloo", "csb on 2 ranks (cpu, gloo), rows dealt"):
        assert two.stdout.count(words) == 1, words
    tables = [done.stdout[done.stdout.index("  n     J") :].replace("/one", "/two") for done in (one, two)]
    assert two.stdout.count("Files: ") == 1 and tables[0].count("\n") == tables[1].count("\n")
    names = [sorted(file.name for file in (tmp_path / name).iterdir()) for name in ("one", "two")]
    assert names[0] == names[1] == ["eigenwerk-trace.json", "levels.h5", "levels.res", "levels.txt"]
    energies = [read_levels(tmp_path / name).energy_n for name in ("one", "two")]
    assert energies[1] == pytest.approx(energies[0], abs=1e-6)


@pytest.mark.slow
def test_traffic_of_all_ranks_is_shown_by_perf(case, tmp_path, capsys):
    assert run(case(), "-o", tmp_path / "two", "--ranks", 2, "--quiet").returncode == 0
    assert main(["perf", "profile", str(tmp_path / "two"), "--no-plot"]) == 0
    assert "local products" in capsys.readouterr().out
    assert main(["perf", "communication", str(tmp_path / "two"), "--no-plot"]) == 0
    out = capsys.readouterr().out
    assert "all_gather" in out and "reduce_scatter" in out


@pytest.mark.slow
def test_ranks_that_torchrun_started(case):
    pytest.importorskip("torch.distributed.run")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["--nproc-per-node", "2", "--master-addr", "127.0.0.1", "--master-port", str(port)]
    command = [sys.executable, "-m", "torch.distributed.run", *words, "-m", "eigenwerk.cli.main", "ncci", "run"]
    done = subprocess.run([*command, str(case())], capture_output=True, text=True, timeout=START)
    assert done.returncode == 0, done.stderr
    assert "2, started by torchrun" in done.stdout and done.stdout.count("Files: ") == 1


@pytest.mark.slow
@pytest.mark.skipif(bool(why_no_mpi()), reason=why_no_mpi() or "MPI")
def test_ranks_that_mpirun_started(case):
    mpirun = [find_mpirun(), "--oversubscribe", "--bind-to", "none", "-n", "2"]
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1"}
    command = [*mpirun, *EIGENWERK, "ncci", "run", str(case()), "--transport", "mpi"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=START, env=os.environ | allowed)
    assert done.returncode == 0, done.stderr
    assert "2, started by mpirun" in done.stdout and "csb on 2 ranks (cpu, mpi)" in done.stdout
    assert done.stdout.count("Files: ") == 1


def start_pair(path, *words, starter="torchrun"):
    """Two ranks without a parent that looks after them, as torchrun and srun start them."""
    with socket.create_server(("127.0.0.1", 0)) as meeting:
        port = str(meeting.getsockname()[1])
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
    rank, rest = "RANK", {"WORLD_SIZE": "2"}
    if starter == "srun":
        rank, rest = "SLURM_PROCID", {"SLURM_STEP_NUM_TASKS": "2", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"}
    command = [*EIGENWERK, "ncci", "run", str(path), *words]
    return [Run(*command, **common, **rest, **{rank: str(number)}) for number in range(2)]


@pytest.mark.slow
@pytest.mark.ci
def test_ranks_of_srun_are_taken(case):
    first, second = (one.end(START) for one in start_pair(case(), starter="srun"))
    assert first[0] == 0 and "2, started by srun" in first[1] and "Files: " in first[1], first
    assert second == (0, "", "")


@pytest.mark.fast("*nccl joins GPUs*", "*much*")
@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        (CASE.replace("20", '"much"'), (), "hw = 'much'"),
        (TINY, (), "fewer than the 2 ranks. Start one rank"),
        (CASE + '[solver]\nbackend = "dense"\n', (), "backend = 'dense' computes on one rank, but there are 2"),
        (CASE, ("--transport", "nccl", "--device", "cpu"), "nccl joins GPUs, but the ranks compute on processors"),
        (CASE, ("--ranks", "3"), "--ranks 3, but torchrun has started 2 already. Leave --ranks out."),
    ],
)
def test_errors_that_all_ranks_meet_are_told_once_and_nothing_is_written(case, tmp_path, text, words, expected):
    path = case(text)
    ends = [one.end(START) for one in start_pair(path, *words)]
    assert [end[0] for end in ends] == [2, 2] and expected in ends[0][2], ends
    assert [entry.name for entry in tmp_path.iterdir()] == ["helium.toml"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--ranks", "2", "--transport", "smoke"], "auto, nccl, mpi, gloo"),
        (["--ranks", "2", "--transport", "mpi"], "mpirun -n 2 eigenwerk ncci run"),
        (["--ranks", "2", "--reductions", "ring"], "library, pairwise[:BYTES]"),
        (["--ranks", "1", "--reductions", "pairwise"], "there is one rank alone"),
    ],
)
def test_options_that_do_not_exist(case, capsys, words, expected):
    assert main(["ncci", "run", str(case()), *words]) == 2
    assert expected in capsys.readouterr().err


def started(path, *words, ranks=2, cold=False):
    process = Run(*EIGENWERK, "ncci", "run", str(path), "--ranks", str(ranks), *words, cold=cold, OMP_NUM_THREADS="1")
    for line in process.process.stdout:
        process.lines.append(line)
        if "products" in line and "residual" in line:
            break
    process.ranks = ranks_below(process.process.pid)
    assert len(process.ranks) == ranks
    return process


COLD = pytest.mark.parametrize(
    "cold", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["forks of the tests", "forks of a loader"]
)


@pytest.mark.slow
@COLD
def test_a_rank_that_is_killed_ends_all_and_the_run_goes_on_alone(case, tmp_path, cold):
    path = case(LONG + "checkpoint_minutes = 0\n")
    process = started(path, cold=cold)
    while not (tmp_path / "helium" / "checkpoint" / "state.h5").exists():
        assert process.process.poll() is None
        time.sleep(0.02)
    os.kill(process.ranks[1], signal.SIGKILL)
    code, _, err = process.end()
    assert code == 137 and "Rank 1" in err and "was killed by SIGKILL" in err, err
    assert (tmp_path / "helium" / "checkpoint" / "state.h5").exists()
    path.write_text(LONG.replace("fixed = true\nproducts = 5000", "tolerance = 1e-8") + "checkpoint_minutes = 0\n")
    done = run(path)
    assert done.returncode == 0 and "-27.0495" in done.stdout, done.stderr


@pytest.mark.slow
@COLD
def test_ctrl_c_stops_all_ranks_after_a_step(case, tmp_path, cold):
    process = started(case(LONG), cold=cold)
    process.process.send_signal(signal.SIGINT)
    code, out, err = process.end()
    assert code == 130 and "stopping after this step" in out and err.count("Interrupted") == 1, (out, err)
    assert "on any number of ranks" in err and (tmp_path / "helium" / "checkpoint" / "state.h5").exists()


@pytest.mark.slow
def test_check_shows_what_each_rank_needs(case, capsys):
    path = case('nucleus = "10B"\ninteraction = "JISP16"\nhw = 20\nNmax = 6\n[solver]\nspace = 60\n')
    needs = {}
    for ranks in ("1", "8"):
        main(["ncci", "check", str(path), "--gpu-gb", "141", "--ranks", ranks])
        out = capsys.readouterr().out
        (row,) = [line for line in out.splitlines() if line.startswith("  pairs")]
        needs[ranks] = float(row.split()[3])
    assert "each of 8 ranks, which has 1 507 589 components" in out and "on their way between ranks" in out
    assert "for itself on its GPU; ranks of one machine have 79.5 MB in common in its memory" in out
    assert needs["8"] < needs["1"] / 3 and "csb: blocks by layout dealt" in out
    assert main(["ncci", "check", str(case()), "--ranks", "3"]) == 0
    out = capsys.readouterr().out
    assert "  csb " in out and "csb: blocks by layout " in out and "dense" not in out
    (said,) = [line for line in out.splitlines() if line.startswith("  with pairs each rank has ")]
    assert "; ranks of one machine have 220" in said and "in common, counted once; 3 ranks on one need " in said


def test_more_ranks_than_states_are_refused_by_check(case, capsys):
    assert main(["ncci", "check", str(case()), "--ranks", "60"]) == 2
    assert "has 59 many-body states, fewer than the 60 ranks. Start 59 ranks or fewer" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("step", ["all-gather", "broadcast", "reduce", "reduce-scatter"])
def test_a_rank_lost_in_any_step_of_a_product_ends_all_and_two_ranks_go_on(case, tmp_path, step):
    text = CASE.replace("Nmax = 2", "Nmax = 4") + '[solver]\nbackend = "csb"\n'
    text += "tolerance = 1e-10\ncheckpoint_minutes = 0\n"
    path = case(text)
    assert run(path, "-o", tmp_path / "whole").returncode == 0
    path.write_text(text + 'layout = "triangle"\n')
    with socket.create_server(("127.0.0.1", 0)) as meeting:
        port = str(meeting.getsockname()[1])
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "3", "OMP_NUM_THREADS": "1"}
    program = [sys.executable, str(Path(__file__).parents[1] / "killed_in_step.py"), step, "1", "25"]
    runs = [Run(*program, "ncci", "run", str(path), cold=True, **common, RANK=str(rank)) for rank in range(3)]
    assert runs[1].end(START)[0] == -signal.SIGKILL
    others = [runs[rank].end() for rank in (0, 2)]
    assert {code for code, _, _ in others} == {1} and "Rank 1" in others[0][2], others
    path.write_text(text)
    assert run(path, "--ranks", 2).returncode == 0
    whole, again = (read_levels(tmp_path / name) for name in ("whole", "helium"))
    assert again.energy_n == pytest.approx(whole.energy_n, abs=1e-8)
    assert again.solver["ranks"] == 2 and again.solver["layout"] == "dealt"


REFUSED = [
    (("--ranks", 2, "--scheme", "nccl"), "--scheme nccl joins GPUs, but the ranks compute on processors"),
    (("--ranks", 2, "--scheme", "p2p"), "--scheme p2p cannot join ranks that eigenwerk starts. Start them by mpirun"),
    (("--scheme", "p2p"), "there is one rank alone"),
    (("--ranks", 2, "--scheme", "nccl:4:33"), "NCCL takes 1 to 32 thread blocks"),
    (("--ranks", 2, "--scheme", "gloo", "--transport", "nccl"), "travels by gloo, but --transport is nccl"),
    (("--ranks", 2, "--scheme", "gloo", "--reductions", "pairwise"), "so does --reductions pairwise"),
]


@pytest.mark.fast("there is one rank*", "--scheme p2p*")
@pytest.mark.parametrize(("words", "told"), REFUSED, ids=[told[:30] for _, told in REFUSED])
def test_schemes_that_cannot_be_are_refused_before_anything_is_written(case, tmp_path, words, told):
    done = run(case(), "-o", tmp_path / "out", "--device", "cpu", *words)
    assert done.returncode == 2 and told in done.stderr + done.stdout, done.stderr
    assert done.stderr.count(told) == 1 and not (tmp_path / "out").exists()


def test_thread_blocks_beside_those_of_the_environment(case, tmp_path, monkeypatch):
    monkeypatch.setenv("NCCL_MAX_CTAS", "4")
    done = run(case(), "-o", tmp_path / "out", "--ranks", 2, "--scheme", "nccl:4:8")
    assert done.returncode == 2 and "NCCL_MAX_CTAS = 4" in done.stderr and not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_scheme_of_a_case_and_the_one_over_it(case, tmp_path):
    path = case(CASE + '[solver]\nscheme = "nccl"\nbackend = "csb"\n')
    refused = run(path, "-o", tmp_path / "out", "--ranks", 2, "--device", "cpu").stderr
    assert f'{path}: [solver] scheme = "nccl" joins GPUs' in " ".join(refused.split()) and "Take mpi or gloo" in refused
    done = run(path, "-o", tmp_path / "out", "--ranks", 2, "--scheme", "gloo", "--device", "cpu")
    assert done.returncode == 0 and "scheme gloo" in done.stdout, done.stderr
    assert read_levels(tmp_path / "out").solver["scheme"] == "gloo"


@pytest.mark.skipif(bool(why_no_mpi()), reason=why_no_mpi() or "MPI")
@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["plain", "p2p"])
def test_the_published_schemes_under_mpirun(case, tmp_path, scheme):
    mpirun = [find_mpirun(), "--oversubscribe", "--bind-to", "none", "-n", "3"]
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1"}
    command = [*mpirun, *EIGENWERK, "ncci", "run", str(case()), "-o", str(tmp_path / "three"), "--scheme", scheme]
    done = subprocess.run(command, env=os.environ | allowed, capture_output=True, text=True, timeout=START)
    assert done.returncode == 0, done.stderr
    assert run(case(), "-o", tmp_path / "one").returncode == 0
    energies = [read_levels(tmp_path / name).energy_n for name in ("one", "three")]
    assert energies[1] == pytest.approx(energies[0], abs=1e-6)
    assert f"scheme {scheme}" in done.stdout


@pytest.mark.slow
def test_the_layout_is_tried_and_kept_by_a_run_that_continues(case, tmp_path):
    path = case(LONG + 'backend = "csb"\ncheckpoint_minutes = 0\n')
    process = started(path, ranks=3)
    while not (tmp_path / "helium" / "checkpoint" / "state.h5").exists():
        assert process.process.poll() is None
        time.sleep(0.02)
    process.process.send_signal(signal.SIGINT)
    code, out, err = process.end()
    assert code == 130 and "layout     tried: dealt" in out and "triangle" in out, (out, err)
    (how,) = [how for how in ("rows dealt out", "blocks on a triangle") if how in out]
    text = path.read_text().replace("fixed = true\nproducts = 5000", "tolerance = 1e-6")
    path.write_text(text)
    done = run(path, "--ranks", 3)
    assert done.returncode == 0 and "tried: " not in done.stdout and how in done.stdout, done.stderr
    assert "layout_trial" not in read_levels(tmp_path / "helium").solver
    named = case(text + 'layout = "triangle"\n')
    done = run(named, "-o", tmp_path / "named", "--ranks", 3)
    assert "tried: " not in done.stdout and "on a triangle" in done.stdout, done.stderr
    done = run(case(text), "-o", tmp_path / "anew", "--ranks", 3)
    assert read_levels(tmp_path / "anew").solver["layout_trial"].startswith("tried: dealt"), done.stderr


@pytest.mark.parametrize("few", [estimate.FEW_STATES, 0])
def test_check_and_run_agree_where_proton_determinants_are_few(tmp_path, capsys, monkeypatch, few):
    """Neutrons alone: one determinant of protons, which makes one block, however many states there are."""
    monkeypatch.setattr(estimate, "FEW_STATES", few)
    path = tmp_path / "neutrons.toml"
    path.write_text('Z = 0\nN = 3\ninteraction = "Minnesota"\nhw = 10\nNmax = 3\nstates = 1\n')
    assert main(["ncci", "check", str(path), "--ranks", "2"]) == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "<- a run takes this one" in line]
    assert row.split()[0] == "pairs"
    path.write_text(path.read_text() + '[solver]\nbackend = "csb"\n')
    assert main(["ncci", "check", str(path), "--ranks", "2"]) == 2
    told = capsys.readouterr().err
    assert f"{path}: 3n" in told and "Here 1 of them has states, which makes 1 block at most for 2 ranks" in told
