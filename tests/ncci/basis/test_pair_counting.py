"""Counts of pairs and of products with them are those of what is built."""

import pytest

from eigenwerk.ncci.basis.jumps import one_jumps, two_jumps
from eigenwerk.ncci.basis.pair_counting import count_pairs
from eigenwerk.ncci.matrix_free.pair_tasks import all_tasks
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


@pytest.mark.parametrize("numbers", [(1, 2, 4, 1), (2, 2, 4, 0), (3, 3, 4, 0), (3, 4, 3, 1), (0, 3, 2, 1)], ids=str)
def test_jumps_are_about_as_many_as_there_are(numbers):
    """Of two nucleons more are counted: also such as no J couples, and such that begin with states that are taken."""
    basis = no_core_basis(*numbers)
    found, sides = count_pairs(basis.space), (basis.protons, basis.neutrons)
    ones = sum(len(one_jumps(side)) for side in sides if side.nucleons > 0)
    twos = sum(len(two_jumps(side)) for side in sides if side.nucleons > 1)
    assert found.one_jumps == pytest.approx(ones, rel=0.1)
    assert twos <= found.two_jumps <= 2 * twos
