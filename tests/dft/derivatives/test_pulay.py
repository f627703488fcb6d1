"""The slope of the energy by the number of waves, from the outermost ones, beside differences of energies."""

import numpy as np
import pytest

from covering import but_slow
from eigenwerk.dft.basis.grids import wave_excess
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.derivatives.pulay import cutoff_slope, pulay_pressure
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

COPPER = Structure(3.62 * (1 - np.eye(3)) / 2 / BOHR_ANGSTROM, ("Cu",), np.zeros((1, 3)))
"""Its d orbitals have a node among the waves of 300 eV: an exponential through shells from 0.7 E_cut on took -16.3 for
-7.3 GPa at 400 eV."""

CASES = {
    # crystal of tests/dft/conftest.py or a structure, settings, cutoffs in eV, largest error: few waves have more
    "real": ("lih_bent", {"mesh": (2, 2, 2), "real": True}, (340.0, 380.0), 0.25),
    "complex with spin": ("o2", {"spins": 2, "bands": 10}, (300.0, 340.0), 0.15),
    "nodes": (COPPER, {"mesh": (3, 3, 3), "ismear": 1, "sigma_eV": 0.2, "symmetry_level": 2}, (380.0, 420.0), 0.15),
}


@pytest.mark.fast("real")
@pytest.mark.parametrize("name", but_slow(CASES, "complex with spin"))
def test_slope_is_that_of_energies_by_the_number_of_waves(name, crystal, calculation):
    found, settings, cutoffs, error = CASES[name]
    structure = crystal(found) if isinstance(found, str) else found
    free, slopes, waves = [], [], []
    for cutoff in cutoffs:
        state = calculation(structure, cutoff_eV=cutoff, **settings).run().state
        basis, points = state.system.basis, state.system.basis.kpoints
        free.append(state.energies.free)
        # E_cut dE/dE_cut in place of dE/dE_cut
        slope = cutoff_slope(basis, state.coeff_sknG, state.eig_skn, state.filling_skn)
        slopes.append(basis.cutoff * slope)
        excess = wave_excess(structure, points.point_kc, points.weight_k, cutoff / HARTREE_EV)
        waves.append(excess + 1.5 * np.log(cutoff))
    difference = 1.5 * np.diff(free)[0] / np.diff(waves)[0]
    assert difference < 0
    assert np.mean(slopes) / difference == pytest.approx(1, abs=error)
    expected = 2 / 3 * slopes[1] / basis.structure.volume
    assert pulay_pressure(basis, slopes[1] / basis.cutoff) == pytest.approx(expected)
