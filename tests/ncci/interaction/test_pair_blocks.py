"""From J-coupled matrix elements to pairs of m-states."""

import numpy as np
import pytest

from eigenwerk.ncci.interaction.pair_blocks import pair_blocks
from eigenwerk.ncci.interaction.two_body import SPECIES, PairSpace, TwoBody
from eigenwerk.ncci.orbitals import no_core_orbitals


@pytest.fixture
def random_operator():
    rng = np.random.default_rng(7)
    space = PairSpace(no_core_orbitals(3), no_core_orbitals(3), 3, 3, 3)
    matrices = {kind: {} for kind in SPECIES}
    for kind in SPECIES:
        for key, pairs in space.pairs(kind).items():
            matrix = rng.normal(size=(len(pairs), len(pairs)))
            matrices[kind][key] = matrix + matrix.T
    return TwoBody(space, matrices)


@pytest.mark.parametrize("kind", SPECIES)
def test_spectrum_of_two_nucleons_is_that_of_the_coupled_matrices(random_operator, kind):
    """Every J-coupled eigenvalue appears once for each M: the m-scheme pairs are the same space in another basis."""
    found = np.sort(np.concatenate([np.linalg.eigvalsh(b.matrix_xx) for b in pair_blocks(random_operator, kind)]))
    coupled = [
        np.repeat(np.linalg.eigvalsh(matrix), 2 * j + 1)
        for (j, _), (_, matrix) in random_operator.channels(kind).items()
    ]
    np.testing.assert_allclose(found, np.sort(np.concatenate(coupled)), atol=1e-10)


@pytest.mark.parametrize("kind", SPECIES)
def test_blocks_hold_each_pair_once_and_quanta_rise(random_operator, kind):
    states = random_operator.orbitals_p.states()
    seen = set()
    for block in pair_blocks(random_operator, kind):
        pairs = list(zip(block.first_x.tolist(), block.second_x.tolist(), strict=True))
        assert not seen.intersection(pairs)
        seen.update(pairs)
        assert (np.diff(block.quanta_x) >= 0).all()
        assert kind == "pn" or (block.first_x < block.second_x).all()
        assert (states.twice_m_x[block.first_x] + states.twice_m_x[block.second_x] == block.twice_M).all()
    quanta = states.quanta_x[:, None] + states.quanta_x
    inside = quanta <= 3
    assert len(seen) == (inside if kind == "pn" else np.triu(inside, 1)).sum()
