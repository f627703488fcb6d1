"""Ranks of a machine have the same matrix elements, made once."""

import numpy as np
import pytest

from eigenwerk.ncci.build import BLOCK_ARRAYS, common_pairs
from random_pairs import no_core_basis, random_pairs


def pairs_in_common(world, space):
    made = []

    def make():
        made.append(1)
        return random_pairs(basis)

    basis = no_core_basis(*space)
    found, wanted = common_pairs(world, make), random_pairs(basis)
    assert list(found.blocks) == list(wanted.blocks)
    for kind, blocks in wanted.blocks.items():
        assert found.numbers(kind) == wanted.numbers(kind) and len(found.blocks[kind]) == len(blocks)
        for one, other in zip(found.blocks[kind], blocks, strict=True):
            for name in BLOCK_ARRAYS:
                assert np.array_equal(getattr(one, name), getattr(other, name))
                assert getattr(one, name).dtype == getattr(other, name).dtype
    return len(made)


@pytest.mark.ranks
@pytest.mark.parametrize("space", [(2, 3, 2, 1), (0, 3, 2, 1)])
def test_one_rank_makes_the_pairs_of_all(ranks, space):
    assert sum(ranks(3).run(pairs_in_common, space)) == 1
