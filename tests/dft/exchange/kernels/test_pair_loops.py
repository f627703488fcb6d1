"""Compiled loops against the plain ones; pairs in single precision against double."""

import numpy as np
import pytest
import torch

from eigenwerk.dft.exchange.kernel import screened_kernel
from eigenwerk.dft.exchange.kernels import pair_loops_cuda, pair_loops_native
from eigenwerk.dft.exchange.kernels.pair_loops import PairLoops
from eigenwerk.dft.exchange.operator import ExchangeOperator
from eigenwerk.dft.exchange.pairs.pair_charges import pair_charges
from eigenwerk.dft.exchange.pairs.pair_derivatives import exchange_derivatives
from eigenwerk.dft.exchange.pairs.pair_grid import PairGrid

ERROR = {torch.complex128: 1e-13, torch.complex64: 1e-5}
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def close(found, expected):
    error = float((found.cpu() - expected).abs().max() / expected.abs().max())
    assert error < ERROR.get(expected.dtype, 1e-5), error


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("q_c", [(0, 0, 0), (0, 0.5, 0.25)])
@pytest.mark.parametrize("dtype", ERROR)
def test_compiled_loops_do_what_the_plain_ones_do(calculation, crystal, device, real, q_c, dtype):
    calc = calculation(crystal("sic_bent"), cutoff_eV=100.0)
    grid, scaled_ac = PairGrid.of(calc.basis, "Normal"), calc.basis.structure.scaled_ac
    kind = torch.empty(0, dtype=dtype).real.dtype
    charges = pair_charges(calc.basis, calc.atoms.layout, grid, scaled_ac).to(kind)
    points, draw = grid.points, torch.Generator().manual_seed(1)

    def noise(*shape, of=dtype):
        return torch.randn(shape, generator=draw, dtype=of)

    u_nR = noise(3, points, of=kind) if real else noise(3, points)
    u_tR, kernel_qR, weight_n = noise(5, points), noise(2, points, of=u_nR.real.dtype), noise(3, of=torch.float64)
    charge_xA = noise(15, charges.atoms * 9)
    # of two wave vectors, one of them zero; a processor takes one at a time
    phase_S, q_n = charges.phases(np.array(q_c)), torch.tensor([1, 1, 1] if device == "cpu" else [0, 1, 1])
    phase_qS = None if phase_S is None else torch.stack([torch.ones_like(phase_S), phase_S]).to(dtype)
    loops = pair_loops_native if device == "cpu" else pair_loops_cuda
    compiled = loops.loops(torch.device(device), dtype, charges.harmonics)
    if compiled is None:
        pytest.skip("nothing to compile with")
    plain, there = PairLoops(), charges.on(torch.device(device))
    expected_xR = plain.form(u_nR, u_tR, charge_xA, charges, phase_qS, q_n)

    def moved(tensor):
        return None if tensor is None else tensor.to(device)

    found_xR = compiled.form(moved(u_nR), moved(u_tR), moved(charge_xA), there, moved(phase_qS), moved(q_n))
    close(found_xR, expected_xR)
    compiled.multiply(found_xR, moved(kernel_qR), moved(q_n))
    plain.multiply(expected_xR, kernel_qR, q_n)
    close(found_xR, expected_xR)
    expected_xA = plain.integrals(expected_xR, charges, phase_qS, q_n, 0.5)
    found_xA = compiled.integrals(moved(expected_xR), there, moved(phase_qS), moved(q_n), 0.5)
    close(found_xA, expected_xA)
    weight_x = torch.rand(15, generator=draw, dtype=torch.float64)
    squares = [torch.ones((2, points), dtype=torch.float64, device=where) for where in ("cpu", device)]
    plain.add_squares(expected_xR, weight_x, q_n, squares[0])
    compiled.add_squares(moved(expected_xR), moved(weight_x), moved(q_n), squares[1])
    assert float((squares[1].cpu() - squares[0]).abs().max() / squares[0].abs().max()) < ERROR[dtype]
    slopes = [torch.ones_like(charges.no_table_slopes(), device=where) for where in ("cpu", device)]
    plain.add_table_slopes(expected_xR, charge_xA, charges, phase_qS, q_n, slopes[0])
    compiled.add_table_slopes(moved(expected_xR), moved(charge_xA), there, moved(phase_qS), moved(q_n), slopes[1])
    assert float((slopes[1].cpu() - slopes[0]).abs().max() / slopes[0].abs().max()) < ERROR[dtype]
    outs = [torch.ones((5, points), dtype=torch.complex128, device=where) for where in ("cpu", device)]
    plain.accumulate(expected_xR, u_nR, weight_n, outs[0])
    compiled.accumulate(moved(expected_xR), moved(u_nR), moved(weight_n), outs[1])
    assert float((outs[1].cpu() - outs[0]).abs().max() / outs[0].abs().max()) < ERROR[dtype]


def test_single_precision_of_pairs_changes_the_energy_by_a_millionth(exchanging):
    case = exchanging(mesh=(1, 1, 2))
    operator = ExchangeOperator(case.calc.atoms, screened_kernel(0.15), 0.4, single=True)
    image = operator.apply(operator.sources(case.coeff, case.occ), case.coeff)
    found = operator.energy(case.coeff, image, case.filling)
    expected = case.operator.energy(case.coeff, case.image, case.filling)
    assert found == pytest.approx(expected, rel=1e-6)
    assert found != expected


def test_forces_and_stress_of_pairs_in_single_precision_are_those_in_double(exchanging):
    case = exchanging(mesh=(1, 1, 2))
    operator = ExchangeOperator(case.calc.atoms, screened_kernel(0.15), 0.4, single=True)
    both = []
    for one in (case.operator, operator):
        sources = one.sources(case.coeff, case.occ)
        found = exchange_derivatives(one, sources, case.coeff, case.filling)
        both.append((found.force_av, found.strain_vv))
    for found, expected in zip(both[1], both[0], strict=True):
        assert float(expected.abs().max()) > 1e-4
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
