"""Matrix elements between pairs of m-states, once in the memory of a machine for all ranks on it."""

from collections.abc import Callable

import numpy as np

from eigenwerk.ncci.basis.basis_pairs import BasisPairs
from eigenwerk.ncci.interaction.pair_blocks import PairBlock
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.memory.main_memory import give_back_freed_memory
from eigenwerk.parallel.memory.node_arrays import Arrays, once_per_node

ARRAYS = "first_x", "second_x", "quanta_x", "matrix_xx"
"""Of a block, in their order."""


def common_pairs(comm: Communicator, make: Callable[[], BasisPairs]) -> BasisPairs:
    """What `make` gives, which is called by one rank of each machine; collective.  Its InputError is everybody's."""
    if comm.size == 1:
        return make()
    found = _pairs(once_per_node(comm, lambda: _arrays(make())))
    give_back_freed_memory()
    return found


def _arrays(pairs: BasisPairs) -> Arrays:
    found = {}
    for kind, blocks in pairs.blocks.items():
        found[f"{kind} labels"] = np.array([(block.twice_M, block.parity) for block in blocks]).reshape(-1, 2)
        for number, block in enumerate(blocks):
            found |= {f"{kind} {number} {name}": getattr(block, name) for name in ARRAYS}
    return found


def _pairs(arrays: Arrays) -> BasisPairs:
    found = {}
    for kind in (name.removesuffix(" labels") for name in arrays if name.endswith(" labels")):
        labels = arrays[f"{kind} labels"].tolist()
        found[kind] = [
            PairBlock(twice_m, parity, *(arrays[f"{kind} {number} {name}"] for name in ARRAYS))
            for number, (twice_m, parity) in enumerate(labels)
        ]
    return BasisPairs(found)
