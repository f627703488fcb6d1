"""The dispersion correction as a term: forces and strain are derivatives, fields know nothing, energies do."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from eigenwerk.dft.dispersion.correction import D2, DispersionCorrection
from eigenwerk.dft.terms.dispersion import Dispersion
from eigenwerk.dft.terms.term import Charges

GIVEN = DispersionCorrection(
    D2, "pbe", {"s6": 0.75, "sr": 1.0, "d": 20.0}, 9.0, None, {"Si": (160.0, 3.2), "C": (30.0, 2.7)}
)


def test_forces_are_the_derivative_and_the_fields_take_no_part(alone):
    term = alone(lambda calc: Dispersion(calc.atoms, GIVEN))
    derivative = term.builder(term.density).derivative
    assert all(not value.any() for value in derivative.value.values())
    assert term.assert_forces_are_the_derivative().abs().max() > 1e-4


def test_strain_is_the_derivative(calculation, crystal):
    calc = calculation(crystal("sic_bent"), cutoff_eV=120.0)
    charges, term = Charges(calc.atoms, calc.starting_density()), Dispersion(calc.atoms, GIVEN)
    strain_vv = torch.zeros((3, 3), dtype=torch.float64, requires_grad=True)
    lattice_cv = calc.basis.lattice.vector_cv
    strained = calc.atoms.strained(lattice_cv @ (torch.eye(3, dtype=torch.float64) + strain_vv).T)
    (slope_vv,) = torch.autograd.grad(term.strained(charges, strained), strain_vv)
    change_vv, step = np.array([[0.3, 0.2, -0.1], [0.2, -0.6, 0.4], [-0.1, 0.4, 0.8]]), 1e-5

    def energy(x):
        cell_cv = calc.structure.lattice_cv @ (np.eye(3) + x * change_vv)
        other = calculation(replace(calc.structure, lattice_cv=cell_cv), cutoff_eV=120.0)
        return Dispersion(other.atoms, GIVEN).found.energy

    assert (slope_vv.numpy() * change_vv).sum() == pytest.approx((energy(step) - energy(-step)) / (2 * step), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("spins", [1, 2])
def test_every_energy_of_every_step_has_it_and_the_bands_are_the_same(calculation, crystal, spins):
    name = "sic_bent" if spins == 1 else "o2"
    given = replace(GIVEN, coefficients={**GIVEN.coefficients, "O": (12.0, 2.5)})
    settings = {"cutoff_eV": 150.0, "spins": spins}
    with_it = calculation(crystal(name), dispersion=given, **settings).run().state
    without = calculation(crystal(name), **settings).run().state
    correction = with_it.energies.terms["dispersion"]
    assert correction < -1e-4 and "dispersion" not in without.energies.terms
    pairs = list(zip(with_it.history, without.history, strict=True))
    for kind in ("free", "internal", "extrapolated", "absolute_free"):
        for one, other in pairs:
            difference = getattr(one.energies, kind) - getattr(other.energies, kind)
            assert difference == pytest.approx(correction, abs=1e-11)
    torch.testing.assert_close(with_it.eig_skn, without.eig_skn, rtol=0, atol=1e-12)
