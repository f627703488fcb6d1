"""D2: two atoms by hand, lattices by an independent sum, derivatives by differences."""

from dataclasses import replace
from itertools import product
from math import exp

import numpy as np
import pytest

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.dispersion.background import position_energy
from eigenwerk.dft.dispersion.correction import D2
from eigenwerk.dft.dispersion.pairwise import C6_UNIT, COEFFICIENTS
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV


def test_two_atoms_are_what_the_formula_says(correction, box):
    """Neon: C6 = 0.63 J nm⁶/mol = 6.5295 eV Å⁶, R0 = 1.243 Å; s6 = 0.75."""
    r = 3.2
    by_hand = -0.75 * 6.5295 / r**6 / (1 + exp(-20 * (r / (2 * 1.243) - 1)))
    found = position_energy(correction(D2), box)
    assert found.energy * HARTREE_EV == pytest.approx(by_hand, rel=1e-5)
    assert found.gradient_av[:, :2] == pytest.approx(0.0, abs=1e-15)


def test_units_and_table():
    assert pytest.approx(10.3642696) == C6_UNIT * HARTREE_EV * BOHR_ANGSTROM**6
    assert len(COEFFICIENTS) == 54 and COEFFICIENTS["C"] == (1.75, 1.452) and COEFFICIENTS["Xe"] == (29.99, 1.881)


def test_a_crystal_is_the_sum_over_all_images(correction, bent):
    given = correction(D2, radius=9.0)
    energy, place_av = 0.0, bent.positions_av
    for a, b in product(range(4), repeat=2):
        (c6, r0), (other_c6, other_r0) = (given.coefficients[bent.symbols[i]] for i in (a, b))
        for cell_c in product(range(-7, 8), repeat=3):
            r = np.linalg.norm(place_av[b] - place_av[a] + cell_c @ bent.lattice_cv)
            if 0 < r < given.radius:
                energy -= 0.5 * 0.75 * (c6 * other_c6) ** 0.5 / r**6 / (1 + exp(-20 * (r / (r0 + other_r0) - 1)))
    assert position_energy(given, bent).energy == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize("shape", [np.eye(3), np.diag([1.0, 1.0, -1.0]), [[1, 0, 0], [5, 1, 0], [0, -3, 1]]])
def test_another_cell_of_the_same_lattice_and_wrapped_atoms_are_the_same_crystal(correction, bent, shape):
    given = correction(D2, radius=20.0)
    cell_cv = np.array(shape) @ bent.lattice_cv
    scaled_ac = bent.positions_av @ np.linalg.inv(cell_cv)
    other = Structure(cell_cv, bent.symbols, scaled_ac - np.floor(scaled_ac))
    first, second = position_energy(given, bent), position_energy(given, other)
    assert second.energy == pytest.approx(first.energy, rel=1e-12)
    np.testing.assert_allclose(second.gradient_av, first.gradient_av, atol=1e-13)
    np.testing.assert_allclose(second.virial_vv, first.virial_vv, atol=1e-13)


def test_gradient_and_virial_are_derivatives(correction, bent):
    """A radius that no pair crosses during the change, so that the sum is smooth."""
    given = correction(D2, radius=6.0)
    found, step = position_energy(given, bent), 1e-5
    draw = np.random.default_rng(1)
    move_av, strain_vv = draw.normal(size=(4, 3)), draw.normal(size=(3, 3))
    strain_vv += strain_vv.T

    def difference(change):
        up, down = (position_energy(given, change(sign * step)).energy for sign in (1, -1))
        return (up - down) / (2 * step)

    inverse_cv = np.linalg.inv(bent.lattice_cv)
    moved = difference(lambda x: replace(bent, scaled_ac=bent.scaled_ac + x * move_av @ inverse_cv))
    assert (found.gradient_av * move_av).sum() == pytest.approx(moved, rel=1e-7)
    strained = difference(lambda x: replace(bent, lattice_cv=bent.lattice_cv @ (np.eye(3) + x * strain_vv)))
    assert (found.virial_vv * strain_vv).sum() == pytest.approx(strained, rel=1e-7)
    assert found.gradient_av.sum(0) == pytest.approx(0.0, abs=1e-14)
