"""The lattice: reciprocal vectors, volume, and lengths with derivatives everywhere."""

import numpy as np
import pytest
import torch

from eigenwerk.dft.basis.lattice import Lattice, length, square


@pytest.fixture(params=[1, -1], ids=["right-handed", "left-handed"])
def lattice(request, crystal):
    vector_cv = torch.tensor(crystal("sic_bent").lattice_cv)
    return Lattice(request.param * vector_cv, vector_cv.device)


def test_lattice_and_its_reciprocal_are_dual(lattice):
    dual_cc = lattice.vector_cv @ lattice.reciprocal_cv.T
    np.testing.assert_allclose(dual_cc, 2 * np.pi * np.eye(3), atol=1e-14)


def test_measures_are_those_of_the_structure(lattice, crystal):
    structure, sign = crystal("sic_bent"), float(lattice.vector_cv[0, 0].sign())
    assert float(lattice.volume) == pytest.approx(structure.volume, rel=1e-14)
    index_xc = torch.tensor([[1, -2, 3], [0, 0, 0]])
    np.testing.assert_allclose(lattice.waves(index_xc), sign * index_xc.numpy() @ structure.reciprocal_cv, atol=1e-14)
    place_av = lattice.places(torch.tensor(structure.scaled_ac))
    np.testing.assert_allclose(place_av, sign * structure.positions_av, atol=1e-14)


def test_lengths_have_finite_derivatives_at_zero():
    """First and second ones, also through the square root of zero that padding and q = 0 need."""
    vector_xv = torch.tensor([[0.0, 0.0, 0.0], [3.0, 0.0, 4.0]], dtype=torch.float64, requires_grad=True)
    length_x = length(square(vector_xv))
    np.testing.assert_allclose(length_x.detach(), [0, 5], atol=1e-15)
    (slope_xv,) = torch.autograd.grad(length_x.sum(), vector_xv, create_graph=True)
    np.testing.assert_allclose(slope_xv.detach(), [[0, 0, 0], [0.6, 0, 0.8]], atol=1e-15)
    (bend_xv,) = torch.autograd.grad(slope_xv[:, 0].sum(), vector_xv)
    np.testing.assert_allclose(bend_xv, [[0, 0, 0], [0.2 - 0.072, 0, -0.096]], atol=1e-15)
