"""The examples of nuclei run as they stand and give what their pages say."""

import subprocess
import sys

import numpy as np
import pytest

from eigenwerk.ncci.inputs.inputs import read_cases
from eigenwerk.ncci.series import run_series


@pytest.mark.slow
def test_lithium_6_gets_bound_with_nmax(repository, tmp_path):
    cases = read_cases(repository / "examples" / "05_lithium6" / "case.toml")[:2]
    smaller, larger = run_series(cases, tmp_path)
    assert larger.energy_n[0] < smaller.energy_n[0] and larger.energy_n[0] == pytest.approx(-17.3355, abs=1e-3)
    assert [larger.label(n) for n in range(2)] == ["1+", "3+"]
    assert np.abs(larger.values["N_cm"]).max() < 1e-7
    assert (tmp_path / "hw20_Nmax02" / "levels.txt").exists()


def test_neon_20_has_its_band(repository, tmp_path):
    (levels,) = run_series(read_cases(repository / "examples" / "06_neon20" / "case.toml"), tmp_path)
    assert levels.energy_n[:3] == pytest.approx([-40.4723, -38.7256, -36.2971], abs=1e-4)
    assert [levels.label(n) for n in range(3)] == ["0+", "2+", "4+"]


@pytest.mark.slow
def test_the_example_in_python_prints_levels(repository):
    program = repository / "examples" / "05_lithium6" / "run.py"
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("1+   -17.335")
