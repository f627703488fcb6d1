"""The term of non-local correlation: potential, forces by smooth cores, strain."""

import pytest
import torch

from eigenwerk.dft.terms.builder import PotentialBuilder
from eigenwerk.dft.terms.non_local import NonLocalTerm
from eigenwerk.functionals.non_local import NonLocal

CASES = {
    "Dion": ("sic_bent", 1, NonLocal()), "two spins": ("fe_bent", 2, NonLocal(gradient=-1.8867)),
    "resolved": ("fe_bent", 2, NonLocal(spin_resolved=True)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_potential_and_forces_are_derivatives_of_the_energy(alone, name):
    crystal, spins, non_local = CASES[name]
    term = alone(lambda calc: NonLocalTerm(calc.atoms, non_local), crystal, spins=spins)
    term.assert_potential_is_the_derivative()
    assert float(term.assert_forces_are_the_derivative().abs().max()) > 1e-6


def test_the_total_density_counts_where_spins_are_not_resolved(alone):
    """Both components feel the same, and a magnetisation nothing."""
    term = alone(lambda calc: NonLocalTerm(calc.atoms, NonLocal()), "fe_bent", spins=2)
    builder: PotentialBuilder = term.builder
    up_g, down_g = builder(term.density).derivative.value["density"]
    torch.testing.assert_close(up_g, down_g, rtol=0.0, atol=0.0)
