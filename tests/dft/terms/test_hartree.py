"""Electrostatics of periodic charges against closed forms."""

from math import erf, pi, sqrt

import numpy as np
import pytest
import torch

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.terms.hartree import Hartree, hartree

MADELUNG_ROCKSALT = 1.7475645946331822
"""Madelung constant of rock salt for the distance of nearest neighbours."""


def gaussians(basis, charge_a, width):
    """Charges q_a (pi w^2)^(-3/2) exp(-|r - R_a|^2 / w^2) as coefficients on the electrostatic sphere."""
    scaled_ac = torch.as_tensor(np.array(basis.structure.scaled_ac))
    phase_ag = torch.exp(-2j * pi * (scaled_ac @ basis.index_gc.T.to(torch.float64)))
    form_g = torch.exp(-basis.norm2_g * width**2 / 4) / basis.volume
    return (torch.as_tensor(charge_a).to(torch.complex128) @ phase_ag) * form_g


def test_ions_of_rock_salt_have_the_madelung_energy(basis_of):
    edge, width = 8.0, 0.6
    fcc_ac = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    structure = Structure(edge * np.eye(3), ("H",) * 8, np.concatenate([fcc_ac, (fcc_ac + [0.5, 0, 0]) % 1]))
    basis = basis_of(structure, 400.0)
    energy, _ = hartree(gaussians(basis, np.repeat([1.0, -1.0], 4), width), basis)
    # a Gaussian's energy with itself is 1 / (w sqrt(2 pi)); different ions do not overlap
    self_energy = 8 / (width * sqrt(2 * pi))
    assert erf(edge / 2 / (sqrt(2) * width)) == pytest.approx(1.0, abs=1e-10)
    assert float(energy) - self_energy == pytest.approx(-4 * MADELUNG_ROCKSALT / (edge / 2), abs=2e-8)


def test_potential_is_energy_derivative(basis_of, crystal):
    basis = basis_of(crystal("sic_bent"), 80.0)
    draw = torch.Generator().manual_seed(1)
    charge_g, change_g = torch.randn((2, len(basis.norm2_g)), generator=draw, dtype=torch.complex128)
    step = 1e-3
    up, down = (hartree(charge_g + sign * step * change_g, basis)[0] for sign in (1, -1))
    slope = float(basis.inner(hartree(charge_g, basis)[1], change_g))
    assert float(up - down) / (2 * step) == pytest.approx(slope, rel=1e-9)


@pytest.mark.parametrize(("name", "spins"), [("sic_bent", 1), ("fe_bent", 2)])
def test_potential_and_forces_with_compensation_charges_are_derivatives_of_the_energy(alone, name, spins):
    term = alone(lambda calc: Hartree(calc.atoms), name, spins=spins)
    term.assert_potential_is_the_derivative()
    assert float(term.assert_forces_are_the_derivative().abs().max()) > 1e-3


def test_potential_solves_the_poisson_equation_of_one_wave(basis_of, crystal):
    basis = basis_of(crystal("sic_bent"), 80.0)
    charge_g = torch.zeros(len(basis.norm2_g), dtype=torch.complex128)
    charge_g[7] = 0.3 - 0.2j
    energy, potential_g = hartree(charge_g, basis)
    np.testing.assert_allclose(basis.norm2_g * potential_g, 4 * pi * charge_g, atol=1e-12)
    assert float(energy) == pytest.approx(float(basis.volume * 0.13 * 4 * pi / basis.norm2_g[7]), rel=1e-12)


def test_a_net_charge_is_neutralised(basis_of, crystal):
    basis = basis_of(crystal("si"), 80.0)
    charge_g = torch.zeros(len(basis.norm2_g), dtype=torch.complex128)
    charge_g[0] = 2.0
    energy, potential_g = hartree(charge_g, basis)
    assert float(energy) == 0 and (potential_g == 0).all()
