"""Atoms on a plane-wave basis: every table against the integral that it stands for."""

from math import sqrt

import numpy as np
import pytest
import torch

from eigenwerk.dft.paw.atom_layout import atom_layout
from eigenwerk.dft.paw.radial import interpolate
from eigenwerk.dft.paw.shape import degrees, radial
from eigenwerk.dft.paw.spherical import solid_harmonics, sphere_quadrature

L_OF = degrees(2)


def shape_of(atoms, setup):
    """g_L(g) without the phase of the atom, (L, g): the plain twin of what `PawAtoms` does in columns."""
    harmonic_gL = solid_harmonics(2, atoms.basis.vector_gv)
    return atoms.shape_factor_L[:, None] * (harmonic_gL * atoms.compensation_gauss_g(setup)[:, None]).T


@pytest.fixture(scope="module")
def calc(crystal, calculation):
    return calculation(crystal("sic_bent"), mesh=(2, 1, 1), cutoff_eV=60.0)


@pytest.fixture(scope="module")
def occupancy_sx(calc, disturbed):
    """Occupancies with moments of every l; two spins that differ."""
    one = disturbed(calc.atoms, 1, 8.0, size=0.1).occupancy_sx
    other = disturbed(calc.atoms, 1, 8.0, size=0.2, seed=2).occupancy_sx
    return torch.cat([0.6 * one, 0.4 * other])


def fourier_integral(radial, L, wave_xv, centre_v, reach):
    """Integral of radial(|r - R|) Y_L exp(-i q.r) over a ball around R, for wave vectors q; (x,)."""
    node_r, gauss_r = np.polynomial.legendre.leggauss(160)
    r_r, weight_r = reach * (node_r + 1) / 2, reach * gauss_r / 2
    unit_xv, solid_x = sphere_quadrature(41)
    lmax = int(sqrt(L))
    angular_x = (solid_harmonics(lmax, unit_xv)[:, L] * solid_x).numpy()
    point_rxv = r_r[:, None, None] * unit_xv.numpy()
    radial_r = radial(r_r) * r_r**2 * weight_r
    turn_x = np.exp(-1j * wave_xv @ centre_v)
    return turn_x * np.array([radial_r @ np.exp(-1j * point_rxv @ q_v) @ angular_x for q_v in wave_xv])


def some(count):
    """A few indices, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, 9).astype(int))


# -- phases and layout ------------------------------------------------------------------------------------------------


def test_phases_of_orbitals_contain_the_k_point(calc):
    basis = calc.basis
    for a, position_v in enumerate(calc.structure.positions_av):
        phase_kG = calc.atoms.orbital_phase_kh(a)
        for k, count in enumerate(basis.count_k):
            expected_G = np.exp(-1j * basis.wave_vector_khv[k, :count].numpy() @ position_v)
            np.testing.assert_allclose(phase_kG[k, :count], expected_G, atol=1e-12)


def test_flat_vectors_hold_the_blocks_of_atoms_in_the_order_of_the_structure(setup):
    """Species may alternate; atom a's block stands where `block_start_a` says."""
    symbols = ("Si", "H", "Si", "C")
    layout = atom_layout({s: setup(s) for s in symbols}, symbols)
    size_a = [setup(s).projector_count for s in symbols]
    assert layout.projector_count == sum(size_a)
    flat_sx = torch.randn((2, sum(i * i for i in size_a)), generator=torch.Generator().manual_seed(0))
    blocks = {}
    for species in layout.species:
        block_saij = layout.blocks(flat_sx, species)
        for n, a in enumerate(species.atom_a):
            blocks[int(a)] = block_saij[:, n]
            assert int(species.start_a[n]) == sum(size_a[:a])
    in_order = torch.cat([blocks[a].flatten(1) for a in range(4)], dim=1)
    assert torch.equal(in_order, flat_sx)
    assert torch.equal(layout.flatten([layout.blocks(flat_sx, species) for species in layout.species]), flat_sx)


# -- tables against integrals -----------------------------------------------------------------------------------------


@pytest.mark.fast("C")
@pytest.mark.parametrize("symbol", ["Si", "C", "Fe"])
def test_projectors_equal_direct_integrals(symbol, crystal, calculation):
    """<k+G|p_i> = integral of p_j(|r - R|) Y_L exp(-i (k+G).r) over sqrt(volume), for s, p and d."""
    name = "fe_bent" if symbol == "Fe" else "sic_bent"
    calc = calculation(crystal(name), mesh=(2, 1, 1), cutoff_eV=60.0)
    basis, atoms = calc.basis, calc.atoms
    species = next(s for s in atoms.layout.species if s.setup.symbol == symbol)
    data, a = species.setup.dataset, int(species.atom_a[-1])
    k = len(basis.count_k) - 1
    chosen_G = some(basis.count_k[k])
    wave_xv = basis.wave_vector_khv[k, chosen_G].numpy()
    projector_IG = atoms.projector_kIG[k, :, chosen_G]
    last = int(np.flatnonzero(np.abs(data.projector_jg).max(axis=0)).max())
    end = float(data.grid.r_g[last + 1])
    for i, (j, L) in enumerate(zip(species.setup.j_i, species.setup.L_i, strict=True)):
        expected_x = fourier_integral(
            lambda r_r, j=j: interpolate(data.grid, data.projector_jg[j], r_r), L, wave_xv,
            calc.structure.positions_av[a], end,
        )  # fmt: skip
        expected_x /= sqrt(basis.volume)
        scale = float(projector_IG.abs().max())
        np.testing.assert_allclose(projector_IG[int(species.start_a[-1]) + i], expected_x, atol=1e-6 * scale)


def test_projectors_vanish_on_padding(calc):
    basis = calc.basis
    assert min(basis.count_k) < basis.mask_kG.shape[1]
    for k, count in enumerate(basis.count_k):
        assert (calc.atoms.projector_kIG[k, :, count:] == 0).all()


@pytest.mark.fast("0", "3", "7")
@pytest.mark.parametrize("L", range(9))
def test_compensation_charges_equal_direct_integrals(calc, L):
    basis, atoms = calc.basis, calc.atoms
    chosen_g = some(len(basis.norm2_g))
    for species in atoms.layout.species:
        shape = species.setup.shape
        expected_x = fourier_integral(
            lambda r_r, shape=shape: radial(shape, L_OF[L], r_r), L, basis.vector_gv[chosen_g].numpy(),
            np.zeros(3), 8 * shape.rc,
        )  # fmt: skip
        shape_g = shape_of(atoms, species.setup)[L, chosen_g]
        np.testing.assert_allclose(shape_g * basis.volume, expected_x, atol=1e-10)


@pytest.mark.parametrize("field", ["pseudo_core_g", "zero_potential_g"])
def test_fields_of_atoms_equal_direct_integrals(calc, field):
    """Smooth core density and zero potential: f(r) Y_00 of every atom at its place."""
    basis, atoms = calc.basis, calc.atoms
    chosen_g = some(basis.density_count)
    expected_x = np.zeros(len(chosen_g), dtype=complex)
    for a, symbol in enumerate(calc.structure.symbols):
        data = calc.datasets[symbol]
        f_g = data.pseudo_core_density_g if field == "pseudo_core_g" else data.zero_potential_g
        end = float(data.grid.r_g[np.abs(f_g) > 1e-12 * np.abs(f_g).max()].max())
        expected_x += fourier_integral(
            lambda r_r, data=data, f_g=f_g: interpolate(data.grid, f_g, r_r), 0, basis.vector_gv[chosen_g].numpy(),
            calc.structure.positions_av[a], end,
        )  # fmt: skip
    value_g = getattr(atoms, field)[chosen_g]
    np.testing.assert_allclose(value_g * basis.volume, expected_x, atol=2e-6 * np.abs(expected_x).max())


# -- compensation charges of a density --------------------------------------------------------------------------------


def test_moments_are_those_of_the_occupancies_and_the_core(calc, occupancy_sx):
    """Q_aL = Delta_0 (l = 0) + sum Delta_Lij D_ij, D summed over spins."""
    atoms = calc.atoms
    start_a = atoms.layout.block_start_a
    for species, moment_aL in atoms.charge_moments(occupancy_sx.sum(0)):
        table = species.setup
        for n, a in enumerate(species.atom_a):
            d_x = occupancy_sx.sum(0)[start_a[a] : start_a[a + 1]].numpy()
            expected_L = table.multipole_Lij.reshape(len(L_OF), -1) @ d_x
            assert np.abs(expected_L[1:]).max() > 1e-4, "every l takes part"
            expected_L[0] += table.multipole_core
            np.testing.assert_allclose(moment_aL[n], expected_L, atol=1e-13)


def test_compensation_charge_is_the_sum_of_shapes_times_moments(calc, occupancy_sx):
    basis, atoms = calc.basis, calc.atoms
    expected_g = np.zeros(len(basis.norm2_g), dtype=complex)
    for species, moment_aL in atoms.charge_moments(occupancy_sx.sum(0)):
        shape_Lg = shape_of(atoms, species.setup).numpy()
        for n, a in enumerate(species.atom_a):
            phase_g = np.exp(-1j * basis.vector_gv.numpy() @ calc.structure.positions_av[a])
            expected_g += moment_aL[n].numpy() @ shape_Lg * phase_g
    np.testing.assert_allclose(atoms.compensation_charge(occupancy_sx.sum(0)), expected_g, atol=1e-13)


def test_compensation_charge_makes_the_crystal_neutral(calc):
    """Smooth density, smooth cores, compensation charges with nuclei: no net charge."""
    atoms, density = calc.atoms, calc.starting_density()
    total = density.density_sg[:, 0].sum() + atoms.pseudo_core_g[0]
    total = total + atoms.compensation_charge(density.occupancy_sx[0])[0]
    assert float(total.abs()) * calc.basis.volume < 1e-3
    # the charges alone are far from neutral
    assert float(atoms.compensation_charge(density.occupancy_sx[0])[0].abs()) * calc.basis.volume > 1


def test_valence_part_and_core_part_are_the_whole_compensation_charge(calc, occupancy_sx):
    atoms, count = calc.atoms, calc.basis.density_count
    valence_sg = atoms.valence_compensation(occupancy_sx)
    assert valence_sg.shape == (2, count)
    core_g = atoms.compensation_charge(torch.zeros_like(occupancy_sx[0]))[:count]
    whole_g = atoms.compensation_charge(occupancy_sx.sum(0))[:count]
    np.testing.assert_allclose(valence_sg.sum(0) + core_g, whole_g, atol=1e-13)
    for spin in range(2):
        alone_sg = atoms.valence_compensation(occupancy_sx[spin : spin + 1])
        np.testing.assert_allclose(valence_sg[spin], alone_sg[0], atol=1e-15)


def test_charge_of_the_valence_is_the_overlap_correction(calc, occupancy_sx):
    """Volume times the g = 0 wave of n^ is sum dS_ij D_ij: with the smooth density all valence electrons."""
    atoms = calc.atoms
    inside = sum(
        float((atoms.layout.blocks(occupancy_sx, s).sum(0) * torch.as_tensor(s.setup.overlap_ij)).sum())
        for s in atoms.layout.species
    )
    hat = float(atoms.valence_compensation(occupancy_sx)[:, 0].real.sum()) * calc.basis.volume
    assert hat == pytest.approx(inside, rel=1e-12)


def test_potential_moments_are_the_adjoint_of_the_charge(calc, occupancy_sx):
    """sum_aL Q_aL (v|g_aL) = integral of v times the compensation charge, for any real v."""
    basis, atoms = calc.basis, calc.atoms
    draw = torch.Generator().manual_seed(4)
    potential_g = torch.randn(len(basis.norm2_g), generator=draw, dtype=torch.complex128)
    potential_g.imag[0] = 0
    pairs = zip(atoms.charge_moments(occupancy_sx.sum(0)), atoms.compensation_potential(potential_g), strict=True)
    total = 0.0
    for (species, moment_aL), (same, value_aL) in pairs:
        assert same is species
        total += float((moment_aL * value_aL).sum())
    whole = float(basis.inner(potential_g, atoms.compensation_charge(occupancy_sx.sum(0))))
    assert total == pytest.approx(whole, rel=1e-11)
    assert abs(total) > 1e-3
