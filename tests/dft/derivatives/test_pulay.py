"""The slope of the energy by the cutoff, from the outermost waves, beside differences of energies."""

import numpy as np
import pytest

from eigenwerk.dft.derivatives.pulay import cutoff_slope, pulay_pressure
from eigenwerk.units import HARTREE_EV

CASES = {
    # crystal of tests/dft/conftest.py, settings, cutoffs in eV between which energies fall smoothly
    "real": ("lih_bent", {"mesh": (2, 1, 1), "real": True}, (220.0, 300.0)),
    "complex with spin": ("o2", {"spins": 2, "bands": 10}, (280.0, 340.0)),
}


@pytest.mark.parametrize("name", CASES)
def test_slope_is_near_that_of_energies(name, crystal, calculation):
    crystal_name, settings, cutoffs = CASES[name]
    free, slopes = [], []
    for cutoff in cutoffs:
        state = calculation(crystal(crystal_name), cutoff_eV=cutoff, **settings).run().state
        free.append(state.energies.free * HARTREE_EV)
        slopes.append(cutoff_slope(state.subject.basis, state.coeff_sknG, state.eig_skn, state.filling_skn))
    difference = (free[1] - free[0]) / (cutoffs[1] - cutoffs[0])
    assert difference < 0
    assert 0.6 < np.sqrt(slopes[0] * slopes[1]) / -difference < 1.67
    basis = state.subject.basis
    assert pulay_pressure(basis, slopes[1]) == pytest.approx(2 / 3 * basis.cutoff * slopes[1] / basis.structure.volume)
