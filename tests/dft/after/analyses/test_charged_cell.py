"""Charged cells: with the corrections, charges in a box have the energy that they have alone."""

from itertools import product
from math import erf, pi, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from eigenwerk.dft.after.analyses.charged_cell import alignment_at_cores, charged_cell
from eigenwerk.dft.crystal.madelung import point_charge_potential
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.terms.hartree import hartree
from eigenwerk.errors import InputError
from eigenwerk.units import HARTREE_EV

WIDTH = 1.1
"""Of Gaussian charges exp(-r²/w²), bohr."""

CLUSTERS = {
    # positions from the middle in bohr, electrons
    "one": ([(0, 0, 0)], [1.0]),
    "pair": ([(0.7, 0.2, -0.3), (-0.8, 0.1, 0.5)], [2.0, -1.0]),
    "cation": ([(0, 0, 0), (1.2, 0, 0.4), (-0.5, 1.0, 0.1)], [1.0, -1.5, -0.5]),
}


def cell_of(basis_of, name, lattice_cv, epsilon=1.0):
    """Corrections and the energy of Gaussian charges in a cell, and their energy alone; eV."""
    offset_xv, electrons_x = map(np.array, CLUSTERS[name])
    lattice_cv = np.array(lattice_cv, dtype=float)
    # not in the middle: the charge reaches over the edge of the cell
    place_xv = offset_xv + np.array([0.9, 0.45, 0.02]) @ lattice_cv
    structure = Structure(lattice_cv, ("H",) * len(place_xv), place_xv @ np.linalg.inv(lattice_cv))
    basis = basis_of(structure, 250.0)
    vector_gv = (basis.index_gc.double() @ torch.tensor(structure.reciprocal_cv)).numpy()
    wave_xg = np.exp(-1j * place_xv @ vector_gv.T)
    shape_g = np.exp(-((WIDTH * np.linalg.norm(vector_gv, axis=1) / 2) ** 2)) / structure.volume
    charge_g = electrons_x @ wave_xg * shape_g
    charges = SimpleNamespace(charge_g=torch.tensor(charge_g), atoms=SimpleNamespace(basis=basis))
    inside = float(hartree(charges.charge_g, basis)[0]) * HARTREE_EV
    alone = 0.0
    for (here_v, one), (there_v, other) in product(zip(offset_xv, electrons_x, strict=True), repeat=2):
        distance = float(np.linalg.norm(here_v - there_v))
        shape = erf(distance / (sqrt(2) * WIDTH)) / distance if distance else sqrt(2 / pi) / WIDTH
        alone += 0.5 * one * other * shape * HARTREE_EV
    found = charged_cell(SimpleNamespace(charges=charges), -float(electrons_x.sum()), epsilon)
    return found, inside, alone


@pytest.mark.parametrize("name", CLUSTERS)
def test_second_order_leaves_little_of_the_error_in_a_cubic_box(basis_of, name):
    left = []
    for edge in (14.0, 20.0):
        found, inside, alone = cell_of(basis_of, name, np.eye(3) * edge)
        assert found.background == pytest.approx(-found.monopole)
        first, second = inside + found.monopole - alone, inside + found.monopole + found.quadrupole - alone
        assert abs(inside - alone) > 0.5 and abs(second) < 0.03 * abs(first)
        # by the potential in the corner, which higher moments reach
        assert abs(inside + found.monopole + found.alignment - alone) < 0.35 * abs(first)
        left.append(abs(second))
    if name == "one":
        assert max(left) < 1e-6
    else:
        assert left[1] < 0.35 * left[0]


@pytest.mark.parametrize(
    "lattice_cv", [np.diag([14.0, 16.0, 18.0]), [[14, 0, 0], [-5, 14, 0], [3, 1, 16]]], ids=["right", "triclinic"]
)
def test_alignment_serves_cells_of_any_shape(basis_of, lattice_cv):
    found, inside, alone = cell_of(basis_of, "one", lattice_cv)
    assert found.quadrupole is None
    assert inside + found.monopole + found.alignment == pytest.approx(alone, abs=1e-5)


def test_a_medium_weakens_the_first_order_alone(basis_of):
    found, *_ = cell_of(basis_of, "pair", np.eye(3) * 14.0, epsilon=12.0)
    vacuum, *_ = cell_of(basis_of, "pair", np.eye(3) * 14.0)
    assert found.monopole == pytest.approx(vacuum.monopole / 12) and found.background == vacuum.background
    assert found.quadrupole is None and found.alignment is None
    assert (found.charge, found.madelung) == (-1.0, pytest.approx(2.837297, abs=1e-6))


def test_slabs_and_chains_get_no_correction(basis_of):
    for edges in ((5.0, 5.0, 20.0), (5.0, 20.0, 20.0)):
        found, *_ = cell_of(basis_of, "one", np.diag(edges))
        assert found.monopole is found.quadrupole is found.alignment is None and found.background != 0.0


def test_potentials_at_cores_far_from_a_defect_give_the_shift_behind_the_point_charge():
    lattice_cv = np.array([[15.0, 0, 0], [0, 16, 0], [2, 0, 17]])
    scaled_ac = np.array(list(product((0.1, 0.6), (0.2, 0.7), (0.3, 0.8))))
    structure, place_c = Structure(lattice_cv, ("Si",) * 8, scaled_ac), (0.1, 0.2, 0.3)
    host_a = np.linspace(-80, -79, 8)
    far_a = np.arange(8) != 0
    offset_av = (scaled_ac - place_c) @ lattice_cv
    point_a = np.array([0.0, *(point_charge_potential(lattice_cv, offset_v) for offset_v in offset_av[1:])])
    charged_a = host_a - 2 / 11.7 * HARTREE_EV * point_a + 0.25 + 5.0 * ~far_a
    found = alignment_at_cores(structure, place_c, charged_a, host_a, 2.0, 11.7)
    assert found == pytest.approx((0.25, 0.5), abs=1e-9), "the atom at the defect does not count"
    with pytest.raises(InputError, match="7 and 8 potentials for 8 atoms"):
        alignment_at_cores(structure, place_c, charged_a[1:], host_a, 2.0, 11.7)
    with pytest.raises(InputError, match="take a larger cell"):
        alignment_at_cores(Structure(lattice_cv, ("Si",), [place_c]), place_c, host_a[:1], host_a[:1], 2.0, 11.7)
