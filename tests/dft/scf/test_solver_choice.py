"""Which solver a step uses, when another takes over, and that all of them lead to the same ground state."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from covering import covering
from eigenwerk.dft.scf.bands import Bands
from eigenwerk.dft.scf.solver_choice import SolverChoice
from eigenwerk.dft.scf.solvers import SolverJob
from eigenwerk.eigensolvers import SEQUENCES, sequence_for

SMALL = SolverJob("automatic", bands=40, real=False, energy_tolerance=1e-6)
LARGE = replace(SMALL, bands=500)


def bands_with(*residuals):
    """One spin, one k-point."""
    residual_skn = torch.tensor(residuals, dtype=torch.float64).view(1, 1, -1)
    return Bands(torch.zeros(0), torch.zeros_like(residual_skn), residual_skn, 0)


FILLING = torch.tensor([2.0, 2.0, 0.0], dtype=torch.float64).view(1, 1, -1)


def go(choice, residuals, tolerance=1e-7):
    """[(solver, events of the step)] for residuals of the highest occupied band."""
    seen = []
    for step, residual in enumerate(residuals, start=1):
        method, before = choice.next(step)
        after = choice.observe(bands_with(1e-9, residual, 1.0), FILLING, tolerance)
        seen.append((method.solver.short, (*before, *after)))
    return seen


def test_small_jobs_stay_with_davidson_whatever_happens():
    assert go(SolverChoice(SMALL), [1.0] * 6) == [("DAV", ())] * 6


def test_large_jobs_begin_with_davidson_and_say_what_follows():
    seen = go(SolverChoice(LARGE), [1e-1, 1e-2, 1e-3, 1e-4, 1e-5])
    assert [short for short, _ in seen] == ["DAV", "DAV", "CG", "CG", "CG"]
    assert [events for _, events in seen if events] == [
        ("conjugate gradients for all bands from here on (500 bands)",)
    ]


@pytest.mark.parametrize(("real", "bands", "expected"), [
    (True, 159, "davidson"), (True, 160, "davidson, conjugate"), (False, 127, "davidson"),
    (False, 128, "davidson, conjugate"),
])  # fmt: skip
def test_size_and_number_type_decide(real, bands, expected):
    assert sequence_for("automatic", bands, real) == expected
    assert sequence_for("rmm", bands, real) == "rmm"


def test_davidson_takes_over_after_two_steps_without_progress():
    seen = go(SolverChoice(replace(SMALL, solver="rmm")), [1e-1, 2e-2, 1.9e-2, 1.8e-2, 1.7e-2, 1.6e-2])
    assert [short for short, _ in seen] == ["RMM"] * 4 + ["DAV"] * 2
    (event,) = seen[3][1]
    assert event.startswith("RMM-DIIS stalled: the largest residual of occupied bands is 4.9e-01 eV after 5.2e-01 eV")
    assert event.endswith("blocked Davidson from here on")
    assert not any(events for step, (_, events) in enumerate(seen) if step != 3)


def test_one_bad_step_or_bands_at_the_tolerance_are_no_stall():
    choice = SolverChoice(replace(SMALL, solver="rmm"))
    assert {short for short, _ in go(choice, [1e-1, 9e-2, 1e-2, 9e-3, 1e-3, 9e-4, 1e-4])} == {"RMM"}
    choice = SolverChoice(replace(SMALL, solver="rmm", energy_tolerance=1e-16))
    assert {short for short, _ in go(choice, [1e-3] + [1.9e-4] * 6, tolerance=1e-5)} == {"RMM"}
    choice = SolverChoice(replace(SMALL, solver="rmm", energy_tolerance=1e-16))
    assert {short for short, _ in go(choice, [1e-3] + [2.1e-4] * 6, tolerance=1e-5)} == {"RMM", "DAV"}


def test_empty_bands_hold_nothing_up_and_half_converged_ones_do():
    """EDIFF = 1e-6 hartree: two electrons with residual r add 2 r^2 / 0.3 to the energy."""
    choice = SolverChoice(replace(SMALL, solver="rmm"))
    choice.next(1)
    choice.observe(bands_with(1e-9, 3.8e-4, 1.0), FILLING, 1e-7)
    assert choice.settled
    choice.observe(bands_with(1e-9, 4.0e-4, 1.0), FILLING, 1e-7)
    assert not choice.settled


def test_davidson_too_must_leave_less_than_the_tolerance():
    """A state it has found late shows in a residual of a few eV, of 1e-3 electrons: 4e-4 eV are left."""
    choice = SolverChoice(SMALL)
    filling_skn = torch.tensor([2.0, 1.5e-3, 0.0], dtype=torch.float64).view(1, 1, -1)
    for residual, settled in ((0.05, False), (0.01, True)):
        choice.next(1)
        assert choice.observe(bands_with(1e-9, residual, 1.0), filling_skn, 1e-7) == ()
        assert choice.settled is settled


@pytest.fixture(scope="module")
def ground(crystal, calculation):
    """(crystal, settings, solver) -> ground state at EDIFF = 1e-7 eV."""

    def solve(name, solver, **settings):
        return calculation(crystal(name), ediff_eV=1e-7, solver=solver, **settings).run()

    return solve


METAL = ("al_pair", {"mesh": (2, 2, 1), "cutoff_eV": 150.0, "ismear": 1, "sigma_eV": 0.2})
INSULATOR = ("si_bent", {"mesh": (2, 2, 2), "cutoff_eV": 150.0, "real": True})


@pytest.fixture(scope="module")
def by_davidson(request, ground):
    name, settings = {"metal": METAL, "insulator": INSULATOR}[request.param]
    return name, settings, ground(name, "davidson", **settings)


OTHERS = [word for word in SEQUENCES if word != "davidson"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("by_davidson", "solver"),
    covering(
        ("metal", "insulator"), OTHERS, together=1,
        fast=lambda case, solver: OTHERS.index(solver) % 2 == (case == "metal"),
    ),
    indirect=["by_davidson"],
)
def test_every_solver_finds_the_ground_state_of_davidson(by_davidson, ground, solver):
    name, settings, expected = by_davidson
    frozen = {"frozen_steps": 3} if solver == "rmm" else {}
    found = ground(name, solver, **settings, **frozen)
    assert found.state.converged
    shorts = {step.solver for step in found.state.history}
    assert shorts - {"DAV"} or any("stalled" in event for event in found.state.events)
    atoms = len(found.state.system.basis.structure.symbols)
    assert abs(found.state.energies.free - expected.state.energies.free) < 1e-7 / 27.2 * atoms
    np.testing.assert_allclose(found.forces_av, expected.forces_av, atol=2e-5)
