"""REPORT has the numbers of dynamics where scripts look for them, and is not written of anything else."""

import re
from dataclasses import replace

import pytest

from eigenwerk.io.vasp.output.dynamics_report import is_dynamics, write_report


def test_scripts_find_energies_and_temperature_of_each_step(tmp_path, make_record):
    record = make_record(ionic=3)
    assert not is_dynamics(record)
    steps = tuple(
        replace(step, kinetic=0.1 * x, temperature=100.0 * x, conserved=-7.5, thermostat=0.01, thermostat_kinetic=0.02)
        for x, step in enumerate(record.ionic_steps, start=1)
    )
    tags = {**record.parameters, "TEBEG": 300.0, "TEEND": 600.0, "NSW": 3, "MDALGO": 2}
    record = replace(record, ionic_steps=steps, parameters=tags)
    assert is_dynamics(record)
    write_report(tmp_path / "REPORT", record)
    text = (tmp_path / "REPORT").read_text()
    temperatures = [tuple(map(float, line.split()[1:])) for line in text.splitlines() if "tmprt>" in line]
    assert temperatures == [(400.0, 100.0), (500.0, 200.0), (600.0, 300.0)]
    energies = [list(map(float, line.split()[1:])) for line in text.splitlines() if "e_b>" in line]
    for found, step in zip(energies, steps, strict=True):
        expected = [step.total, step.free_energy, step.kinetic, step.thermostat_kinetic, step.thermostat]
        assert found == pytest.approx(expected, rel=1e-7)
    assert re.findall(r"MD step No\.\s+(\d+)", text) == ["1", "2", "3"]
    assert "MDALGO = 2" in text
