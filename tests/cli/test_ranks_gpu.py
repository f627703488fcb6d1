"""`eigenwerk run` on GPUs: one rank for each, NCCL between them, and an end whatever happens."""

import os
import re
import signal

import pytest

from eigenwerk.parallel.launch.gpus import count_gpus
from running import EIGENWERK, ENDLESS, Run, run, status

pytestmark = [pytest.mark.ranks, pytest.mark.gpu]

two_gpus = pytest.mark.skipif(count_gpus() < 2, reason="needs two GPUs")


def energy(out):
    return float(re.search(r"free energy +(-?[\d.]+) eV", out)[1])


def begin(path, *words):
    """A run in the background, after its second step."""
    process = Run(*EIGENWERK, "run", str(path), *words)
    process.wait_for_step(2)
    return process


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
    process = begin(path, "--ranks", "2", "--save-every", "0", "--no-plot")
    os.kill(process.ranks[dead], signal.SIGKILL)
    returned, out, err = process.end()
    assert returned == 128 + signal.SIGKILL, out + err
    assert f"Rank {dead} (process {process.ranks[dead]}) was killed by SIGKILL" in err
    assert status(path).startswith("unfinished: step")


@two_gpus
def test_signal_stops_both_gpus_after_the_same_step(folder):
    path = folder(**ENDLESS)
    process = begin(path, "--ranks", "2", "--no-plot")
    os.kill(process.ranks[1], signal.SIGTERM)
    returned, out, err = process.end()
    assert returned == 128 + signal.SIGTERM, out + err
    assert status(path).startswith("interrupted after step")
