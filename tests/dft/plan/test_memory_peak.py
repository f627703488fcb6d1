"""The estimate of memory against what whole processes need."""

import subprocess
import sys

import numpy as np
import pytest

from eigenwerk.dft.building.supercell import supercell
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.io.vasp.input.poscar import read_poscar, write_poscar

PROGRAM = """
import re, sys
from pathlib import Path
from eigenwerk.dft.runs.run import run_folder
run_folder(sys.argv[1], threads=1)
# ru_maxrss would remember the size of the process that started this one
print(1024 * int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]))
"""

CLOSE = 0.15
"""Largest relative error of an estimate."""


def peak_of_a_run(folder):
    """Bytes that a process with this run, and nothing else, holds at most."""
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("incar", "mesh", "largest"),
    [
        ("ENCUT = 250\nNBANDS = 64\nISYM = -1\nISMEAR = 0\nNELM = 2\nLWAVE = .FALSE.\n", "2 2 2", "one-centre terms"),
        ("ENCUT = 300\nNBANDS = 36\nISMEAR = 0\nNELM = 2\nLWAVE = .FALSE.\nPREC = Accurate\n", "1 1 1", "grids"),
        ("ENCUT = 300\nNBANDS = 64\nISMEAR = 0\nLWAVE = .FALSE.\nISIF = 0\n#path\n", "1 1 1", "bands besides"),
        ("ENCUT = 250\nNBANDS = 64\nISYM = -1\nISMEAR = 0\nNELM = 2\nLORBIT = 12\n", "2 2 2", "one-centre terms"),
    ],
)
def test_estimates_are_within_fifteen_percent(repository, tmp_path, incar, mesh, largest):
    """Sixteen atoms of silicon: with several k-points the one-centre terms count, with one point the grids, or a batch
    of those whose bands come besides."""
    poscar = supercell(read_poscar(repository / "examples" / "01_silicon_pbe" / "POSCAR"), np.diag([2, 2, 2]))
    write_poscar(tmp_path / "POSCAR", poscar)
    (tmp_path / "INCAR").write_text(incar)
    (tmp_path / "KPOINTS").write_text(f"mesh\n0\nGamma\n{mesh}\n")
    if "path" in incar:
        (tmp_path / "KPOINTS_OPT").write_text("path\n24\nLine-mode\nreciprocal\n0 0 0\n.5 .3 .1\n")
    memory = read_inputs(tmp_path).parts.memory
    passing = [item for item in memory.items if item.passing]
    assert max(passing, key=lambda item: item.bytes).name == largest
    assert peak_of_a_run(tmp_path) == pytest.approx(memory.total, rel=CLOSE)
