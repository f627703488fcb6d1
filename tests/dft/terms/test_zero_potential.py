"""The zero potential of the data sets."""

import pytest

from eigenwerk.dft.terms.zero_potential import ZeroPotential


@pytest.mark.parametrize(("name", "spins"), [("sic_bent", 1), ("fe_bent", 2)])
def test_potential_and_forces_are_derivatives_of_the_energy(alone, name, spins):
    term = alone(lambda calc: ZeroPotential(calc.atoms), name, spins=spins)
    term.assert_potential_is_the_derivative()
    assert float(term.assert_forces_are_the_derivative().abs().max()) > 1e-4


def test_it_knows_no_occupancies(alone):
    term = alone(lambda calc: ZeroPotential(calc.atoms))
    potential = term.builder(term.density)
    assert potential.names == ("zero",) and potential.rows is None
    assert potential.dH_sx.shape == term.density.occupancy_sx.shape and not potential.dH_sx.any()
