"""What a motion has found, in words, against numbers that are known."""

from dataclasses import replace

import numpy as np
import pytest

from eigenwerk.cli.moving.found import found_lines
from eigenwerk.dft.runs.quantities.report import IonicHistory
from eigenwerk.io.vasp.output.record import IonicStep, StepRecord

SCF = StepRecord(3, "DAV", -8.0, -8.0, -8.0, 1e-3, 1e-3, 12, 1e-3)
STEP = IonicStep(
    4.0 * np.eye(3), np.array([[0, 0, 0], [0.25, 0.25, 0.3]]), (SCF,), -8.25, -8.25, -8.25, True, {},
    forces_av=np.zeros((2, 3)), largest_force=0.5, largest_stress=20.0,
)  # fmt: skip


def test_relaxation_of_a_cell():
    moved = np.array([[0.0, 0.0, -0.01], [0.25, 0.25, 0.31]])
    end = replace(STEP, lattice_cv=4.04 * np.eye(3), scaled_ac=moved, free_energy=-8.75, largest_force=0.008)
    lines = found_lines(IonicHistory("relaxation", "at rest", True, (STEP, replace(STEP, converged=False), end)))
    rows = {line[2:24].strip(): line[24:] for line in lines[1:]}
    assert lines[0] == "Relaxation: 3 ionic steps"
    assert rows["energy gained"] == "0.500000 eV" and rows["largest force"] == "0.5000 at first, 0.0080 eV/Å now"
    assert rows["farthest atom"] == "0.0404 Å from where it was" and rows["volume"] == "65.9393 Å³, +3.03 %"
    assert rows["cell"] == "4.0400, 4.0400, 4.0400 Å; 90.00, 90.00, 90.00°"
    assert "1 ionic step did not converge" in lines[-1]
    assert not any("volume" in line for line in found_lines(IonicHistory("relaxation", "", True, (STEP, STEP))))


def test_dynamics_with_a_known_drift():
    """2 fs steps, the conserved quantity rises by 1 µeV per atom and step: 0.5 meV per atom and ps."""
    steps = [replace(STEP, temperature=290.0 + 10 * n, kinetic=0.1, conserved=-8.0 + 2e-6 * n) for n in range(5)]
    lines = found_lines(IonicHistory("dynamics", "", True, tuple(steps), {"time_step_fs": 2.0}))
    assert lines[0] == "Molecular dynamics: 5 points, 8 fs" and "310.0 K in the mean, from 290.0 to 330.0" in lines[1]
    assert "changed by 0.004 meV per atom, at most by 0.004; drift 0.50 meV per atom and ps" in lines[2]


@pytest.mark.parametrize(("slope", "swing", "points", "warned"), [
    (3e-6, 0.0, 50, True), (-3e-6, 2e-5, 50, True), (1e-6, 0.0, 50, False), (3e-6, 1e-3, 50, False),
    (3e-6, 0.0, 10, False),
])  # fmt: skip
def test_a_large_drift_is_told_if_it_is_one(slope, swing, points, warned):
    """eV per point of 1 fs in a cell of two atoms: 3e-6 is 1.5 meV per atom and ps; swings of ten points are none."""
    value_x = -8 + slope * np.arange(points) + swing * np.sin(2 * np.pi * np.arange(points) / 10)
    steps = tuple(replace(STEP, kinetic=0.1, conserved=value) for value in value_x.tolist())
    lines = found_lines(IonicHistory("dynamics", "", True, steps, {"time_step_fs": 1.0}))
    assert any("this drift is large: try a smaller EDIFF" in line for line in lines) == warned


@pytest.mark.parametrize("kind", ["relaxation", "dynamics"])
def test_nothing_is_said_of_no_steps(kind):
    assert found_lines(IonicHistory(kind, "", False, (replace(STEP, forces_av=None),))) == []


def test_vibrations_bring_their_text():
    assert found_lines(IonicHistory("vibrations", "", True, (STEP,), {}, "Modes\n  1")) == ["Modes", "  1"]


def test_a_relaxation_out_of_steps_says_which_step_was_better_than_the_last():
    low = replace(STEP, free_energy=-9.0, largest_force=0.3)
    lost = replace(STEP, free_energy=-20.0, largest_force=0.0, converged=False)
    soft = replace(STEP, free_energy=-8.5, largest_force=0.02)
    ionic_history = IonicHistory("relaxation", "not at rest after 5 points", False, (STEP, low, lost, soft, STEP))
    assert (ionic_history.as_dict()["lowest_energy_step"], ionic_history.as_dict()["smallest_force_step"]) == (2, 4)
    lines = found_lines(ionic_history)
    rows = {line[2:24].strip(): line[24:] for line in lines[1:]}
    assert rows["lowest energy"] == "-9.000000 eV in ionic step 2, now -8.250000 eV"
    assert rows["smallest force"] == "0.0200 eV/Å in ionic step 4"
    assert any("CONTCAR holds the last step" in line for line in lines)
    for quiet in (replace(ionic_history, finished=True),
        replace(ionic_history, steps=(STEP, soft, replace(low, largest_force=0)))):
        assert not any("CONTCAR" in line for line in found_lines(quiet))
    assert "lowest_energy_step" not in replace(ionic_history, kind="dynamics").as_dict()
