"""A metal by tetrahedra, from folder to files: its density of states holds the electrons, its forces have a note."""

from xml.etree import ElementTree

import numpy as np
import pytest

from eigenwerk.dft.runs.run import run_folder
from when_used import when_used

Kpoints = when_used("pymatgen.io.vasp.inputs", "Kpoints")

FILES = {
    "POSCAR": "aluminium\n4.04\n0 .5 .5\n.5 0 .5\n.5 .5 0\nAl\n1\nDirect\n0 0 0\n",
    "KPOINTS": "mesh\n0\nGamma\n4 4 4\n",
}


@pytest.fixture
def run(tmp_path):
    """A function from lines of INCAR to the result of a run of aluminium."""

    def build(*lines):
        for name, text in FILES.items():
            (tmp_path / name).write_text(text)
        (tmp_path / "INCAR").write_text("ENCUT = 150\nEDIFF = 1E-6\n" + "\n".join(lines) + "\n")
        return run_folder(tmp_path)

    return build


def dos_of(result):
    """Fermi level, and columns of the energies, of DOSCAR."""
    lines = result.files["DOSCAR"].read_text().splitlines()
    highest, lowest, points, level, _ = map(float, lines[5].split())
    table_xy = np.array([line.split() for line in lines[6:]], float)
    assert len(table_xy) == points and table_xy[0, 0] == pytest.approx(lowest, abs=1e-3)
    assert table_xy[-1, 0] == pytest.approx(highest, abs=1e-3)
    return level, table_xy


@pytest.mark.fast("*-5*")
@pytest.mark.parametrize("ismear", ["ISMEAR = -5\nSIGMA = 0", "ISMEAR = -14\nSIGMA = 0.1", "ISMEAR = 1\nSIGMA = 0.2"])
def test_integral_of_the_density_of_states_at_the_fermi_level_is_the_electrons(run, ismear):
    """By the same tetrahedra or smearing; a Fermi-Dirac step is left out of it and moves the level a little."""
    result = run(ismear, "NEDOS = 2001", "EMIN = -10", "EMAX = 15")
    level, table_xy = dos_of(result)
    assert level == pytest.approx(result.fermi_level, abs=1e-6) and table_xy[[0, -1], 0].tolist() == [-10, 15]
    assert np.interp(level, *table_xy.T[[0, 2]]) == pytest.approx(3, abs=0.01)
    assert table_xy[:, 1].sum() * 0.0125 == pytest.approx(table_xy[-1, 2], abs=0.01)


@pytest.mark.slow
def test_forces_of_a_metal_by_corrected_tetrahedra_have_a_note(run):
    assert any("not variational" in note for note in run("ISMEAR = -5").notes)
    assert not any("variational" in note for note in run("ISMEAR = -4").notes)


@pytest.mark.slow
def test_tetrahedra_stand_in_vasprun_and_in_an_ibzkpt_that_serves_as_kpoints(run, tmp_path):
    result = run("ISMEAR = -5")
    points = ElementTree.parse(result.files["vasprun.xml"]).find("kpoints")
    rows_Tx = np.array([row.text.split() for row in points.find("varray[@name='tetrahedronlist']")], int)
    volume = float(points.find("i[@name='volumeweight']").text)
    assert rows_Tx[:, 0].sum() == 6 * 64 and volume == pytest.approx(1 / 384, abs=1e-8)
    assert rows_Tx[:, 1:].min() == 1 and rows_Tx[:, 1:].max() == len(result.weight_k)
    listed = Kpoints.from_file(result.files["IBZKPT"])
    assert listed.tet_number == len(rows_Tx) and listed.tet_weight == pytest.approx(1 / 384)
    assert [[count, *corners] for count, corners in listed.tet_connections] == rows_Tx.tolist()
    (tmp_path / "again").mkdir()
    for name, source in (("KPOINTS", "IBZKPT"), ("POSCAR", "POSCAR"), ("INCAR", "INCAR")):
        (tmp_path / "again" / name).write_text((tmp_path / source).read_text())
    again = run_folder(tmp_path / "again")
    assert again.free_energy == pytest.approx(result.free_energy, abs=1e-7)
    assert "tetrahedronlist" not in run("ISMEAR = 1").files["vasprun.xml"].read_text()
