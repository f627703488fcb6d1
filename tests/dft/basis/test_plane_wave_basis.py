"""The plane-wave basis: what its arrays say about the waves they list."""

import numpy as np
import pytest
import torch

from eigenwerk.dft.basis.grids import GridSizes
from eigenwerk.dft.basis.plane_wave_basis import ALIGNMENT, make_basis
from eigenwerk.dft.basis.transforms import orbitals_to_grid
from eigenwerk.errors import InputError


@pytest.fixture(scope="module")
def basis(basis_of, crystal):
    return basis_of(crystal("sic_bent"), 120.0, (2, 1, 2))


def test_kinetic_energies_are_those_of_the_listed_waves(basis):
    point_kc = basis.kpoints.point_kc
    for k, count in enumerate(basis.count_k):
        wave_Gv = (basis.index_khc[k, :count].numpy() + point_kc[k]) @ basis.structure.reciprocal_cv
        np.testing.assert_allclose(basis.kinetic_kG[k, :count], 0.5 * (wave_Gv**2).sum(1), rtol=1e-13)
        np.testing.assert_allclose(basis.wave_vector_khv[k, :count], wave_Gv, atol=1e-13)
        assert float(basis.kinetic_kG[k, :count].max()) <= basis.cutoff * (1 + 1e-10)


def test_padding_is_marked_and_lies_on_free_grid_points(basis):
    assert len(set(basis.count_k)) > 1, "spheres of different length, so that there is padding"
    for k, count in enumerate(basis.count_k):
        assert basis.mask_kG[k, :count].min() == 1 and (basis.mask_kG[k, count:] == 0).all()
        assert (basis.kinetic_kG[k, count:] == 0).all() and (basis.wave_vector_khv[k, count:] == 0).all()
        place_G = basis.sphere_map.index_kW[k].tolist()
        assert len(set(place_G)) == len(place_G)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "real"), [("sic_bent", False), ("lih_bent", True), ("si_bent", True)])
def test_rows_of_even_length_change_nothing(calculation, crystal, monkeypatch, name, real):
    """Complex orbitals, and real ones: in space, and by inversion at k-points that are not on the zone's boundary."""
    settings = {"mesh": (1, 1, 1) if name == "lih_bent" else (3, 1, 1), "real": real, "ediff_eV": 1e-9}
    settings["symmetry_level"] = 2 if name == "si_bent" else -1
    found = []
    for alignment in (1, 16):
        monkeypatch.setitem(ALIGNMENT, "cpu", alignment)
        calc = calculation(crystal(name), **settings)
        assert calc.basis.form.real == real
        found.append((calc.basis.mask_kh.shape[1], calc.run().state))
    (waves, exact), (even_waves, padded) = found
    assert even_waves % 16 == 0 and waves % 16 and exact.converged and padded.converged
    assert padded.energies.free == pytest.approx(exact.energies.free, abs=1e-10)
    torch.testing.assert_close(padded.eig_skn, exact.eig_skn, rtol=0, atol=1e-6)


def test_inner_product_is_the_integral_in_real_space(basis):
    draw = torch.Generator().manual_seed(3)
    a_g, b_g = torch.randn((2, basis.density_count), generator=draw, dtype=torch.complex128)
    a_g.imag[0] = b_g.imag[0] = 0
    a_R, b_R = basis.wave_map.to_grid(a_g), basis.wave_map.to_grid(b_g)
    integral = float((a_R * b_R).mean() * basis.volume)
    assert float(basis.inner(a_g, b_g)) == pytest.approx(integral, rel=1e-12)


def test_density_sphere_holds_the_product_of_any_two_orbitals(basis):
    """PREC = Accurate: |psi|^2 has waves up to twice the orbital radius, none is cut off and none wraps around."""
    draw = torch.Generator().manual_seed(4)
    coeff_G = torch.randn(basis.mask_kG.shape[1], generator=draw, dtype=torch.complex128) * basis.mask_kG[1]
    wave_R = orbitals_to_grid(coeff_G[None, None], basis.sphere_map.index_kW[1:2], basis.sphere_map.grid)[0, 0]
    square_R = wave_R.abs() ** 2
    back_R = basis.wave_map.to_grid(basis.wave_map.from_grid(square_R))
    np.testing.assert_allclose(back_R, square_R, atol=1e-10 * float(square_R.max()))


def test_lists_of_density_and_electrostatics_are_nested_spheres(basis):
    norm2_g, count = basis.norm2_g, basis.density_count
    assert float(norm2_g[:count].max()) <= 8 * basis.cutoff * (1 + 1e-10) < float(norm2_g[count])
    assert float(norm2_g.max()) <= 16 * basis.cutoff * (1 + 1e-10)
    assert float(basis.weight_g.sum()) == 2 * len(norm2_g) - 1


def test_weights_of_k_sum_to_one(basis):
    assert float(basis.weight_k.sum()) == pytest.approx(1.0, abs=1e-14)


def test_a_grid_too_small_for_the_cutoff_is_refused(basis):
    small = GridSizes((4, 20, 20), (60, 60, 60))
    with pytest.raises(InputError, match=r"NGX, NGY, NGZ = 4 20 20 is too small.*needs at least"):
        make_basis(basis.structure, basis.kpoints, basis.cutoff, grids=small)
    small = GridSizes((40, 40, 40), (12, 12, 12))
    with pytest.raises(InputError, match="NGXF, NGYF, NGZF"):
        make_basis(basis.structure, basis.kpoints, basis.cutoff, grids=small)
