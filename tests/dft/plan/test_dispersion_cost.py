"""The cost of a dispersion correction: neighbours as counted one by one, threads where triples are summed."""

import numpy as np
import pytest

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.dispersion.correction import D2, D3_BJ, D4, DispersionCorrection
from eigenwerk.dft.dispersion.pairwise import mean_neighbours
from eigenwerk.dft.plan.dispersion_cost import correction_cost

SILICON = Structure(10.26 * (1 - np.eye(3)) / 2, ("Si", "Si"), np.array([[0, 0, 0], [0.25, 0.25, 0.25]]))


def test_neighbours_are_counted():
    assert mean_neighbours(SILICON, 5.0) == 4 and mean_neighbours(SILICON, 7.5) == 16


@pytest.mark.parametrize(("method", "s9", "seconds", "threads"), [
    (D2, None, 0.017, 1), (D3_BJ, 0.0, 0.003, 1), (D3_BJ, 1.0, 0.6, 8), (D4, 1.0, 0.6, 8),
])  # fmt: skip
def test_triples_are_what_takes_long(method, s9, seconds, threads):
    given = DispersionCorrection(method, "pbe", {} if s9 is None else {"s9": s9}, None if method == D4 else 94.9)
    found, shared = correction_cost(given, SILICON)
    assert found == pytest.approx(seconds, rel=0.2) and shared == threads
