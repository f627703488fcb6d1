"""The parent of ranks: it starts them, passes signals on, names the dead, and leaves nobody behind."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from eigenwerk.parallel.launch.launch import death_words
from running import LIMIT, still_there

pytestmark = pytest.mark.ranks

PARENT = """
import sys
from eigenwerk.parallel.launch import launch
launch.PATIENCE = 1.0  # ranks that sleep do not end by themselves
command, ranks, modules = [sys.executable, "-m", "rank"], int(sys.argv[1]), sys.argv[2:]
saved = lambda: open("saved").read()
say = lambda words: print(words, file=sys.stderr)
sys.exit(launch.run_ranks(command, ranks, 1, say, saved=saved, modules=modules))
"""

RANK = """
import os, signal, sys, time
from eigenwerk.parallel.launch.launch import die_with_parent
die_with_parent()
rank = int(os.environ["RANK"])
open(f"{{rank}}.begun", "w").write(str(os.getpid()))
os.rename(f"{{rank}}.begun", f"{{rank}}.pid")  # whoever sees the file finds the number in it
def ready():
    while not all(os.path.exists(f"{{r}}.pid") for r in range(int(os.environ["WORLD_SIZE"]))):
        time.sleep(0.01)
{body}
"""


@pytest.fixture(params=[(), ("json",)], ids=["each", "forks"])
def start(tmp_path, request):
    """Starts a parent with ranks that do what `body` says; SIGINT does what it does at a terminal.  The ranks are each
    a Python of its own, or forks of one that has loaded `modules`."""

    def run(body, ranks=3, modules=request.param):
        (tmp_path / "saved").touch()
        (tmp_path / "rank.py").write_text(RANK.format(body=textwrap.dedent(body)))
        return subprocess.Popen(
            [sys.executable, "-c", PARENT, str(ranks), *modules], cwd=tmp_path, text=True,
            env={name: word for name, word in os.environ.items() if name != "OMP_NUM_THREADS"},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )  # fmt: skip

    yield run
    assert left_behind(tmp_path) == [], "processes were left behind"


def pids(folder: Path, ranks: int) -> list[int]:
    """The process numbers of all ranks, once all have begun."""
    limit = time.monotonic() + LIMIT
    while time.monotonic() < limit:
        try:
            return [int((folder / f"{rank}.pid").read_text()) for rank in range(ranks)]
        except (FileNotFoundError, ValueError):
            time.sleep(0.02)
    raise AssertionError("the ranks did not begin")


def left_behind(folder: Path) -> list[int]:
    """Ranks that still run a while after the parent has ended."""
    return still_there([int(path.read_text()) for path in folder.glob("*.pid")], LIMIT)


def test_all_ranks_do_their_work_and_rank_0_speaks(start, tmp_path):
    process = start("""
        print("here is", rank)
        print("error of", rank, file=sys.stderr)
        open(f"done{rank}", "w").write(os.environ["WORLD_SIZE"] + os.environ["OMP_NUM_THREADS"])
    """)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0 and out == "here is 0\n"
    assert sorted(err.splitlines()) == ["error of 0", "rank 1: error of 1", "rank 2: error of 2"]
    assert [(tmp_path / f"done{rank}").read_text() for rank in range(3)] == ["31"] * 3


@pytest.mark.fast("forks")
def test_ranks_meet_in_a_folder_that_is_theirs_alone_and_goes_with_them(start, tmp_path):
    process = start("""
        from pathlib import Path
        folder = Path(os.environ["EIGENWERK_MEETING"])
        (folder / str(rank)).touch()
        while len(list(folder.glob("[01]"))) < 2:
            time.sleep(0.01)
        if rank == 0:
            print(folder, oct(folder.stat().st_mode & 0o777))
    """, ranks=2)  # fmt: skip
    out, err = process.communicate(timeout=LIMIT)
    folder, mode = out.split()
    assert process.returncode == 0 and mode == "0o700" and not Path(folder).exists(), err


@pytest.mark.fast("forks")
def test_first_exit_code_that_is_not_zero_is_that_of_the_run(start):
    process = start("ready()\nsys.exit(3 if rank == 1 else 0)")
    process.communicate(timeout=LIMIT)
    assert process.returncode == 3


@pytest.mark.fast("forks")
def test_killed_rank_is_named_and_the_others_end(start, tmp_path):
    process = start("ready()\ntime.sleep(600)")
    numbers = pids(tmp_path, 3)
    os.kill(numbers[1], signal.SIGKILL)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 128 + signal.SIGKILL
    assert f"Rank 1 (process {numbers[1]}) was killed by SIGKILL; the other ranks have been stopped." in err


@pytest.mark.slow
@pytest.mark.fast("forks")
def test_death_by_a_signal_counts_more_than_what_follows_from_it(start, tmp_path):
    process = start("""
        ready()
        if rank == 0:
            os.kill(int(open("2.pid").read()), signal.SIGSEGV)
            sys.exit(1)
        time.sleep(600)
    """)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 128 + signal.SIGSEGV and "Rank 2" in err and "SIGSEGV" in err


@pytest.mark.fast("forks-15")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_reach_every_rank_and_the_parent_waits(start, tmp_path, number):
    process = start("""
        def stop(number, frame):
            time.sleep(0.3)
            open(f"stopped{rank}", "w").write(str(number))
            sys.exit(128 + number)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, stop)
        open(f"listening{rank}", "w").close()
        while True:
            time.sleep(0.1)
    """)
    wait_for(tmp_path, "listening", 3)
    process.send_signal(number)
    _, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, err) == (128 + number, "")
    assert [(tmp_path / f"stopped{rank}").read_text() for rank in range(3)] == [str(int(number))] * 3


def wait_for(folder, name, ranks):
    limit = time.monotonic() + LIMIT
    while not all((folder / f"{name}{rank}").exists() for rank in range(ranks)):
        assert time.monotonic() < limit
        time.sleep(0.02)


@pytest.mark.fast("forks-*")
@pytest.mark.parametrize("saved", ["", "Step 3 is saved."])
def test_what_is_said_of_a_rank_that_a_signal_ended_is_true(start, tmp_path, saved):
    """A second Ctrl-C may come when the watchdog has gone and the files are there."""
    (tmp_path / "saved").write_text(saved)
    process = start("""
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        open(f"listening{rank}", "w").close()
        time.sleep(600)
    """)
    wait_for(tmp_path, "listening", 3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130 and ("nothing has been written" in err) == (not saved) and saved in err


@pytest.mark.fast("forks")
def test_third_interrupt_kills(start, tmp_path):
    process = start("""
        signal.signal(signal.SIGINT, lambda number, frame: open(f"heard{rank}", "w").close())
        open(f"listening{rank}", "w").close()
        while True:
            time.sleep(0.1)
    """)
    wait_for(tmp_path, "listening", 3)
    process.send_signal(signal.SIGINT)
    wait_for(tmp_path, "heard", 3)
    for _ in range(2):
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
    process.communicate(timeout=LIMIT)
    assert process.returncode == 128 + signal.SIGKILL


@pytest.mark.fast("each")
def test_killed_parent_leaves_no_orphans(start, tmp_path):
    process = start("ready()\ntime.sleep(600)")
    numbers = pids(tmp_path, 3)
    process.kill()
    process.communicate(timeout=LIMIT)
    assert left_behind(tmp_path) == [], numbers


def test_rank_that_begins_after_its_parent_ended_ends_too():
    words = dict(os.environ, EIGENWERK_PARENT="1" if os.getpid() != 1 else "2")
    code = "from eigenwerk.parallel.launch.launch import die_with_parent; die_with_parent(); print('alive')"
    done = subprocess.run([sys.executable, "-c", code], env=words, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (128 + signal.SIGTERM, "")


def test_words_about_a_death_say_what_to_look_at():
    assert "memory" in death_words(2, 77, signal.SIGKILL, 4)
    assert "report" in death_words(2, 77, signal.SIGSEGV, 4)
    assert "the other rank has" in death_words(1, 77, signal.SIGTERM, 2)
