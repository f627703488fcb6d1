"""FFTs of orbitals by FFTW, without the rows that hold no wave, against PyTorch's of the whole grid."""

import numpy as np
import pytest
import torch

from eigenwerk.dft.basis import fftw
from eigenwerk.dft.basis.orbital_fft import FilledGrid, to_points, to_waves

pytest.importorskip("pyfftw", reason="pyFFTW is not installed")
AXES = (-3, -2, -1)
GRIDS = [
    FilledGrid((8, 10, 12), (3, 4, 5), (6, 7, 8)), FilledGrid((9, 15, 7), (2, 4, 3), (8, 12, 5)),
    FilledGrid((8, 6, 10), (8, 2, 4), (8, 5, 7)), FilledGrid((12, 8, 6), (4, 3, 1), (9, 6, 6)), FilledGrid((6, 8, 6)),
    FilledGrid((40, 36, 45), (11, 10, 12), (30, 27, 34)),
]  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread(fftw_always):
    """Which has grids of its own, and takes FFTW whatever is faster here."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def filled_rows(grid):
    """1 where a wave may stand, 0 elsewhere; (R, R, R)."""
    rows = [np.isin(np.arange(size), np.r_[*grid.slabs(axis)]) for axis, size in enumerate(grid.size_c)]
    return torch.from_numpy(np.einsum("i,j,k->ijk", *[row.astype(float) for row in rows]))


def random_field(grid, shape, dtype):
    return torch.randn((*shape, *grid.size_c), dtype=dtype, generator=torch.Generator().manual_seed(1))


@pytest.mark.fast("(8, *")
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=["single", "double"])
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 37)], ids=str)
@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: str(grid.size_c))
def test_both_directions_equal_transforms_of_the_whole_grid(grid, shape, dtype):
    if shape == (3, 37) and grid.size_c[0] == 40:
        shape = (1, 2)
    rows_R, tolerance = filled_rows(grid), 1e-13 if dtype == torch.complex128 else 1e-5
    coeff_knR = (random_field(grid, shape, dtype) * rows_R).to(dtype)
    expected_knR = torch.fft.ifftn(coeff_knR, dim=AXES, norm="forward")
    found_knR = to_points(coeff_knR.clone(), grid)
    assert (found_knR - expected_knR).abs().max() <= tolerance * expected_knR.abs().max()
    field_knR = random_field(grid, shape, dtype)
    expected_knR = torch.fft.fftn(field_knR, dim=AXES) * rows_R
    found_knR = to_waves(field_knR.clone(), grid) * rows_R
    assert (found_knR - expected_knR).abs().max() <= tolerance * expected_knR.abs().max()


def test_work_is_done_in_place_and_plans_serve_again():
    grid, waves = GRIDS[0], (random_field(GRIDS[0], (1, 5), torch.complex128) for _ in range(2))
    for coeff_knR in waves:
        coeff_knR = coeff_knR * filled_rows(grid)
        expected_knR = torch.fft.ifftn(coeff_knR, dim=AXES, norm="forward")
        assert to_points(coeff_knR, grid).data_ptr() == coeff_knR.data_ptr()
        torch.testing.assert_close(coeff_knR, expected_knR, atol=1e-12, rtol=0)
    assert len(fftw._OF_THREAD.plans) == 1


def test_filled_rows_are_those_of_the_waves():
    index_xc = np.array([[0, 0, 0], [2, -1, 3], [-3, 1, -2], [1, 0, 1]])
    size_c = (8, 9, 10)
    flat_x = np.ravel_multi_index(tuple((index_xc % size_c).T), size_c)
    grid = FilledGrid.by(flat_x, size_c)
    assert grid == FilledGrid(size_c, (3, 2, 4), (5, 8, 8))
    assert grid.slabs(1) == (slice(0, 2), slice(8, 9))
    assert FilledGrid.by(flat_x[:1], size_c).slabs(2) == (slice(0, 1),)
    assert FilledGrid(size_c).slabs(0) == (slice(0, 8),)


@pytest.mark.parametrize("why", ["threads", "strides", "shifted", "absent"])
def test_pytorch_does_what_fftw_is_not_for(monkeypatch, why):
    grid = GRIDS[0]
    coeff_knR = random_field(grid, (1, 2), torch.complex128) * filled_rows(grid)
    if why == "threads":
        torch.set_num_threads(2)
    if why == "strides":
        coeff_knR = coeff_knR.transpose(0, 1).expand(2, 3, *grid.size_c)
    if why == "shifted":
        coeff_knR = torch.cat([torch.zeros(1), coeff_knR.flatten()])[1:].view(coeff_knR.shape)
    if why == "absent":
        monkeypatch.setattr(fftw, "pyfftw", None)
    expected_knR = torch.fft.ifftn(coeff_knR, dim=AXES, norm="forward")
    torch.testing.assert_close(to_points(coeff_knR, grid), expected_knR, atol=1e-12, rtol=0)
    assert not hasattr(fftw._OF_THREAD, "plans")
