"""`eigenwerk run` on GPUs: one rank for each, NCCL between them, and an end whatever happens."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eigenwerk.io.hdf5_state import read_state
from eigenwerk.parallel.gpus import count_gpus

pytestmark = [pytest.mark.ranks, pytest.mark.gpu]

two_gpus = pytest.mark.skipif(count_gpus() < 2, reason="needs two GPUs")

POSCAR = "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .26\n"
INCAR = {"ENCUT": 150, "EDIFF": "1E-5", "ISMEAR": 0, "SIGMA": 0.05, "NBANDS": 6}
ENDLESS = {"EDIFF": "1E-30", "NELM": 3000}
EIGENWERK = [sys.executable, "-m", "eigenwerk.cli.main", "run"]

LIMIT = 30
"""Seconds within which a run must have ended: the promise of the program."""

START = 180


@pytest.fixture
def folder(tmp_path):
    """Makes a small folder; tags replace and add to INCAR."""

    def make(**tags):
        path = tmp_path / "case"
        path.mkdir(exist_ok=True)
        (path / "POSCAR").write_text(POSCAR)
        (path / "KPOINTS").write_text("mesh\n0\nGamma\n2 2 1\n")
        (path / "INCAR").write_text("".join(f"{tag} = {value}\n" for tag, value in (INCAR | tags).items()))
        return path

    return make


def run(*words):
    return subprocess.run([*EIGENWERK, *map(str, words)], capture_output=True, text=True, timeout=START)


def energy(out):
    return float(re.search(r"free energy +(-?[\d.]+) eV", out)[1])


def begin(path, *words):
    """A run in the background, after its second step; the process and its ranks."""
    command = [*EIGENWERK, str(path), *words]
    process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for line in process.stdout:
        if re.match(r" +2 ", line):
            return process, children(process.pid)
    raise AssertionError(process.stderr.read())


def children(parent):
    """The ranks below a process, in order."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            mine = int((path / "stat").read_text().rpartition(")")[2].split()[1]) == parent
            words = (path / "environ").read_bytes().split(b"\0") if mine else []
        except OSError:
            continue
        found |= {int(word[5:]): int(path.name) for word in words if word.startswith(b"RANK=")}
    return [found[rank] for rank in sorted(found)]


def gone(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def end(process, ranks):
    out, err = process.communicate(timeout=LIMIT)
    limit = time.monotonic() + 5
    while not all(map(gone, ranks)) and time.monotonic() < limit:
        time.sleep(0.05)
    assert all(map(gone, ranks)), "processes were left behind, and with them their GPUs"
    return process.returncode, out, err


def test_ranks_that_share_a_gpu_say_so_and_agree_with_the_processor(folder):
    path = folder()
    processor = run(path, "--device", "cpu", "--ranks", 1, "--no-plot")
    shared = run(path, "--device", "cuda:0", "--ranks", 2, "--no-plot")
    assert shared.returncode == 0, shared.stderr
    assert "NCCL is off: ranks 0 and 1 share one GPU (cuda:0" in shared.stdout
    assert "2 ranks share 1 GPU" in shared.stdout and re.search(r"transport +Gloo", shared.stdout)
    assert energy(shared.stdout) == pytest.approx(energy(processor.stdout), abs=2e-8)


@two_gpus
def test_a_gpu_for_every_rank(folder):
    path = folder()
    processor = run(path, "--device", "cpu", "--ranks", 1, "--no-plot")
    for words in ([], ["--transport", "gloo"]):
        done = run(path, "--ranks", 2, "--no-plot", *words)
        assert done.returncode == 0, done.stderr
        assert "cuda:0, cuda:1" in done.stdout
        assert re.search(rf"transport +{'Gloo' if words else 'NCCL'}", done.stdout)
        assert energy(done.stdout) == pytest.approx(energy(processor.stdout), abs=2e-8)


@two_gpus
@pytest.mark.parametrize("dead", [0, 1])
def test_killed_rank_ends_the_other_inside_nccl(folder, dead):
    path = folder(**ENDLESS)
    process, ranks = begin(path, "--ranks", "2", "--save-every", "0", "--no-plot")
    os.kill(ranks[dead], signal.SIGKILL)
    returned, out, err = end(process, ranks)
    assert returned == 128 + signal.SIGKILL, out + err
    assert f"Rank {dead} (process {ranks[dead]}) was killed by SIGKILL" in err
    assert read_state(path / "eigenwerk.h5", only=["status"])["status"]["words"].startswith("unfinished: step")


@two_gpus
def test_signal_stops_both_gpus_after_the_same_step(folder):
    path = folder(**ENDLESS)
    process, ranks = begin(path, "--ranks", "2", "--no-plot")
    os.kill(ranks[1], signal.SIGTERM)
    returned, out, err = end(process, ranks)
    assert returned == 128 + signal.SIGTERM, out + err
    assert read_state(path / "eigenwerk.h5", only=["status"])["status"]["words"].startswith("interrupted after step")
