"""OSZICAR stands in VASP's columns and is read by pymatgen."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenwerk.io.vasp.output.oszicar import fortran, write_oszicar


def test_columns_are_those_of_vasp(tmp_path, make_record):
    record = make_record(spins=2)
    step = replace(
        record.last.steps[0],
        step=9,
        free_energy=-67.5766178893,
        change=0.036145,
        band_energy_change=-0.017189,
        applications=3304,
        residual=0.256,
        density_residual=0.0398,
    )
    write_oszicar(tmp_path / "OSZICAR", replace(record, ionic_steps=(replace(record.last, steps=(step,)),)))
    lines = (tmp_path / "OSZICAR").read_text().splitlines()
    assert lines[0].split() == ["N", "E", "dE", "d", "eps", "ncg", "rms", "rms(c)"]
    assert lines[1] == "DAV:   9    -0.675766178893E+02    0.36145E-01   -0.17189E-01  3304   0.256E+00    0.398E-01"
    assert lines[2] == "   1 F= -.12516828E+02 E0= -.12511828E+02  d E =-.100000E-01  mag=     1.9641"


def test_pymatgen_reads_steps_and_result(tmp_path, make_record):
    outputs = pytest.importorskip("pymatgen.io.vasp.outputs", reason="pymatgen is not installed")
    record = make_record(spins=2)
    write_oszicar(tmp_path / "OSZICAR", record)
    oszicar = outputs.Oszicar(str(tmp_path / "OSZICAR"))
    assert [step["N"] for step in oszicar.electronic_steps[0]] == [1, 2, 3]
    assert oszicar.electronic_steps[0][2]["E"] == pytest.approx(-12.3)
    assert oszicar.electronic_steps[0][1]["rms(c)"] == pytest.approx(0.7)
    assert "rms(c)" not in oszicar.electronic_steps[0][0] and oszicar.electronic_steps[0][0]["ncg"] == 1728
    assert oszicar.electronic_steps[0][0]["deps"] == pytest.approx(-0.0314)
    assert oszicar.final_energy == pytest.approx(-12.511828)
    assert oszicar.ionic_steps[0]["F"] == pytest.approx(-12.516828)
    assert oszicar.ionic_steps[0]["mag"] == pytest.approx(1.9641)


def test_no_moment_without_spin(tmp_path, make_record):
    write_oszicar(tmp_path / "OSZICAR", make_record())
    assert "mag" not in (tmp_path / "OSZICAR").read_text()


@given(st.floats(-1e99, 1e99), st.integers(3, 12))
def test_fortran_format_keeps_the_digits(value, digits):
    written = fortran(value, digits)
    assert float(written) == pytest.approx(value, rel=0.6 * 10 ** (1 - digits), abs=1e-300)
    assert written.lstrip("-").startswith("0.") and len(written.split("E")[0].lstrip("-")) == digits + 2


def test_fortran_format_at_the_edges():
    assert fortran(0.0, 3) == "0.000E+00" and fortran(-0.9996, 3) == "-0.100E+01" and fortran(0.1, 3) == "0.100E+00"
    assert math.isnan(float(fortran(float("nan"), 3)))


def test_each_ionic_step_has_its_line_with_the_change_of_energy(tmp_path, make_record):
    outputs = pytest.importorskip("pymatgen.io.vasp.outputs", reason="pymatgen is not installed")
    write_oszicar(tmp_path / "OSZICAR", make_record(ionic=2))
    results = [line for line in (tmp_path / "OSZICAR").read_text().splitlines() if "F=" in line]
    assert results[0] == "   1 F= -.12266828E+02 E0= -.12261828E+02  d E =-.122668E+02"
    assert results[1] == "   2 F= -.12516828E+02 E0= -.12511828E+02  d E =-.250000E+00"
    oszicar = outputs.Oszicar(str(tmp_path / "OSZICAR"))
    assert [len(steps) for steps in oszicar.electronic_steps] == [4, 3]
    assert [step["dE"] for step in oszicar.ionic_steps] == pytest.approx([-12.2668, -0.25])
    assert oszicar.final_energy == pytest.approx(-12.511828)


def test_a_run_that_may_move_ions_has_its_energy_as_the_first_change(tmp_path, make_record):
    write_oszicar(tmp_path / "OSZICAR", make_record(parameters={"NSW": 5}))
    assert (tmp_path / "OSZICAR").read_text().endswith("  d E =-.125168E+02\n")


def test_a_dispersion_correction_has_a_line_that_readers_pass_over(tmp_path, make_record):
    outputs = pytest.importorskip("pymatgen.io.vasp.outputs", reason="pymatgen is not installed")
    record = make_record(spins=2)
    last = replace(record.last, components={**record.last.components, "dispersion": -0.62686718})
    write_oszicar(tmp_path / "OSZICAR", replace(record, ionic_steps=(last,)))
    assert "       Edisp (eV)  -0.62686718\n   1 F=" in (tmp_path / "OSZICAR").read_text()
    oszicar = outputs.Oszicar(str(tmp_path / "OSZICAR"))
    assert len(oszicar.electronic_steps[0]) == 3 and oszicar.final_energy == pytest.approx(-12.511828)
