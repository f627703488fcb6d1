"""What a result says of its forces."""

import numpy as np

from eigenwerk.dft.running.results import force_doubts


def test_forces_that_are_unsure_or_do_not_cancel_are_told():
    well_av = np.array([[0.0, 0, 1], [0, 0, -1.05]])
    assert list(force_doubts(well_av, 0.01, False)) == [] == list(force_doubts(None, 5.0, False))
    (unsure,) = force_doubts(well_av, 0.34, False)
    assert "about 0.3 eV/Å" in unsure and "EDIFF" in unsure
    (net,) = force_doubts(well_av + [0, 0.3, 0], None, False)
    assert "add up to 0.60 eV/Å" in net and "PREC = Accurate" in net
    assert list(force_doubts(well_av + [0, 0.3, 0], None, True)) == []  # a field pulls a charged cell
