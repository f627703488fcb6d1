import numpy as np
import pytest
import torch

from eigenwerk.errors import InputError
from eigenwerk.ncci.basis.annihilation import take_one, take_two
from eigenwerk.ncci.matrix_free.pair_tasks import all_tasks
from eigenwerk.ncci.matrix_free.pairs import pairs_hamiltonian
from eigenwerk.ncci.stored.dense import dense_hamiltonian
from random_pairs import no_core_basis, p_and_sd_shell_basis, random_pairs, random_vectors

SPACES = [
    (3, 3, 2, 0),
    (2, 2, 4, 0),
    (1, 2, 4, 1),
    (3, 4, 1, 1),
    (2, 1, 3, 1),
    (0, 3, 2, 1),
    (2, 0, 4, 0),
    (3, 3, 2, 2),
]
"""Protons, neutrons, Nmax, 2M."""


@pytest.fixture(scope="module", params=SPACES, ids=str)
def space(request):
    basis = no_core_basis(*request.param)
    pairs = random_pairs(basis)
    return basis, pairs, dense_hamiltonian(basis, pairs)


@pytest.mark.fast("(3, 4, 1, 1)", "(1, 2, 4, 1)", "(2, 2, 4, 0)")
def test_pairs_equal_dense(space):
    basis, pairs, dense = space
    x_nb = random_vectors(3, basis.dimension)
    wanted = dense.apply(x_nb)
    assert torch.allclose(pairs_hamiltonian(basis, pairs).apply(x_nb), wanted, rtol=0, atol=1e-12 * wanted.abs().max())


def test_pairs_equal_dense_in_a_valence_space():
    basis = p_and_sd_shell_basis()
    pairs = random_pairs(basis)
    x_nb = random_vectors(2, basis.dimension)
    wanted = dense_hamiltonian(basis, pairs).apply(x_nb)
    found = pairs_hamiltonian(basis, pairs).apply(x_nb)
    assert basis.dimension == 88
    assert torch.allclose(found, wanted, rtol=0, atol=1e-12 * wanted.abs().max())


@pytest.mark.slow
def test_pairs_do_not_depend_on_what_is_kept_or_on_the_number_type():
    basis = no_core_basis(3, 3, 4, 0)
    pairs = random_pairs(basis)
    x_nb = random_vectors(2, basis.dimension)
    kept, fresh = pairs_hamiltonian(basis, pairs), pairs_hamiltonian(basis, pairs, keep_bytes=0)
    first = kept.apply(x_nb)
    assert kept.kept and torch.equal(kept.apply(x_nb), first)
    assert torch.equal(fresh.apply(x_nb), first) and not fresh.kept
    single = pairs_hamiltonian(basis, pairs, torch.float32).apply(x_nb.float())
    assert torch.allclose(single.double(), first, rtol=0, atol=3e-6 * first.abs().max())


@pytest.mark.slow
def test_pairs_by_several_threads_equal_those_by_one():
    basis = no_core_basis(6, 6, 2, 0)  # the lowest shells are full: occupied labels are left out
    pairs = random_pairs(basis)
    one = pairs_hamiltonian(basis, pairs)
    x_nb = random_vectors(2, basis.dimension)
    wanted = one.apply(x_nb)
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        found = pairs_hamiltonian(basis, pairs).apply(x_nb)
    finally:
        torch.set_num_threads(threads)
    assert any(gather.inside is not None for gather in one.kept.values())
    assert torch.allclose(found, wanted, rtol=0, atol=1e-12 * wanted.abs().max())


@pytest.mark.slow
def test_pairs_of_a_larger_space_are_symmetric():
    basis = no_core_basis(3, 3, 4, 0)
    x_nb = random_vectors(2, basis.dimension)
    y_nb = pairs_hamiltonian(basis, random_pairs(basis)).apply(x_nb)
    assert float(x_nb[0] @ y_nb[1]) == pytest.approx(float(x_nb[1] @ y_nb[0]), abs=1e-9)


def test_every_pair_of_every_state_is_gathered_once():
    basis = no_core_basis(3, 3, 4, 0)
    kinds = {tasks.kind: tasks for tasks in all_tasks(basis, random_pairs(basis))}
    found = {}
    for kind, tasks in kinds.items():
        found[kind] = 0
        for task in tasks.tasks:
            left = tasks.left_labels[task.block][: task.pairs, None] * task.left_rows + np.arange(task.left_rows)
            right = tasks.right_labels[task.block][: task.pairs, None] * task.right_rows + np.arange(task.right_rows)
            one = (tasks.left.sign_z[task.left_start + left] != 0).sum(axis=1)
            other = (tasks.right.sign_z[task.right_start + right] != 0).sum(axis=1)
            found[kind] += int((one * other).sum())
    assert found == {"pp": 3 * 17040, "nn": 3 * 17040, "pn": 9 * 17040}  # 15 pairs in each of 17 040 states


def test_signs_of_taking_two_nucleons_are_those_of_taking_one_twice():
    basis = no_core_basis(4, 3, 2, 1)
    one, two = take_one(basis.protons), take_two(basis.protons)
    assert len(one.det_z) == 4 * len(basis.protons) and len(two.det_z) == 6 * len(basis.protons)
    assert one.rests < len(one.det_z) and two.rests < len(two.det_z)
    occupied = basis.protons.occupied_di
    for z in range(0, len(two.det_z), 97):
        row = occupied[two.det_z[z]].tolist()
        i, j = row.index(two.first_z[z]), row.index(two.second_z[z])
        assert two.sign_z[z] == (-1) ** i * (-1) ** (j - 1)


def test_a_dense_matrix_that_is_too_large_is_refused():
    basis = no_core_basis(3, 3, 6, 0)
    with pytest.raises(InputError, match="csb or pairs"):
        dense_hamiltonian(basis, random_pairs(basis))
