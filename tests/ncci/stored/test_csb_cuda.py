import numpy as np
import pytest

from eigenwerk.ncci.stored.csb import csb_hamiltonian
from eigenwerk.ncci.stored.csb_cuda import share_out
from random_pairs import no_core_basis, random_pairs


@pytest.fixture(scope="module")
def matrix():
    basis = no_core_basis(3, 3, 2, 0)
    return csb_hamiltonian(basis, random_pairs(basis), bits=6)


@pytest.mark.parametrize(("work", "piece"), [(3000, 1000), (100, 1000), (1 << 19, 1 << 17)])
def test_every_nonzero_belongs_to_one_task_with_its_columns(matrix, work, piece):
    found = share_out(matrix.block_x2, matrix.start_x, matrix.bits, work, piece)
    seen = np.zeros(int(matrix.start_x[-1]), dtype=int)
    for task, column0 in enumerate(found.column0_i.tolist()):
        for k in range(found.piece0_i[task], found.piece0_i[task + 1]):
            begin, end = int(found.begin_k[k]), int(found.end_k[k])
            block = int(np.searchsorted(matrix.start_x, begin, side="right")) - 1
            assert end <= matrix.start_x[block + 1] and 0 < end - begin <= piece
            assert [found.row0_k[k], column0] == (matrix.block_x2[block] << matrix.bits).tolist()
            seen[begin:end] += 1
    assert np.all(seen == 1)


def test_tasks_have_about_the_wanted_number_of_nonzeros(matrix):
    found = share_out(matrix.block_x2, matrix.start_x, matrix.bits, work=3000, piece=1000)
    size_k = found.end_k - found.begin_k
    size_i = np.add.reduceat(size_k, found.piece0_i[:-1])
    assert size_i.max() <= 3000 + 1000 and len(size_i) > len(np.unique(found.column0_i))


def test_a_matrix_without_nonzeros_has_no_tasks():
    found = share_out(np.zeros((0, 2), dtype=int), np.zeros(1, dtype=int), 6)
    assert len(found.column0_i) == 0 and found.piece0_i.tolist() == [0]
