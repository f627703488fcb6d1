"""Bands and plane waves over ranks: the way there and back, and answers that do not depend on the layout."""

from functools import cache

import numpy as np
import pytest
import torch

from cost import shared
from eigenwerk.dft.basis.distribution import ToBands, ToWaves, on_whole_spheres, own_bands
from eigenwerk.dft.basis.gathering import whole_orbitals
from eigenwerk.dft.calculation import Calculation
from eigenwerk.parallel.process_grid import make_process_grid
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.serial import SerialCommunicator
from ground_states import CASES as SMALL_CASES
from ground_states import ENERGY_PER_ATOM, FORCE, answer, assert_same, pieces

pytestmark = pytest.mark.ranks

POOLS = [(2, "gloo"), (2, "mpi"), (4, "gloo"), (4, "mpi")]

LIH = {"cutoff_eV": 100.0, "mesh": (1, 1, 1)}

CASES = {
    **SMALL_CASES,
    "rmm": ("lih_bent", LIH | {"mesh": (2, 1, 1), "solver": "davidson, rmm"}),
    "chebyshev": ("lih_bent", LIH | {"mesh": (2, 1, 1), "solver": "chebyshev"}),
    "chebyshev metal": ("al_pair", {"mesh": (2, 2, 1), "ismear": 1, "sigma_eV": 0.2, "solver": "chebyshev"}),
    "exact": ("lih_bent", LIH | {"real": True, "solver": "exact"}),
    "spins": ("lih_bent", LIH | {"mesh": (2, 1, 1), "spins": 2, "fixed_moment": 2.0}),
    "grid_gamma": ("lih_bent", LIH | {"cutoff_eV": 250.0, "real": True, "real_space": {"Li": 1e-3, "H": 1e-3}}),
    "grid": ("al_pair", {"mesh": (2, 2, 1), "ismear": 1, "sigma_eV": 0.2, "real_space": {"Al": 1e-3}}),
    "conjugate": ("lih_bent", LIH | {"mesh": (2, 1, 1), "solver": "davidson, conjugate"}),
}

FAST = "2-gloo-metal-2 2-gloo-Gamma-1".split()
"""Those of the test below that `make test` runs: real and complex orbitals, and both ways to share out.

The others are slow ones, every solver, spins and four ranks among them."""


POINTS = {
    "magnet": 2, "inversion": 2, "Gamma": 1, "exact": 1, "grid_gamma": 1, "rmm": 2, "chebyshev": 2,
    "spins": 2, "conjugate": 2,
}  # fmt: skip
"""k-points of the cases that have fewer than four: there are no more k-groups."""


def shapes_of(ranks):
    """All numbers of k-groups."""
    return [groups for groups in (1, 2, 4) if ranks % groups == 0]


def solve(world, parts, groups):
    """On one rank: the ground state on so many k-groups, and the orbitals of all ranks."""
    runtime = Runtime(grid=make_process_grid(world, groups))
    *described, real = parts
    calculation = Calculation(*described, runtime, real)
    ground = calculation.run()
    state = ground.state
    orbitals = whole_orbitals(runtime.grid, calculation.basis, state.coeff_sknG)
    return answer(ground) | {
        "density_sg": state.density.density_sg.numpy(),
        "precisions": [step.precision for step in state.history],
        "orbitals": None if orbitals is None else (orbitals.index_kGc, orbitals.coeff_sknG),
    }


@pytest.fixture(scope="module")
def reference(calculation, crystal):
    """(pieces, answer of one rank) of a case."""

    @cache
    def of(case):
        name, settings = CASES[case]
        parts = pieces(calculation(crystal(name), **settings))
        with shared():
            return parts, solve(SerialCommunicator(), parts, 1)

    return of


def cases():
    """Every case on every pool and grid it fits."""
    for ranks, transport in POOLS:
        for case in CASES:
            for groups in shapes_of(ranks):
                points = POINTS.get(case, 4)
                name = f"{ranks}-{transport}-{case}-{groups}"
                if groups <= points:
                    marks = () if name in FAST else pytest.mark.slow
                    yield pytest.param(ranks, transport, case, groups, id=name, marks=marks)


@pytest.mark.parametrize(("size", "transport", "case", "groups"), list(cases()))
def test_ground_state_is_the_same_on_every_grid_of_ranks(ranks, reference, size, transport, case, groups):
    parts, alone = reference(case)
    answers = ranks(size, transport).run(solve, parts, groups)
    atoms = len(parts[0].symbols)
    for found in answers:
        assert_same(found, alone, atoms)
        assert found["steps"] == alone["steps"]
    # the same bits on all ranks
    for found in answers[1:]:
        assert found["free"] == answers[0]["free"]
        np.testing.assert_array_equal(found["density_sg"], answers[0]["density_sg"])


@pytest.mark.slow
@pytest.mark.parametrize("groups", [1, 2])
def test_first_steps_in_single_precision_leave_results_that_ranks_agree_on(ranks, calculation, crystal, groups):
    """Rounding of single precision on the way there changes forces by first order of what the last step leaves.

    That is up to 4e-5 eV/Å at EDIFF = 1e-8 eV, on another processor another number; after twelve steps in double
    precision it is below 1e-6.
    """
    settings = {"mesh": (2, 1, 1), "ismear": 1, "sigma_eV": 0.2, "start_single": True, "min_steps": 20}
    parts = pieces(calculation(crystal("al_pair"), **settings))
    alone = solve(SerialCommunicator(), parts, 1)
    answers = ranks(2, "gloo").run(solve, parts, groups)
    for found in answers:
        assert found["converged"] and found["precisions"] == alone["precisions"]
        assert abs(found["free"] - alone["free"]) < ENERGY_PER_ATOM * 2
        np.testing.assert_allclose(found["forces_av"], alone["forces_av"], atol=10 * FORCE)
        np.testing.assert_array_equal(found["density_sg"], answers[0]["density_sg"])
    assert alone["precisions"].count("single") >= 4 and alone["precisions"][-1] == "double"


@pytest.mark.slow
@pytest.mark.parametrize("groups", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_corrected_forces_and_the_step_for_them_do_not_depend_on_ranks(ranks, calculation, crystal, groups):
    """At the default EDIFF, where the correction is large and one more step is done."""
    settings = {"mesh": (2, 1, 1), "cutoff_eV": 250.0, "ediff_eV": 1e-4}
    parts = pieces(calculation(crystal("sic_bent"), **settings))
    alone = solve(SerialCommunicator(), parts, 1)
    assert np.abs(alone["correction_av"]).max() > 100 * FORCE
    for found in ranks(2, "gloo").run(solve, parts, groups):
        assert_same(found, alone, 2)
        assert found["steps"] == alone["steps"]
        np.testing.assert_allclose(found["correction_av"], alone["correction_av"], atol=FORCE)
        assert found["force_error"] == pytest.approx(alone["force_error"], abs=FORCE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "groups"), [pytest.param(2, 1, marks=pytest.mark.slow), (2, 2), pytest.param(4, 2, marks=pytest.mark.slow)]
)
def test_gathered_orbitals_are_those_of_one_rank(ranks, reference, size, groups):
    """Same plane waves in the same order; same spaces, since phases and degenerate vectors are free."""
    parts, alone = reference("insulator")
    (index_kGc, coeff_sknG), *rest = (a["orbitals"] for a in ranks(size).run(solve, parts, groups))
    assert rest == [None] * (size - 1)
    np.testing.assert_array_equal(index_kGc, alone["orbitals"][0])
    filled = 4  # bands of two silicon atoms
    for one_nG, other_nG in zip(alone["orbitals"][1][0, :, :filled], coeff_sknG[0, :, :filled], strict=True):
        np.testing.assert_allclose(one_nG.T @ one_nG.conj(), other_nG.T @ other_nG.conj(), atol=1e-5)


def there_and_back(world, problems, count, waves):
    """On one rank: travel to bands and back; what arrived."""
    whole_knW = torch.arange(problems * count * waves, dtype=torch.float64).reshape(problems, count, waves) * (1 + 2j)
    share_knG = whole_knW[..., world.rank * (waves // world.size) : (world.rank + 1) * (waves // world.size)]
    own_kbW = ToBands(world, share_knG.clone()).wait()
    own = own_bands(world, count)
    assert torch.equal(own_kbW[:, : own.stop - own.start], whole_knW[:, own])
    assert not own_kbW[:, own.stop - own.start :].any()
    assert torch.equal(ToWaves(world, own_kbW, count).wait(), share_knG)

    shift_k11 = torch.arange(problems)[:, None, None]

    def needs_all_waves(x_kbW, k):
        return 2 * x_kbW + x_kbW.sum(-1, keepdim=True) + shift_k11[k], 3 * x_kbW

    expected_knG = 2 * share_knG + whole_knW.sum(-1, keepdim=True) + shift_k11
    for limit in (1, 10**3, 10**9):
        first_knG, second_knG = on_whole_spheres(world, share_knG.clone(), limit, needs_all_waves)
        assert torch.equal(first_knG, expected_knG) and torch.equal(second_knG, 3 * share_knG)
    return own.stop - own.start


@pytest.mark.fast("1-3-gloo", "8-2-gloo")
@pytest.mark.parametrize(
    ("size", "transport"), [(2, "gloo"), (3, "gloo"), pytest.param(4, "mpi", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("count", [1, 3, 8])
def test_bands_travel_to_whole_spheres_and_back(ranks, size, transport, count):
    assert sum(ranks(size, transport).run(there_and_back, 3, count, 12)) == count
