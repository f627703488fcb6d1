"""The bands of a fixed potential."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from eigenwerk.dft.basis.blocks import k_blocks
from eigenwerk.dft.density.density import electrons_of
from eigenwerk.dft.scf.bands import density_of_bands, first_orbitals, solve_bands, solver_blocks
from eigenwerk.dft.scf.solvers import davidson_method


@pytest.fixture(scope="module")
def calc(crystal, calculation):
    return calculation(crystal("sic_bent"), mesh=(2, 2, 1), cutoff_eV=110.0)


@pytest.fixture(scope="module")
def potential(calc):
    return calc.builder(calc.starting_density())


@pytest.fixture(scope="module")
def bands(calc, potential):
    start = first_orbitals(calc.atoms, potential, 8)
    return solve_bands(calc.atoms, potential, start, method=davidson_method(25), tolerance=1e-7, wanted_skn=None)


def test_blocks_cover_all_k_points_once(calc, monkeypatch):
    points = len(calc.basis.count_k)
    for limit in (1, 2**16, 2**30):
        monkeypatch.setattr("eigenwerk.parallel.runtime.CACHE_BLOCK_BYTES", limit)
        covered = [k for block in k_blocks(calc.basis, 8) for k in range(points)[block]]
        assert covered == list(range(points))


@pytest.mark.slow
def test_blocks_do_not_change_the_bands(calc, potential, bands, monkeypatch):
    monkeypatch.setattr("eigenwerk.parallel.runtime.CACHE_BLOCK_BYTES", 1)
    start = first_orbitals(calc.atoms, potential, 8)
    single = solve_bands(calc.atoms, potential, start, method=davidson_method(25), tolerance=1e-7, wanted_skn=None)
    np.testing.assert_allclose(single.eig_skn[..., :6], bands.eig_skn[..., :6], atol=1e-9)


def test_a_gpu_solves_both_spins_together_where_all_k_points_fit(calc):
    points, (_, waves) = len(calc.basis.count_k), calc.basis.mask_kG.shape
    whole = 2 * points * 8 * waves * 16

    def blocks(device, limit, spins=2):
        runtime = SimpleNamespace(device=torch.device(device), block_bytes=limit, threads=1)
        basis = SimpleNamespace(runtime=runtime, mask_kG=calc.basis.mask_kG, form=calc.basis.form)
        return solver_blocks(basis, spins, 8)

    assert blocks("cuda", whole) == [(slice(2), slice(points))]
    assert blocks("cuda", whole - 1) == [(0, slice(0, points)), (1, slice(0, points))]
    assert blocks("cuda", whole, spins=1) == [(0, slice(0, points))]
    assert all(isinstance(spin, int) for spin, _ in blocks("cpu", whole))


def test_starting_orbitals_already_give_sensible_bands(calc, potential, bands):
    """Atomic orbitals give upper bounds that are within an electron volt or two of the valence bands."""
    start = first_orbitals(calc.atoms, potential, 8)
    first = solve_bands(calc.atoms, potential, start, method=davidson_method(0), tolerance=1e-7, wanted_skn=None)
    gap_skn = first.eig_skn[..., :4] - bands.eig_skn[..., :4]
    assert float(gap_skn.min()) > -1e-10
    assert float(gap_skn.max()) < 0.15


def test_residuals_say_how_good_the_bands_are(bands):
    assert float(bands.residual_skn[..., :6].max()) < 1e-5
    assert bands.applications > 0


def test_density_of_full_bands_holds_their_electrons(calc, bands):
    filling_skn = torch.zeros_like(bands.eig_skn)
    filling_skn[..., :4] = 2 * calc.basis.weight_k[:, None]
    density = density_of_bands(calc.atoms, bands.coeff_sknG, filling_skn)
    assert float(electrons_of(density, calc.atoms)[0]) == pytest.approx(8.0, abs=1e-10)
