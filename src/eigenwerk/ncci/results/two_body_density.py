"""Expectation values of two-body operators by the density of pairs, with the tables of the matrix-free back end.

<v|O|v> = sum over pairs of <ab|O|cd> Gamma_ab,cd with Gamma = <v|a+_a a+_b a_d a_c|v>: what the `pairs` product gathers
is multiplied with itself.  One density serves all operators; densities and matrix elements are made block by block.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import torch

from eigenwerk.ncci.basis.basis_pairs import BasisPairs
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.basis.pair_counting import KINDS
from eigenwerk.ncci.device_arrays import tensor
from eigenwerk.ncci.interaction.pair_blocks import block_elements
from eigenwerk.ncci.interaction.two_body import TwoBody
from eigenwerk.ncci.matrix_free.pair_tasks import kind_tasks
from eigenwerk.ncci.matrix_free.pairs import CHUNK, KindTensors, signed_places, tables
from eigenwerk.ncci.ranks.segments import owners_by_cost
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.serial import ALONE

MOST_SMALLER = 8
"""Ranks gather a part of `CHUNK` each, since they do so at the same time on a machine; so much less at most."""


def expectations(
    basis: ManyBodyBasis,
    pairs: BasisPairs,
    operators: Mapping[str, TwoBody],
    vectors_nb: torch.Tensor,
    comm: Communicator = ALONE,
) -> dict[str, np.ndarray]:
    """<v|O|v> (n,) of every operator in every vector, float64.

    pairs: those of any operator of this basis; their matrix elements are not used.  comm: the ranks among which blocks
    are dealt out; each has the whole vectors and gets all values.
    """
    own, chunk = _own_blocks(pairs, comm), CHUNK // min(comm.size, MOST_SMALLER)
    total_on = np.zeros((len(operators), len(vectors_nb)))
    for kind in KINDS:
        for block, gamma_nxx in zip(own.blocks[kind], _densities(basis, own, kind, vectors_nb, chunk), strict=True):
            for o, operator in enumerate(operators.values()):
                matrix_xx = block_elements(operator, kind, block.first_x, block.second_x)
                total_on[o] += np.einsum("nxy,xy->n", gamma_nxx, matrix_xx)
    total_on = comm.sum(tensor(total_on, vectors_nb.device)).cpu().numpy()
    return dict(zip(operators, total_on, strict=True))


def _own_blocks(pairs: BasisPairs, comm: Communicator) -> BasisPairs:
    """The blocks of this rank; the cost of one grows with the number of its elements."""
    places = [(kind, block) for kind in KINDS for block in pairs.blocks[kind]]
    owner_i = owners_by_cost([float(block.matrix_xx.size) for _, block in places], comm.size)
    mine = [place for place, owner in zip(places, owner_i.tolist(), strict=True) if owner == comm.rank]
    return BasisPairs({kind: [block for other, block in mine if other == kind] for kind in KINDS})


def _densities(
    basis: ManyBodyBasis, pairs: BasisPairs, kind: str, vectors_nb: torch.Tensor, chunk: int
) -> Iterator[np.ndarray]:
    """Gamma (n, x, x) of all vectors for one block after the other, pairs in the order of the block; about `chunk`
    elements are gathered at once."""
    if not pairs.blocks[kind]:
        return
    of_kind = tables(kind_tasks(basis, pairs, kind), vectors_nb.device)
    signed_n = [torch.cat([vector_b, -vector_b, vector_b.new_zeros(1)]) for vector_b in vectors_nb]
    for number, block in enumerate(pairs.blocks[kind]):
        size = len(block.first_x)
        gamma_nxx = vectors_nb.new_zeros((len(signed_n), size, size), dtype=torch.float64)
        for place, count in _places(of_kind, number, basis.dimension, chunk):
            for gamma_xx, signed_b in zip(gamma_nxx, signed_n, strict=True):
                gathered = signed_b.index_select(0, place).view(count, -1).double()
                gamma_xx[:count, :count] += gathered @ gathered.T
        yield gamma_nxx.cpu().numpy()


def _places(of_kind: KindTensors, block: int, dimension: int, chunk: int) -> Iterator[tuple[torch.Tensor, int]]:
    """Places of what is gathered for a block, and how many of its pairs that are."""
    for task in of_kind.tasks:
        if task.block == block:
            step = max(1, chunk // (task.pairs * task.right_rows))
            for start in range(0, task.left_rows, step):
                stop = min(start + step, task.left_rows)
                yield signed_places(of_kind, task, start, stop, dimension), task.pairs
