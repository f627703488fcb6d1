"""The table of owners: every block once, the published order of ranks, balanced shares, what travels."""

import numpy as np
import pytest

from eigenwerk.ncci.ranks.layout import EVENLY, cut_evenly, dealt, triangle, triangle_of


@pytest.mark.parametrize("n_d", range(1, 10))
def test_a_triangle_gives_every_pair_of_block_rows_one_rank(n_d):
    layout = triangle(n_d)
    assert layout.ranks == n_d * (n_d + 1) // 2 and triangle_of(layout.ranks) == n_d
    assert sorted(layout.owner_ij[np.tril_indices(n_d)].tolist()) == list(range(layout.ranks))
    for rank in range(layout.ranks):
        j = layout.home_p[rank][0]
        ((a, b),) = layout.blocks(rank)
        assert j in (a, b) and layout.away_p[rank] == (None if a == b else a + b - j)
        column = layout.column(rank)
        assert column == list(range(column[0], column[0] + len(column))) and layout.owner_ij[j, j] == column[0]
        i = layout.row_of(rank)
        assert i is None or rank in layout.row(i)
    if n_d % 2:
        assert {len(layout.row(i)) for i in range(n_d)} == {(n_d + 1) // 2}
        assert layout.travelling([60] * n_d) == 2 * 60 * n_d * (n_d - 1)


def test_groups_of_five_block_rows_are_those_of_the_published_layout():
    layout = triangle(5)
    rows = [layout.row(i) for i in range(5)]
    assert [sorted(row) for row in rows] == [[0, 11, 13], [1, 3, 14], [2, 4, 6], [5, 7, 9], [8, 10, 12]]
    assert [row[0] for row in rows] == [0, 3, 6, 9, 12]
    assert layout.column(4) == [3, 4, 5]


def test_even_triangles_have_two_sizes_of_columns():
    layout = triangle(4)
    assert [len(layout.column(rank)) for rank in range(10)] == [3, 3, 3, 3, 3, 3, 2, 2, 2, 2]


def covered(layout, cuts_d, rank, size):
    """(d, c) how often the rectangles of a rank have the pair of determinants d >= c."""
    seen_dc = np.zeros((size, size), dtype=int)
    for (i, below), (j, right) in layout.rectangles(rank):
        seen_dc[cuts_d[i] : cuts_d[below], cuts_d[j] : cuts_d[right]] += 1
        assert right <= i or right == below  # below the diagonal, or up to it
    return np.tril(seen_dc)


@pytest.mark.parametrize("ranks", [1, 2, 4, 5, 8, 15, 40])
@pytest.mark.parametrize("kind", ["alike", "one is most", "empty ones"])
def test_dealt_nonzeros_come_out_even_in_few_rectangles(ranks, kind):
    size, generator = 30, np.random.default_rng(ranks)
    count_dc = np.tril(generator.integers(50, 150, (size, size)))
    if kind == "one is most":
        count_dc[17] *= 20
    if kind == "empty ones":
        count_dc[[0, 1, 9, 10, 29]] = 0
        count_dc[:, [0, 1, 9, 10, 29]] = 0
    layout, cuts_d = dealt(count_dc.sum(1), ranks, lambda d, c: int(count_dc[d, :c].sum()))
    shares = [covered(layout, cuts_d, rank, size) for rank in range(ranks)]
    assert np.array_equal(sum(shares), np.tril(np.ones((size, size), dtype=int)))
    load_p = [(share * count_dc).sum() for share in shares]
    mean = count_dc.sum() / ranks
    assert max(load_p) <= mean * (1 + 2 * EVENLY) + count_dc.max()
    assert all(len(layout.rectangles(rank)) <= 3 for rank in range(ranks))
    assert all(layout.away_p[rank] is None and layout.column(rank) == list(range(ranks)) for rank in range(ranks))


def test_shares_end_with_determinants_where_that_is_even():
    layout, cuts_d = dealt(np.full(100, 7), 4, lambda d, c: pytest.fail("nothing is cut within a determinant"))
    assert cuts_d.tolist() == [0, 25, 50, 75, 100]
    assert [layout.rectangles(rank) for rank in range(4)] == [[((r, r + 1), (0, r + 1))] for r in range(4)]


@pytest.mark.parametrize("n_d", [1, 2, 3, 4, 5])
def test_a_rank_of_a_triangle_has_one_rectangle(n_d):
    layout = triangle(n_d)
    for rank in range(layout.ranks):
        ((i, j),) = layout.blocks(rank)
        assert layout.rectangles(rank) == [((i, i + 1), (j, j + 1))]


def test_no_triangle_has_another_number_of_ranks():
    assert [ranks for ranks in range(1, 30) if triangle_of(ranks)] == [1, 3, 6, 10, 15, 21, 28]


@pytest.mark.parametrize("parts", [1, 2, 3, 4])
def test_cuts_are_at_determinants_and_leave_no_part_empty(parts):
    first_d = np.array([0, 0, 1, 1, 30, 31, 31, 40])
    cuts = cut_evenly(first_d, parts)
    assert cuts[0] == 0 and cuts[-1] == 7 and len(cuts) == parts + 1
    assert np.all(np.diff(first_d[cuts]) > 0)
    with pytest.raises(ValueError, match="4 determinants for 5"):
        cut_evenly(first_d, 5)
