"""Every piece has one owner, and owners have about the same to do."""

import numpy as np
import pytest

from eigenwerk.ncci.ranks.segments import owners_by_cost, share_by_cost

COSTS = {
    "equal": np.ones(40),
    "rising": np.arange(1.0, 60.0),
    "one large": np.array([1.0, 1.0, 50.0, 1.0, 1.0]),
    "zeros": np.array([0.0, 0.0, 3.0, 0.0]),
    "few": np.array([2.0, 1.0]),
    "none": np.zeros(0),
}


@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
def test_neighbours_cover_all_pieces_once(name, ranks):
    cost_i = COSTS[name]
    shares = [share_by_cost(cost_i, ranks, rank) for rank in range(ranks)]
    assert np.concatenate([np.arange(len(cost_i))[share] for share in shares]).tolist() == list(range(len(cost_i)))
    if len(cost_i):
        assert max(cost_i[share].sum() for share in shares) <= cost_i.sum() / ranks + cost_i.max()


@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_owners_are_ranks_and_none_has_far_more_than_its_part(name, ranks):
    cost_i = COSTS[name]
    owner_i = owners_by_cost(cost_i, ranks)
    assert len(owner_i) == len(cost_i) and set(owner_i.tolist()) <= set(range(ranks))
    if len(cost_i):
        load_p = np.bincount(owner_i, weights=cost_i, minlength=ranks)
        assert load_p.max() <= 4 / 3 * max(cost_i.sum() / ranks, cost_i.max()) + 1e-12


def test_many_pieces_come_out_nearly_even():
    cost_i = np.random.default_rng(1).uniform(1, 10, 500)
    load_p = np.bincount(owners_by_cost(cost_i, 7), weights=cost_i)
    assert load_p.max() / load_p.mean() < 1.01
