"""What a run says it has found, and what it says of its forces."""

import numpy as np
import pytest

from eigenwerk.dft.after.band_gap import METAL, BandEdge, BandGap
from eigenwerk.dft.runs.api.run import run
from eigenwerk.dft.runs.run_report import cell_doubts, force_doubts, vacuum_rows
from eigenwerk.io.vasp.output.potentials import VacuumLevels
from eigenwerk.io.vasp.vasprun_reader import read_vasprun


def test_only_a_metal_has_a_work_function():
    """Of an insulator the Fermi level may lie anywhere in the gap; its levels are counted from the filled ones."""
    vacuum = VacuumLevels(2, 12.0, 4.0, 4.0)
    ((_, words),) = vacuum_rows(vacuum, -0.5, METAL)
    assert "4.5000 eV above the Fermi level (work function)" in words
    top, bottom = (BandEdge(energy, 1, 1, (0.0, 0.0, 0.0), band) for band, energy in ((4, -2.0), (5, 2.5)))
    ((_, words),) = vacuum_rows(vacuum, -0.5, BandGap(False, 4.5, 4.5, top, bottom, top))
    assert "6.0000 eV above the valence band top" in words and "work function" not in words


def test_forces_that_are_unsure_or_do_not_cancel_are_told():
    well_av = np.array([[0.0, 0, 1], [0, 0, -1.05]])
    assert list(force_doubts(well_av, 0.01, False)) == [] == list(force_doubts(None, 5.0, False))
    (unsure,) = force_doubts(well_av, 0.34, False)
    assert "about 0.3 eV/Å" in unsure and "EDIFF" in unsure
    (net,) = force_doubts(well_av + [0, 0.3, 0], None, False)
    assert "add up to 0.60 eV/Å" in net and "PREC = Accurate" in net
    assert list(force_doubts(well_av + [0, 0.3, 0], None, True)) == []  # a field pulls a charged cell


def test_nobody_is_sent_to_the_grid_that_he_has():
    (net,) = force_doubts(np.array([[0.0, 0, 1]]), None, False, "Accurate")
    assert "Set a larger ENCUT." in net and "PREC" not in net


def test_a_cell_that_follows_a_false_pressure_is_told():
    assert list(cell_doubts(None)) == list(cell_doubts(-9.0)) == []
    (doubt,) = cell_doubts(-1600.0)
    assert "1600 kB" in doubt and "smaller than" in doubt and "ENCUT" in doubt
    assert "larger than" in next(iter(cell_doubts(20.0)))


@pytest.mark.slow
def test_files_warn_of_forces_as_the_result_does(tmp_path):
    poscar = tmp_path / "POSCAR"
    poscar.write_text("O2\n5\n1 0 0\n0 1 0\n0 0 1.1\nO\n2\nDirect\n.03 0 0\n.02 .01 .2\n")
    with pytest.warns(UserWarning, match="energy differences"):
        result = run(poscar, encut=150, ediff=1.0, kpts=(1, 1, 1), folder=tmp_path / "out")
    (told,) = [words for words in result.warnings if words.startswith("The forces have an error")]
    written = read_vasprun(tmp_path / "out" / "vasprun.xml").run_report
    assert written is not None and told in written.warnings
