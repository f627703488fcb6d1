"""The same plane waves in another cell: what changes is what a cell measures, smoothly, with the right derivatives."""

from dataclasses import fields
from math import pi

import numpy as np
import pytest
import torch

from eigenwerk.dft.basis.plane_wave_basis import make_basis
from eigenwerk.dft.crystal.kpoints import mesh_kpoints
from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.terms.hartree import hartree

FORMS = {
    # crystal of tests/dft/conftest.py, mesh, symmetry, real orbitals where possible
    "complex": ("sic_bent", (3, 1, 2), -1, False),
    "real at Gamma": ("sic_bent", (1, 1, 1), -1, True),
    "real by inversion": ("si", (3, 3, 3), 2, True),
}
STEP = 1e-4


@pytest.fixture(params=FORMS, ids=str)
def basis(request, crystal):
    name, mesh, level, real = FORMS[request.param]
    structure = crystal(name)
    kpoints = mesh_kpoints(mesh, (0.0, 0.0, 0.0), True, find_symmetry(structure, 1e-5, level))
    return make_basis(structure, kpoints, 4.0, real=real)


def cell(basis, strain_vv):
    """Lattice vectors after r -> (1 + strain) r."""
    return basis.lattice.vector_cv @ (torch.eye(3, dtype=torch.float64) + strain_vv).T


def derivatives(energy, basis):
    """dE/dε_vw of energy(strained basis) by automatic differentiation, and by finite differences; (3, 3) each."""
    strain_vv = torch.zeros((3, 3), dtype=torch.float64, requires_grad=True)
    (exact_vv,) = torch.autograd.grad(energy(basis.strained(cell(basis, strain_vv))), strain_vv)
    step_vv = torch.zeros((3, 3), dtype=torch.float64)
    found_vv = torch.empty_like(step_vv)
    for v, w in np.ndindex(3, 3):
        step_vv[v, w] = STEP
        high, low = (energy(basis.strained(cell(basis, sign * step_vv))) for sign in (1, -1))
        found_vv[v, w], step_vv[v, w] = (high - low) / (2 * STEP), 0.0
    return exact_vv, found_vv


def test_only_what_a_cell_measures_changes(basis):
    strained = basis.strained(1.1 * basis.lattice.vector_cv)
    for field in fields(basis):
        if field.name not in ("structure", "lattice"):
            assert getattr(strained, field.name) is getattr(basis, field.name)
    np.testing.assert_array_equal(strained.structure.lattice_cv, 1.1 * basis.structure.lattice_cv)
    np.testing.assert_array_equal(strained.structure.scaled_ac, basis.structure.scaled_ac)
    np.testing.assert_allclose(strained.kinetic_kG, basis.kinetic_kG / 1.21, rtol=1e-13)
    np.testing.assert_allclose(strained.coulomb_g, basis.coulomb_g * 1.21, rtol=1e-13)
    assert float(strained.volume) == pytest.approx(1.331 * float(basis.volume), rel=1e-13)


def test_it_is_the_basis_of_the_new_cell_while_no_wave_crosses_the_cutoff(basis):
    """A basis built there has the same waves in some order, with the same lengths."""
    strain_vv = torch.tensor(1e-6 * np.random.default_rng(1).normal(size=(3, 3)))
    strained = basis.strained(cell(basis, strain_vv))
    fresh = make_basis(strained.structure, basis.kpoints, basis.cutoff, grids=basis.grids, real=basis.form.real)
    assert fresh.count_k == basis.count_k and fresh.density_count == basis.density_count
    assert float(strained.volume) == pytest.approx(strained.structure.volume, rel=1e-14)
    for k, count in enumerate(basis.count_k):
        here, there = (np.lexsort(b.index_khc[k, :count].numpy().T) for b in (strained, fresh))
        np.testing.assert_array_equal(strained.index_khc[k, here], fresh.index_khc[k, there])
        np.testing.assert_allclose(strained.kinetic_kh[k, here], fresh.kinetic_kh[k, there], rtol=1e-13)
    here, there = (np.lexsort(b.index_gc.numpy().T) for b in (strained, fresh))
    np.testing.assert_array_equal(strained.index_gc[here], fresh.index_gc[there])
    np.testing.assert_allclose(strained.norm2_g[here], fresh.norm2_g[there], rtol=1e-13)


def test_strain_derivative_of_the_kinetic_energy(basis):
    """E = Σ f |c|² |k+G|²/2 at fixed c: dE/dε_vw = -Σ f |c|² q_v q_w."""
    draw = torch.Generator().manual_seed(2)
    shape = (len(basis.count_k), 3, basis.mask_kG.shape[1])
    weight_kG = (torch.randn(shape, generator=draw, dtype=torch.float64) ** 2).sum(1) * basis.mask_kG

    exact_vv, found_vv = derivatives(lambda basis: (weight_kG * basis.kinetic_kG).sum(), basis)
    weight_kh = weight_kG.unflatten(-1, (-1, basis.form.numbers)).sum(-1)
    wave_khv = basis.wave_vector_khv
    closed_vv = -torch.einsum("kh,khv,khw->vw", weight_kh, wave_khv, wave_khv)
    size = float(closed_vv.abs().max())
    torch.testing.assert_close(exact_vv, closed_vv, rtol=0, atol=1e-12 * size)
    torch.testing.assert_close(found_vv, closed_vv, rtol=0, atol=1e-6 * size)


def test_strain_derivative_of_the_hartree_energy(basis):
    """E = Ω/2 Σ w |ρ|² 4π/g² at fixed ρ(g): dE/dε_vw = E δ_vw + Ω Σ w |ρ|² 4π g_v g_w / g⁴."""
    draw = torch.Generator().manual_seed(3)
    charge_g = torch.randn(len(basis.norm2_g), generator=draw, dtype=torch.complex128)
    charge_g = charge_g * torch.exp(-basis.norm2_g / 8)

    exact_vv, found_vv = derivatives(lambda basis: hartree(charge_g, basis)[0], basis)
    g_gv, square_g = basis.vector_gv[1:], (basis.weight_g * charge_g.abs() ** 2)[1:] / basis.norm2_g[1:] ** 2
    closed_vv = basis.volume * 4 * pi * torch.einsum("g,gv,gw->vw", square_g, g_gv, g_gv)
    closed_vv += hartree(charge_g, basis)[0] * torch.eye(3, dtype=torch.float64)
    size = float(closed_vv.abs().max())
    torch.testing.assert_close(exact_vv, closed_vv, rtol=0, atol=1e-12 * size)
    torch.testing.assert_close(found_vv, closed_vv, rtol=0, atol=1e-6 * size)
