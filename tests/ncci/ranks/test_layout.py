"""The table of owners: every block once, the published order of ranks, balanced shares, what travels."""

import numpy as np
import pytest

from eigenwerk.ncci.ranks.layout import block_rows_for, cut_evenly, dealt, triangle, triangle_of


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


@pytest.mark.parametrize("ranks", [2, 4, 5, 8])
def test_dealt_blocks_come_out_even(ranks):
    count = block_rows_for(ranks)
    cost_ij = np.random.default_rng(2).uniform(0.5, 1.5, (count, count))
    cost_ij[np.diag_indices(count)] *= 0.5
    layout = dealt(cost_ij, ranks)
    load_p = [sum(cost_ij[block] for block in layout.blocks(rank)) for rank in range(ranks)]
    assert max(load_p) / np.mean(load_p) <= 1.05
    assert all(layout.away_p[rank] is None and layout.column(rank) == list(range(ranks)) for rank in range(ranks))


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
