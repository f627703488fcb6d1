"""What a run says it has found."""

from eigenwerk.dft.running.account import vacuum_rows
from eigenwerk.dft.spectrum.band_gap import METAL, BandEdge, BandGap
from eigenwerk.io.vasp.output.potentials import VacuumLevels


def test_only_a_metal_has_a_work_function():
    """Of an insulator the Fermi level may lie anywhere in the gap; its levels are counted from the filled ones."""
    vacuum = VacuumLevels(2, 12.0, 4.0, 4.0)
    ((_, words),) = vacuum_rows(vacuum, -0.5, METAL)
    assert "4.5000 eV above the Fermi level (work function)" in words
    top, bottom = (BandEdge(energy, 1, 1, (0.0, 0.0, 0.0), band) for band, energy in ((4, -2.0), (5, 2.5)))
    ((_, words),) = vacuum_rows(vacuum, -0.5, BandGap(False, 4.5, 4.5, top, bottom, top))
    assert "6.0000 eV above the valence band top" in words and "work function" not in words
