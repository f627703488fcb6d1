import numpy as np
import pytest

from eigenwerk.ncci.stored.csb import csb_hamiltonian
from eigenwerk.ncci.stored.csb_cuda import LEAST_WORK, TASKS, WORK, share_out, work_for
from random_pairs import no_core_basis, random_pairs


@pytest.fixture(scope="module")
def matrix():
    """Blocks of all of H: their corners, the first nonzero of each and where all end."""
    basis = no_core_basis(3, 3, 2, 0)
    return csb_hamiltonian(basis, random_pairs(basis), bits=6).below.blocks


@pytest.mark.parametrize(("work", "piece"), [(3000, 1000), (100, 1000), (1 << 19, 1 << 17)])
def test_every_nonzero_belongs_to_one_task_with_its_columns(matrix, work, piece):
    found = share_out(matrix.corner_x2, matrix.start_x, work, piece)
    seen = np.zeros(int(matrix.start_x[-1]), dtype=int)
    for task, column0 in enumerate(found.column0_i.tolist()):
        for k in range(found.piece0_i[task], found.piece0_i[task + 1]):
            begin, end = int(found.begin_k[k]), int(found.end_k[k])
            block = int(np.searchsorted(matrix.start_x, begin, side="right")) - 1
            assert end <= matrix.start_x[block + 1] and 0 < end - begin <= piece
            assert [found.row0_k[k], column0] == matrix.corner_x2[block].tolist()
            seen[begin:end] += 1
    assert np.all(seen == 1)


def test_tasks_have_about_the_wanted_number_of_nonzeros(matrix):
    found = share_out(matrix.corner_x2, matrix.start_x, work=3000, piece=1000)
    size_k = found.end_k - found.begin_k
    size_i = np.add.reduceat(size_k, found.piece0_i[:-1])
    assert size_i.max() <= 3000 + 1000 and len(size_i) > len(np.unique(found.column0_i))


def test_every_multiprocessor_gets_several_tasks_and_none_takes_too_long():
    assert work_for(5_000_000_000, 132) == WORK and work_for(0, 132) == LEAST_WORK
    work = work_for(300_000_000, 132)
    assert LEAST_WORK < work < WORK and TASKS - 1 < 300_000_000 / (132 * work) < TASKS + 1


def test_a_matrix_without_nonzeros_has_no_tasks():
    found = share_out(np.zeros((0, 2), dtype=int), np.zeros(1, dtype=int), work=1000, piece=250)
    assert len(found.column0_i) == 0 and found.piece0_i.tolist() == [0]


def test_blocks_of_several_rectangles_with_the_same_columns_share_tasks():
    corner_x2, start_x = np.array([[5, 7], [69, 7], [5, 71], [300, 7]]), np.array([0, 10, 30, 60, 100])
    found = share_out(corner_x2, start_x, work=1000, piece=25)
    assert found.column0_i.tolist() == [7, 71] and found.piece0_i.tolist() == [0, 4, 6]
    assert found.row0_k.tolist() == [5, 69, 300, 300, 5, 5]
    assert found.begin_k.tolist() == [0, 10, 60, 85, 30, 55] and found.end_k.tolist() == [10, 30, 85, 100, 55, 60]


def test_tasks_make_the_product(matrix):
    """What every thread block has to do, done by NumPy."""
    x_b = np.random.default_rng(1).normal(size=int(matrix.corner_x2.max()) + 64)
    row_z, column_z, value_z = (array.numpy() for array in (matrix.row_z, matrix.column_z, matrix.value_z))
    wanted_b, found_b = np.zeros_like(x_b), np.zeros_like(x_b)
    for (row, column), first, last in zip(matrix.corner_x2, matrix.start_x[:-1], matrix.start_x[1:], strict=True):
        some = slice(first, last)
        np.add.at(wanted_b, row + row_z[some], value_z[some] * x_b[column + column_z[some]])
        np.add.at(wanted_b, column + column_z[some], value_z[some] * x_b[row + row_z[some]])
    work = share_out(matrix.corner_x2, matrix.start_x, work=700, piece=300)
    for task, column in enumerate(work.column0_i):
        for k in range(work.piece0_i[task], work.piece0_i[task + 1]):
            some, row = slice(work.begin_k[k], work.end_k[k]), work.row0_k[k]
            np.add.at(found_b, row + row_z[some], value_z[some] * x_b[column + column_z[some]])
            np.add.at(found_b, column + column_z[some], value_z[some] * x_b[row + row_z[some]])
    assert np.allclose(found_b, wanted_b, rtol=0, atol=1e-12 * abs(wanted_b).max())
