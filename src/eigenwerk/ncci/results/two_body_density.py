"""Expectation values of two-body operators by the density of pairs, with the tables of the matrix-free back end.

<v|O|v> = sum over pairs of <ab|O|cd> Gamma_ab,cd with Gamma = <v|a+_a a+_b a_d a_c|v>: what the `pairs` product gathers
is multiplied with itself.  One density serves all operators.
"""

from collections.abc import Mapping

import numpy as np
import torch

from eigenwerk.ncci.basis.basis_pairs import KINDS, BasisPairs
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.pairs.pair_tasks import all_tasks
from eigenwerk.ncci.pairs.pairs import CHUNK, KindTensors, signed_places, to_tensors

PairDensity = Mapping[str, list[np.ndarray]]
"""Gamma by kind of pairs: one matrix (x, x) for every block, pairs in the order of the blocks."""


class PairDensities:
    """The tables of one basis; `of` gives the density of a vector."""

    def __init__(self, basis: ManyBodyBasis, pairs: BasisPairs, device: torch.device | str = "cpu") -> None:
        self.dimension = basis.dimension
        self.kinds: dict[str, KindTensors] = {
            tasks.kind: to_tensors(tasks, torch.float64, torch.device(device)) for tasks in all_tasks(basis, pairs)
        }

    def of(self, vector_b: torch.Tensor) -> dict[str, list[np.ndarray]]:
        """Gamma of a vector (b,), float64."""
        signed_b = torch.cat([vector_b, -vector_b, vector_b.new_zeros(1)])
        return {kind: self._of_kind(self.kinds[kind], signed_b) for kind in KINDS}

    def _of_kind(self, kind: KindTensors, signed_b: torch.Tensor) -> list[np.ndarray]:
        found = [torch.zeros_like(matrix) for matrix in kind.matrices]
        for task in kind.tasks:
            step = max(1, CHUNK // (task.pairs * task.right_rows))
            for start in range(0, task.left_rows, step):
                place = signed_places(kind, task, start, min(start + step, task.left_rows), self.dimension)
                gathered = signed_b.index_select(0, place).view(task.pairs, -1).double()
                found[task.block][: task.pairs, : task.pairs] += gathered @ gathered.T
        return [matrix.cpu().numpy() for matrix in found]


def expectation(density: PairDensity, pairs: BasisPairs) -> float:
    """sum of <ab|O|cd> Gamma_ab,cd; the operator's pairs have to be those of the density, in its order."""
    return float(
        sum(
            np.vdot(gamma, block.matrix_xx)
            for kind in KINDS
            for gamma, block in zip(density[kind], pairs.blocks[kind], strict=True)
        )
    )
