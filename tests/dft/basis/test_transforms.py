"""Transforms between spheres and grids against direct sums of exponentials."""

import numpy as np
import pytest
import torch

from eigenwerk.dft.basis import fftw
from eigenwerk.dft.basis.grids import sphere, told_apart
from eigenwerk.dft.basis.transforms import grid_to_orbitals, half_sphere_map, orbital_blocks, orbitals_to_grid
from eigenwerk.dft.basis.wave_form import half_of
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.parallel.runtime import Runtime


@pytest.fixture(scope="module")
def basis(basis_of, crystal):
    return basis_of(crystal("sic_bent"), 60.0, (2, 1, 1))


def random_field(count: int, seed: int = 0) -> torch.Tensor:
    coeff_g = torch.randn(count, generator=torch.Generator().manual_seed(seed), dtype=torch.complex128)
    coeff_g.imag[0] = 0
    return coeff_g


def grid_points(size_c) -> np.ndarray:
    """Fractional coordinates of all grid points, (R, c) in C order."""
    axes = [np.arange(size) / size for size in size_c]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


@pytest.mark.parametrize("fine", [False, True])
def test_real_field_equals_direct_sum(basis, fine):
    chosen = basis.fine_map if fine else basis.wave_map
    coeff_g = random_field(basis.density_count)
    index_gc = basis.index_gc[: basis.density_count].numpy()
    point_Rc = grid_points(chosen.size_c)[:: 37 if fine else 5]
    wave_Rg = np.exp(2j * np.pi * point_Rc @ index_gc.T)
    expected_R = (wave_Rg @ (coeff_g.numpy() * basis.weight_g[: len(coeff_g)].numpy())).real
    np.testing.assert_allclose(chosen.to_grid(coeff_g).flatten()[:: 37 if fine else 5], expected_R, atol=1e-11)


@pytest.mark.parametrize("count", [1, 2, 7, None])
def test_real_field_round_trip_for_any_first_part_of_the_sphere(basis, count):
    coeff_g = random_field(basis.density_count)[:count]
    for chosen in (basis.wave_map, basis.fine_map):
        back_g = chosen.from_grid(chosen.to_grid(coeff_g), len(coeff_g))
        np.testing.assert_allclose(back_g, coeff_g, atol=1e-13)


def test_batch_axes_are_transformed_one_by_one(basis):
    coeff_xg = torch.stack([random_field(basis.density_count, seed) for seed in range(6)])
    together = basis.wave_map.to_grid(coeff_xg.view(2, 3, -1))
    for x, coeff_g in enumerate(coeff_xg):
        np.testing.assert_allclose(together[x // 3, x % 3], basis.wave_map.to_grid(coeff_g), atol=1e-13)


def test_from_grid_is_the_projection_on_plane_waves(basis):
    """f(g) = 1/N sum_R f(R) exp(-i g.R), also for fields with waves outside the sphere."""
    size_c = basis.grids.wave
    field_R = torch.randn(size_c, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    point_Rc = grid_points(size_c)
    index_gc = basis.index_gc[: basis.density_count].numpy()[::11]
    expected_g = np.exp(-2j * np.pi * index_gc @ point_Rc.T) @ field_R.flatten().numpy() / len(point_Rc)
    np.testing.assert_allclose(basis.wave_map.from_grid(field_R)[::11], expected_g, atol=1e-12)


def test_odd_grids_work_as_well(basis):
    index_gc = basis.index_gc[:40].numpy()
    odd = half_sphere_map(index_gc, (15, 17, 13), basis.runtime)
    coeff_g = random_field(40)
    np.testing.assert_allclose(odd.from_grid(odd.to_grid(coeff_g)), coeff_g, atol=1e-13)


@pytest.fixture(scope="module")
def coeff_knG(basis):
    shape = (len(basis.count_k), 3, basis.mask_kG.shape[1])
    draw = torch.Generator().manual_seed(6)
    return torch.randn(shape, generator=draw, dtype=torch.complex128) * basis.mask_kG[:, None]


def test_orbitals_equal_direct_sum(basis, coeff_knG):
    grid_knR = orbitals_to_grid(coeff_knG, basis.sphere_map.index_kW, basis.sphere_map.grid).flatten(2)
    point_Rc = grid_points(basis.grids.wave)[::7]
    for k, count in enumerate(basis.count_k):
        index_Gc = basis.index_khc[k, :count].numpy()
        expected_nR = coeff_knG[k, :, :count].numpy() @ np.exp(2j * np.pi * index_Gc @ point_Rc.T)
        np.testing.assert_allclose(grid_knR[k, :, ::7], expected_nR, atol=1e-11)


def test_orbital_round_trip_and_parseval(basis, coeff_knG):
    found = basis.sphere_map
    grid_knR = orbitals_to_grid(coeff_knG, found.index_kW, found.grid)
    norm_kn = (grid_knR.abs() ** 2).mean(dim=(2, 3, 4))
    np.testing.assert_allclose(grid_to_orbitals(grid_knR, found.index_kW, found.grid), coeff_knG, atol=1e-13)
    np.testing.assert_allclose(norm_kn, (coeff_knG.abs() ** 2).sum(-1), rtol=1e-12)


def test_transforms_of_orbitals_are_adjoint(basis, coeff_knG):
    """<f, T c> on the grid = <T* f, c> on the sphere: a potential between the two stays Hermitian."""
    draw = torch.Generator().manual_seed(7)
    field_knR = torch.randn((*coeff_knG.shape[:2], *basis.grids.wave), generator=draw, dtype=torch.complex128)
    grid_knR = orbitals_to_grid(coeff_knG, basis.sphere_map.index_kW, basis.sphere_map.grid)
    there = (field_knR.conj() * grid_knR).mean((2, 3, 4))
    back_knG = grid_to_orbitals(field_knR, basis.sphere_map.index_kW, basis.sphere_map.grid) * basis.mask_kG[:, None]
    np.testing.assert_allclose((back_knG.conj() * coeff_knG).sum(-1), there, atol=1e-12)


@pytest.mark.parametrize("orbitals", [1, 3, 5, 7, 12, 100])
def test_blocks_cover_every_orbital_once_and_fit_the_buffer(orbitals):
    row_bytes = 500 * 16
    count_kn = np.zeros((4, 5), dtype=int)
    for k, n in orbital_blocks(4, 5, row_bytes, orbitals * row_bytes + 8):
        assert count_kn[k, n].size <= orbitals
        count_kn[k, n] += 1
    assert (count_kn == 1).all()


SIZES = [(12, 10, 16), (9, 15, 7), (20, 20, 20), (7, 8, 9)]


@pytest.fixture(params=SIZES, ids=str)
def half_sphere(request):
    """Members of a half sphere that fills about half of the grid, shortest first."""
    size_c = request.param
    reach_c = [max(1, size // 4) for size in size_c]
    index_gc = np.stack(np.meshgrid(*[np.arange(-n, n + 1) for n in reach_c], indexing="ij"), axis=-1).reshape(-1, 3)
    half = half_of(index_gc, np.zeros(3))
    index_gc = index_gc[half & ((index_gc / np.array(reach_c)) ** 2 <= 1.01).sum(1).astype(bool)]
    index_gc = index_gc[index_gc[:, 2] >= 0]
    return half_sphere_map(index_gc[np.argsort((index_gc**2).sum(1), kind="stable")], size_c, Runtime())


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("share", [0.4, 1.0])
def test_fields_by_fftw_equal_those_by_pytorch(half_sphere, fftw_always, monkeypatch, share, threads):
    count = max(2, int(share * len(half_sphere.index_g)))
    coeff_xg = torch.stack([random_field(count, seed) for seed in range(6)]).view(2, 3, -1)
    field_xR = torch.randn((4, *half_sphere.size_c), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    by_fftw = half_sphere.to_grid(coeff_xg), half_sphere.from_grid(field_xR, count), half_sphere.from_grid(field_xR)
    torch.set_num_threads(before)
    assert len(fftw._OF_THREAD.plans) >= 2
    monkeypatch.setattr(fftw, "pyfftw", None)
    by_torch = half_sphere.to_grid(coeff_xg), half_sphere.from_grid(field_xR, count), half_sphere.from_grid(field_xR)
    for found, expected in zip(by_fftw, by_torch, strict=True):
        torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)


def test_fields_that_lie_otherwise_in_memory_are_transformed_by_fftw_too(basis, fftw_always):
    chosen = basis.fine_map
    field_xR = torch.randn((2, *chosen.size_c), generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    side_by_side_xR = field_xR.flatten(1).T.contiguous().T.unflatten(1, chosen.size_c)
    shifted_xR = torch.cat([torch.zeros(1, dtype=torch.float64), field_xR.flatten()])[1:].view(field_xR.shape)
    expected_xg = chosen.from_grid(field_xR)
    for other_xR in (side_by_side_xR, shifted_xR):
        torch.testing.assert_close(chosen.from_grid(other_xR), expected_xg, atol=0, rtol=0)
    assert fftw._OF_THREAD.plans


@pytest.fixture(scope="module")
def turned():
    """A grid of a skewed cell, and its waves, of some of which the half grid has the opposite."""
    lattice_cv = np.array([[5.0, 0, 0], [2.4, 4.1, 0], [11.0, 7.5, 9.0]])
    structure, size_c = Structure(lattice_cv, ("H",), np.zeros((1, 3))), (16, 14, 36)
    index_gc = sphere(structure, 9.0, np.zeros(3), half=True)
    index_gc = index_gc[told_apart(structure, index_gc, size_c)]
    found = half_sphere_map(index_gc, size_c, Runtime())
    assert found.turned_g is not None and 0 < int(found.turned_g.sum()) < len(index_gc)
    return found, index_gc


def test_waves_beyond_half_of_the_third_axis_equal_direct_sums(turned):
    found, index_gc = turned
    coeff_g = random_field(len(index_gc))
    weight_g = 1 + index_gc.any(axis=1)
    point_Rc = grid_points(found.size_c)[::53]
    expected_R = (np.exp(2j * np.pi * point_Rc @ index_gc.T) @ (weight_g * coeff_g.numpy())).real
    np.testing.assert_allclose(found.to_grid(coeff_g).flatten()[::53], expected_R, atol=1e-10)
    np.testing.assert_allclose(found.from_grid(found.to_grid(coeff_g)), coeff_g, atol=1e-12)


def test_both_ways_of_fields_in_a_skewed_cell_are_adjoint(turned):
    """∫ v n over points and over waves: a potential is the derivative of the energy by the density."""
    found, index_gc = turned
    coeff_g, weight_g = random_field(len(index_gc), 1), torch.as_tensor(1 + index_gc.any(axis=1))
    field_R = torch.randn(found.size_c, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    there = (field_R * found.to_grid(coeff_g)).mean()
    back = (weight_g * (found.from_grid(field_R).conj() * coeff_g).real).sum()
    assert float(back) == pytest.approx(float(there), rel=1e-10)
