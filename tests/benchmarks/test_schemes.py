"""The benchmark of schemes runs as its head says, and keeps tables that agree with what it prints."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.ranks


@pytest.mark.slow
def test_all_schemes_of_processors_on_one_and_two_ranks(repository, tmp_path):
    script = repository / "benchmarks" / "ncci" / "schemes.py"
    words = ["6Li", "2", "--ranks", "1", "2", "--schemes", "gloo", "--products", "4"]
    words += ["--name", "tiny", "--json", str(tmp_path / "found.json"), "--folder", str(tmp_path / "records")]
    done = subprocess.run(
        [sys.executable, str(script), *words], env=os.environ | {"OMP_NUM_THREADS": "1"}, timeout=120,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    runs = json.loads((tmp_path / "found.json").read_text())["tiny"]["runs"]
    assert [(run["scheme"], run["ranks"]) for run in runs] == [("auto (gloo)", 1), ("gloo", 1), ("gloo", 2)]
    assert all(run["cases"][0]["difference"] < 1e-5 for run in runs)
    # a rank alone sends to itself, so nothing reaches another; two move both ends of the vector, in single precision
    assert [run["moved_bytes"] for run in runs] == [0, 0, 2 * 4 * runs[0]["cases"][0]["states"] * 4]
    assert "| gloo | 2 |" in (tmp_path / "found.md").read_text() and len(list((tmp_path / "records").iterdir())) == 3


@pytest.mark.slow
def test_a_scheme_that_does_not_exist_is_told(repository):
    script = repository / "benchmarks" / "ncci" / "schemes.py"
    command = [sys.executable, str(script), "6Li", "2", "--schemes", "ring"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "it can be auto, plain, mpi" in done.stderr
