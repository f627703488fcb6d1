"""Parts of low rank that terms add to the Hamiltonian: eigensolvers find what dense algebra finds, in every form.

Problems of both spins in one batch: what each spin gives on its own.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.hamiltonian.single_precision import SingleTables, lowered
from eigenwerk.dft.hamiltonian.wavefunctions import random_orbitals, starting_orbitals
from eigenwerk.dft.scf import bands as scf_bands
from eigenwerk.dft.scf.bands import first_orbitals, solve_bands
from eigenwerk.dft.scf.solvers import davidson_method
from eigenwerk.dft.terms.term import LowRank
from eigenwerk.linalg.bands.davidson import davidson
from eigenwerk.linalg.bands.rmm_diis import rmm_diis
from eigenwerk.linalg.dense import generalised_eigh, hermitian_part
from eigenwerk.parallel.process_grid import make_process_grid
from eigenwerk.parallel.runtime import Runtime
from ground_states import pieces

CASES = {
    # name: crystal of tests/dft/conftest.py, settings
    "complex": ("sic_bent", {"mesh": (1, 1, 3)}),
    "real in space": ("lih_bent", {"mesh": (1, 1, 2), "real": True, "cutoff_eV": 200.0}),
    "real by inversion": ("si", {"mesh": (3, 1, 1), "symmetry_level": 2, "real": True}),
    "magnet": ("fe_bent", {"spins": 2}),
    "grid": ("al_pair", {"mesh": (3, 1, 1), "real_space": {"Al": 1e-3}}),
}
BANDS, LOWEST, ROWS = 8, 6, 4


def with_rows(calc, density):
    """A Hamiltonian with rows of another strength for each spin, and the one without."""
    rows, spins = random_orbitals(calc.atoms, ROWS), calc.basis.spin.channels
    weight_mm = torch.diag(torch.linspace(-0.4, 0.2, ROWS, dtype=rows.dtype))
    if rows.is_complex():
        above_mm = torch.full((ROWS, ROWS), 0.05j, dtype=rows.dtype).triu(1)
        weight_mm = weight_mm + above_mm + above_mm.mH
    weight_smm = torch.stack([(1 + 0.3 * s) * weight_mm for s in range(spins)])
    plain = calc.builder(density)
    low_rank = LowRank(torch.stack([rows + 0.1 * s for s in range(spins)]) * calc.basis.mask_kG[:, None], weight_smm)
    return Hamiltonian.of(calc.atoms, replace(plain, rows=low_rank)), Hamiltonian.of(calc.atoms, plain), low_rank


def exact_levels(plain, rows, s, k):
    """The lowest levels of H and S of one problem as matrices, with what the rows add written out."""
    mask_G = plain.mask_kG[k]
    unit_1GG = torch.diag(mask_G).to(rows.row_skmG.dtype)[None]
    h_GG, s_GG = (image_1GG[0].mT for image_1GG in plain.block(s, slice(k, k + 1)).apply(unit_1GG))
    row_mG = rows.row_skmG[s, k]
    h_GG = h_GG + row_mG.mT @ rows.weight_smm[s] @ row_mG.conj()
    used = mask_G.nonzero()[:, 0]
    h_GG, s_GG = (hermitian_part(matrix_GG[used][:, used]) for matrix_GG in (h_GG, s_GG))
    return generalised_eigh(h_GG[None], s_GG[None])[0][0, :LOWEST]


@pytest.fixture(params=CASES)
def case(request, calculation, crystal, disturbed):
    name, settings = CASES[request.param]
    calc = calculation(crystal(name), **{"cutoff_eV": 120.0, **settings})
    return calc, *with_rows(calc, disturbed(calc.atoms, calc.parameters.spins, calc.parameters.electrons))


@pytest.mark.fast("complex-davidson", "real by inversion-rmm", "real in space-davidson")
@pytest.mark.parametrize("solver", ["davidson", "rmm"])
def test_solvers_find_the_levels_of_the_dense_matrix(case, solver):
    calc, hamiltonian, plain, rows = case
    for s in range(calc.basis.spin.channels):
        operator = hamiltonian.block(s)
        found = davidson(operator, starting_orbitals(calc.atoms, operator, BANDS), expansions=60, tolerance=1e-8)
        if solver == "rmm":
            noise_knG = 1e-3 * random_orbitals(calc.atoms, BANDS)
            found = rmm_diis(operator, found.vectors_knx + noise_knG, steps=40, tolerance=1e-8)
        for k, eig_n in enumerate(found.eig_kn):
            np.testing.assert_allclose(eig_n[:LOWEST], exact_levels(plain, rows, s, k), atol=1e-13)
        without = davidson(plain.block(s), found.vectors_knx, expansions=20, tolerance=1e-4)
        assert float((without.eig_kn - found.eig_kn).abs().max()) > 1e-3


@pytest.mark.fast("grid", "real in space")
def test_rows_count_as_projections_and_are_made_afresh_where_they_may_have_changed(case):
    calc, hamiltonian, plain, _ = case
    if not hamiltonian.splits:
        return
    assert hamiltonian.row_count == plain.row_count + ROWS
    operator, x_knG = hamiltonian.block(), random_orbitals(calc.atoms, 3)
    proj_knI = operator.project(x_knG)
    assert proj_knI.shape[-1] == hamiltonian.row_count
    spoilt_knI = proj_knI.clone()
    spoilt_knI[..., -ROWS:] = 7
    torch.testing.assert_close(operator.completed(spoilt_knI, x_knG), proj_knI)
    torch.testing.assert_close(operator.overlap(x_knG), plain.block().overlap(x_knG))


@pytest.mark.fast("complex", "real by inversion", "real in space")
def test_single_precision_has_the_rows_too(case):
    calc, hamiltonian, _, _ = case
    x_knG = random_orbitals(calc.atoms, 3)
    lower = SingleTables.of(calc.atoms).hamiltonian(hamiltonian).block().apply(lowered(x_knG))
    for found, expected in zip(lower, hamiltonian.block().apply(x_knG), strict=True):
        assert float((found - expected).abs().max() / expected.abs().max()) < 1e-5


@pytest.mark.slow
def test_steps_continue_with_projections_of_other_rows(calculation, crystal):
    """Bands of one operator start those of another; nothing stale is left."""
    calc = calculation(crystal("sic_bent"), mesh=(1, 1, 2), cutoff_eV=110.0)
    density = calc.starting_density()
    potential = calc.builder(density)
    rows = with_rows(calc, density)[2]
    solve = partial(solve_bands, calc.atoms, method=davidson_method(25), tolerance=1e-7, wanted_skn=None)
    first = solve(replace(potential, rows=rows), first_orbitals(calc.atoms, potential, BANDS))
    other = replace(potential, rows=replace(rows, row_skmG=rows.row_skmG.flip(2)))
    known = solve(other, first.coeff_sknG, proj_sknI=first.proj_sknI)
    fresh = solve(other, first.coeff_sknG)
    assert known.applications == fresh.applications
    np.testing.assert_allclose(known.eig_skn, fresh.eig_skn, atol=1e-13)


# -- both spins in one batch ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["reciprocal", "grid"])
def magnet(request, calculation, crystal, disturbed):
    real_space = {"Fe": 1e-2} if request.param == "grid" else {}
    calc = calculation(crystal("fe_bent"), spins=2, mesh=(2, 1, 1), cutoff_eV=120.0, real_space=real_space)
    density = disturbed(calc.atoms, 2, calc.parameters.electrons)
    return calc, density, with_rows(calc, density)[0]


@pytest.mark.fast("reciprocal-*")
@pytest.mark.parametrize("which", [slice(None), slice(1, 3), torch.tensor([0, 2, 3])], ids=["all", "slice", "indices"])
def test_operator_of_both_spins_is_that_of_each(magnet, which, monkeypatch):
    calc, _, hamiltonian = magnet
    monkeypatch.setattr("eigenwerk.dft.paw.one_centre.DENSE_LIMIT", 0)
    points = len(calc.basis.mask_kG)
    assert points == 2
    both, x_pnG = hamiltonian.block(slice(2)), torch.cat([random_orbitals(calc.atoms, 5)] * 2)
    eig_pn = torch.ones(x_pnG.shape[:2])

    def images(operator, x_knG, eig_kn, k=slice(None)):
        h_knG, s_knG = operator.apply(x_knG, k)
        more = [operator.overlap(x_knG, k), operator.solve_overlap(x_knG, k)]
        return torch.stack([h_knG, s_knG, *more, operator.precondition(h_knG, eig_kn, x_knG, k)])

    expected = torch.cat([images(hamiltonian.block(s), x_pnG[:points], eig_pn[:points]) for s in (0, 1)], 1)
    torch.testing.assert_close(images(both, x_pnG[which], eig_pn[which], which), expected[:, which], rtol=0, atol=1e-12)
    assert float((expected[0, :points] - expected[0, points:]).abs().max()) > 1e-2


@pytest.mark.parametrize("tolerance", [0.0, 1e-3])
def test_solver_finds_the_bands_of_both_spins_together(magnet, tolerance):
    """With a tolerance, problems leave the batch one after the other."""
    calc, _, hamiltonian = magnet
    start_knG = starting_orbitals(calc.atoms, hamiltonian.block(), 12)
    solve = partial(davidson, expansions=4, tolerance=tolerance, max_space=6)
    together = solve(hamiltonian.block(slice(2)), torch.cat([start_knG, start_knG]))
    apart = [solve(hamiltonian.block(s), start_knG) for s in (0, 1)]
    np.testing.assert_allclose(together.eig_kn, torch.cat([one.eig_kn for one in apart]), atol=1e-12)


@pytest.mark.slow
def test_ground_state_with_both_spins_together_is_that_with_each(calculation, crystal, monkeypatch):
    """As on a GPU, where a launch serves both."""
    settings = {"spins": 2, "mesh": (1, 1, 2), "cutoff_eV": 200.0, "ediff_eV": 1e-6, "bands": 10}
    apart = calculation(crystal("o2"), **settings).run().state
    pieces = []

    def together(basis, spins, bands, dtype=None):
        pieces.append((slice(spins), slice(len(basis.mask_kG))))
        return pieces[-1:]

    monkeypatch.setattr(scf_bands, "solver_blocks", together)
    both = calculation(crystal("o2"), **settings).run().state
    assert len(pieces) == len(both.history) == len(apart.history)
    assert abs(both.energies.free - apart.energies.free) < 1e-10 / 27.2


# -- ranks ------------------------------------------------------------------------------------------------------------


def levels(world, parts):
    """On one rank: bands of a Hamiltonian with rows, by both solvers."""
    *described, real = parts
    calc = Calculation(*described, Runtime(grid=make_process_grid(world, 1)), real)
    operator = with_rows(calc, calc.starting_density())[0].block()
    first = davidson(operator, starting_orbitals(calc.atoms, operator, BANDS), expansions=40, tolerance=1e-7)
    return first.eig_kn.numpy(), rmm_diis(operator, first.vectors_knx, steps=3).eig_kn.numpy()


@pytest.mark.slow
@pytest.mark.fast("real in space")
@pytest.mark.ranks
@pytest.mark.parametrize("name", ["complex", "real in space"])
def test_ranks_that_share_plane_waves_find_the_same_levels(ranks, calculation, crystal, name):
    crystal_name, settings = CASES[name]
    calc = calculation(crystal(crystal_name), **{"cutoff_eV": 120.0, **settings})
    _, plain, rows = with_rows(calc, calc.starting_density())
    for found in ranks(2, "gloo").run(levels, pieces(calc)):
        for eig_kn in found:
            for k, eig_n in enumerate(eig_kn):
                np.testing.assert_allclose(eig_n[:LOWEST], exact_levels(plain, rows, 0, k), atol=1e-13)
