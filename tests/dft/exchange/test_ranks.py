"""Hybrids on grids of ranks: one energy, one set of forces, one stress."""

from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest

from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.exchange import pair_symmetry
from eigenwerk.dft.exchange.outer_loop import OuterLoop
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.parallel.process_grid import make_process_grid
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.serial import SerialCommunicator
from ground_states import ENERGY_PER_ATOM, FORCE, STRESS, pieces

pytestmark = pytest.mark.ranks

CASES = {
    # name: crystal of tests/dft/conftest.py, settings
    "complex": ("sic_bent", {"mesh": (1, 1, 2), "hybrid": Hybrid.of(0.25)}),
    "Gamma": ("lih_bent", {"cutoff_eV": 150.0, "real": True, "hybrid": Hybrid.of(0.25)}),
    "inversion": ("si", {"mesh": (3, 1, 1), "symmetry_level": 2, "real": True, "hybrid": Hybrid.of(0.25)}),
    "spins": ("o2", {"spins": 2, "cutoff_eV": 150.0, "real": True, "hybrid": Hybrid.of(0.25)}),
}


def solve_by_pairs_once(world, parts, groups):
    """The same where each pair of orbitals is done once, which small systems do not."""
    with patch.object(pair_symmetry, "pairs_once", lambda *sizes: True):
        return solve(world, parts, groups)


def solve(world, parts, groups):
    """On one rank: a ground state, as plain values."""
    structure, kpoints, parameters, datasets, real = parts
    runtime = Runtime(grid=make_process_grid(world, groups))
    calc = Calculation(structure, kpoints, parameters, datasets, runtime, real)
    found = calc.run()
    state = found.state
    numbers = found.forces_av, found.stress_vv, state.eig_skn.numpy()
    return state.converged, state.energies.free, *numbers, calc.exchange.applications


@pytest.fixture(scope="module")
def reference(calculation, crystal):
    known = {}

    def find(name):
        if name not in known:
            crystal_name, settings = CASES[name]
            settings = {"cutoff_eV": 90.0, "ediff_eV": 1e-8, **settings}
            parts = pieces(calculation(crystal(crystal_name), **settings))
            known[name] = parts, solve(SerialCommunicator(), parts, 1)
        return known[name]

    return find


@pytest.mark.parametrize(
    ("case", "size", "groups", "work"),
    [
        ("complex", 2, 1, solve), ("complex", 2, 2, solve), ("complex", 4, 2, solve), ("Gamma", 2, 1, solve),
        ("inversion", 2, 2, solve), ("spins", 3, 1, solve),
        ("complex", 2, 1, solve_by_pairs_once),
        pytest.param("inversion", 2, 2, solve_by_pairs_once, marks=pytest.mark.slow),
        pytest.param("spins", 3, 1, solve_by_pairs_once, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_hybrids_are_the_same_on_every_grid_of_ranks(ranks, reference, case, size, groups, work):
    parts, (there, free, forces_av, stress_vv, eig_skn, applications) = reference(case)
    assert there
    for converged, other, other_av, other_vv, other_skn, count in ranks(size, "gloo").run(work, parts, groups):
        assert converged and count == applications
        assert other == pytest.approx(free, abs=ENERGY_PER_ATOM * len(parts[0].symbols))
        np.testing.assert_allclose(other_av, forces_av, atol=FORCE)
        np.testing.assert_allclose(other_vv, stress_vv, atol=STRESS)
        np.testing.assert_allclose(other_skn[..., :-2], eig_skn[..., :-2], atol=4 * ENERGY_PER_ATOM)


def outer_decision(world):
    """On one rank: whether an operator stands that changed the tolerance itself, give or take rounding errors."""
    excess = -1e-6 * (1 - 1e-12) if world.rank else -1e-6 * (1 + 1e-12)
    atoms = SimpleNamespace(runtime=Runtime(grid=make_process_grid(world, 1)))
    exchange = SimpleNamespace(
        atoms=atoms, renew=lambda *orbitals: excess, applications=2, energy=-1.0, rows=(),
    )  # fmt: skip
    outer = OuterLoop(exchange, SimpleNamespace(forget=lambda: None), None, energy_tolerance=1e-6)
    outer.renew(None, None, None)
    return outer.stands, outer.tolerance


def test_ranks_agree_on_whether_an_operator_stands(ranks):
    first, other = ranks(2, "gloo").run(outer_decision)
    assert first == other
