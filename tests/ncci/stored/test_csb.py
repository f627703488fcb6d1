from dataclasses import replace

import numpy as np
import pytest
import torch

from covering import covering
from eigenwerk.ncci.matrix_free.pairs import pairs_hamiltonian
from eigenwerk.ncci.stored import csb_build, csb_part
from eigenwerk.ncci.stored.csb import csb_hamiltonian
from eigenwerk.ncci.stored.csb_build import build_blocks
from eigenwerk.ncci.stored.csb_entries import Entries
from eigenwerk.ncci.stored.dense import dense_hamiltonian
from random_pairs import no_core_basis, p_and_sd_shell_basis, random_pairs, random_vectors

SPACES = {
    (3, 3, 2, 0): 33_476,
    (3, 3, 2, 2): 28_238,
    (2, 2, 4, 0): 54_122,
    (1, 2, 4, 1): 20_153,
    (3, 4, 1, 1): None,
    (2, 1, 3, 1): None,
    (0, 3, 2, 1): None,
    (2, 0, 4, 0): None,
}
"""Protons, neutrons, Nmax, 2M -> MFDn's numnonzero where the reference table has it."""


@pytest.mark.fast("3 3 2 0-16", "1 2 4 1-5", "2 1 3 1-5")
@pytest.mark.parametrize(
    ("numbers", "bits"),
    covering(SPACES, (5, 16), together=1, fast=lambda numbers, bits: (bits == 5) == (sum(numbers[:2]) < 5)),
)
def test_csb_equals_dense_and_has_the_nonzeros_of_mfdn(numbers, bits):
    basis = no_core_basis(*numbers)
    pairs = random_pairs(basis)
    x_nb = random_vectors(3, basis.dimension)
    matrix = csb_hamiltonian(basis, pairs, bits=bits)
    wanted = dense_hamiltonian(basis, pairs).apply(x_nb)
    assert matrix.nonzeros == (SPACES[numbers] or matrix.nonzeros)
    simple = replace(matrix, below=replace(matrix.below, simple=True))
    for found in (matrix.apply(x_nb), simple.apply(x_nb)):
        assert torch.allclose(found, wanted, rtol=0, atol=1e-12 * wanted.abs().max())


@pytest.mark.fast("16")
@pytest.mark.parametrize("bits", [5, 16])
def test_scipy_makes_the_product_without_a_compiler(monkeypatch, bits):
    monkeypatch.setattr(csb_part, "product_kernel", lambda *words: None)
    basis = no_core_basis(3, 3, 2, 0)
    pairs = random_pairs(basis)
    x_nb = random_vectors(3, basis.dimension)
    matrix = csb_hamiltonian(basis, pairs, bits=bits)
    wanted = dense_hamiltonian(basis, pairs).apply(x_nb)
    for _ in range(2):  # the first one finds where rows begin
        assert torch.allclose(matrix.apply(x_nb), wanted, rtol=0, atol=1e-12 * wanted.abs().max())


@pytest.mark.slow
@pytest.mark.parametrize(("numbers", "nonzeros"), [
    pytest.param((3, 3, 4, 0), 2_081_236, marks=pytest.mark.slow), ((6, 6, 2, 0), 1_697_935),
])  # fmt: skip
def test_csb_equals_pairs_in_larger_spaces(numbers, nonzeros):
    basis = no_core_basis(*numbers)
    pairs = random_pairs(basis)
    x_nb = random_vectors(1, basis.dimension)
    matrix = csb_hamiltonian(basis, pairs, bits=12)
    wanted = pairs_hamiltonian(basis, pairs).apply(x_nb)
    assert matrix.nonzeros == nonzeros
    assert torch.allclose(matrix.apply(x_nb), wanted, rtol=0, atol=1e-12 * wanted.abs().max())


def test_csb_equals_dense_in_a_valence_space():
    basis = p_and_sd_shell_basis()
    pairs = random_pairs(basis)
    x_nb = random_vectors(2, basis.dimension)
    wanted = dense_hamiltonian(basis, pairs).apply(x_nb)
    assert torch.allclose(csb_hamiltonian(basis, pairs, bits=4).apply(x_nb), wanted, rtol=0, atol=1e-11)


@pytest.mark.slow
def test_blocks_do_not_depend_on_how_they_are_built():
    basis = no_core_basis(3, 3, 2, 0)
    entries = Entries(basis, random_pairs(basis), torch.float64)
    wanted = build_blocks(entries, 7)
    entries.part = 100
    for rows in (1, 800):
        found = build_blocks(entries, 7, rows)
        assert np.array_equal(found.corner_x2, wanted.corner_x2) and np.array_equal(found.start_x, wanted.start_x)
        for name in ("row_z", "column_z", "value_z"):
            assert torch.equal(getattr(found, name), getattr(wanted, name)), (name, rows)


def test_blocks_are_the_same_without_a_compiler(monkeypatch):
    basis = no_core_basis(3, 3, 2, 0)
    entries = Entries(basis, random_pairs(basis), torch.float64)
    wanted = build_blocks(entries, 7)
    monkeypatch.setattr(csb_build.BlockFiller, "__bool__", lambda filling: False)
    found = build_blocks(entries, 7)
    for name in ("row_z", "column_z", "value_z"):
        assert torch.equal(getattr(found, name), getattr(wanted, name)), name


@pytest.mark.slow
def test_threads_change_nothing():
    basis = no_core_basis(3, 3, 4, 0)
    pairs = random_pairs(basis)
    x_nb = random_vectors(1, basis.dimension)
    one = csb_hamiltonian(basis, pairs, bits=10)
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        three = csb_hamiltonian(basis, pairs, bits=10)
        product = three.apply(x_nb)
    finally:
        torch.set_num_threads(threads)
    found, wanted = three.below.blocks, one.below.blocks
    assert torch.equal(found.row_z, wanted.row_z) and torch.equal(found.value_z, wanted.value_z)
    assert torch.allclose(product, one.apply(x_nb), rtol=0, atol=1e-11)


def test_places_are_below_the_diagonal_and_ordered_in_every_block():
    basis = no_core_basis(3, 3, 2, 0)
    matrix = csb_hamiltonian(basis, random_pairs(basis), bits=6).below.blocks
    for block, (i, j) in enumerate(matrix.corner_x2.tolist()):
        part = slice(int(matrix.start_x[block]), int(matrix.start_x[block + 1]))
        row, column = matrix.row_z[part].long() + i, matrix.column_z[part].long() + j
        assert (row > column).all() and (torch.diff(row * 1000 + column) > 0).all()


@pytest.mark.slow
def test_single_precision_takes_eight_bytes_for_a_nonzero():
    basis = no_core_basis(3, 3, 4, 0)
    pairs = random_pairs(basis)
    x_nb = random_vectors(1, basis.dimension)
    single, double = (csb_hamiltonian(basis, pairs, dtype) for dtype in (torch.float32, torch.float64))
    assert single.bytes == 8 * (single.nonzeros - basis.dimension) + 4 * basis.dimension
    wanted = double.apply(x_nb)
    assert torch.allclose(single.apply(x_nb.float()).double(), wanted, rtol=0, atol=3e-6 * wanted.abs().max())


def test_room_for_another_number_of_nonzeros_is_refused():
    basis = no_core_basis(3, 3, 2, 0)
    entries = Entries(basis, random_pairs(basis), torch.float64)
    with pytest.raises(ValueError, match=f"room for 3 nonzeros, but there are {entries.count()}"):
        build_blocks(entries, 7, into=csb_build.room(3, entries))


def test_a_gpu_sorts_fewer_entries_together_where_memory_is_short(monkeypatch):
    """Beside the blocks, which are there already or still to come; never fewer than a small band."""
    basis = no_core_basis(3, 3, 2, 0)
    entries = Entries(basis, random_pairs(basis), torch.float64)
    blocks, least, bytes_each = 12 * entries.count(), csb_build.LEAST_BAND, csb_build.SORTED_BYTES
    for free, wanted in ((1 << 40, csb_build.BAND), (blocks + 2 * least * bytes_each, 2 * least), (0, least)):
        monkeypatch.setattr(csb_build, "room_on_gpu", lambda _, free=free: free)
        assert csb_build.at_once(entries, there=False) == wanted
    monkeypatch.setattr(csb_build, "room_on_gpu", lambda _: 3 * least * bytes_each)
    assert csb_build.at_once(entries, there=True) == 3 * least
