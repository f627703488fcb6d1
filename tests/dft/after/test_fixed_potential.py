"""Bands at any k-points in a fixed potential: those of a dense matrix, and of a self-consistent run at its own points,
whatever the batches, the ranks and the numbers of the orbitals."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from eigenwerk.dft.after import fixed_potential
from eigenwerk.dft.after.fixed_potential import LARGEST_RESIDUAL, bands_at, residual_tolerance
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.crystal.kpoints import explicit
from eigenwerk.dft.scf.bands import first_orbitals, solve_bands
from eigenwerk.dft.scf.solvers import BandSolver
from eigenwerk.eigensolvers import EIGENSOLVERS
from eigenwerk.parallel.process_grid import make_process_grid
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.serial import SerialCommunicator
from eigenwerk.units import HARTREE_EV
from ground_states import pieces

POINTS = [[0, 0, 0], [0.5, 0, 0.5], [0.1, 0.2, 0.3], [0.375, 0.375, 0.75], [0.5, 0.5, 0.5]]
MICRO = 1e-6 / HARTREE_EV


def points_of(calculation, point_kc=POINTS):
    return explicit(np.array(point_kc, dtype=float), np.ones(len(point_kc)), calculation.kpoints.symmetry)


@pytest.fixture(scope="module", params=["si_bent", "pairs", "fe_bent"])
def calc(request, crystal, calculation):
    """Complex orbitals; orbitals that are real by an inversion; two spin channels."""
    settings = {
        "si_bent": {"mesh": (2, 1, 1)}, "pairs": {"mesh": (3, 1, 1), "symmetry_level": 2, "real": True},
        "fe_bent": {"mesh": (1, 1, 1), "spins": 2, "cutoff_eV": 150.0, "ismear": 1, "sigma_eV": 0.2},
    }  # fmt: skip
    return calculation(crystal(request.param), **settings[request.param])


@pytest.mark.fast("si_bent")
def test_bands_are_the_lowest_of_the_dense_matrix(calc):
    density = calc.starting_density()
    points = points_of(calc)
    found = bands_at(calc, density, points)
    atoms = calc.atoms.at_points(calc.atoms.basis.at_points(points))
    bands = calc.parameters.bands
    start = first_orbitals(atoms, calc.builder(density), bands)
    exact = next(solver for solver in EIGENSOLVERS if solver.name == "exact")
    dense = solve_bands(
        atoms, calc.builder(density), start, method=BandSolver.of(exact), tolerance=0.0, wanted_skn=None
    )
    assert found.converged and found.residual <= found.tolerance
    assert found.eig_skn.shape == (calc.basis.spin.channels, len(POINTS), bands)
    np.testing.assert_allclose(found.eig_skn.numpy(), dense.eig_skn.numpy(), atol=MICRO)


@pytest.mark.fast("si_bent")
def test_batches_and_the_order_of_points_change_nothing(calc, monkeypatch):
    density = calc.starting_density()
    whole = bands_at(calc, density, points_of(calc))
    monkeypatch.setattr(fixed_potential, "BATCH_POINTS", 2)
    seen, told = [], []
    parts = bands_at(
        calc, density, points_of(calc, POINTS[::-1]),
        visit=lambda atoms, bands, own: seen.append((own, bands.coeff_sknG)),
        on_batch=lambda done, count, residual: told.append((done, count)),
    )
    np.testing.assert_allclose(parts.eig_skn.flip(1).numpy(), whole.eig_skn.numpy(), atol=MICRO)
    assert [own for own, _ in seen] == [slice(0, 1), slice(1, 3), slice(3, 5)]
    assert all(coeff_sknG.shape[1:3] == (own.stop - own.start, calc.parameters.bands) for own, coeff_sknG in seen)
    assert told == [(1, 5), (3, 5), (5, 5)]


def test_points_of_the_mesh_have_its_bands(crystal, calculation):
    calc = calculation(crystal("si_bent"), mesh=(2, 2, 1))
    state = calc.run().state
    found = bands_at(calc, state.density, points_of(calc, calc.kpoints.point_kc))
    used = int(calc.parameters.electrons) // 2 + 1
    np.testing.assert_allclose(found.eig_skn[..., :used].numpy(), state.eig_skn[..., :used].numpy(), atol=MICRO)


def test_few_sweeps_leave_points_open(crystal, calculation):
    calc = calculation(crystal("si_bent"), mesh=(1, 1, 1))
    calc = replace(calc, parameters=replace(calc.parameters, max_steps=1, energy_tolerance=1e-30))
    found = bands_at(calc, calc.starting_density(), points_of(calc))
    assert not found.converged and 0 < found.open_points <= len(POINTS)
    assert found.residual > found.tolerance


def test_tolerance_follows_the_energy_and_is_small():
    assert residual_tolerance(1e-4 / HARTREE_EV) == LARGEST_RESIDUAL
    assert residual_tolerance(1e-10 / HARTREE_EV) * HARTREE_EV == pytest.approx(10**-5.5, rel=1e-6)


def bands_on(world, parts, groups):
    """On one rank: bands of the starting density."""
    (structure, kpoints, parameters, datasets, real) = parts
    calc = Calculation(structure, kpoints, parameters, datasets, Runtime(grid=make_process_grid(world, groups)), real)
    found = bands_at(calc, calc.starting_density(), points_of(calc, POINTS[:3]))
    few = bands_at(calc, calc.starting_density(), points_of(calc, POINTS[:1]))
    return torch.cat([found.eig_skn, few.eig_skn], 1).numpy(), found.converged


@pytest.mark.slow
@pytest.mark.ranks
@pytest.mark.parametrize("groups", [1, 2])
def test_ranks_find_the_same_bands(ranks, crystal, calculation, groups):
    """Also at one point alone, which not every k-group can have."""
    parts = pieces(calculation(crystal("si_bent"), mesh=(2, 1, 1)))
    wanted, _ = bands_on(SerialCommunicator(), parts, 1)
    for eig_skn, converged in ranks(2, "gloo").run(bands_on, parts, groups):
        assert converged
        np.testing.assert_allclose(eig_skn, wanted, atol=1e-8 / HARTREE_EV)
