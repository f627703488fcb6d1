"""Three passes over pairs against the plain loops; on a processor by threads that stand for those of a GPU."""

from functools import partial

import numpy as np
import pytest
import torch

from covering import but_slow
from eigenwerk.dft.exchange.kernels import pair_loops_cuda, pair_passes_cuda
from eigenwerk.dft.exchange.kernels.pair_loops import PairLoops, PairTable
from eigenwerk.dft.exchange.kernels.pair_passes_cuda import LaunchShape, split
from eigenwerk.dft.exchange.pairs.pair_charges import pair_charges
from eigenwerk.dft.exchange.pairs.pair_grid import PairGrid
from emulated_cuda import EmulatedKernel, compiler

H200_BYTES = 232448
"""Shared memory of a block."""


def test_lines_are_split_into_transforms_that_fit_into_registers():
    assert {size: split(size) for size in (8, 45, 54, 64, 70, 80, 96, 128, 256)} == {
        8: (2, 4), 45: (5, 9), 54: (6, 9), 64: (8, 8), 70: (7, 10), 80: (8, 10), 96: (8, 12), 128: (8, 16),
        256: (16, 16),
    }  # fmt: skip
    assert split(125) is None and split(11 * 8) is None and split(17) is None


@pytest.mark.parametrize("size", [24, 48, 54, 64, 80, 96, 128])
def test_planes_of_usual_grids_fit_into_shared_memory(size):
    shape = LaunchShape.of((size,) * 3, 8, H200_BYTES)
    assert shape is not None and max(shape.plane_bytes, shape.column_bytes) <= H200_BYTES
    assert shape.blocks(H200_BYTES, 8) * shape.plane_bytes <= H200_BYTES
    assert shape.threads % 32 == 0 and shape.column_threads <= 1024


def test_planes_that_do_not_fit_are_left_to_other_loops():
    assert LaunchShape.of((192, 192, 192), 16, H200_BYTES) is None
    assert LaunchShape.of((64, 64, 125), 8, H200_BYTES) is None


@pytest.fixture(params=["emulated", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request, monkeypatch, tmp_path_factory):
    """Where kernels run; on a processor by other means."""
    if request.param == "cuda":
        if not (torch.cuda.is_available() and pair_loops_cuda.can_compile()):
            pytest.skip("no GPU that PyTorch can use")
        return torch.device("cuda")
    if compiler() is None:
        pytest.skip("no compiler of C++20")
    folder = tmp_path_factory.mktemp("emulated")
    for module in (pair_loops_cuda, pair_passes_cuda):
        monkeypatch.setattr(
            module, "kernel", lambda source, name, device, *macros: EmulatedKernel(folder, source, name, *macros)
        )
    monkeypatch.setattr(pair_passes_cuda, "shared_bytes", lambda device: H200_BYTES)
    # few threads: each is one of the system's
    monkeypatch.setattr(LaunchShape, "of", staticmethod(partial(_with_few_threads, LaunchShape.of)))
    return torch.device("cpu")


def _with_few_threads(of, *arguments):
    shape = of(*arguments)
    return None if shape is None else LaunchShape(**{**vars(shape), "threads": 20})


CASES = {
    "complex": ((12, 15, 14), False, (0.25, 0, 0.5), torch.complex128),
    "real": ((16, 18, 20), True, None, torch.complex128),
    "single": ((14, 12, 25), False, (0, 0, 0.5), torch.complex64),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", but_slow(CASES, *list(CASES)[1:]))
def test_three_passes_do_what_the_plain_loops_do(calculation, crystal, device, name, monkeypatch):
    size_c, real, q_c, dtype = CASES[name]
    monkeypatch.setattr(pair_passes_cuda, "TILE", 3 if device.type == "cpu" else pair_passes_cuda.TILE)
    calc = calculation(crystal("sic_bent"), cutoff_eV=60.0)
    grid = PairGrid(PairGrid.of(calc.basis, "Normal").wave, size_c, np.zeros(3))
    kind = torch.empty(0, dtype=dtype).real.dtype
    layout, scaled_ac = calc.atoms.layout, calc.basis.structure.scaled_ac
    charges = pair_charges(calc.basis, layout, grid, scaled_ac).to(kind)
    draw, points = torch.Generator().manual_seed(2), grid.points

    def noise(*shape, of=dtype):
        return torch.randn(shape, generator=draw, dtype=of)

    u_nR, u_tR = noise(3, points, of=kind) if real else noise(3, points), noise(2, points)
    charge_xA, weight_n = noise(6, charges.atoms * 9), noise(3, of=torch.float64)
    # an interaction without some of the columns
    kernel_qxyz = noise(2, *size_c, of=kind) * (torch.rand(size_c[1:], generator=draw) < 0.7)
    phase_qS = None
    if q_c is not None:
        phase_S = charges.phases(np.array(q_c))
        phase_qS = torch.stack([torch.ones_like(phase_S), phase_S]).to(dtype)
    q_n = torch.tensor([1, 0, 1])
    plain = PairLoops()
    grid_xR = plain.form(u_nR, u_tR, charge_xA, charges, phase_qS, q_n)
    waves_xR = torch.fft.fftn(grid_xR.unflatten(1, size_c), dim=(1, 2, 3)).flatten(1)
    before_xR = waves_xR.clone()
    plain.multiply(waves_xR, kernel_qxyz.flatten(1), q_n)
    field_xR = torch.fft.ifftn(waves_xR.unflatten(1, size_c), dim=(1, 2, 3), norm="forward").flatten(1)
    out_tR = noise(2, points, of=torch.complex128)
    expected_tR = out_tR.clone()
    plain.accumulate(field_xR, u_nR, weight_n, expected_tR)
    expected_xA = plain.integrals(field_xR, charges, phase_qS, q_n, 0.5)

    def moved(tensor):
        return None if tensor is None else tensor.to(device)

    made = pair_passes_cuda.passes(size_c, device, dtype, charges.harmonics)
    table = PairTable(moved(kernel_qxyz.flatten(1)), moved(phase_qS))
    there, result_tR, weight_x = charges.on(device), moved(out_tR), noise(6, of=torch.float64).abs()
    passed = made(
        moved(u_nR), moved(u_tR), moved(charge_xA), there, table, moved(q_n), moved(weight_n), result_tR, 0.5, True,
        moved(weight_x),
    )  # fmt: skip
    kept_R = (kernel_qxyz != 0).any(0).any(0).expand(size_c).flatten()
    square_xR = weight_x[:, None] * before_xR.abs().square() * kept_R
    expected_qR = torch.stack([square_xR[2:4].sum(0), square_xR[:2].sum(0) + square_xR[4:].sum(0)])
    tolerance = 1e-12 if dtype == torch.complex128 else 2e-6
    pairs = (
        (passed.integral_xA, expected_xA), (passed.potential_xR, field_xR), (passed.square_qR, expected_qR),
        (result_tR, expected_tR),
    )  # fmt: skip
    for found, expected in pairs:
        assert float((found.cpu() - expected).abs().max() / expected.abs().max()) < tolerance
