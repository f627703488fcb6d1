"""Back end `pairs`: the Hamiltonian applied without storing it; gather, small dense product, scatter."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch

from eigenwerk.ncci.basis_pairs import BasisPairs
from eigenwerk.ncci.manybody import ManyBodyBasis
from eigenwerk.ncci.pair_tasks import KindTasks, Task, all_tasks
from eigenwerk.ncci.pairs_cuda import PairsOnGpu, pairs_on_gpu

CHUNK = 1 << 22
"""Gathered elements that are worked on at once."""


@dataclass(frozen=True, eq=False)
class KindTensors:
    """`KindTasks` on a device: matrices in the number type of the vectors, tables as tensors."""

    tasks: list[Task]
    matrices: list[torch.Tensor]
    left_labels: list[torch.Tensor]
    right_labels: list[torch.Tensor]
    left_address: torch.Tensor
    left_sign: torch.Tensor
    right_address: torch.Tensor
    right_sign: torch.Tensor


@dataclass(frozen=True, eq=False)
class PairsHamiltonian:
    """H on a many-body basis, nothing of it stored; see `pair_tasks`.

    apply takes and returns (n, b) of the operator's number type.  `kept` remembers the places of gathered elements as
    far as `keep_bytes` allows, 4 bytes for each; the results do not depend on it.
    """

    dimension: int
    dtype: torch.dtype
    device: torch.device
    kinds: list[KindTensors]
    keep_bytes: int = 1 << 31
    kept: dict[tuple[int, int, int], torch.Tensor] = field(default_factory=dict, repr=False)

    def apply(self, x_nb: torch.Tensor) -> torch.Tensor:
        """H x for every row, (n, b)."""
        # [v, -v, 0]: a place beyond the vector carries the sign, the last one stands for an occupied label
        zero = x_nb.new_zeros(len(x_nb), 1)
        signed_bn = torch.cat([x_nb, -x_nb, zero], dim=1).T.contiguous()
        sum_bn = torch.zeros_like(signed_bn)
        for matrix, place in self._products():
            gathered = signed_bn.index_select(0, place).view(len(matrix), -1)
            sum_bn.index_add_(0, place, (matrix @ gathered).view(len(place), -1))
        return (sum_bn[: self.dimension] - sum_bn[self.dimension : -1]).T.contiguous()

    def _products(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Every product: its matrix and the places of its gathered elements (pairs x rests, flat)."""
        used = sum(4 * len(place) for place in self.kept.values())
        for number, kind in enumerate(self.kinds):
            for t, task in enumerate(kind.tasks):
                matrix = kind.matrices[task.block][: task.pairs, : task.pairs]
                step = max(1, CHUNK // (task.pairs * task.right_rows))
                for start in range(0, task.left_rows, step):
                    place = self.kept.get((number, t, start))
                    if place is None:
                        place = signed_places(kind, task, start, min(start + step, task.left_rows), self.dimension)
                        if used + 4 * len(place) <= self.keep_bytes:
                            self.kept[number, t, start] = place
                            used += 4 * len(place)
                    yield matrix, place


def signed_places(kind: KindTensors, task: Task, start: int, stop: int, dimension: int) -> torch.Tensor:
    """Places in [v, -v, 0] of the elements (pair, left rest start..stop, right rest) of a task, flat."""
    left = kind.left_labels[task.block][: task.pairs, None] * task.left_rows + task.left_start
    left = left + torch.arange(start, stop, device=left.device)
    right = kind.right_labels[task.block][: task.pairs, None] * task.right_rows + task.right_start
    right = right + torch.arange(task.right_rows, device=right.device)
    place = kind.left_address[left][:, :, None] + kind.right_address[right][:, None, :]
    sign = kind.left_sign[left][:, :, None] * kind.right_sign[right][:, None, :]
    place = torch.where(sign < 0, place + dimension, place)
    place = torch.where(sign == 0, 2 * dimension, place).view(-1)
    return place.int() if 2 * dimension < 2**31 else place


def pairs_hamiltonian(
    basis: ManyBodyBasis,
    pairs: BasisPairs,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
    keep_bytes: int = 1 << 31,
) -> PairsHamiltonian | PairsOnGpu:
    """The matrix-free operator of `pairs` on `basis`."""
    device = torch.device(device)
    if device.type == "cuda":
        return pairs_on_gpu(basis.dimension, all_tasks(basis, pairs), dtype, device)
    kinds = [to_tensors(kind, dtype, device) for kind in all_tasks(basis, pairs)]
    return PairsHamiltonian(basis.dimension, dtype, device, kinds, keep_bytes)


def to_tensors(kind: KindTasks, dtype: torch.dtype, device: torch.device) -> KindTensors:
    """Moves matrices and tables to a device."""

    def tensor(array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    return KindTensors(
        kind.tasks,
        [tensor(block.matrix_xx).to(dtype) for block in kind.blocks],
        [tensor(labels) for labels in kind.left_labels],
        [tensor(labels) for labels in kind.right_labels],
        tensor(kind.left.address_z),
        tensor(kind.left.sign_z),
        tensor(kind.right.address_z),
        tensor(kind.right.sign_z),
    )
