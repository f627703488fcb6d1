"""Compensation charges: unit multipoles, and the transform that belongs to them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.special import spherical_jn

from eigenwerk.dft.paw.setup import make_setup
from eigenwerk.dft.paw.shape import degrees, form_factor, radial
from eigenwerk.errors import InputError
from eigenwerk.io.paw.dataset import CompensationShape


@pytest.mark.parametrize("rc, g", [(0.3, 2.0), (0.8, 0.5)])
@pytest.mark.parametrize("l", [0, 1, 2, 4])
def test_shapes_have_unit_multipole_and_their_transform(l, rc, g):
    """∫ r² j_l(gr) g_l dr = g^l f(g) / (2l+1)!!."""
    shape = CompensationShape("gauss", rc)
    assert quad(lambda r: r ** (l + 2) * radial(shape, l, r), 0, 9)[0] == pytest.approx(1.0, abs=1e-9)
    found = quad(lambda r: r**2 * spherical_jn(l, g * r) * radial(shape, l, r), 0, 9)[0]
    factor = float(form_factor(shape, torch.tensor(g**2, dtype=torch.float64)))
    assert found == pytest.approx(g**l * factor / np.prod(np.arange(2 * l + 1, 0, -2.0)), abs=1e-9)


def test_degrees_count_every_m():
    assert degrees(2) == [0, 1, 1, 1, 2, 2, 2, 2, 2]


def test_other_compensation_charges_than_gaussians_are_refused(setup):
    """A data set with sinc or Bessel shapes must not be computed as if they were Gaussians."""
    data = setup("H").dataset
    with pytest.raises(InputError, match=r"shape 'sinc'.*Gaussians only"):
        make_setup(replace(data, shape=replace(data.shape, kind="sinc")))
