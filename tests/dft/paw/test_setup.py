"""PAW tables of single data sets: duality, multipoles, electrostatics against closed forms and quadrature."""

from dataclasses import replace
from math import erf, exp, gamma, pi, sqrt

import numpy as np
import pytest
from gpaw_data import datapath
from scipy.integrate import quad
from scipy.special import gammainc

from eigenwerk.dft.paw.radial import integrate
from eigenwerk.dft.paw.setup import make_setup, matching_radius, poisson
from eigenwerk.dft.paw.shape import radial
from eigenwerk.dft.paw.spherical import gaunt
from eigenwerk.io.paw.dataset import CompensationShape
from eigenwerk.io.paw.paw_xml import read_paw_xml
from eigenwerk.io.paw.radial_grid import RadialGrid

ELEMENTS = ["H", "C", "O", "Al", "Si", "Ti", "Fe", "Cu", "Hf", "Au"]

_POINT = np.arange(4000)
FINE = RadialGrid(r_g=0.4 * _POINT / (4100 - _POINT), dr_g=0.4 * 4100 / (4100 - _POINT) ** 2, eq="r=a*i/(n-i)")


@pytest.mark.parametrize("symbol", ELEMENTS)
def test_projectors_are_dual_to_the_pseudo_waves(setup, symbol):
    data = setup(symbol).dataset
    for j1, one in enumerate(data.states):
        for j2, two in enumerate(data.states):
            if one.l == two.l:
                value = integrate(data.grid, data.projector_jg[j1] * data.pseudo_partial_wave_jg[j2])
                assert value == pytest.approx(float(j1 == j2), abs=2e-6)


@pytest.mark.parametrize("symbol", ELEMENTS)
def test_monopoles_add_up_to_a_neutral_atom(setup, symbol):
    """Smooth density plus compensation charges of the free atom hold no net charge."""
    table = setup(symbol)
    data, f_j = table.dataset, table.atom_occupancy_j
    assert f_j.sum() == pytest.approx(data.valence, abs=1e-6)
    smooth = integrate(data.grid, f_j @ data.pseudo_partial_wave_jg**2)
    smooth_core = sqrt(4 * pi) * integrate(data.grid, data.pseudo_core_density_g)
    diagonal_i = (f_j / (2 * np.array(table.l_j) + 1))[table.j_i]
    moment = table.multipole_core + (np.diag(table.multipole_Lij[0]) * diagonal_i).sum()
    assert smooth + smooth_core + sqrt(4 * pi) * moment == pytest.approx(0.0, abs=2e-5)


@pytest.mark.parametrize("symbol", ELEMENTS)
def test_multipoles_are_integrals_of_the_difference_density(setup, symbol):
    """Delta_Lij = integral of r^l (phi_i phi_j - pseudo) times the Gaunt coefficient."""
    table = setup(symbol)
    data, lmax = table.dataset, max(table.l_j)
    angular = gaunt(lmax, table.shape.lmax)[table.L_i[:, None], table.L_i[None, :]]
    stop = len(table.pairs.grid.r_g)
    for L, l in ((0, 0), (2, 1), (6, 2)):
        wave_ig, pseudo_ig = data.ae_partial_wave_jg[table.j_i], data.pseudo_partial_wave_jg[table.j_i]
        product_ijg = (wave_ig[:, None] * wave_ig - pseudo_ig[:, None] * pseudo_ig)[..., :stop]
        expected = angular[..., L] * integrate(table.pairs.grid, product_ijg, l)
        np.testing.assert_allclose(table.multipole_Lij[L], expected, atol=1e-10 * np.abs(expected).max() + 1e-13)


@pytest.mark.parametrize("symbol", ELEMENTS)
def test_bound_waves_are_normalised_with_the_overlap_correction(setup, symbol):
    """<pseudo|pseudo> over all space plus dS_jj is the norm 1 of the all-electron wave."""
    table = setup(symbol)
    data = table.dataset
    for j, state in enumerate(data.states):
        if state.n is not None and state.f > 0:
            i = int(np.flatnonzero(table.j_i == j)[0])
            norm = integrate(data.grid, data.pseudo_partial_wave_jg[j] ** 2) + table.overlap_ij[i, i]
            assert norm == pytest.approx(1.0, abs=2e-5)


@pytest.mark.parametrize("symbol", ELEMENTS)
def test_tables_are_symmetric_and_spherical(setup, symbol):
    table = setup(symbol)
    i = table.projector_count
    for matrix_ij in (table.overlap_ij, table.kinetic_ij, table.coulomb_ij, table.zero_ij, table.sphere_overlap_ij):
        size = np.abs(matrix_ij).max()
        np.testing.assert_allclose(matrix_ij, matrix_ij.T, atol=1e-13 * size)
        assert np.abs(matrix_ij[table.L_i[:, None] != table.L_i[None, :]]).max() < 1e-13 * size
    form = table.coulomb_xx.reshape(i, i, i, i)
    np.testing.assert_allclose(form, form.transpose(2, 3, 0, 1), atol=1e-12 * np.abs(form).max())
    np.testing.assert_allclose(form, form.transpose(1, 0, 2, 3), atol=1e-12 * np.abs(form).max())


@pytest.mark.parametrize("symbol", ELEMENTS)
def test_overlap_operator_is_positive(setup, symbol):
    """1 + sum |p_i> dS_ij <p_j| has positive eigenvalues, on the space of the projectors: those of 1 + dS <p|p>."""
    table = setup(symbol)
    data = table.dataset
    gram_jj = integrate(data.grid, data.projector_jg[:, None] * data.projector_jg)
    same = table.L_i[:, None] == table.L_i[None, :]
    gram_ij = gram_jj[table.j_i[:, None], table.j_i[None, :]] * same
    eig_i = np.linalg.eigvals(np.eye(table.projector_count) + table.overlap_ij @ gram_ij)
    assert np.abs(eig_i.imag).max() < 1e-8
    assert eig_i.real.min() > 0


def test_potential_of_a_gaussian_is_the_error_function():
    """v(r) Y_00 of g_0 Y_00: sqrt(4pi) Y_00 erf(r/rc)/r times sqrt(4pi) for the charge sqrt(4pi)."""
    rc = 0.7
    v_g = poisson(FINE, radial(CompensationShape("gauss", rc), 0, FINE.r_g), 0)
    expected_g = 4 * pi * np.array([erf(r / rc) / r for r in FINE.r_g[1:]])
    np.testing.assert_allclose(v_g[1:], expected_g, rtol=2e-6)


@pytest.mark.parametrize("l", [0, 1, 2, 3, 4])
def test_potential_of_multipoles(l):
    """n = r^l exp(-r²): both integrals are incomplete gamma functions."""
    r_g = FINE.r_g[1:]
    inner_g = gamma(l + 1.5) * gammainc(l + 1.5, r_g**2) / 2
    exact_g = 4 * pi / (2 * l + 1) * (inner_g / r_g ** (l + 1) + r_g**l * np.exp(-(r_g**2)) / 2)
    v_g = poisson(FINE, FINE.r_g**l * np.exp(-(FINE.r_g**2)), l)
    np.testing.assert_allclose(v_g[1:], exact_g, atol=1e-5 * exact_g.max())


@pytest.mark.parametrize("name", ["H.PBE", "O.PBE", "Si.PBE", "Fe.PBE", "Au.LDA", "Ce.PBE", "Cr.14.LDA"])
def test_electrostatic_energy_of_atoms_is_that_of_the_file(name):
    """E = ½∫ n v_H - Z ∫ n/r of the reference atom, by the quadrature of the program that made the sets."""
    data = read_paw_xml(datapath() / f"{name}.gz")
    grid, occupation_j = data.grid, np.array([state.f for state in data.states])
    n_g = occupation_j @ data.ae_partial_wave_jg**2 / (4 * pi) + data.ae_core_density_g / np.sqrt(4 * pi)
    energy = 4 * pi * (integrate(grid, n_g * poisson(grid, n_g, 0)) / 2 - data.Z * integrate(grid, n_g, -1))
    assert energy == pytest.approx(data.ae_energy.electrostatic, abs=6e-6)


@pytest.mark.parametrize("l", [0, 1, 2])
def test_self_energy_of_compensation_charges_is_the_closed_form(l):
    """(g_l|g_l) = 8 integral F(q)^2 dq with F(q) = q^l exp(-q^2 rc^2/4) / (2l+1)!!, a Gamma function."""
    rc = 0.7
    shape_g = radial(CompensationShape("gauss", rc), l, FINE.r_g)
    value = float(integrate(FINE, shape_g * poisson(FINE, shape_g, l)))
    odd = float(np.prod(np.arange(2 * l + 1, 0, -2)))
    closed = 8 / odd**2 * 0.5 * gamma(l + 0.5) * (2 / rc**2) ** (l + 0.5)
    assert value == pytest.approx(closed, rel=3e-6)
    numeric = 8 / odd**2 * quad(lambda q: q ** (2 * l) * exp(-(q**2) * rc**2 / 2), 0, 60 / rc)[0]
    assert closed == pytest.approx(numeric, rel=1e-8)


@pytest.mark.parametrize("symbol", ["Si", "Fe"])
def test_discrete_coulomb_form_is_symmetric_to_rounding(setup, symbol):
    """(a|b) = (b|a) also for waves that do not vanish at the end of the grid."""
    table = setup(symbol)
    grid, l_j = table.pairs.grid, np.array(table.l_j)
    j1, j2 = np.triu_indices(len(l_j))
    for l in range(2 * max(l_j) + 1):
        couples_q = (l_j[j1] + l_j[j2] >= l) & ((l_j[j1] + l_j[j2] + l) % 2 == 0)
        pair_qg = table.pairs.ae_qg[couples_q]
        form_qq = (pair_qg * grid.r_g**2 * grid.dr_g) @ poisson(grid, pair_qg, l).T
        np.testing.assert_allclose(form_qq, form_qq.T, atol=1e-12 * np.abs(form_qq).max())


@pytest.mark.parametrize("symbol", ["C", "Si", "Fe"])
def test_one_centre_coulomb_form_equals_direct_integration(setup, symbol):
    """D (ij|kl) D of all-electron minus compensated pseudo density, for a random D, from its densities."""
    table = setup(symbol)
    i, grid = table.projector_count, table.pairs.grid
    draw = np.random.default_rng(8)
    d_ij = draw.normal(size=(i, i))
    d_ij = d_ij + d_ij.T
    d_x = d_ij.ravel()
    channel_Lq = table.expand_Lqx @ d_x
    energy = 0.0
    for L in range(len(channel_Lq)):
        l = int(sqrt(L))
        ae_g, pseudo_g = channel_Lq[L] @ table.pairs.ae_qg, channel_Lq[L] @ table.pairs.pseudo_qg
        if l <= table.shape.lmax:
            moment = float((table.multipole_Lij[L] * d_ij).sum())
            pseudo_g = pseudo_g + moment * radial(table.shape, l, grid.r_g)
        energy += 0.5 * float(integrate(grid, ae_g * poisson(grid, ae_g, l)))
        energy -= 0.5 * float(integrate(grid, pseudo_g * poisson(grid, pseudo_g, l)))
    assert float(d_x @ table.coulomb_xx @ d_x) == pytest.approx(energy, rel=1e-9)


def test_matching_radius_bounds_where_the_waves_differ(setup):
    for symbol in ELEMENTS:
        data = setup(symbol).dataset
        outside = data.grid.r_g > matching_radius(data) * 1.001
        difference = np.abs(data.ae_partial_wave_jg - data.pseudo_partial_wave_jg)[:, outside]
        assert difference.max() < 1e-6 * np.abs(data.ae_partial_wave_jg[:, outside]).max()


def test_moment_inside_the_sphere_counts_less_than_the_whole_wave(setup):
    table = setup("Fe")
    for j, state in enumerate(table.dataset.states):
        if state.n is not None:
            i = int(np.flatnonzero(table.j_i == j)[0])
            assert 0 < table.sphere_overlap_ij[i, i] < 1
    d_i = [i for i, j in enumerate(table.j_i) if table.dataset.states[j].id.endswith("3d")]
    assert all(table.sphere_overlap_ij[i, i] > 0.7 for i in d_i)


def test_more_compensation_charges_change_the_tables_of_their_own_l_alone(setup):
    """What a data set says of its charges is what the tables have: up to l = 4 of d shells."""
    data = setup("Fe").dataset
    few, more = make_setup(data), make_setup(replace(data, shape=replace(data.shape, lmax=4)))
    assert len(few.multipole_Lij) == 9 and len(more.multipole_Lij) == 25
    np.testing.assert_array_equal(more.multipole_Lij[:9], few.multipole_Lij)
    assert np.abs(more.multipole_Lij[16:]).max() > 1e-4 and np.abs(more.coulomb_xx - few.coulomb_xx).max() > 1e-6
