import numpy as np
import pytest
import torch

from eigenwerk.errors import InputError
from eigenwerk.ncci.matrix_free.pair_tasks import Side, all_tasks
from eigenwerk.ncci.matrix_free.pair_tiles import BLOCKED, MOST_BYTES, own_tiles, packed, task_tables, tiles
from eigenwerk.ncci.matrix_free.pairs import pairs_hamiltonian
from random_pairs import no_core_basis, random_pairs


@pytest.fixture(scope="module")
def space():
    basis = no_core_basis(3, 3, 4, 0)
    return basis, random_pairs(basis)


def test_packed_tables_keep_address_sign_and_what_is_occupied():
    side = Side(np.array([5, -3, 0, 7]), np.array([1, -1, 0, -1], dtype=np.int8))
    wide, narrow = packed(side, np.int64), packed(side, np.int32)
    assert wide.tolist() == [10, -5, BLOCKED, 15] and narrow.tolist() == [10, -5, -1, 15]
    assert (wide[[0, 1, 3]] >> 1).tolist() == [5, -3, 7] and (wide[[0, 1, 3]] & 1).tolist() == [0, 1, 1]


@pytest.mark.parametrize("vectors", [1, 8])
@pytest.mark.parametrize("real_bytes", [4, 8])
def test_tiles_hold_every_rest_of_every_task_once_and_fit(space, vectors, real_bytes):
    task_tf = task_tables(all_tasks(*space)).task_tf
    rests_t = task_tf[:, 7] * task_tf[:, 8]
    seen = np.zeros(len(task_tf), dtype=np.int64)
    for part in tiles(task_tf, vectors, real_bytes, 4):
        width = (1 << part.log_columns) // vectors
        assert width >= 1 and part.log_columns >= 2 and part.shared_bytes <= MOST_BYTES
        need = task_tf[part.task_i, 6] * ((real_bytes << part.log_columns) + 4 * width)
        assert need.max() <= part.shared_bytes
        assert np.all(part.first_i % width == 0) and np.all(part.first_i < rests_t[part.task_i])
        seen += np.bincount(part.task_i, np.minimum(width, rests_t[part.task_i] - part.first_i), len(seen)).astype(int)
    assert np.array_equal(seen, rests_t)


def test_tiles_are_dealt_out_to_ranks_once_and_evenly(space):
    task_tf = task_tables(all_tasks(*space)).task_tf
    for part in tiles(task_tf, 1, 8, 4):
        shares = [own_tiles(part, task_tf, 3, rank) for rank in range(3)]
        assert np.array_equal(np.concatenate([share.task_i for share in shares]), part.task_i)
        assert np.array_equal(np.concatenate([share.first_i for share in shares]), part.first_i)
        work_p = [(task_tf[share.task_i, 6] ** 1.5).sum() for share in shares]
        if len(part.task_i) > 300:
            assert max(work_p) < 1.1 * min(work_p)


def test_a_product_too_large_for_shared_memory_is_refused():
    task_tf = np.array([[0, 0, 0, 0, 0, 10000, 10000, 5, 5]])
    with pytest.raises(InputError, match="10000 pairs with 8 vectors"):
        tiles(task_tf, 8, 4, 4)


def test_flat_tables_give_the_product_of_the_back_end(space):
    """A walk through the tables as the kernel does it, one rest after the other."""
    basis, pairs = space
    tables = task_tables(all_tasks(basis, pairs))
    x_b = np.random.default_rng(5).standard_normal(basis.dimension)
    y_b = np.zeros_like(x_b)
    for matrix, left, right, label_l, label_r, line, count, left_rows, right_rows in tables.task_tf.tolist():
        pair = np.arange(count)
        rest_l, rest_r = np.divmod(np.arange(left_rows * right_rows), right_rows)
        a = tables.left_z[left + tables.left_label_z[label_l + pair][:, None] * left_rows + rest_l]
        b = tables.right_z[right + tables.right_label_z[label_r + pair][:, None] * right_rows + rest_r].astype(np.int64)
        free = (a != BLOCKED) & (b >= 0)
        state = np.where(free, (a >> 1) + (b >> 1), 0)
        sign = np.where(free, 1 - 2 * ((a ^ b) & 1), 0)
        matrix_xx = tables.matrix_z[matrix : matrix + count * line].reshape(count, line)[:, :count]
        np.add.at(y_b, state, sign * (matrix_xx.T @ (sign * x_b[state])))
    wanted = pairs_hamiltonian(basis, pairs).apply(torch.from_numpy(x_b)[None])[0].numpy()
    assert np.abs(y_b - wanted).max() < 1e-12 * np.abs(wanted).max()
