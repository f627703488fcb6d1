"""Rectangles of the stored H: those of the whole one, made alone; their products and those of their transposes."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from covering import but_slow, covering
from eigenwerk.ncci.ranks.layout import cut_evenly
from eigenwerk.ncci.stored import csb_part as module
from eigenwerk.ncci.stored.csb_entries import Entries
from eigenwerk.ncci.stored.csb_part import Rectangle, csb_part
from eigenwerk.ncci.stored.dense import dense_hamiltonian
from random_pairs import no_core_basis, random_pairs, random_vectors

SPACES = (3, 3, 2, 2), (1, 2, 4, 1), (3, 4, 1, 1), (1, 2, 6, 1)


@pytest.fixture(scope="module", params=but_slow(SPACES, SPACES[-1]), ids=str)
def space(request):
    basis = no_core_basis(*request.param)
    pairs = random_pairs(basis)
    h_bb = dense_hamiltonian(basis, pairs).apply(torch.eye(basis.dimension, dtype=torch.float64))
    return basis, Entries(basis, pairs, torch.float64), h_bb


@pytest.mark.fast("(3, 4, 1, 1)-14-False", "(3, 3, 2, 2)-14-False")
@pytest.mark.parametrize(("bits", "compiled"), covering((8, 14), (True, False), together=1))
def test_rectangles_are_those_of_the_whole_matrix(space, monkeypatch, bits, compiled):
    basis, entries, h_bb = space
    if not compiled:
        monkeypatch.setattr(module, "product_kernel", lambda *words: None)
    cuts = cut_evenly(basis.first_d, 3).tolist()
    made = 0
    for i in range(3):
        for j in range(i + 1):
            given = Rectangle((cuts[i], cuts[i + 1]), (cuts[j], cuts[j + 1]))
            rows, columns = (slice(*basis.first_d[cuts[k : k + 2]].tolist()) for k in (i, j))
            wanted = h_bb[rows, columns].tril(-1) if i == j else h_bb[rows, columns]
            part = csb_part(entries, [given], tuple(wanted.shape), bits)
            assert part.shape == tuple(wanted.shape) and part.nonzeros >= int((wanted != 0).sum())
            for count in (1, 3, 9):
                x_nb = random_vectors(count, wanted.shape[1])
                assert torch.allclose(part.forward(x_nb), x_nb @ wanted.T, rtol=0, atol=1e-11)
                x_nb = random_vectors(count, wanted.shape[0])
                assert torch.allclose(part.back(x_nb), x_nb @ wanted, rtol=0, atol=1e-11)
                ends = [random_vectors(count, size) for size in wanted.shape]
                y_rows, y_columns = (torch.ones_like(x_nb) for x_nb in ends)
                part.add(*ends, y_rows, y_columns)
                assert torch.allclose(y_rows, 1 + ends[1] @ wanted.T, rtol=0, atol=1e-11)
                assert torch.allclose(y_columns, 1 + ends[0] @ wanted, rtol=0, atol=1e-11)
            made += part.nonzeros
    assert made == entries.count()


@pytest.mark.fast("(3, 4, 1, 1)-*")
@pytest.mark.parametrize(
    ("way", "count"), covering(("compiled", "threads", "scipy", "simple"), (3, 9, 1), together=1)
)
def test_rectangles_behind_each_other_are_one_part(space, monkeypatch, way, count):
    """Those of a rank: some of the blocks, wherever they are in the vectors, read in one go."""
    basis, entries, h_bb = space
    if way == "scipy":
        monkeypatch.setattr(module, "product_kernel", lambda *words: None)
    if way == "threads":
        monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    monkeypatch.setattr(module, "SIMPLE", 1000)
    cuts = cut_evenly(basis.first_d, 3).tolist()
    wanted_bb, rectangles = torch.zeros_like(h_bb), []
    for i, j in ((1, 0), (1, 1), (2, 0)):
        rows, columns = (slice(*basis.first_d[cuts[k : k + 2]].tolist()) for k in (i, j))
        wanted_bb[rows, columns] = h_bb[rows, columns].tril(-1) if i == j else h_bb[rows, columns]
        ends = (cuts[i], cuts[i + 1]), (cuts[j], cuts[j + 1])
        rectangles.append(Rectangle(*ends, (rows.start, columns.start)))
    part = replace(csb_part(entries, rectangles, entries.shape, 5), simple=way == "simple")
    x_nb = random_vectors(count, basis.dimension)
    y_nb = torch.ones_like(x_nb)
    part.add(x_nb, x_nb, y_nb, y_nb)
    assert torch.allclose(y_nb, 1 + x_nb @ (wanted_bb + wanted_bb.T), rtol=0, atol=1e-11)
    assert torch.allclose(part.forward(x_nb), x_nb @ wanted_bb.T, rtol=0, atol=1e-11)
    assert torch.allclose(part.back(x_nb), x_nb @ wanted_bb, rtol=0, atol=1e-11)
    assert part.nonzeros == sum(entries.within(one.rows, one.columns).count() for one in rectangles)


@pytest.mark.fast("(1, 2, 4, 1)")
def test_entries_are_counted_without_being_made(space):
    basis, entries, _ = space
    cuts = cut_evenly(basis.first_d, 3).tolist()
    spans = [(0, cuts[3]), *pairwise(cuts)]
    for rows in spans:
        for columns in (span for span in spans if span == rows or span[1] <= rows[0]):
            inside = entries.within(rows, columns)
            made = sum(len(row) for band in inside.bands(50) for row, _, _ in inside.band_parts(*band))
            assert inside.count() == made


@pytest.mark.fast("(1, 2, 4, 1)-*")
@pytest.mark.parametrize("most", [1, 3000, 10**9])
def test_even_bands_have_about_as_many_entries(space, most):
    basis, entries, _ = space
    count_d = entries.count_rows()
    bands = entries.even_bands(most)
    assert [band[0] for band in bands] == [0, *(band[1] for band in bands[:-1])]
    assert bands[-1][1] == len(basis.protons)
    for start, stop in bands:
        made = sum(len(row) for row, _, _ in entries.band_parts(start, stop))
        assert made == count_d[start:stop].sum() < most + 2 * count_d.max()


def test_a_rectangle_makes_its_own_entries_only(space):
    basis, entries, _ = space
    cuts = cut_evenly(basis.first_d, 2).tolist()
    inside = entries.within((cuts[1], cuts[2]), (cuts[0], cuts[1]))
    for band in inside.bands(50):
        for row, column, _ in inside.band_parts(*band):
            if len(row):
                assert int(row.min()) >= 0 and int(row.max()) < inside.shape[0]
                assert int(column.min()) >= 0 and int(column.max()) < inside.shape[1]
    assert 0 < inside.count() < entries.count()


@pytest.mark.fast("(1, 2, 4, 1)-*")
@pytest.mark.parametrize("count", [1, 3])
def test_rows_and_columns_may_be_the_same_vectors_and_parts_of_longer_ones(space, count):
    basis, entries, h_bb = space
    everything = (0, len(basis.protons))
    part = csb_part(entries, [Rectangle(everything, everything)], entries.shape, 8)
    x_nb = random_vectors(count, basis.dimension + 5)
    y_nb = torch.zeros_like(x_nb)
    inside = slice(2, 2 + basis.dimension)
    part.add(x_nb[:, inside], x_nb[:, inside], y_nb[:, inside], y_nb[:, inside])
    lower_bb = h_bb.tril(-1)
    wanted = x_nb[:, inside] @ (lower_bb + lower_bb.T)
    assert torch.allclose(y_nb[:, inside], wanted, rtol=0, atol=1e-11)
    assert not y_nb[:, :2].any() and not y_nb[:, -3:].any()
