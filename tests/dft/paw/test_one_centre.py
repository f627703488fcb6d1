"""Projections of orbitals, and matrices between the projectors of one atom."""

import pytest
import torch

from eigenwerk.dft.paw.one_centre import projections


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("points", [1, 3])
def test_projections_are_scalar_products_with_the_projectors(points, dtype):
    generator = torch.Generator().manual_seed(1)
    x_knG = torch.randn((points, 4, 50), dtype=dtype, generator=generator)
    projector_kIG = torch.randn((points, 7, 50), dtype=dtype, generator=generator)
    expected_knI = torch.einsum("kIG,knG->knI", projector_kIG.conj(), x_knG)
    found_knI = projections(x_knG, projector_kIG)
    assert not found_knI.is_conj()
    torch.testing.assert_close(found_knI, expected_knI, rtol=1e-13, atol=1e-13)
