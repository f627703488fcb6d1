"""DOSCAR has VASP's columns and is read by others."""

from dataclasses import replace

import numpy as np
import pytest

from eigenwerk.io.vasp.output.doscar import table_lines, write_doscar
from eigenwerk.io.vasp.output.record import DensityOfStates


def with_dos(record, spins, points=5):
    energy_x = np.linspace(-12.5, 7.25, points)
    total_sx = np.arange(1.0, spins * points + 1).reshape(spins, points)
    dos = DensityOfStates(energy_x, total_sx, np.cumsum(total_sx, axis=1))
    return replace(record, final=replace(record.final, dos=dos, fermi_level=3.5))


def test_lines_are_those_of_vasp(tmp_path, make_record):
    record = with_dos(make_record(spins=2), 2)
    write_doscar(tmp_path / "DOSCAR", record)
    lines = (tmp_path / "DOSCAR").read_text().splitlines()
    volume = abs(np.linalg.det(record.last.lattice_cv)) / 3
    assert lines[0] == "   3   3   0   0"
    assert [float(word) for word in lines[1].split()] == pytest.approx(
        [volume, *np.linalg.norm(record.last.lattice_cv, axis=1) * 1e-10, 5e-16], rel=1e-6
    )
    assert lines[2:4] == ["  0.000000000000000E+00", "  CAR "]
    assert lines[5] == "      7.25000000    -12.50000000    5      3.50000000      1.00000000"
    assert lines[6] == "    -12.500  0.1000E+01  0.6000E+01  0.1000E+01  0.6000E+01"
    assert len(lines) == 11


def test_many_energies_keep_their_columns_apart(tmp_path, make_record):
    write_doscar(tmp_path / "DOSCAR", with_dos(make_record(), 1, points=123456))
    with open(tmp_path / "DOSCAR") as file:
        head = [next(file) for _ in range(6)]
    assert head[5].split() == ["7.25000000", "-12.50000000", "123456", "3.50000000", "1.00000000"]


@pytest.mark.parametrize("spins", [1, 2])
def test_ase_reads_it(tmp_path, make_record, spins):
    vasp = pytest.importorskip("ase.calculators.vasp", reason="ASE is not installed")
    record = with_dos(make_record(spins=spins), spins)
    write_doscar(tmp_path / "DOSCAR", record)
    read, dos = vasp.VaspDos(str(tmp_path / "DOSCAR")), record.final.dos
    np.testing.assert_allclose(read.energy, dos.energy_x, atol=1e-3)
    np.testing.assert_allclose(np.atleast_2d(read.dos), dos.total_sx, rtol=1e-3)
    np.testing.assert_allclose(np.atleast_2d(read.integrated_dos), dos.integrated_sx, rtol=1e-3)


def test_tails_of_smearing_do_not_fill_the_blank(tmp_path):
    """An exponent of three digits would."""
    (line,) = table_lines(np.array([1.0]), np.array([[-4.656e-145], [1e-98]]))
    assert line.split() == ["1.000", "0.0000E+00", "0.1000E-97"]
