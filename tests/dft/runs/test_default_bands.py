"""Runs whose default NBANDS once cut what electrons fill."""

import re
import shutil

import numpy as np
import pytest
from ase import Atoms

from eigenwerk.dft.runs.api.run import run as compute
from eigenwerk.dft.runs.run import run_folder


@pytest.mark.slow
def test_a_fixed_moment_has_bands_for_the_electrons_up(shared_dir, tmp_path):
    """Fe4 with NUPDOWN = 12: -33.82218 eV with 26 or 32 bands, -33.37095 with the 22 electrons up in as many; by the
    whole sphere of the density, for which PREC = Normal has -33.82201."""
    for name in ("INCAR", "POSCAR", "KPOINTS"):
        shutil.copyfile(shared_dir / "reference" / "reported" / "nupdown_fe4" / name, tmp_path / name)
    (tmp_path / "INCAR").write_text((tmp_path / "INCAR").read_text() + "PREC = Accurate\n")
    result = run_folder(tmp_path)
    assert result.converged
    assert result.free_energy == pytest.approx(-33.82218, abs=2e-5)
    assert result.eig_skn.shape[2] == 26
    assert not any("bands are missing" in text for text in result.warnings)
    diagonal = np.diag(result.stress_vv)
    assert np.ptp(diagonal) < 2e-2 * abs(diagonal[0]), "cubic iron in another cell"


@pytest.mark.slow
def test_an_electron_added_to_silicon_meets_all_six_valleys():
    """Si8 at Gamma with 33 electrons: with 21 bands one state of the level was missing, and the cell was no longer
    cubic; -26.825982 eV with 27 and 40 bands."""
    places = [[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]
    places += (np.array(places) + 0.25).tolist()
    atoms = Atoms("Si8", cell=[5.43] * 3, scaled_positions=places, pbc=True)
    with pytest.warns(UserWarning, match="Gamma is the only k-point"):
        found = {
            bands: compute(
                atoms, encut=200, ismear=0, sigma=0.05, nelect=33, ediff=1e-6, prec="Normal", kpts=(1, 1, 1),
                **({} if bands is None else {"nbands": bands}),
            )
            for bands in (None, 40)
        }  # fmt: skip
    default, many = found[None], found[40]
    assert default.free_energy_eV == pytest.approx(many.free_energy_eV, abs=2e-6)
    assert not [text for text in default.warnings if re.search("bands are missing", text)]
    stress = np.diag(default.stress_GPa)
    assert np.ptp(stress) < 1e-3
