"""Points of the FFT grid that symmetry makes equal."""

import numpy as np
import pytest

from eigenwerk.dft.basis.grid_orbits import grid_orbits
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.density.symmetrise import make_symmetriser
from eigenwerk.dft.terms.xc import exchange_correlation
from eigenwerk.functionals.table import find_functional
from eigenwerk.units import BOHR_ANGSTROM

IRON = 2.83 / BOHR_ANGSTROM * np.eye(3)


@pytest.fixture(scope="module", params=["diamond", "ferromagnet", "antiferromagnet"])
def calc(request, crystal, calculation):
    if request.param == "diamond":
        return calculation(crystal("si"), symmetry_level=2, precision="Normal")
    moments = (2.5, 2.5) if request.param == "ferromagnet" else (2.5, -2.5)
    structure = Structure(IRON, ("Fe", "Fe"), np.array([[0, 0, 0], [0.5, 0.5, 0.5]]), moments)
    return calculation(structure, symmetry_level=2, spins=2)


@pytest.fixture(scope="module")
def density_sg(calc, disturbed):
    """Symmetric, but of no other shape."""
    density = disturbed(calc.atoms, calc.parameters.spins, calc.parameters.electrons)
    symmetric = make_symmetriser(calc.kpoints.symmetry, calc.atoms)(density)
    return symmetric.density_sg + calc.atoms.pseudo_core_g / calc.parameters.spins


def test_a_symmetric_field_is_the_same_at_all_points_of_a_set(calc, density_sg):
    orbits = grid_orbits(calc.kpoints.symmetry, calc.basis.grids.fine, calc.runtime)
    field_sx = calc.basis.fine_map.to_grid(density_sg).flatten(1)
    again_sx = orbits.expanded(orbits.reduced(field_sx))
    np.testing.assert_allclose(again_sx, field_sx, atol=1e-12 * float(field_sx.abs().max()))
    assert float(orbits.size_u.sum()) == field_sx.shape[1]
    assert len(orbits.size_u) < 0.75 * field_sx.shape[1]


def test_symmetry_changes_neither_energy_nor_potential(calc, density_sg):
    functional = find_functional(calc.parameters.functional)
    orbits = grid_orbits(calc.kpoints.symmetry, calc.basis.grids.fine, calc.runtime)
    waves = {"density": density_sg}
    energy, whole = exchange_correlation(waves, calc.basis, functional)
    fast_energy, fast = exchange_correlation(waves, calc.basis, functional, orbits)
    potential_sg, fast_sg = whole["density"], fast["density"]
    assert float(fast_energy) == pytest.approx(float(energy), rel=1e-13)
    np.testing.assert_allclose(fast_sg, potential_sg, atol=1e-10)


def test_operations_that_miss_the_grid_are_left_out(crystal, calculation):
    """Diamond's glides move by a quarter of the cell, which is no step of 18 along an axis."""
    calc = calculation(crystal("si"), symmetry_level=2)
    fitting, missing = (grid_orbits(calc.kpoints.symmetry, (n, n, n), calc.runtime) for n in (20, 18))
    assert fitting is not None and missing is not None
    assert len(missing.size_u) / 18**3 > 1.5 * len(fitting.size_u) / 20**3


def test_the_identity_alone_makes_no_sets(crystal, calculation):
    calc = calculation(crystal("sic_bent"))
    assert grid_orbits(calc.kpoints.symmetry, (20, 20, 20), calc.runtime) is None


@pytest.mark.parametrize("size_c", [(8, 8, 8), (9, 9, 9), (8, 8, 4), (4, 12, 8)])
def test_sets_are_what_the_operations_reach_from_each_point(calc, size_c):
    """Number of the lowest image of each point, one operation after the other on all points in fractions."""
    symmetry, size = calc.kpoints.symmetry, np.array(size_c)
    point_xc = np.indices(size_c).reshape(3, -1).T
    lowest_x = np.arange(len(point_xc))
    for matrix_cc, shift_c, flip in zip(
        symmetry.rotation_occ, symmetry.translation_oc, symmetry.spin_flip_o, strict=True
    ):
        image_xc = (point_xc / size @ matrix_cc.T + shift_c) * size
        if not flip and np.abs(image_xc - np.rint(image_xc)).max() < 1e-6:
            image_xc = np.rint(image_xc).astype(int) % size
            lowest_x = np.minimum(lowest_x, np.ravel_multi_index(tuple(image_xc.T), size_c))
    orbits = grid_orbits(symmetry, size_c, calc.runtime)
    first_u, orbit_x, count_u = np.unique(lowest_x, return_inverse=True, return_counts=True)
    for found, expected in ((orbits.first_u, first_u), (orbits.orbit_x, orbit_x), (orbits.size_u, count_u)):
        np.testing.assert_array_equal(found, expected)
    assert len(first_u) < 0.75 * len(lowest_x)
