"""However a rank ends, the others end too: soon, with its name, and without a process left behind."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from contextlib import suppress

import pytest

from eigenwerk.parallel.watch.connection import PROBE_EVERY, SILENCE, Stranger, WatchConnection
from warm_start import PIPE, STDOUT, WarmProcess

pytestmark = pytest.mark.ranks

LIMIT = 30
"""Seconds within which the others stop: the promise of the program."""

START = 120
"""Seconds for processes to load PyTorch and to meet, on a busy machine."""

RANK = """
import os, sys, time
from pathlib import Path
import torch
from eigenwerk.parallel.launch.environment import find_launch
from eigenwerk.parallel.launch.rendezvous import make_store
from eigenwerk.parallel.transports.torch_distributed import gloo_world
from eigenwerk.parallel.watch.watchdog import Watchdog

launch = find_launch()
rank, size = launch.rank, launch.size
store = make_store(launch)
world = gloo_world(rank, size, store, interface="lo")
exec(os.environ.get("BEFORE", ""))
watchdog = Watchdog(store, rank, size, secret=b"of the test", grace=float(os.environ.get("GRACE", "5")))

def save():
    # what a rescue does: agree beside the computation, then rank 0 writes
    step = len(list(Path(".").glob("step*"))) and watchdog.steps
    store.set(f"saved{rank}", str(step))
    steps = [store.get(f"saved{other}").decode() for other in range(size)]
    if rank == 0:
        Path("saved").write_text(" ".join(steps))
    return "the last finished step is saved"

def guarded(collective, *arguments):
    # as in parallel/launch/start.py: a broken connection may be heard of before the reason
    try:
        return collective(*arguments)
    except RuntimeError as error:
        watchdog.fail(f"The connection broke: {error}", 1, secondary=True)

def total():
    return guarded(world.sum, torch.ones(1)).item()

def step(number, wait=0.05):
    time.sleep(wait)
    assert total() == size
    Path(f"step{number}.{rank}").touch()
    return watchdog.step_finished(lambda stop: guarded(world.any, stop))

with watchdog:
    Path(f"ready.{rank}").write_text(str(os.getpid()))
"""

IMPATIENT = """
from eigenwerk.parallel.watch import connection
connection.PROBE_EVERY, connection.PROBES, connection.SILENCE = 1, 2, 3
"""


class Ranks:
    """Started ranks without a parent that looks after them, as srun starts them."""

    def __init__(self, folder, count, body, environ):
        self.folder, self.count = folder, count
        (folder / "rank.py").write_text(RANK + textwrap.indent(textwrap.dedent(body), "    "))
        words = os.environ | {
            "WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0", "EIGENWERK_MEETING": str(folder),
        } | environ  # fmt: skip
        self.processes = [
            WarmProcess(["rank.py"], cwd=folder, env=words | {"RANK": str(rank)}, stdout=PIPE, stderr=STDOUT)
            for rank in range(count)
        ]
        self.wait_for("ready")

    def wait_for(self, name):
        limit = time.monotonic() + START
        while not all((self.folder / f"{name}.{rank}").exists() for rank in range(self.count)):
            assert all(process.poll() is None for process in self.processes), self.end()
            assert time.monotonic() < limit
            time.sleep(0.02)

    def end(self, seconds=LIMIT):
        """Exit codes and what was said, by rank; all must end within the time."""
        limit = time.monotonic() + seconds
        try:
            said = [process.communicate(timeout=max(0.1, limit - time.monotonic()))[0] for process in self.processes]
        finally:
            for process in self.processes:
                process.kill()
        return [process.returncode for process in self.processes], said


@pytest.fixture
def start(tmp_path):
    """Starts ranks whose work is `body`."""
    return lambda body, count=3, **environ: Ranks(tmp_path, count, body, environ)


ENDLESS = """
number = 0
while not step(number := number + 1):
    pass
print("stopped after", number, "by", watchdog.stop)
"""


AT_THE_DOOR = """
if rank == 0:
    Path("new").write_text(str(watchdog._server.places[0][1]))
    Path("new").rename("port")
while not Path("go").exists():
    time.sleep(0.02)
"""


def test_a_run_that_ends_well_ends_quietly(start):
    codes, said = start("for number in range(5):\n    assert step(number) is None").end()
    assert (codes, said) == ([0, 0, 0], ["", "", ""])


@pytest.mark.slow
def test_ranks_may_end_at_different_times(start):
    codes, said = start("step(1)\ntime.sleep(0.5 * (rank if rank else 4))").end()
    assert (codes, said) == ([0, 0, 0], ["", "", ""])


@pytest.mark.fast("2")
@pytest.mark.parametrize("dead", [0, 2])
def test_killed_rank_ends_the_others_and_is_named_once(start, dead):
    ranks = start(ENDLESS)
    ranks.wait_for("step3")
    ranks.processes[dead].kill()
    codes, said = ranks.end()
    assert codes == [-signal.SIGKILL if rank == dead else 1 for rank in range(3)], said
    name = f"Rank {dead} ({socket.gethostname()}, process {ranks.processes[dead].pid}) has died"
    assert "".join(said).count("has died") == 1 and name in said[1 if dead == 0 else 0]
    assert "Traceback" not in "".join(said)


def test_killed_rank_ends_those_that_wait_in_a_collective(start):
    ranks = start("Path(f'waiting.{rank}').touch()\ntotal() if rank != 1 else time.sleep(600)")
    ranks.wait_for("waiting")
    ranks.processes[1].kill()
    codes, said = ranks.end()
    assert codes == [1, -signal.SIGKILL, 1] and "Rank 1" in said[0]


def test_error_of_one_rank_ends_all_with_one_message(start):
    codes, said = start("""
        step(1)
        if rank == 1:
            watchdog.fail("the disk is full", 2)
        world.sum(torch.ones(1))
    """).end()
    assert codes == [2, 2, 2]
    assert said[0].startswith("Rank 1 (") and said[0].endswith("): the disk is full\n") and said[1:] == ["", ""]


def test_error_of_all_ranks_is_told_once_without_a_name(start):
    codes, said = start('watchdog.fail("KPAR = 5 does not fit", 2)').end()
    assert (codes, said) == ([2, 2, 2], ["KPAR = 5 does not fit\n", "", ""])


@pytest.mark.slow
def test_rank_that_was_suspended_while_another_failed_ends_with_that_error(start):
    """As on a busy machine: what it says itself comes when all has been decided."""
    ranks = start("""
        Path(f"waiting.{rank}").touch()
        while not Path("go").exists():
            time.sleep(0.02)
        watchdog.fail("the disk is full" if rank == 1 else "something else", 2 if rank == 1 else 1)
    """)
    ranks.wait_for("waiting")
    for rank in (0, 2):
        ranks.processes[rank].send_signal(signal.SIGSTOP)
    (ranks.folder / "go").touch()
    time.sleep(0.5)
    ranks.processes[0].send_signal(signal.SIGCONT)
    time.sleep(3)
    ranks.processes[2].send_signal(signal.SIGCONT)
    codes, said = ranks.end()
    assert codes == [2, 2, 2] and "Rank 1" in said[0] and "the disk is full" in said[0] and said[1:] == ["", ""], said


COMES_LATE = """
if rank == 2:
    Path("ready.2").touch()
    while not Path("ended").exists():
        time.sleep(0.02)
    time.sleep(2)
"""


@pytest.mark.slow
def test_rank_that_comes_when_all_is_decided_hears_the_reason(start):
    codes, said = start("""
        watchdog.cleanup = Path("ended").touch  # the first thing after the decision
        watchdog.fail("the disk is full", 2) if rank == 1 else time.sleep(600)
    """, BEFORE=COMES_LATE).end()  # fmt: skip
    assert codes == [2, 2, 2] and "Rank 1" in said[0] and said[1:] == ["", ""], said


@pytest.mark.slow
def test_broken_connections_of_the_others_do_not_hide_who_failed(start):
    codes, said = start("""
        step(1)
        if rank == 2:
            for group in world._groups.values():
                group.abort()
            time.sleep(1)
            watchdog.fail("illegal memory access", 1)
        try:
            world.sum(torch.ones(1))
        except RuntimeError as error:
            watchdog.fail(f"echo: {error}", 1, secondary=True)
    """).end()
    assert codes == [1, 1, 1] and "Rank 2" in said[0] and "illegal memory access" in said[0] and "echo" not in said[0]


@pytest.mark.fast("0-2", "1-15")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("asked", [0, 1])
def test_signal_to_one_rank_stops_all_after_the_same_step(start, number, asked):
    ranks = start(ENDLESS)
    ranks.wait_for("step2")
    ranks.processes[asked].send_signal(number)
    codes, said = ranks.end()
    assert codes == [0, 0, 0]
    assert said[0].splitlines()[0] == f"{number.name}: stopping after this step, or in 5 seconds"
    assert said[0].splitlines()[1:] == said[1].splitlines() == said[2].splitlines()
    assert f"by {int(number)}" in said[1]


@pytest.mark.slow
def test_step_that_takes_too_long_is_cut_and_the_last_one_saved(start, tmp_path):
    ranks = start("""
        watchdog.rescue = save
        step(1)
        step(2)
        Path(f"waiting.{rank}").touch()
        time.sleep(600) if rank == 1 else world.sum(torch.ones(1))
    """, GRACE="1")  # fmt: skip
    ranks.wait_for("waiting")
    ranks.processes[2].terminate()
    codes, said = ranks.end()
    assert codes == [128 + signal.SIGTERM] * 3
    assert (tmp_path / "saved").read_text() == "2 2 2"
    assert "the last finished step is saved" in said[0] and said[1:] == ["", ""]


@pytest.mark.slow
def test_second_signal_does_not_wait(start):
    ranks = start("watchdog.rescue = save\nstep(1)\nPath(f'waiting.{rank}').touch()\ntime.sleep(600)", GRACE="500")
    ranks.wait_for("waiting")
    for _ in range(2):
        ranks.processes[1].terminate()
        time.sleep(1)
    codes, said = ranks.end()
    assert codes == [128 + signal.SIGTERM] * 3 and "is saved" in said[0]


def test_rescue_that_fails_is_said(start):
    ranks = start("""
        def rescue():
            raise OSError("the disk is full")
        watchdog.rescue = rescue
        step(1)
        Path(f'waiting.{rank}').touch()
        time.sleep(600)
    """, GRACE="0")  # fmt: skip
    ranks.wait_for("waiting")
    ranks.processes[0].terminate()
    codes, said = ranks.end()
    assert codes == [128 + signal.SIGTERM] * 3 and "could not be saved: OSError: the disk is full." in said[0]


def test_signal_before_the_first_step_ends_at_once(start):
    ranks = start("Path(f'waiting.{rank}').touch()\ntime.sleep(600) if rank else world.sum(torch.ones(1))", GRACE="500")
    ranks.wait_for("waiting")
    ranks.processes[0].terminate()
    codes, said = ranks.end()
    assert codes == [128 + signal.SIGTERM] * 3 and "nothing has been written" in said[0]


@pytest.mark.slow
@pytest.mark.ci
def test_a_suspended_rank_is_not_dead(start):
    ranks = start("step(1)\nPath(f'waiting.{rank}').touch()\nstep(2)\nstep(3)")
    ranks.processes[1].send_signal(signal.SIGSTOP)
    time.sleep(3)
    assert all(process.poll() is None for process in ranks.processes)
    ranks.processes[1].send_signal(signal.SIGCONT)
    assert ranks.end()[0] == [0, 0, 0]


@pytest.mark.fast("a guess", "without an end")
@pytest.mark.parametrize(
    "words",
    [
        b'GET / HTTP/1.1\n\n{"what": "failed", "rank": 1, "token": "guess"}\n[1]\n\xff\n',
        b"[" * 60_000 + b"\n",
        b"eigenwerk " + b"0" * 32 + b"\n" + b"0" * 64 + b' {"rank": 1, "what": "signal", "number": 15}\n',
        b"x" * 3_000_000,
        b"",
    ],
    ids=["another protocol", "brackets", "a guess", "without an end", "silence"],
)
def test_strangers_at_the_door_are_ignored(start, words):
    """And the run can still be stopped as before."""
    ranks = start(AT_THE_DOOR + ENDLESS)
    while not (ranks.folder / "port").exists():
        time.sleep(0.02)
    port = int((ranks.folder / "port").read_text())
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        with suppress(ConnectionError):
            stranger.sendall(words)
        if words:
            assert hung_up(stranger)
        (ranks.folder / "go").touch()
        time.sleep(0.5)
        ranks.processes[1].terminate()
        codes, said = ranks.end()
    assert codes == [0, 0, 0] and all(" by 15" in text for text in said), said


def hung_up(connection):
    """Whether the other end closes the connection; what it says before is its greeting."""
    connection.settimeout(LIMIT)
    with suppress(ConnectionError):
        while connection.recv(4096):
            pass
    return True


def test_messages_come_in_their_order_once_and_from_their_end():
    here, there = socket.socketpair()
    between, end = socket.socketpair()
    client, server = WatchConnection(here, b"key", server=False), WatchConnection(end, b"key", server=True)

    def carry(source, target):
        data = source.recv(65536)
        target.sendall(data)
        return data

    carry(there, between), carry(between, there)
    client.greet(), server.greet()
    client.send({"rank": 1})
    said = carry(there, between)
    assert list(server.receive()) == [{"rank": 1}]
    between.sendall(said)
    with pytest.raises(Stranger):
        list(server.receive())
    there.sendall(said)
    with pytest.raises(Stranger):
        list(client.receive())
    for one in (here, there, between, end):
        one.close()


def test_lost_machine_is_noticed(tmp_path):
    """A network of its own, in which the connections go dead without a word; with shorter patience than users have."""
    assert SILENCE + PROBE_EVERY < LIMIT
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        pytest.skip("needs the commands unshare and ip")
    if subprocess.run(["unshare", "-Urn", "ip", "link", "set", "lo", "up"], capture_output=True).returncode:
        pytest.skip("this system does not let users make networks of their own")
    body = "step(1)\nPath(f'waiting.{rank}').touch()\ntime.sleep(600)"
    (tmp_path / "rank.py").write_text(IMPATIENT + RANK + textwrap.indent(body, "    "))
    script = """
        ip link set lo up
        export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500
        for rank in 0 1; do RANK=$rank timeout 150 $0 rank.py > said.$rank 2>&1 & done
        while [ ! -e waiting.0 ] || [ ! -e waiting.1 ]; do sleep 0.1; done
        ip link set lo down
        date +%s > down
        wait
        date +%s > up
    """
    subprocess.run(["unshare", "-Urn", "bash", "-c", script, sys.executable], cwd=tmp_path, timeout=START + LIMIT)
    assert int((tmp_path / "up").read_text()) - int((tmp_path / "down").read_text()) <= LIMIT
    assert "Rank 1" in (tmp_path / "said.0").read_text() and "lost" in (tmp_path / "said.0").read_text()
    assert "Rank 0" in (tmp_path / "said.1").read_text()


def test_ranks_stay_until_rank_0_has_written(start, tmp_path):
    """Starters kill all ranks as soon as the first one ends."""
    ranks = start("""
        def rescue():
            save()
            if rank == 0:
                time.sleep(0.7)
                Path("written").touch()
            return "saved"
        watchdog.rescue = rescue
        step(1)
        Path(f'waiting.{rank}').touch()
        time.sleep(600)
    """, GRACE="0")  # fmt: skip
    ranks.wait_for("waiting")
    ranks.processes[0].terminate()
    ranks.processes[1].wait(timeout=LIMIT)
    assert (tmp_path / "written").exists()
    assert ranks.end()[0] == [128 + signal.SIGTERM] * 3
