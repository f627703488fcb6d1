"""A row for each ionic step: numbers in their columns, guesses of the time that is left."""

from dataclasses import replace

import numpy as np
import pytest

from eigenwerk.cli.moving.table import IonicTable, clock, largest_force, remarks
from eigenwerk.dft.inputs.steps.motion import MotionRequest
from eigenwerk.io.vasp.output.record import IonicStep, StepRecord
from eigenwerk.motion.dynamics.dynamics_settings import DynamicsSettings
from eigenwerk.motion.relaxation.relaxation_settings import RelaxationSettings
from eigenwerk.motion.vibrations.vibrations import VibrationSettings

SCF = StepRecord(3, "DAV", -8.0, -8.0, -8.0, 1e-3, 1e-3, 12, 1e-3, density_residual=2.5e-3, seconds=0.5)
STEP = IonicStep(
    4.0 * np.eye(3), np.array([[0, 0, 0], [0.25, 0.25, 0.3]]), (SCF,) * 5, -8.25, -8.25, -8.25, True, {},
    forces_av=np.array([[0.0, 0.3, 0.4], [0.0, -0.3, -0.4]]),
)  # fmt: skip


def table(kind, settings, points=5):
    motion = MotionRequest(kind, points, "aspc", settings, np.ones(2), None, None, np.zeros(2, int))
    return IonicTable(motion, points, 2, began=100.0)


def cells(found, row):
    """The entries of a row under the names above them."""
    ends = np.cumsum([width for _, _, width in found.columns])
    starts = [0, *ends[:-1]]
    return {name: row[a:b].strip() for (name, _, _), a, b in zip(found.columns, starts, ends, strict=True)}


@pytest.mark.parametrize("isif", [2, 3])
def test_relaxation_shows_energies_forces_and_the_stress_of_a_cell_that_moves(isif):
    found = table("relaxation", RelaxationSettings(isif=isif))
    heading = found.heading()
    assert ("stress" in heading[0]) == ("kbar" in heading[1]) == (isif == 3)
    first = cells(found, found.row(1, replace(STEP, largest_force=0.25, largest_stress=12.5), 102.5))
    second = cells(found, found.row(2, replace(STEP, free_energy=-8.5), 103.0))
    assert first["step"] == "1" and first["free energy"] == "-8.250000" and first["change"] == ""
    assert first["force"] == "0.2500" and first["SCF"] == "5" and first["time"] == "2.50"
    assert first.get("stress") == ("12.50" if isif == 3 else None)
    assert second["change"] == "-2.50e-01" and second["force"] == "0.5000" and second["time"] == "0.50"


def test_dynamics_shows_what_is_conserved_and_the_time_that_is_left():
    found = table("dynamics", DynamicsSettings(steps=5, time_step=2.0, temperature=300.0))
    step = replace(STEP, temperature=291.84, kinetic=0.0875, conserved=-8.1, velocities_av=np.zeros((2, 3)))
    first = cells(found, found.row(1, step, 110.0))
    second = cells(found, found.row(2, replace(step, conserved=-8.098), 112.0))
    third = cells(found, found.row(3, replace(step, conserved=-8.098), 118.0))
    assert (first["time"], second["time"]) == ("0.0", "2.0") and first["temperature"] == "291.8"
    assert first["drift"] == "0.000" and second["drift"] == "1.000" and first["conserved"] == "-8.100000"
    # the first one does not count as soon as there is another
    assert (first["left"], second["left"], third["left"]) == ("0:00:40", "0:00:06", "0:00:08")
    assert found.on_its_way(SCF).startswith("ionic step 4 of 5, SCF step 4, 2.5e-03 electrons")


def test_displacements_have_their_names():
    found = table("vibrations", VibrationSettings(), points=7)
    step = replace(STEP, remarks=("point 3 of 7: atom 1 x -1", "not converged: force constants from it mean little"))
    row = found.row(3, step, 101.0)
    assert row.endswith("  atom 1 x -1") and cells(found, row)["point"] == "3 of 7"
    assert remarks(found.motion, step) == step.remarks[1:]


def test_times_and_forces():
    assert clock(3723.4) == "1:02:03" and clock(-1.0) == "0:00:00" and clock(360000) == "100:00:00"
    assert largest_force(STEP) == pytest.approx(0.5) and largest_force(replace(STEP, forces_av=None)) is None
