"""Ranks that are forks of one process: they are children like others, and where they cannot be, others are started."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from running import LIMIT, still_there

pytestmark = pytest.mark.ranks

PARENT = """
import sys
from eigenwerk.parallel.launch import forks
from eigenwerk.parallel.launch.launch import run_ranks
if sys.argv[1:] == ["adopts nobody"]:
    forks.adopt_orphans = lambda wanted: None
say = lambda words: print(words, file=sys.stderr)
sys.exit(run_ranks([sys.executable, "-m", "rank", "word"], 3, 1, say, modules=["loaded"]))
"""

RANK = """
import os, sys, threading
from pathlib import Path
from eigenwerk.parallel.launch.launch import die_with_parent
die_with_parent()
import loaded
rank, folder = os.environ["RANK"], os.environ["EIGENWERK_MEETING"]
told = os.getppid(), os.getsid(0) == os.getpid(), sys.argv[1:], os.environ["LOCAL_RANK"], loaded.process == os.getpid()
print(*told, sorted(os.listdir("/proc/self/fd")), file=open(f"told{rank}", "w"))
"""

NOTE = """
import os
process = os.getpid()
with open("loaded.txt", "a") as file:
    print(process, file=file)
"""


@pytest.fixture
def start(tmp_path):
    """Starts a parent of three ranks; what they load runs `body`."""

    def run(body="", *words, omp="1", rank=RANK):
        (tmp_path / "loaded.py").write_text(NOTE + body)
        (tmp_path / "rank.py").write_text(rank)
        return subprocess.Popen(
            [sys.executable, "-c", PARENT, *words], cwd=tmp_path, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {"OMP_NUM_THREADS": omp},
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )  # fmt: skip

    return run


def loaders(folder: Path, count: int = 1) -> list[int]:
    """The processes that have loaded the module, once there are so many."""
    path, limit = folder / "loaded.txt", time.monotonic() + LIMIT
    while time.monotonic() < limit:
        if path.exists() and len(found := path.read_text().split("\n")[:-1]) >= count:
            return list(map(int, found))
        time.sleep(0.02)
    raise AssertionError("nobody has loaded the module")


def told(folder: Path) -> list[list[str]]:
    return [(folder / f"told{rank}").read_text().split(maxsplit=5) for rank in range(3)]


def test_modules_are_loaded_once_and_ranks_are_children_of_the_parent(start, tmp_path):
    process = start()
    out, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, out, err) == (0, "", "") and len(loaders(tmp_path)) == 1
    for rank, (parent, leads_session, words, local_rank, loaded_itself, files) in enumerate(told(tmp_path)):
        assert (int(parent), leads_session, words, local_rank) == (process.pid, "True", "['word']", str(rank))
        # in, out, errors, the file that is written, the folder that is listed: nothing of the loader or other ranks
        assert loaded_itself == "False" and len(files.split(",")) == 4


@pytest.mark.fast("that fails")
@pytest.mark.parametrize(
    "body",
    ["if 'RANK' in os.environ and not os.path.exists('told'): open('told', 'w').close(); raise ImportError('no')",
     "import threading, time\nthreading.Thread(target=time.sleep, args=(0.3,)).start()"],
    ids=["that fails", "that starts a thread"],
)  # fmt: skip
def test_a_module_that_cannot_be_had_in_common_is_loaded_by_each_rank(start, tmp_path, body):
    process = start(body)
    _, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, err) == (0, "") and len(set(loaders(tmp_path, 4))) == 4
    assert [found[4] for found in told(tmp_path)] == ["True"] * 3


@pytest.mark.slow
def test_a_system_that_lets_nobody_adopt_gets_a_python_for_each_rank(start, tmp_path):
    process = start("", "adopts nobody")
    _, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, err) == (0, "") and len(loaders(tmp_path)) == 4


@pytest.mark.slow
def test_a_killed_loader_is_replaced(start, tmp_path):
    process = start("import time\nif not os.path.exists('once'): open('once', 'w').close(); time.sleep(600)")
    (number,) = loaders(tmp_path)
    os.kill(number, signal.SIGKILL)
    _, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, err) == (0, "") and len(loaders(tmp_path)) == 4


@pytest.mark.fast("2")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_modules_are_loaded_ends_the_run(start, tmp_path, number):
    process = start("import time\ntime.sleep(600)")
    (loader,) = loaders(tmp_path)
    process.send_signal(number)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 128 + number and "nothing has been written" in err and "Traceback" not in err
    assert not still_there([loader]) and len(loaders(tmp_path)) == 1


def test_a_killed_parent_takes_the_loader_with_it(start, tmp_path):
    process = start("import time\ntime.sleep(600)")
    (loader,) = loaders(tmp_path)
    process.kill()
    process.communicate(timeout=LIMIT)
    assert not still_there([loader])


@pytest.mark.slow
def test_threads_that_a_library_computes_with_begin_again_in_each_rank(start, tmp_path):
    count = "import numpy\ndef threads():\n    return len(os.listdir('/proc/self/task'))\n"
    (tmp_path / "counted.py").write_text(f"import os\n{count}a = numpy.ones((600, 600)); a @ a\nprint(threads())")
    environ = os.environ | {"OMP_NUM_THREADS": "2"}
    alone = subprocess.run([sys.executable, "counted.py"], cwd=tmp_path, env=environ, capture_output=True, text=True)
    work = "a = loaded.numpy.ones((600, 600)); a @ a\nprint(loaded.threads(), file=open(f'threads{rank}', 'w'))"
    process = start(count, omp="2", rank=RANK + work)
    _, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, err) == (0, "") and len(loaders(tmp_path)) == 1
    assert {(tmp_path / f"threads{rank}").read_text() for rank in range(3)} == {alone.stdout}
