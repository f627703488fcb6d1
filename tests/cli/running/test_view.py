"""What a run says on its way: a table of steps of self-consistency, or one of ionic steps where atoms move."""

from dataclasses import replace
from io import StringIO

import numpy as np
import pytest

from eigenwerk.cli.moving.table import IonicTable
from eigenwerk.cli.running.view import RunView
from eigenwerk.dft.inputs.steps.motion import MotionRequest
from eigenwerk.io.vasp.output.record import IonicStep, StepRecord
from eigenwerk.motion.relaxation.relaxation_settings import RelaxationSettings

SCF = StepRecord(1, "DAV", -8.0, -8.0, -8.0, 1e-3, 1e-3, 12, 1e-3, density_residual=2.5e-3, events=("mixing restarts",))
IONIC = IonicStep(
    4.0 * np.eye(3), np.zeros((1, 3)), (SCF, SCF), -8.25, -8.25, -8.25, True, {}, forces_av=np.zeros((1, 3)),
    largest_force=0.25, remarks=("step shortened",),
)  # fmt: skip


@pytest.fixture
def view():
    return RunView(StringIO(), quiet=False)


def said(view):
    return view.console.file.getvalue().splitlines()


def run(view, ionic, number=1):
    for step in ionic.steps:
        view.step(step)
    view.ionic_step(number, ionic)


def test_without_motion_each_step_has_a_row(view):
    run(view, IONIC)
    lines = said(view)
    assert lines[0].split() == ["step", "free", "energy", "change", "residual", "time"] and len(lines) == 5
    assert lines[3].strip() == "mixing restarts"


def test_where_atoms_move_ionic_steps_have_rows_and_the_others_only_if_they_do_not_converge(view):
    motion = MotionRequest("relaxation", 9, "fit", RelaxationSettings(), np.ones(1), None, None, np.zeros(1, int))
    view.table = IonicTable(motion, 9, 1)
    run(view, IONIC)
    lines = said(view)
    assert len(lines) == 4 and lines[0].split()[-3:] == ["force", "SCF", "time"]
    assert lines[2].split()[:3] == ["1", "-8.250000", "0.2500"] and lines[3].strip() == "step shortened"
    run(view, replace(IONIC, converged=False), 2)
    lines = said(view)[4:]
    assert lines[0].split()[-2:] == ["residual", "time"] and lines[2].split()[0] == "1"
    assert "mixing restarts" in lines[3]
    assert lines[-2].split()[:2] == ["2", "-8.250000"]
    run(view, IONIC, 3)
    assert [line.split()[0] for line in said(view)[-2:]] == ["3", "step"]
