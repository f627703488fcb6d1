"""From started processes to a team: meeting, devices, k-groups, and the door for scripts."""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import torch

from covering import but_slow
from eigenwerk.errors import InputError
from eigenwerk.parallel.launch.choice import DeviceRequest
from eigenwerk.parallel.launch.environment import Launch
from eigenwerk.parallel.launch.rendezvous import meeting_file
from eigenwerk.parallel.launch.start import StartRequest, init_ranks, is_secondary
from warm_start import PIPE, WarmProcess

LIMIT = 120
"""Seconds for processes to load PyTorch and to meet, on a busy machine."""

SCRIPT = """
import json, os, sys
from eigenwerk.parallel.launch.choice import DeviceRequest
from eigenwerk.parallel.launch.environment import find_launch
from eigenwerk.parallel.launch.start import StartRequest, init_ranks
import torch

task = StartRequest(DeviceRequest("cpu", sys.argv[1]), lambda ranks, kind, memory: 2)
with init_ranks(find_launch(), lambda: task) as team:
    grid = team.runtime.grid
    total = int(team.runtime.world.sum(torch.tensor(team.runtime.world.rank + 1)))
    print(json.dumps({
        "rank": grid.world.rank, "sum": total, "groups": grid.groups, "bands": grid.band_ranks,
        "transport": grid.world.transport, "placements": len(team.placements), "pid": os.getpid(),
    }))
"""


def test_one_rank_has_nobody_to_meet():
    with init_ranks(Launch(), lambda: StartRequest(DeviceRequest("cpu"))) as team:
        assert team.runtime.device == torch.device("cpu") and team.runtime.world.size == 1
        assert team.watchdog is None and team.stop is None and team.transport == ""
        team.step_finished()


def test_wishes_of_one_rank_that_cannot_be_met():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    request = StartRequest(DeviceRequest("cuda"))
    with pytest.raises(InputError, match="PyTorch sees none"), init_ranks(Launch(), lambda: request):
        raise AssertionError("no team without a GPU")


def run(folder, environs, transport="auto"):
    """The script on ranks with these environments; what each one printed."""
    (folder / "script.py").write_text(SCRIPT)
    processes = [
        WarmProcess(["script.py", transport], cwd=folder, env=os.environ | environ, stdout=PIPE, stderr=PIPE)
        for environ in environs
    ]
    ends = [process.communicate(timeout=LIMIT) for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), ends
    return [json.loads(out) for out, _ in ends]


def open_mpi(rank, job="prterun-made-up-1@1", tmp=None):
    words = {
        "OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": str(rank),
        "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "PMIX_NAMESPACE": job,
    }  # fmt: skip
    return words | ({} if tmp is None else {"TMPDIR": str(tmp)})


@pytest.mark.ranks
def test_ranks_without_an_address_meet_through_a_file(tmp_path, monkeypatch):
    """As under mpirun, but with Gloo; what a killed run of the same name has left does not lead astray."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    stale = meeting_file(Launch("mpirun", 1, 2, 1, 2, job="prterun-made-up-1@1"))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    stale.write_text(json.dumps({"folder": "gone", "process": ended.pid}))
    told = run(tmp_path, [open_mpi(rank, tmp=tmp_path) for rank in (1, 0)], "gloo")
    assert [one["rank"] for one in told] == [1, 0] and {one["sum"] for one in told} == {3}
    assert {(one["groups"], one["bands"], one["transport"], one["placements"]) for one in told} == {(2, 1, "gloo", 2)}
    assert not stale.exists(), "the file is removed once all have met"


@pytest.mark.slow  # tests/cli/test_ranks.py has a run under torchrun
@pytest.mark.ranks
def test_script_under_torchrun(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run([*command, "script.py", "auto"], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    told = [json.loads(text) for text in re.findall(r"\{.*?\}", done.stdout)]
    assert sorted(one["rank"] for one in told) == [0, 1] and {one["sum"] for one in told} == {3}


@pytest.mark.slow
@pytest.mark.ranks
def test_ranks_that_do_not_find_each_other_say_so(tmp_path):
    code = (
        "from eigenwerk.parallel.launch import rendezvous\n"
        "from eigenwerk.parallel.launch.environment import find_launch\n"
        "rendezvous.MEETING_LIMIT = 1.0\n"
        "try:\n    rendezvous.make_store(find_launch())\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | open_mpi(1, f"alone-{time.time()}", tmp_path),
        capture_output=True, text=True, timeout=LIMIT,
    )  # fmt: skip
    assert done.stdout.startswith("EigenwerkError The 2 ranks started by mpirun have not found each other"), done
    assert "MASTER_ADDR" in done.stdout and Path(tmp_path).is_dir()


FAILING = """
import os, sys, time
from pathlib import Path
from eigenwerk.errors import InputError
from eigenwerk.parallel.launch.environment import find_launch
from eigenwerk.parallel.launch.start import init_ranks

launch, late = find_launch(), int(sys.argv[1])
while launch.rank == late and not Path("failed").exists():
    time.sleep(0.02)
time.sleep(2 if launch.rank == late else 0)  # four times what an error of one rank is waited with

def prepare():
    Path("failed").touch()
    raise InputError("KPAR = 5 does not fit")

with init_ranks(launch, prepare):
    pass
"""


@pytest.mark.slow
@pytest.mark.ranks
@pytest.mark.parametrize("late", but_slow((1, 2), 2))
def test_an_error_that_all_ranks_meet_is_nobodys_however_late_one_comes(tmp_path, late):
    """On a busy machine one rank may have failed before another has loaded PyTorch."""
    (tmp_path / "script.py").write_text(FAILING)
    with socket.create_server(("127.0.0.1", 0)) as meeting:
        port = str(meeting.getsockname()[1])
    words = os.environ | {"WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    processes = [
        WarmProcess(["script.py", late], cwd=tmp_path, env=words | {"RANK": str(rank)}, stdout=PIPE, stderr=PIPE)
        for rank in range(3)
    ]
    ends = [process.communicate(timeout=LIMIT) for process in processes]
    assert [process.returncode for process in processes] == [2, 2, 2], ends
    assert [err for _, err in ends] == ["KPAR = 5 does not fit\n", "", ""]


@pytest.mark.parametrize(
    ("error", "echo"),
    [
        (RuntimeError("[gloo/transport/tcp/pair.cc:525] Read error: Connection reset by peer"), True),
        (RuntimeError("NCCL error: remote process exited or there was a network error"), True),
        (torch.distributed.DistNetworkError("Broken pipe"), True),
        (RuntimeError("The size of tensor a (3) must match the size of tensor b (4)"), False),
        (ValueError("connection"), False),
    ],
)
def test_errors_that_may_be_echoes(error, echo):
    assert is_secondary(error) == echo
