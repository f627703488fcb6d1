"""Weights of orbitals on atoms: against radial grids, and what must not change them."""

from dataclasses import replace
from math import pi

import numpy as np
import pytest
import torch

from eigenwerk.dft.after.fixed_potential import bands_at
from eigenwerk.dft.after.projections import COLUMNS, Projections
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.crystal.kpoints import explicit
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.paw.radial import interpolate, spherical_bessel
from eigenwerk.dft.paw.setup import matching_radius
from eigenwerk.dft.paw.spherical import solid_harmonics
from eigenwerk.dft.settings.projection import SphereProjection
from eigenwerk.parallel.runtime import Runtime

MAGNET = {"spins": 2, "cutoff_eV": 200.0, "ismear": 1, "sigma_eV": 0.2}


def solved(calculation, structure, radius=None, phases=False, **settings):
    """A calculation with projections, and its ground state; radius in bohr, by default that where waves match."""
    calc = calculation(structure, **settings)
    radius = radius or {symbol: matching_radius(data) for symbol, data in calc.datasets.items()}
    parameters = replace(calc.parameters, projection=SphereProjection(radius, phases))
    calc = Calculation(calc.structure, calc.kpoints, parameters, calc.datasets, calc.runtime, calc.real)
    return calc, calc.run()


def charges_in_sphere(calc, state, spin, k, species, place, radius, lmax):
    """∫_0^R |ψ_L|² r² dr on a fine radial grid, from plane waves expanded about the atom; (n, L).

    ψ_L = 4π i^l Ω^(-1/2) Σ_q c(q) exp(i q·R) j_l(qr) Y_L(q) + Σ_j P_j (φ_j - φ̃_j).
    """
    basis, setup, points = calc.basis, species.setup, 1500
    r_x = np.arange(1, points + 1) * radius / points
    weight_x = r_x**2 * radius / points
    weight_x[-1] /= 2
    true_h = basis.mask_kh[k].numpy() > 0
    wave_hv, coeff_nh = basis.wave_vector_khv[k].numpy()[true_h], state.coeff_sknG[spin, k].numpy()[:, true_h]
    length_h = np.linalg.norm(wave_hv, axis=1)
    unit_hv = torch.from_numpy(wave_hv / np.maximum(length_h, 1e-12)[:, None])
    harmonic_hL = solid_harmonics(lmax, unit_hv).numpy()
    atom, first = species.atom_a[place], species.start_a[place]
    turn_h = 1 / calc.atoms.orbital_phase_kh(atom)[k].numpy()[true_h]
    proj_nI = (state.coeff_sknG[spin, k] @ calc.atoms.projector_kIG[k].mH).numpy()
    data = setup.dataset
    change_jx = interpolate(data.grid, data.ae_partial_wave_jg - data.pseudo_partial_wave_jg, r_x)
    found_nL = np.zeros((len(coeff_nh), (lmax + 1) ** 2))
    for l in range(lmax + 1):
        bessel_hx = spherical_bessel(l, np.multiply.outer(length_h, r_x))
        for L in range(l * l, (l + 1) ** 2):
            wave_nx = 4 * pi * 1j**l / float(basis.volume) ** 0.5 * (coeff_nh * turn_h * harmonic_hL[:, L]) @ bessel_hx
            for i in np.flatnonzero(setup.L_i == L):
                wave_nx = wave_nx + proj_nI[:, first + i, None] * change_jx[setup.j_i[i]]
            found_nL[:, L] = np.abs(wave_nx) ** 2 @ weight_x
    return found_nL


@pytest.mark.fast("si_bent-0.7-*")
@pytest.mark.parametrize(
    ("name", "factor", "settings"),
    [("si_bent", 1.0, {"mesh": (2, 1, 1)}),
     pytest.param("mgo_bent", 1.0, {"cutoff_eV": 300.0}, marks=pytest.mark.slow),
     pytest.param("fe_bent", 1.0, MAGNET, marks=pytest.mark.slow),
     pytest.param("o2", 1.3, {"spins": 2, "cutoff_eV": 300.0}, marks=pytest.mark.slow), ("si_bent", 0.7, {})],
)  # fmt: skip
def test_weights_are_charges_of_all_electron_orbitals_inside_spheres(calculation, crystal, name, factor, settings):
    structure = crystal(name)
    radius = {s: factor * matching_radius(d) for s, d in calculation(structure, **settings).datasets.items()}
    calc, ground = solved(calculation, structure, radius, **settings)
    weight_sknaL = ground.projections.weight_sknaL.numpy()
    for species in calc.atoms.layout.species:
        for spin in range(len(weight_sknaL)):
            k, atom = weight_sknaL.shape[1] - 1, species.atom_a[-1]
            wanted_nL = charges_in_sphere(calc, ground.state, spin, k, species, -1, radius[species.setup.symbol], 6)
            found_nL = weight_sknaL[spin, k, :, atom]
            np.testing.assert_allclose(found_nL, wanted_nL[:, :COLUMNS], atol=5e-4)
            # less than 1 % of an occupied orbital in a sphere is beyond f, unless it is the tail of a neighbour's
            full_n = ground.state.occupations.occ_skn[spin, k].numpy() > 0.5
            np.testing.assert_allclose(found_nL[full_n].sum(1), wanted_nL[full_n].sum(1), rtol=0.01, atol=1.5e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings"),
    [pytest.param("sic_bent", {"mesh": (2, 1, 1)}, marks=pytest.mark.slow), ("lih_bent", {}),
     pytest.param("pairs", {"mesh": (3, 1, 1), "symmetry_level": 2}, marks=pytest.mark.slow)],
)
def test_real_orbitals_have_the_weights_and_phases_of_complex_ones(calculation, crystal, name, settings):
    """Phases up to one of the whole orbital: what is compared is the matrix between the numbers of all sites."""
    both = [solved(calculation, crystal(name), phases=True, real=real, **settings) for real in (True, False)]
    assert both[0][0].basis.form.real and not both[1][0].basis.form.real
    ours, theirs = (ground.projections for _, ground in both)
    bands = both[0][0].parameters.bands - 2  # the highest two are not waited for
    for name in ("weight_sknaL", "average_sknaL"):
        ours_x, theirs_x = (getattr(found, name)[:, :, :bands] for found in (ours, theirs))
        np.testing.assert_allclose(ours_x, theirs_x, atol=2e-4)
    for k in range(ours.phase_sknaL.shape[1]):
        for n in range(bands):
            one_x, other_x = (found.phase_sknaL[0, k, n].flatten().numpy() for found in (ours, theirs))
            one_xx, other_xx = (np.outer(x, x.conj()) for x in (one_x, other_x))
            np.testing.assert_allclose(one_xx, other_xx, atol=2e-3)
    np.testing.assert_allclose(ours.phase_sknaL.abs().square(), ours.weight_sknaL, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "place", "settings"),
    [("si", None, {"mesh": (2, 2, 2)}), pytest.param("pairs", None, {"mesh": (3, 1, 1)}, marks=pytest.mark.slow),
     pytest.param("fe_bent", [[0, 0, 0], [0.5, 0.5, 0.5]], {"mesh": (2, 2, 2), **MAGNET}, marks=pytest.mark.slow)],
)  # fmt: skip
def test_averages_over_the_wedge_are_sums_over_the_full_mesh(calculation, crystal, name, place, settings):
    """Electrons and densities of states on the atoms."""
    structure = crystal(name) if place is None else replace(crystal(name), scaled_ac=np.array(place))
    (calc, wedge), (_, full) = (solved(calculation, structure, symmetry_level=level, **settings) for level in (2, -1))
    np.testing.assert_allclose(wedge.projections.occupied_saL, full.projections.occupied_saL, atol=1e-5)
    weight_k = calc.kpoints.weight_k
    assert len(weight_k) < np.prod(settings["mesh"])
    for spin in range(len(wedge.state.eig_skn)):
        ours_xaL, theirs_xaL = (broadened(ground, spin, k_weight) for ground, k_weight in (
            (wedge, weight_k), (full, np.full(np.prod(settings["mesh"]), 1 / np.prod(settings["mesh"]))),
        ))  # fmt: skip
        assert ours_xaL.max() > 1
        np.testing.assert_allclose(ours_xaL, theirs_xaL, atol=2e-3)


def broadened(ground, spin, weight_k):
    """Density of states on the atoms, broadened, up to the band below those that are not waited for; (x, a, L)."""
    eig_kn = ground.state.eig_skn[spin].numpy()
    energy_x = np.linspace(eig_kn.min(), eig_kn[:, -4].min() - 0.1, 40)
    share_xkn = np.exp(-(((energy_x[:, None, None] - eig_kn) / 0.03) ** 2)) / (0.03 * pi**0.5) * weight_k[:, None]
    return np.einsum("xkn,knaL->xaL", share_xkn, ground.projections.average_sknaL[spin].numpy())


@pytest.mark.slow
def test_operations_that_exchange_spins_give_weights_to_the_other_channel(calculation, crystal):
    """Two hydrogen atoms with opposite moments, related by inversion with a flip of the spins."""
    place_ac, moment_a = np.array([[0.1, 0.1, 0.1], [0.5, 0.5, 0.5]]), np.array([1.0, -1.0])
    structure = Structure(1.5 * crystal("lih_bent").lattice_cv, ("H", "H"), place_ac, moment_a)
    settings = {"mesh": (2, 2, 2), "spins": 2, "bands": 4, "cutoff_eV": 200.0}
    (calc, wedge), (_, full) = (solved(calculation, structure, symmetry_level=level, **settings) for level in (2, -1))
    assert calc.kpoints.symmetry.spin_flip_o.any() and wedge.projections.crossed_sknaL is not None
    np.testing.assert_allclose(wedge.projections.occupied_saL, full.projections.occupied_saL, atol=1e-5)
    moment_a = (wedge.projections.occupied_saL[0] - wedge.projections.occupied_saL[1]).sum(1)
    np.testing.assert_allclose(moment_a[0], -moment_a[1], atol=1e-8)
    assert abs(moment_a[0]) > 0.01


@pytest.mark.slow
def test_electrons_in_spheres_are_those_of_the_filled_orbitals(calculation, crystal):
    _, ground = solved(calculation, crystal("o2"), spins=2, cutoff_eV=300.0)
    found, filling_skn = ground.projections, ground.state.filling_skn
    np.testing.assert_allclose(found.occupied_saL, torch.einsum("skn,sknaL->saL", filling_skn, found.weight_sknaL))
    # the moments of one-centre occupancies, for which partial waves stand for everything in the sphere
    moment_a = (found.occupied_saL[0] - found.occupied_saL[1]).sum(1)
    np.testing.assert_allclose(moment_a, ground.moment_a, rtol=0.05)


@pytest.mark.slow
def test_parts_of_a_list_of_points_join(calculation, crystal):
    _, ground = solved(calculation, crystal("sic_bent"), mesh=(2, 2, 1), phases=True)
    whole = ground.projections
    parts = [replace(whole.first(1), occupied_saL=0 * whole.occupied_saL), whole]
    joined = Projections.joined(parts)
    assert joined.weight_sknaL.shape[1] == 1 + whole.weight_sknaL.shape[1] == joined.phase_sknaL.shape[1]
    np.testing.assert_array_equal(joined.weight_sknaL[:, 1:], whole.weight_sknaL)
    np.testing.assert_array_equal(joined.occupied_saL, whole.occupied_saL)
    assert joined.crossed_sknaL is None


@pytest.mark.slow
def test_blocks_of_k_points_change_nothing(calculation, crystal):
    calc, ground = solved(calculation, crystal("sic_bent"), mesh=(3, 1, 1), symmetry_level=0)
    small = Calculation(calc.structure, calc.kpoints, calc.parameters, calc.datasets, Runtime(block_limit=1), False)
    state = ground.state
    again = small.derived.projections(small.atoms, state.coeff_sknG, state.filling_skn)
    np.testing.assert_allclose(again.weight_sknaL, ground.projections.weight_sknaL, atol=1e-12)


@pytest.mark.slow
def test_bands_at_other_points_have_projections_in_the_order_of_the_list(calculation, crystal):
    """Those of the mesh in the potential of the density that they made, in another order and point by point."""
    calc, ground = solved(calculation, crystal("sic_bent"), mesh=(2, 2, 1), phases=True, ediff_eV=1e-10)
    order_k = [3, 1, 0, 2, 3]
    points = explicit(calc.kpoints.point_kc[order_k], np.ones(5), calc.kpoints.symmetry)
    bands = calc.parameters.bands - 2
    found = bands_at(calc, ground.state.density, points).projections
    assert found.weight_sknaL.shape[1] == 5 and float(found.occupied_saL.abs().max()) == 0
    wanted_sknaL = ground.projections.weight_sknaL[:, order_k, :bands]
    np.testing.assert_allclose(found.weight_sknaL[:, :, :bands], wanted_sknaL, atol=1e-4)
    again = ground.projections.filled(ground.state.filling_skn)
    np.testing.assert_allclose(again.occupied_saL, ground.projections.occupied_saL, atol=1e-12)
