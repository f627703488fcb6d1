"""Symmetrised densities and forces: invariant, idempotent, and what the operations mean in real space."""

import numpy as np
import pytest
import torch

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.density.density import Density, electrons_of
from eigenwerk.dft.density.symmetrise import make_symmetriser
from eigenwerk.units import BOHR_ANGSTROM

HCP = np.array([[2.66, 0, 0], [-1.33, 1.33 * np.sqrt(3), 0], [0, 0, 4.95]])
STRUCTURES = {
    # diamond: glides; hcp: screws, hexagonal axes; afm: operations that flip the spin; quartz-like: three-fold screw
    "si": (5.43 * (1 - np.eye(3)) / 2, ("Si", "Si"), [[0, 0, 0], [0.25, 0.25, 0.25]], None),
    "hcp": (HCP, ("Ti", "Ti"), [[1 / 3, 2 / 3, 0.25], [2 / 3, 1 / 3, 0.75]], None),
    "afm": (2.86 * np.eye(3), ("Fe", "Fe"), [[0, 0, 0], [0.5, 0.5, 0.5]], (2.0, -2.0)),
    # a cell of four primitive ones: pure translations
    "fcc": (4.05 * np.eye(3), ("Al",) * 4, [[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]], None),
    "spiral": (
        [[4.0, 0, 0], [-2.0, 2.0 * np.sqrt(3), 0], [0, 0, 5.4]], ("Si", "Si", "Si"),
        [[0.47, 0, 0], [0, 0.47, 1 / 3], [0.53, 0.53, 2 / 3]], None,
    ),
}  # fmt: skip
EXPECTED_ORDER = {"si": 48, "hcp": 24, "afm": 96, "fcc": 192, "spiral": 6}


@pytest.fixture(scope="module", params=list(STRUCTURES))
def case(request, calculation, disturbed):
    cell_cv, symbols, scaled_ac, moments = STRUCTURES[request.param]
    structure = Structure(np.array(cell_cv) / BOHR_ANGSTROM, symbols, np.array(scaled_ac), moments)
    spins = 1 if moments is None else 2
    calc = calculation(structure, symmetry_level=1, spins=spins, cutoff_eV=60.0)
    symmetry = find_symmetry(structure, 1e-5, 1)
    assert symmetry.order == EXPECTED_ORDER[request.param]
    density = disturbed(calc.atoms, spins, calc.parameters.electrons, size=0.1)
    return calc, symmetry, make_symmetriser(symmetry, calc.atoms), density


def same(one: Density, two: Density, tolerance=1e-12):
    return max(
        float((one.density_sg - two.density_sg).abs().max()), float((one.occupancy_sx - two.occupancy_sx).abs().max())
    ) < tolerance  # fmt: skip


def test_symmetriser_is_a_projection(case):
    _, _, symmetrise, density = case
    once = symmetrise(density)
    assert not same(once, density, 1e-3)
    assert same(symmetrise(once), once)


def test_electrons_are_conserved(case):
    calc, _, symmetrise, density = case
    before_s, after_s = electrons_of(density, calc.atoms), electrons_of(symmetrise(density), calc.atoms)
    assert float(after_s.sum()) == pytest.approx(float(before_s.sum()), abs=1e-11)


def test_superposed_atoms_are_symmetric_already(case):
    calc, _, symmetrise, _ = case
    start = calc.starting_density()
    assert same(symmetrise(start), start, 1e-11)


def test_density_is_invariant_under_every_operation_in_real_space(case):
    """n_s(W x + t) = n_s'(x) at random points, s' the other spin for operations that flip."""
    calc, symmetry, symmetrise, density = case
    density_sg = symmetrise(density).density_sg.numpy() * calc.basis.weight_g[: calc.basis.density_count].numpy()
    index_gc = calc.basis.index_gc[: calc.basis.density_count].numpy()
    point_xc = np.random.default_rng(1).random((5, 3))

    def value_sx(x_xc):
        return (density_sg @ np.exp(2j * np.pi * index_gc @ x_xc.T)).real

    here_sx = value_sx(point_xc)
    assert np.ptp(here_sx, axis=1).min() > 1e-3
    operations = zip(symmetry.rotation_occ, symmetry.translation_oc, symmetry.spin_flip_o, strict=True)
    for rotation_cc, translation_c, flip in operations:
        there_sx = value_sx(point_xc @ rotation_cc.T + translation_c)
        np.testing.assert_allclose(there_sx, here_sx[::-1] if flip else here_sx, atol=1e-12)


def test_symmetrised_density_has_a_symmetric_energy_and_potential(case):
    """The potential of a symmetric density is symmetric: smooth part and one-centre part."""
    calc, _, symmetrise, density = case
    potential = calc.builder(symmetrise(density))
    again = symmetrise(potential.derivative)
    # the xc grid maps onto itself, the angular mesh only under cubic operations, but is fine enough for all
    assert float((again.value["density"] - potential.vt_sg).abs().max()) < 1e-9
    assert float((again.value["occupancy"] - potential.dH_sx).abs().max()) < 1e-6


def test_forces_are_invariant_under_every_operation(case):
    calc, symmetry, symmetrise, _ = case
    atoms = len(calc.structure.symbols)
    draw = torch.Generator().manual_seed(1)
    force_av = symmetrise.forces(torch.randn((atoms, 3), generator=draw, dtype=torch.float64))
    for rotation_vv, map_a in zip(symmetry.rotation_ovv, symmetry.atom_map_oa, strict=True):
        moved_av = np.empty((atoms, 3))
        moved_av[map_a] = force_av.numpy() @ rotation_vv.T
        np.testing.assert_allclose(moved_av, force_av, atol=1e-12)
    np.testing.assert_allclose(symmetrise.forces(force_av), force_av, atol=1e-12)


def test_a_symmetric_force_survives():
    """In the spiral each atom sits on a two-fold axis: only the force along it remains, and it is not lost."""
    cell_cv, symbols, scaled_ac, _ = STRUCTURES["spiral"]
    structure = Structure(np.array(cell_cv) / BOHR_ANGSTROM, symbols, np.array(scaled_ac))
    symmetry = find_symmetry(structure, 1e-5, 1)
    axis_v = structure.lattice_cv[0] / np.linalg.norm(structure.lattice_cv[0])
    force_av = np.zeros((3, 3))
    for rotation_vv, map_a in zip(symmetry.rotation_ovv, symmetry.atom_map_oa, strict=True):
        force_av[map_a[0]] = rotation_vv @ axis_v
    np.testing.assert_allclose(np.linalg.norm(force_av, axis=1), 1.0, atol=1e-12)


def test_spin_flips_make_an_antiferromagnet(case):
    calc, symmetry, symmetrise, density = case
    if not symmetry.spin_flip_o.any():
        assert not density.spin.polarised
        return
    count_s = electrons_of(symmetrise(density), calc.atoms)
    assert float(count_s[0]) == pytest.approx(float(count_s[1]), abs=1e-11)


def test_one_operation_changes_nothing(crystal, calculation, disturbed):
    calc = calculation(crystal("sic_bent"), cutoff_eV=60.0)
    density = disturbed(calc.atoms, 1, 8.0)
    assert make_symmetriser(calc.kpoints.symmetry, calc.atoms)(density) is density
