"""Projections of orbitals, and matrices between the projectors of one atom."""

import pytest
import torch

from eigenwerk.dft.paw.atom_layout import atom_layout
from eigenwerk.dft.paw.one_centre import OneCentreMatrix, projections


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


@pytest.mark.parametrize("symbols", [("Si", "Si", "C"), ("C", "Si", "C", "Si")])
def test_matrices_are_hermitian_and_a_block_may_stand_behind_them(calculation, crystal, monkeypatch, symbols):
    """Of complex numbers, as spin-orbit coupling has them; one for each of three problems, or one for all; atoms of a
    species one after the other, and with others between them."""
    species = calculation(crystal("sic_bent"), cutoff_eV=60.0).atoms.layout.species
    layout = atom_layout({own.setup.symbol: own.setup for own in species}, symbols)
    assert [layout.run(own) is None for own in layout.species] == [len(symbols) == 4] * 2
    draw = torch.Generator().manual_seed(2)
    flat_sx = torch.randn((2, int(layout.block_start_a[-1])), generator=draw, dtype=torch.complex128)
    last_smm = torch.tensor([[[1.0, 2j], [-2j, 3.0]]] * 2, dtype=torch.complex128)
    matrix = OneCentreMatrix(layout, flat_sx, torch.complex128, last_smm)
    dense_sII = matrix.dense()
    assert dense_sII.shape == (2, layout.projector_count + 2, layout.projector_count + 2)
    torch.testing.assert_close(dense_sII, dense_sII.mH, rtol=0, atol=0)
    assert float(dense_sII.imag.abs().max()) > 0.1
    proj_knI = torch.randn((3, 4, matrix.count), generator=draw, dtype=torch.complex128)
    monkeypatch.setattr("eigenwerk.dft.paw.one_centre.DENSE_LIMIT", 0)
    for made in (matrix, OneCentreMatrix(layout, flat_sx, torch.complex128, last_smm)):
        for s in (1, torch.tensor([1, 0, 1])):
            torch.testing.assert_close(made.times(proj_knI, s), proj_knI @ dense_sII[s].mT)
