"""Orbitals on the grid of pairs are the same functions as on their own grid; the grid holds the sphere around any q."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from eigenwerk.dft.basis.grids import PAIR_FACTOR, sphere_radius
from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.exchange.pairs.pair_grid import PairGrid, repetitions

CASES = {
    "complex": ("sic_bent", {"mesh": (1, 2, 1), "shift": (0, 0.5, 0)}),
    "real in space": ("sic_bent", {"real": True, "mesh": (1, 1, 2), "symmetry_level": 0}),
    "real by inversion": ("pairs", {"real": True, "mesh": (1, 2, 1), "symmetry_level": 2}),
    "inversion, grids shifted": ("pairs", {"real": True, "mesh": (1, 2, 1), "symmetry_level": 2, "cutoff_eV": 90.0}),
}  # fmt: skip


@pytest.mark.fast("complex-Normal", "complex-Fast", "inversion*-Low", "real*")
@pytest.mark.parametrize("precision", PAIR_FACTOR)
@pytest.mark.parametrize("name", CASES)
def test_there_and_back_orbitals_are_themselves(name, precision, calculation, crystal):
    crystal_name, settings = CASES[name]
    basis = calculation(crystal(crystal_name), **settings).basis
    sphere_map, count = PairGrid.of(basis, precision).sphere_map(basis), basis.mask_kG.shape[0]
    draw = torch.Generator().manual_seed(2)
    x_knG = torch.randn((count, 3, basis.mask_kG.shape[1]), generator=draw, dtype=torch.float64).to(basis.form.dtype)
    x_knG = x_knG * basis.mask_kG[:, None]
    back_knG = sphere_map.from_grid(sphere_map.to_grid(x_knG), 3) * basis.mask_kG[:, None]
    torch.testing.assert_close(back_knG, x_knG, atol=1e-12, rtol=0)


def test_values_at_points_that_both_grids_have_are_the_same(calculation, crystal):
    """The first point of all, for grids at the origin."""
    basis = calculation(crystal("sic_bent"), mesh=(1, 1, 2)).basis
    sphere_map = PairGrid.of(basis, "Normal").sphere_map(basis)
    assert sphere_map.grid.size_c != basis.grids.wave
    x_knG = torch.randn(basis.mask_kG.shape, dtype=torch.float64)[:, None].to(basis.form.dtype) * basis.mask_kG[:, None]
    here, there = (one.to_grid(x_knG)[:, :, 0, 0, 0] for one in (sphere_map, basis.sphere_map))
    torch.testing.assert_close(here, there)


@pytest.mark.parametrize("precision", PAIR_FACTOR)
def test_the_grid_holds_the_sphere_around_every_wave_vector(precision, calculation, crystal):
    basis = calculation(crystal("sic_bent")).basis
    grid = PairGrid.of(basis, precision)
    assert grid.wave == pytest.approx(PAIR_FACTOR[precision] * sphere_radius(basis.cutoff))
    reach_c = grid.wave * np.linalg.norm(basis.sphere_cv, axis=1) / (2 * np.pi)
    assert (reach_c < np.array(grid.size_c) / 2).all()


def test_the_grid_stays_in_a_strained_cell(calculation, crystal):
    basis = calculation(crystal("sic_bent")).basis
    strained = basis.strained(1.1 * basis.lattice.vector_cv)
    assert PairGrid.of(strained, "Normal").size_c == PairGrid.of(basis, "Normal").size_c


def test_a_repeated_cell_repeats_the_points_of_the_primitive_one(calculation, crystal):
    """So that a crystal and its supercell have the same energy to rounding: LiH by Hartree-Fock differed by 9e-5 eV."""
    si = crystal("si")
    once = PairGrid.of(calculation(si, symmetry_level=2).basis, "Normal")
    for times_c in ((1, 1, 2), (3, 1, 1), (2, 2, 1)):
        shift_xc = np.array(list(np.ndindex(*times_c)))
        structure = replace(
            si, lattice_cv=si.lattice_cv * np.array(times_c)[:, None], symbols=si.symbols * len(shift_xc), kinds=(),
            scaled_ac=np.concatenate([(si.scaled_ac + shift_c) / times_c for shift_c in shift_xc]),
        )  # fmt: skip
        for level in (0, 2):
            repeated = PairGrid.of(calculation(structure, symmetry_level=level).basis, "Normal")
            assert repeated.size_c == tuple(np.array(once.size_c) * times_c)


def test_cells_that_repeat_no_primitive_cell_along_their_vectors_have_points_of_their_own(calculation, crystal):
    si = crystal("si")
    cubic_cv = np.array([[-1, 1, 1], [1, -1, 1], [1, 1, -1]]) @ si.lattice_cv
    corner_xc = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    basis_ac = si.scaled_ac @ si.lattice_cv @ np.linalg.inv(cubic_cv)
    structure = replace(
        si, lattice_cv=cubic_cv, symbols=si.symbols * 4, kinds=(),
        scaled_ac=np.concatenate([basis_ac + c for c in corner_xc]),
    )  # fmt: skip
    assert np.array_equal(repetitions(find_symmetry(structure, 1e-5, 2)), [1, 1, 1])
