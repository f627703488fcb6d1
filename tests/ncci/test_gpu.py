import numpy as np
import pytest
import torch

from eigenwerk.ncci.pairs.pairs import pairs_hamiltonian
from eigenwerk.ncci.stored.csb import csb_hamiltonian, product_by_torch
from random_pairs import no_core_basis, random_pairs, random_vectors

SPACES = [(3, 3, 4, 0), (2, 2, 6, 0), (6, 6, 2, 0), (1, 2, 4, 1), (3, 4, 1, 1), (0, 3, 2, 1)]
TOLERANCE = {torch.float64: 1e-12, torch.float32: 3e-6}


@pytest.fixture(scope="module", params=SPACES, ids=str)
def case(request):
    """Basis, pairs, a CPU operator in double precision."""
    basis = no_core_basis(*request.param)
    pairs = random_pairs(basis)
    return basis, pairs, pairs_hamiltonian(basis, pairs)


def agree(found, wanted, dtype):
    return torch.allclose(found.cpu().double(), wanted, rtol=0, atol=TOLERANCE[dtype] * wanted.abs().max())


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_pairs_on_a_gpu_equal_those_on_a_cpu(case, dtype):
    basis, pairs, cpu = case
    gpu = pairs_hamiltonian(basis, pairs, dtype, "cuda")
    starts = [random_vectors(count, basis.dimension, dtype, seed=count) for count in (1, 3, 8, 2, 11, 1)]
    found = [gpu.apply(x_nb.cuda()) for x_nb in starts]  # kept: later products must not write into earlier results
    for x_nb, y_nb in zip(starts, found, strict=True):
        assert agree(y_nb, cpu.apply(x_nb.double()), dtype)


@pytest.mark.gpu
@pytest.mark.parametrize("bits", [9, 14, 16])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_csb_on_a_gpu_equals_its_twin_and_the_one_of_a_cpu(case, dtype, bits):
    basis, pairs, cpu = case
    gpu, stored = (csb_hamiltonian(basis, pairs, dtype, device, bits) for device in ("cuda", "cpu"))
    assert np.array_equal(gpu.start_x, stored.start_x) and np.array_equal(gpu.block_x2, stored.block_x2)
    assert torch.equal(gpu.row_z.cpu(), stored.row_z) and torch.equal(gpu.column_z.cpu(), stored.column_z)
    for count in (1, 2, 8, 5):
        x_nb = random_vectors(count, basis.dimension, dtype, seed=count)
        wanted = cpu.apply(x_nb.double())
        assert agree(gpu.apply(x_nb.cuda()), wanted, dtype)
        assert agree(product_by_torch(gpu, x_nb.cuda()), wanted, dtype)
