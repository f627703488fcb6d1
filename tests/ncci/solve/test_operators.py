"""The solvers of `linalg`, also those that dft brought, find the states of a nuclear Hamiltonian by every back end."""

from functools import partial

import pytest
import torch

from eigenwerk.linalg.bands.chebyshev import chebyshev
from eigenwerk.linalg.bands.conjugate import conjugate
from eigenwerk.linalg.bands.damped import damped
from eigenwerk.linalg.bands.davidson import davidson
from eigenwerk.linalg.bands.rmm_diis import rmm_diis
from eigenwerk.linalg.dense import solve_dense
from eigenwerk.linalg.images import SplitImages, images
from eigenwerk.linalg.lanczos import LanczosPlan, lanczos
from eigenwerk.ncci.diagonal import diagonal
from eigenwerk.ncci.solve.operators import SMALLEST_GAP, NuclearHamiltonian
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.record.trace import Trace
from random_pairs import p_and_sd_shell_basis, random_pairs
from standard_matrix import starts

BASIS = p_and_sd_shell_basis()
PAIRS = random_pairs(BASIS)


@pytest.fixture(scope="module", params=["csb", "pairs", "dense"])
def hamiltonian(request):
    return NuclearHamiltonian(BASIS, PAIRS, request.param, Runtime())


@pytest.fixture(scope="module")
def exact(hamiltonian):
    return solve_dense(hamiltonian, starts(1, BASIS.dimension), 3)


def test_dense_matrix_has_these_pairs(hamiltonian, exact):
    h_bb = hamiltonian.apply(torch.eye(BASIS.dimension, dtype=torch.float64).unsqueeze(0))[0][0]
    assert torch.allclose(exact.eig_kn[0], torch.linalg.eigvalsh(h_bb)[:3], atol=1e-10)
    torch.testing.assert_close(h_bb.diagonal(), hamiltonian.diagonal_s)


@pytest.mark.fast("pairs-3", "csb-6", "dense-6")
@pytest.mark.parametrize("max_space", [3, 6])
def test_davidson_finds_the_lowest_states(hamiltonian, exact, max_space):
    start = starts(6, BASIS.dimension)
    found = davidson(hamiltonian, start, expansions=200, tolerance=1e-8, max_space=max_space)
    assert found.converged_kn.all()
    assert torch.allclose(found.eig_kn[:, :3], exact.eig_kn, atol=1e-10)


def test_lanczos_finds_the_lowest_states(hamiltonian, exact):
    found = lanczos(hamiltonian, starts(1, BASIS.dimension), LanczosPlan(3, 1e-9))
    assert found.converged_kn.all() and torch.allclose(found.eig_kn, exact.eig_kn, atol=1e-10)


@pytest.mark.fast("dense-*", "csb-rmm_diis")
@pytest.mark.parametrize(
    "solver",
    [partial(rmm_diis, steps=8), partial(conjugate, steps=6), partial(damped, time=1.0, steps=6), chebyshev],
    ids=["rmm_diis", "conjugate", "damped", "chebyshev"],
)
def test_solvers_of_dft_find_them_from_near_by(hamiltonian, exact, solver):
    """Again and again, as self-consistency calls them."""
    found = davidson(hamiltonian, starts(6, BASIS.dimension), expansions=12)
    for _ in range(40):
        found = solver(hamiltonian, found.vectors_knx, tolerance=1e-7)
    assert found.converged_kn[:, :3].all()
    assert torch.allclose(found.eig_kn[:, :3], exact.eig_kn, atol=1e-10)


def test_vectors_are_neither_copied_nor_kept_twice(hamiltonian):
    """S x is x, and P x is empty: a solver keeps x and H x, and vectors (n, b) are views of (1, n, b)."""
    x_nb = starts(2, BASIS.dimension)[0]
    kept = images(hamiltonian, x_nb.unsqueeze(0))
    assert isinstance(kept, SplitImages) and kept.x_knx.data_ptr() == x_nb.data_ptr()
    assert kept.proj_kni.numel() == 0
    h_knx, s_knx = hamiltonian.apply(x_nb.unsqueeze(0))
    assert s_knx.data_ptr() == x_nb.data_ptr() == hamiltonian.overlap(s_knx).data_ptr()
    torch.testing.assert_close(kept.residual(torch.ones(1, 2, dtype=torch.float64)), h_knx - s_knx)


def test_the_preconditioner_is_positive(hamiltonian):
    residual, eig = starts(2, BASIS.dimension), torch.tensor([[-10.0, 3.0]], dtype=torch.float64)
    gap = torch.maximum(diagonal(BASIS, PAIRS) - eig.unsqueeze(-1), torch.tensor(SMALLEST_GAP))
    torch.testing.assert_close(hamiltonian.precondition(residual, eig, residual), residual / gap)


def test_products_enter_the_trace():
    trace = Trace()
    operator = NuclearHamiltonian(BASIS, PAIRS, "dense", Runtime(trace=trace))
    lanczos(operator, starts(1, BASIS.dimension), LanczosPlan(2, products=9, fixed=True, trace=trace))
    calls = {phase["name"]: phase["calls"] for phase in trace.as_dict()["phases"]}
    assert calls["products"] == calls["orthogonalisation"] == 9
