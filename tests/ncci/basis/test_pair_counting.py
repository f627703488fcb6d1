"""Counts of pairs and of products with them are those of what is built."""

import pytest

from eigenwerk.ncci.basis.pair_counting import count_pairs
from eigenwerk.ncci.pairs.pair_tasks import all_tasks
from random_pairs import no_core_basis, p_and_sd_shell_basis, random_pairs


@pytest.mark.parametrize(
    "numbers", [(1, 2, 4, 1), (2, 2, 4, 0), (3, 3, 2, 2), (3, 4, 1, 1), (0, 3, 2, 1), None], ids=str
)
def test_counts_are_those_of_what_is_built(numbers):
    basis = p_and_sd_shell_basis() if numbers is None else no_core_basis(*numbers)
    pairs = random_pairs(basis)
    found, kinds = count_pairs(basis.space), all_tasks(basis, pairs)
    sizes = [block.matrix_xx.size for blocks in pairs.blocks.values() for block in blocks]
    assert (found.elements, found.largest) == (sum(sizes), max(sizes))
    assert sum(kind.gathers for kind in kinds) == pytest.approx(found.gathers, rel=0.15)
    assert sum(kind.multiplications for kind in kinds) == pytest.approx(found.multiplications, rel=0.05)
    assert sum(len(kind.tasks) for kind in kinds) == pytest.approx(found.products, rel=0.2)
