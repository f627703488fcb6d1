"""Densities of bands and of superposed atoms against slow sums, and the conservation of charge."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from eigenwerk.dft.density.density import (
    atomic_density,
    electrons_of,
    moment_per_atom,
    moved,
    polarised_occupancy,
    superposed_atoms,
)
from eigenwerk.dft.density.kinds.occupancy import band_occupancies
from eigenwerk.dft.density.kinds.valence import band_density
from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.scf.bands import density_of_bands
from eigenwerk.dft.spin.form import COLLINEAR, SPINOR, UNPOLARISED
from eigenwerk.linalg.dense import dense_eigh
from eigenwerk.linalg.ritz import first_ritz


@pytest.fixture(scope="module")
def calc(crystal, calculation):
    return calculation(crystal("sic_bent"), mesh=(2, 1, 1), cutoff_eV=70.0)


@pytest.fixture(scope="module")
def orbitals(calc):
    """Random S-orthonormal orbitals and a filling with gaps, negative and fractional occupations."""
    shape = (len(calc.basis.count_k), 6, calc.basis.mask_kG.shape[1])
    coeff_knG = torch.randn(shape, generator=torch.Generator().manual_seed(2), dtype=torch.complex128)
    coeff_knG = coeff_knG * calc.basis.mask_kG[:, None]
    potential = calc.builder(calc.starting_density())
    coeff_knG = first_ritz(Hamiltonian.of(calc.atoms, potential).block(), coeff_knG, dense_eigh).images.x_knx
    occ_kn = torch.tensor([[2.0, 2.0, 1.3, 0.0, -0.02, 0.0], [2.0, 1.9, 0.4, 0.2, 0.0, 0.0]], dtype=torch.float64)
    return coeff_knG, occ_kn[: shape[0]] * calc.basis.weight_k[:, None]


def test_band_density_is_the_sum_of_squares_in_real_space(calc, orbitals):
    coeff_knG, filling_kn = orbitals
    basis = calc.basis
    density_R = band_density(basis, coeff_knG, filling_kn).flatten()
    axes = [np.arange(size) / size for size in basis.grids.wave]
    point_Rc = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)[::13]
    expected_R = np.zeros(len(point_Rc))
    for k, point_c in enumerate(basis.kpoints.point_kc):
        index_Gc = basis.index_khc[k, : basis.count_k[k]].numpy() + point_c
        wave_nR = coeff_knG[k, :, : basis.count_k[k]].numpy() @ np.exp(2j * np.pi * index_Gc @ point_Rc.T)
        expected_R += filling_kn[k].numpy() @ np.abs(wave_nR) ** 2 / float(basis.volume)
    np.testing.assert_allclose(density_R[::13], expected_R, atol=1e-13)


def test_band_occupancies_are_the_sum_of_projections(calc, orbitals):
    coeff_knG, filling_kn = orbitals
    proj_knI = coeff_knG @ calc.atoms.projector_kIG.mH
    flat_x = band_occupancies(calc.atoms, proj_knI, filling_kn)
    whole_II = torch.einsum("kn,knI,knJ->IJ", filling_kn.to(torch.complex128), proj_knI, proj_knI.conj()).real
    for species in calc.atoms.layout.species:
        for start, block_ij in zip(species.start_a, calc.atoms.layout.blocks(flat_x, species), strict=True):
            stop = start + len(block_ij)
            np.testing.assert_allclose(block_ij, whole_II[start:stop, start:stop], atol=1e-12)


def test_batches_of_bands_do_not_change_the_density(calc, orbitals, monkeypatch):
    coeff_knG, filling_kn = orbitals
    whole_R = band_density(calc.basis, coeff_knG, filling_kn)
    points = int(np.prod(calc.basis.grids.wave))
    for bands in (1, 4):
        monkeypatch.setattr("eigenwerk.parallel.runtime.CACHE_GRID_BYTES", bands * points * 16)
        again_R = band_density(calc.basis, coeff_knG, filling_kn)
        np.testing.assert_allclose(again_R, whole_R, atol=1e-14)


def test_bands_hold_as_many_electrons_as_their_filling(calc, orbitals):
    """Orthonormality under S: smooth charge plus dS.D is one electron per filled state."""
    coeff_knG, filling_kn = orbitals
    density = density_of_bands(calc.atoms, coeff_knG[None], filling_kn[None])
    assert float(electrons_of(density, calc.atoms)[0]) == pytest.approx(float(filling_kn.sum()), abs=1e-11)


@pytest.mark.parametrize(("name", "spins"), [("sic_bent", 1), ("al_pair", 1), ("fe_bent", 2), ("o2", 2)])
def test_start_holds_all_electrons_and_the_given_moment(crystal, calculation, name, spins):
    calc = calculation(crystal(name), spins=spins, cutoff_eV=200.0)
    density = calc.starting_density()
    count_s = electrons_of(density, calc.atoms)
    assert density.spin.components == spins
    assert float(count_s.sum()) == pytest.approx(calc.parameters.electrons, abs=1e-10)
    if spins == 2:
        wanted = float(np.sum(crystal(name).magmom_a))
        assert float(count_s[0] - count_s[1]) == pytest.approx(wanted, abs=2e-3 * wanted)


def test_superposed_atoms_are_neutral_before_they_are_scaled(crystal, calculation):
    """The smooth density of the atoms integrates to what their data say: the scale factor is close to one."""
    calc = calculation(crystal("sic_bent"), cutoff_eV=300.0)
    density = atomic_density(calc.atoms, 8.0, None)
    setup_s = [species.setup for species in calc.atoms.layout.species]
    one_centre = sum(
        float((calc.atoms.layout.blocks(density.occupancy_sx, species)[0, 0].diagonal()).sum())
        for species in calc.atoms.layout.species
    )
    assert one_centre == pytest.approx(sum(setup.atom_occupancy_j.sum() for setup in setup_s), rel=1e-4)


def test_moments_of_atoms_follow_their_starting_moments(crystal, calculation):
    calc = calculation(crystal("fe_bent"), spins=2, cutoff_eV=200.0)
    antiparallel = atomic_density(calc.atoms, 16.0, np.array([2.5, -2.5]))
    count_s = electrons_of(antiparallel, calc.atoms)
    assert float(count_s[0] - count_s[1]) == pytest.approx(0.0, abs=1e-10)
    moment_a = moment_per_atom(antiparallel, calc.atoms)
    assert moment_a[0] == pytest.approx(-moment_a[1], abs=1e-12)
    # most, but not all of the 3d moment lies inside the sphere
    assert 1.7 < moment_a[0] < 2.5
    assert (moment_per_atom(atomic_density(calc.atoms, 16.0, None), calc.atoms) == 0).all()


@pytest.mark.parametrize("moment", [0.0, 1.0, -2.5, 4.0, 7.9])
def test_polarised_atoms_keep_their_electrons_and_get_their_moment(setup, moment):
    table = setup("Fe")
    occupancy_sj = polarised_occupancy(table, moment, COLLINEAR)
    np.testing.assert_allclose(occupancy_sj.sum(0), table.atom_occupancy_j, atol=1e-12)
    assert (occupancy_sj >= -1e-12).all()
    assert (occupancy_sj[0] - occupancy_sj[1]).sum() == pytest.approx(moment, abs=1e-10)


def test_moment_beyond_all_electrons_saturates(setup):
    occupancy_sj = polarised_occupancy(setup("Fe"), 20.0, COLLINEAR)
    assert (occupancy_sj >= -1e-12).all()
    assert (occupancy_sj[0] - occupancy_sj[1]).sum() == pytest.approx(8.0, abs=1e-10)


def test_moment_goes_to_the_open_shell(setup):
    table = setup("Fe")
    moment_j = np.subtract(*polarised_occupancy(table, 3.0, COLLINEAR))
    l_of_moment = {table.l_j[j] for j in np.flatnonzero(moment_j > 0.1)}
    assert l_of_moment == {2}


# --- moved atoms -----------------------------------------------------------------------------------------------------


def elsewhere(structure, strain=1.0):
    """Two atoms moved by some tenths of a bohr, in another cell."""
    position_ac = structure.scaled_ac + [[0.02, -0.03, 0.01], [-1.01, 0.0, 0.02]]
    return replace(structure, lattice_cv=strain * structure.lattice_cv, scaled_ac=position_ac)


@pytest.mark.parametrize(("strain", "spins"), [(1.0, 1), (1.01, 1), (1.01, 2)])
def test_superposed_atoms_move_to_superposed_atoms(crystal, calculation, strain, spins):
    """What is the density of atoms at one place, is that of atoms at the other."""
    there, here = (
        calculation(structure, spins=spins, cutoff_eV=120.0)
        for structure in (crystal("sic_bent"), elsewhere(crystal("sic_bent"), strain))
    )
    spin, moment_a = here.basis.spin, np.array([0.5, -0.2])
    density, wanted = (
        superposed_atoms(here.atoms, spin, moment_a, structure) for structure in (there.structure, here.structure)
    )
    assert float((density.density_sg - wanted.density_sg).abs().max()) > 5e-4
    moments_a = moment_per_atom(density, here.atoms)
    found = moved(density, here.atoms, there.structure, torch.ones(here.basis.density_count))
    torch.testing.assert_close(found.density_sg.sum(0), wanted.density_sg.sum(0), atol=1e-12, rtol=0)
    torch.testing.assert_close(found.occupancy_sx, wanted.occupancy_sx)
    np.testing.assert_allclose(moment_per_atom(found, here.atoms), moments_a, atol=1e-14)


def test_what_moves_is_the_place_and_the_cell_alone(crystal, calculation):
    """On the same waves, superposed atoms of another place are those of a calculation there, volume for volume."""
    here = calculation(crystal("sic_bent"), cutoff_eV=120.0)
    strained = here.basis.strained(1.03 * torch.tensor(here.structure.lattice_cv))
    there = PawAtoms(strained, {s.setup.symbol: s.setup for s in here.atoms.layout.species})
    ours = superposed_atoms(here.atoms, UNPOLARISED, place=strained.structure).density_sg * float(here.basis.volume)
    theirs = superposed_atoms(there, UNPOLARISED).density_sg * float(strained.volume)
    torch.testing.assert_close(ours, theirs, atol=1e-8, rtol=0)


def test_atoms_as_spinors_have_the_density_of_two_channels_along_their_moment(crystal, calculation):
    atoms = calculation(crystal("fe_bent"), spins=2, cutoff_eV=120.0).atoms
    axis_v, size_a = np.array([1.0, 2.0, 2.0]) / 3, np.linspace(1.5, 3.0, len(atoms.basis.structure.symbols))
    channels, spinors = (
        superposed_atoms(atoms, spin, moment_a)
        for spin, moment_a in ((COLLINEAR, size_a), (SPINOR, np.outer(size_a, axis_v)))
    )
    for name, value_sx in channels.value.items():
        total_x, moment_x = COLLINEAR.separated(value_sx)
        expected_sx = torch.stack([total_x, *(float(part) * moment_x for part in axis_v)])
        torch.testing.assert_close(spinors.value[name], expected_sx, atol=1e-14, rtol=1e-12)
    moment_a = moment_per_atom(channels, atoms)
    np.testing.assert_allclose(moment_per_atom(spinors, atoms), np.outer(moment_a, axis_v), atol=1e-12)
    electrons_s, channels_s = electrons_of(spinors, atoms), electrons_of(channels, atoms)
    assert SPINOR.moment(electrons_s) == pytest.approx(COLLINEAR.moment(channels_s), abs=1e-12)
