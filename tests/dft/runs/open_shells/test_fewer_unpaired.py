"""Where a start from the default moments may have kept too many of them."""

from types import SimpleNamespace

import numpy as np
import pytest

from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.open_shells.fewer_unpaired import SMALL, least_moment, small_moments
from eigenwerk.dft.runs.run import run_inputs


def _data(**shells_of):
    """Data sets of shells (n, l, f) by symbol."""
    kinds = {symbol: [SimpleNamespace(n=n, l=l, f=f) for n, l, f in shells] for symbol, shells in shells_of.items()}
    return {symbol: SimpleNamespace(states=states) for symbol, states in kinds.items()}


DATA = _data(Si=[(3, 0, 2), (3, 1, 2)], Fe=[(3, 2, 6), (4, 0, 2)], Cu=[(3, 2, 10), (4, 0, 1)], O=[(2, 0, 2), (2, 1, 4)])


@pytest.mark.parametrize(("electrons", "least"), [(32, 0), (33, 1), (31, 1), (33.5, 0.5), (32.25, 0.25)])
def test_the_smallest_moment_of_a_number_of_electrons(electrons, least):
    assert least_moment(electrons) == least


@pytest.mark.parametrize(
    ("symbols", "electrons", "moment", "moment_a", "isolated", "asks"),
    [
        (("Si",) * 8, 33, 7.08, [0.5] * 8, False, True),
        (("Si",) * 8, 33, 1.04, [0.08] * 8, False, False),  # one electron is alone anyway
        (("Si",) * 8, 34, -1.9, [-0.1] * 8, False, True),
        (("O", "O"), 12, 2.0, [0.8] * 2, True, False),  # Hund's triplet
        (("Si",) * 6, 24, 4.0, [0.5] * 6, True, True),
        (("Si",), 4, 4.0, [2.0], True, False),  # atoms have a search of their own
        (("Fe",), 8, 2.2, [2.2], False, False),  # a magnet
        (("Fe", "Si"), 12, 2.0, [0.01, 1.5], False, True),
        (("Cu", "O"), 17, 3.0, [0.6, 0.4], False, True),
    ],
)
def test_s_and_p_electrons_with_more_than_they_need_are_asked(symbols, electrons, moment, moment_a, isolated, asks):
    found = small_moments(symbols, DATA, electrons, moment, np.array(moment_a), isolated)
    assert (found is not None) == asks
    if asks:
        assert found.tolist() == [SMALL] * len(symbols)


SILICON = (
    "Si8\n5.43\n1 0 0\n0 1 0\n0 0 1\nSi\n8\nDirect\n0 0 0\n0 .5 .5\n.5 0 .5\n.5 .5 0\n"
    ".25 .25 .25\n.25 .75 .75\n.75 .25 .75\n.75 .75 .25\n"
)


@pytest.mark.slow
@pytest.mark.parametrize(("given", "moment", "energy"), [("", 1.04, -26.8657), ("MAGMOM = 8*1\n", 7.08, -26.8264)])
def test_one_electron_more_than_silicon_holds_is_one_unpaired_electron(tmp_path, given, moment, energy):
    """From 1 Bohr magneton on each atom 7 remain, 0.04 eV higher; moments that are given are kept."""
    (tmp_path / "POSCAR").write_text(SILICON)
    (tmp_path / "KPOINTS").write_text("k\n0\nGamma\n1 1 1\n")
    (tmp_path / "INCAR").write_text(f"ENCUT = 180\nEDIFF = 1E-5\nNELECT = 33\nISPIN = 2\n{given}")
    found = run_inputs(read_inputs(tmp_path), threads=1, in_memory=True)
    assert found.converged and abs(found.moment) == pytest.approx(moment, abs=0.02)
    assert found.free_energy == pytest.approx(energy, abs=1e-3)
    assert any("once more, from small moments: that state is taken" in note for note in found.notes) == (not given)


@pytest.mark.slow
@pytest.mark.parametrize(("symbol", "edge", "energy"), [("Pr", 5.15, -4.94113), ("Nd", 5.10, -5.60077)])
def test_open_f_shells_of_crystals_are_mixed_gently_from_the_start(tmp_path, symbol, edge, energy):
    """With AMIX_MAG = 1.6 the moment turns over in the second step, and they end 9 and 133 meV higher."""
    half = edge / 2
    (tmp_path / "POSCAR").write_text(
        f"{symbol}\n1\n0 {half} {half}\n{half} 0 {half}\n{half} {half} 0\n{symbol}\n1\nDirect\n0 0 0\n"
    )
    (tmp_path / "KPOINTS").write_text("k\n0\nGamma\n4 4 4\n")
    (tmp_path / "INCAR").write_text("GGA = PE\nEDIFF = 1E-5\nENCUT = 300\nISMEAR = 1\nSIGMA = 0.1\nISPIN = 2\n")
    found = run_inputs(read_inputs(tmp_path), threads=1, in_memory=True)
    assert found.converged and found.free_energy == pytest.approx(energy, abs=1e-3)
