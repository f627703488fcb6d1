"""Ground states with non-local correlation: the same on any ranks, with and without symmetry, again from a file."""

import numpy as np
import pytest

from eigenwerk.dft.calculation import Calculation
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.functionals.non_local import NonLocal
from eigenwerk.parallel.process_grid import make_process_grid
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.serial import SerialCommunicator
from ground_states import ENERGY_PER_ATOM, FORCE, STRESS, pieces

SETTINGS = {
    "functional": "MK", "hybrid": Hybrid(0.0, 0.0, 1.0, 1.0, 0.0), "non_local": NonLocal(), "cutoff_eV": 90.0,
    "ediff_eV": 1e-8,
}  # fmt: skip


def solve(world, parts):
    """On one rank: a ground state, as plain values."""
    structure, kpoints, parameters, datasets, real = parts
    runtime = Runtime(grid=make_process_grid(world, 1))
    found = Calculation(structure, kpoints, parameters, datasets, runtime, real).run()
    return found.state.converged, found.state.energies.free, found.forces_av, found.stress_vv


@pytest.fixture(scope="module")
def alone(calculation, crystal):
    parts = pieces(calculation(crystal("sic_bent"), real=True, **SETTINGS))
    return parts, solve(SerialCommunicator(), parts)


@pytest.mark.ranks
@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
def test_ranks_share_nodes_and_find_the_same(ranks, alone, size):
    parts, (converged, free, forces_av, stress_vv) = alone
    for found in ranks(size).run(solve, parts):
        assert converged and found[0]
        assert abs(found[1] - free) / len(forces_av) < ENERGY_PER_ATOM
        np.testing.assert_allclose(found[2], forces_av, rtol=0.0, atol=FORCE)
        np.testing.assert_allclose(found[3], stress_vv, rtol=0.0, atol=STRESS)


def test_symmetry_changes_nothing(calculation, crystal):
    """Silicon with all 48 operations and with none but k and -k."""
    one, other = (
        calculation(crystal("si"), mesh=(2, 2, 2), symmetry_level=level, **SETTINGS).run() for level in (2, 0)
    )
    assert one.state.converged and other.state.converged
    assert one.state.energies.free == pytest.approx(other.state.energies.free, abs=2e-7)
    np.testing.assert_allclose(one.stress_vv, other.stress_vv, rtol=0.0, atol=2e-7)
