"""One-centre energies: derivatives, spins, rotations, and the energy of whole atoms."""

from math import pi, sqrt
from typing import NamedTuple

import numpy as np
import pytest
import torch
from scipy.integrate import cumulative_simpson

from eigenwerk.dft.crystal.rotations import real_harmonics_rotation
from eigenwerk.dft.paw.radial import integrate
from eigenwerk.dft.paw.shape import radial
from eigenwerk.dft.spin.form import COLLINEAR, OF_ISPIN
from eigenwerk.dft.terms.one_centre import OneCentre, OnsiteTerms, atom_batches, onsite_energies
from eigenwerk.dft.xc.evaluation import energy_density
from eigenwerk.functionals.table import find_functional
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.units import HARTREE_EV

QUARTER_TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
THIRD_TURN = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def terms(setup, symbol, functional="PE"):
    data_functional = "LDA" if functional == "PW92" else "PBE"
    return OnsiteTerms(setup(symbol, data_functional), find_functional(functional), Runtime(), 1)


def occupancies(table, spins, atoms=2, size=0.03, seed=3):
    """Atomic occupancies plus those of random orbitals, so that densities are positive; (s, a, i, i)."""
    f_i = (table.atom_occupancy_j / (2 * np.array(table.l_j) + 1))[table.j_i]
    draw = np.random.default_rng(seed)
    orbital = draw.normal(size=(spins, atoms, len(f_i), 2 * len(f_i)))
    share_s = np.array([1.0]) if spins == 1 else np.array([0.6, 0.4])
    start = share_s[:, None, None, None] * np.diag(f_i)
    return torch.as_tensor(start + size / len(f_i) * orbital @ orbital.swapaxes(-1, -2))


class Solved(NamedTuple):
    """What a species has: energies of `OneCentre.words`, and the derivative."""

    part_e: torch.Tensor
    dH_saij: torch.Tensor


def solved(onsite, occupancy_saij):
    """Energies and derivative of one species."""
    return Solved(*onsite_energies([onsite], [occupancy_saij], OF_ISPIN[len(occupancy_saij)])[0])


def total(result):
    return float(result.part_e.sum())


def parts(result):
    return dict(zip(OneCentre.words, result.part_e.tolist(), strict=True))


def rotated(table, occupancy_saij, turn_vv):
    i = table.projector_count
    matrix_ij, start = np.zeros((i, i)), 0
    for l in table.l_j:
        stop = start + 2 * l + 1
        matrix_ij[start:stop, start:stop] = real_harmonics_rotation(l, turn_vv)
        start = stop
    matrix_ij = torch.as_tensor(matrix_ij)
    return matrix_ij @ occupancy_saij @ matrix_ij.T


@pytest.mark.fast("sic_bent-1")
@pytest.mark.parametrize(("name", "spins"), [("sic_bent", 1), ("fe_bent", 2)])
def test_term_of_all_atoms_is_the_derivative_and_has_no_force_of_its_own(alone, name, spins):
    term = alone(lambda calc: OneCentre(calc.atoms, find_functional("PE"), None), name, spins=spins)
    term.assert_potential_is_the_derivative()
    assert not term.assert_forces_are_the_derivative().any()


@pytest.mark.fast("O-*", "Si-1-PE", "Si-1-*", "Fe-1-*")
@pytest.mark.parametrize("functional", ["PW92", "PE"])
@pytest.mark.parametrize("spins", [1, 2])
@pytest.mark.parametrize("symbol", ["O", "Si", "Fe"])
def test_hamiltonian_is_the_derivative_of_the_energy(setup, symbol, spins, functional):
    onsite = terms(setup, symbol, functional)
    start = occupancies(onsite.setup, spins)
    draw = np.random.default_rng(5)
    change = draw.normal(size=start.shape)
    change = torch.as_tensor(change + change.swapaxes(-1, -2))
    step = 1e-4
    up, down = (total(solved(onsite, start + sign * step * change)) for sign in (1, -1))
    difference = (up - down) / (2 * step)
    slope = float((solved(onsite, start).dH_saij * change).sum())
    assert difference == pytest.approx(slope, rel=2e-6)


@pytest.mark.parametrize("functional", ["PW92", "PE"])
def test_equal_spins_are_the_unpolarised_atom(setup, functional):
    onsite = terms(setup, "Fe", functional)
    one = occupancies(onsite.setup, 1)
    alone, pair = solved(onsite, one), solved(onsite, torch.cat([one, one]) / 2)
    assert parts(pair) == pytest.approx(parts(alone), rel=1e-11)
    scale = float(alone.dH_saij.abs().max())
    for spin in range(2):
        np.testing.assert_allclose(pair.dH_saij[spin], alone.dH_saij[0], atol=2e-8 * scale)


def test_exchanging_the_spins_exchanges_the_hamiltonians(setup):
    onsite = terms(setup, "Fe")
    start = occupancies(onsite.setup, 2)
    here, swapped = solved(onsite, start), solved(onsite, start.flip(0))
    assert total(swapped) == pytest.approx(total(here), rel=1e-13)
    np.testing.assert_allclose(swapped.dH_saij.flip(0), here.dH_saij, atol=1e-10)


def test_atoms_are_independent(setup):
    """Energies add up, also across the batches that atoms are cut into."""
    onsite = terms(setup, "H")
    many = occupancies(onsite.setup, 2, atoms=11)
    together = solved(onsite, many)
    each = [solved(onsite, many[:, a : a + 1]) for a in range(11)]
    assert total(together) == pytest.approx(sum(map(total, each)), rel=1e-13)
    alone = torch.cat([one.dH_saij for one in each], dim=1)
    np.testing.assert_allclose(together.dH_saij, alone, atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("functional", ["PW92", "PE"])
def test_species_that_are_worked_on_together_are_independent(setup, functional, monkeypatch):
    """The same energies and Hamiltonians as alone, in one batch and in batches that cut a species."""
    several = [terms(setup, symbol, functional) for symbol in ("O", "Fe", "H")]
    given = [occupancies(one.setup, 2, atoms=atoms) for one, atoms in zip(several, (2, 1, 3), strict=True)]
    alone = [solved(one, occupancy_saij) for one, occupancy_saij in zip(several, given, strict=True)]
    for limit in (64, 2):
        monkeypatch.setattr("eigenwerk.dft.terms.one_centre.ATOMS_PER_BATCH", limit)
        together = [Solved(*found) for found in onsite_energies(several, given, COLLINEAR)]
        for found, expected in zip(together, alone, strict=True):
            assert parts(found) == pytest.approx(parts(expected), rel=1e-12)
            np.testing.assert_allclose(found.dH_saij, expected.dH_saij, atol=1e-11)


def test_batches_hold_every_atom_once_and_are_full_but_for_the_last():
    batches = atom_batches([3, 0, 7, 1], 4)
    assert [sum(atoms.stop - atoms.start for _, atoms in batch) for batch in batches] == [4, 4, 3]
    found = [(n, a) for batch in batches for n, atoms in batch for a in range(atoms.start, atoms.stop)]
    assert found == [(n, a) for n, count in enumerate([3, 0, 7, 1]) for a in range(count)]


@pytest.mark.fast("turn_vv1-O", "turn_vv3-O")
@pytest.mark.parametrize("symbol", ["O", "Fe"])
@pytest.mark.parametrize("turn_vv", [QUARTER_TURN, THIRD_TURN, -np.eye(3), THIRD_TURN @ QUARTER_TURN])
def test_cubic_operations_leave_the_energy_unchanged(setup, symbol, turn_vv):
    onsite = terms(setup, symbol)
    start = occupancies(onsite.setup, 2)
    moved = rotated(onsite.setup, start, turn_vv)
    assert total(solved(onsite, moved)) == pytest.approx(total(solved(onsite, start)), abs=1e-10)


@pytest.mark.fast("O-1e-06")
@pytest.mark.parametrize(("symbol", "limit_meV"), [("O", 1e-6), ("Si", 1e-5), ("Fe", 1e-4)])
def test_any_rotation_leaves_the_energy_within_the_error_of_the_angular_mesh(setup, random_rotation, symbol, limit_meV):
    """Electrostatics are exact; xc is as good as the Lebedev rule, here for strongly distorted atoms."""
    onsite = terms(setup, symbol)
    start = occupancies(onsite.setup, 2, size=0.1)
    here = solved(onsite, start)
    for seed in range(3):
        there = solved(onsite, rotated(onsite.setup, start, random_rotation(seed)))
        for name in ("kinetic", "electrostatic", "zero"):
            assert parts(there)[name] == pytest.approx(parts(here)[name], rel=1e-12)
        assert abs(parts(there)["xc"] - parts(here)["xc"]) * HARTREE_EV * 1000 / start.shape[1] < limit_meV


@pytest.mark.parametrize("functional", ["PW92", "PE"])
@pytest.mark.parametrize("symbol", ["H", "C", "O", "Al", "Si", "Fe", "Cu"])
def test_the_free_atom_has_the_all_electron_energy_of_the_data_set(setup, symbol, functional):
    """Smooth radial energies plus one-centre energies of the spherical atom are the all-electron total energy."""
    onsite = terms(setup, symbol, functional)
    table = onsite.setup
    f_i = (table.atom_occupancy_j / (2 * np.array(table.l_j) + 1))[table.j_i]
    corrections = total(solved(onsite, torch.diag(torch.as_tensor(f_i))[None, None]))
    smooth = smooth_energy(table, float((np.diag(table.multipole_Lij[0]) * f_i).sum()), functional)
    error_eV = (corrections + smooth - table.dataset.ae_energy.total) * HARTREE_EV
    assert abs(error_eV) < 0.005


def slope(grid, f_g):
    """df/dr by five points, of fourth order away from the ends."""
    slope_g = np.gradient(f_g, axis=-1, edge_order=2)
    slope_g[..., 2:-2] = (8 * (f_g[..., 3:-1] - f_g[..., 1:-3]) - (f_g[..., 4:] - f_g[..., :-4])) / 12
    return slope_g / grid.dr_g


def smooth_energy(table, valence_moment: float, functional: str) -> float:
    """T~ + E_H[n~ + n~_c + compensation charge] + E_xc[n~ + n~_c] + integral of v_bar, of the spherical atom."""
    data, grid = table.dataset, table.dataset.grid
    f_j, wave_jg = table.atom_occupancy_j, data.pseudo_partial_wave_jg
    l_j = np.array(table.l_j)
    slope_jg = slope(grid, wave_jg)
    centrifugal_jg = (l_j * (l_j + 1))[:, None] * wave_jg**2
    kinetic = 0.5 * f_j @ (integrate(grid, slope_jg**2) + integrate(grid, centrifugal_jg, -2))
    density_g = f_j @ wave_jg**2 / sqrt(4 * pi) + data.pseudo_core_density_g
    moment = table.multipole_core + valence_moment
    charge_g = density_g + moment * radial(table.shape, 0, grid.r_g)
    # E_H = 4π ∫ n Q r dr with the charge Q inside r, to fourth order
    inside_g = cumulative_simpson(charge_g * grid.r_g**2 * grid.dr_g, initial=0)
    hartree = 4 * pi * integrate(grid, charge_g * inside_g, -1)
    zero = integrate(grid, data.zero_potential_g * density_g)
    n_g = torch.as_tensor(density_g / sqrt(4 * pi))[None].clamp_min(0)
    sigma_g = torch.as_tensor(slope(grid, density_g) / sqrt(4 * pi))[None] ** 2
    energy_g = energy_density(find_functional(functional), {"density": n_g, "sigma": sigma_g})
    return float(kinetic + hartree + zero + 4 * pi * integrate(grid, energy_g.numpy()))
