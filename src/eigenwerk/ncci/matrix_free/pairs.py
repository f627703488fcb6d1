"""Back end `pairs`: the Hamiltonian applied without storing it; gather, small dense product, scatter."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import torch

from eigenwerk.ncci.basis.basis_pairs import BasisPairs
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.device_arrays import tensor
from eigenwerk.ncci.matrix_free.pair_tasks import KindProducts, PairProduct, all_tasks
from eigenwerk.ncci.matrix_free.pairs_cuda import PairsOnGpu, pairs_on_gpu
from eigenwerk.ncci.ranks.segments import share_by_cost
from eigenwerk.parallel.threads import each, threads_for

KEEP_BYTES = 1 << 31
"""Memory for places of gathered elements that are remembered."""

CHUNK = 1 << 22
"""Gathered elements that are worked on at once."""

FINEST = 1 / 16
"""Steps are cut until none is more than this part of a rank's share, so that shares are about equal."""

STEP_COST, MULTIPLY_COST = 2400.0, 1 / 36
"""What a step costs on its own, and a multiply-add, in units of a gathered element (measured on a processor)."""


class Step(NamedTuple):
    """A dense product for some of its left rests: number of the kind, task, first and last left rest."""

    kind: int
    task: int
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class KindTensors:
    """`KindProducts` on a device: matrices in the number type of the vectors, tables as tensors."""

    tasks: list[PairProduct]
    matrices: list[torch.Tensor]
    left_labels: list[torch.Tensor]
    right_labels: list[torch.Tensor]
    left_address: torch.Tensor
    left_sign: torch.Tensor
    right_address: torch.Tensor
    right_sign: torch.Tensor


@dataclass(frozen=True, eq=False)
class Gather:
    """Places of gathered elements in [v, -v, 0].  inside: which of all elements they are; None: every one."""

    place: torch.Tensor
    inside: torch.Tensor | None

    @property
    def bytes(self) -> int:
        """Memory of both lists."""
        return self.place.nbytes + (0 if self.inside is None else self.inside.nbytes)


@dataclass(frozen=True, eq=False)
class PairsHamiltonian:
    """H on a many-body basis, nothing of it stored; see `pair_tasks`.

    apply takes and returns (n, b) of the operator's number type.  steps: all of them, or the share of a rank; the sum
    over ranks of what they return is then H x.  `kept` remembers the places of gathered elements as far as
    `keep_bytes` allows, 4 to 12 bytes for each; the results do not depend on it.
    """

    dimension: int
    dtype: torch.dtype
    device: torch.device
    kinds: list[KindTensors]
    steps: Sequence[Step]
    keep_bytes: int = KEEP_BYTES
    kept: dict[Step, Gather] = field(default_factory=dict, repr=False)

    def apply(self, x_nb: torch.Tensor) -> torch.Tensor:
        """H x for every row, (n, b); with as many threads as PyTorch has."""
        # [v, -v, 0]: a place beyond the vector carries the sign, the last one stands for an occupied label
        zero = x_nb.new_zeros(len(x_nb), 1)
        signed_bn = torch.cat([x_nb, -x_nb, zero], dim=1).T.contiguous()
        signed_bn = signed_bn[:, 0] if len(x_nb) == 1 else signed_bn
        threads = threads_for(self.device)
        parts = each(lambda k: self._part(signed_bn, k, threads), range(threads), threads)
        sum_bn = sum(parts[1:], start=parts[0])
        y_bn = sum_bn[: self.dimension] - sum_bn[self.dimension : -1]
        return y_bn.view(-1, len(x_nb)).T.contiguous()

    def _part(self, signed_bn: torch.Tensor, worker: int, workers: int) -> torch.Tensor:
        """The products worker, worker + workers, ... added up."""
        sum_bn = torch.zeros_like(signed_bn)
        for matrix, rests, gather in self._products(worker, workers):
            size = len(matrix) * rests
            if gather.inside is None:
                gathered = signed_bn.index_select(0, gather.place)
            else:
                gathered = signed_bn.new_zeros(size, *signed_bn.shape[1:])
                gathered.index_copy_(0, gather.inside, signed_bn.index_select(0, gather.place))
            product = (matrix @ gathered.view(len(matrix), -1)).view(gathered.shape)
            product = product if gather.inside is None else product.index_select(0, gather.inside)
            sum_bn.index_add_(0, gather.place, product)
        return sum_bn

    def _products(self, worker: int, workers: int) -> Iterator[tuple[torch.Tensor, int, Gather]]:
        """Products of one worker: matrix, rests, and where the elements (pairs x rests, flat) are."""
        budget = self.keep_bytes // workers
        for step in self.steps[worker::workers]:
            kind = self.kinds[step.kind]
            task = kind.tasks[step.task]
            gather = self.kept.get(step)
            if gather is None:
                gather = _gather(kind, task, step.start, step.stop, self.dimension)
                if gather.bytes <= budget:
                    self.kept[step] = gather
            budget -= gather.bytes
            matrix = kind.matrices[task.block][: task.pairs, : task.pairs]
            yield matrix, (step.stop - step.start) * task.right_rows, gather


def steps_of(kinds: Sequence[KindProducts], ranks: int, rank: int) -> list[Step]:
    """The steps of a rank: neighbours in the order of the tasks, about as much work as those of others."""
    cost_t = [_cost(task, task.left_rows) for kind in kinds for task in kind.tasks]
    most = FINEST * sum(cost_t) / ranks
    steps, cost_s = [], []
    for number, kind in enumerate(kinds):
        for t, task in enumerate(kind.tasks):
            one = _cost(task, 1) - STEP_COST
            rows = max(1, min(CHUNK // (task.pairs * task.right_rows), int(most // one)))
            for start in range(0, task.left_rows, rows):
                steps.append(Step(number, t, start, min(start + rows, task.left_rows)))
                cost_s.append(_cost(task, steps[-1].stop - start))
    return steps[share_by_cost(np.array(cost_s), ranks, rank)]


def _cost(task: PairProduct, left_rests: int) -> float:
    """Of a step with so many left rests, in units of a gathered element."""
    return STEP_COST + left_rests * task.right_rows * task.pairs * (1 + MULTIPLY_COST * task.pairs)


def _gather(kind: KindTensors, task: PairProduct, start: int, stop: int, dimension: int) -> Gather:
    """The places of a step; where many labels are occupied, without those."""
    place = signed_places(kind, task, start, stop, dimension)
    inside = (place < 2 * dimension).nonzero()[:, 0]
    if 3 * len(inside) > 2 * len(place):
        return Gather(place, None)
    return Gather(place[inside], inside)


def signed_places(kind: KindTensors, task: PairProduct, start: int, stop: int, dimension: int) -> torch.Tensor:
    """Places in [v, -v, 0] of the elements (pair, left rest start..stop, right rest) of a task, flat."""
    left = kind.left_labels[task.block][: task.pairs, None] * task.left_rows + task.left_start
    left = left + torch.arange(start, stop, device=left.device)
    right = kind.right_labels[task.block][: task.pairs, None] * task.right_rows + task.right_start
    right = right + torch.arange(task.right_rows, device=right.device)
    place = kind.left_address[left][:, :, None] + kind.right_address[right][:, None, :]
    sign = kind.left_sign[left][:, :, None] * kind.right_sign[right][:, None, :]
    place.add_(sign < 0, alpha=dimension)
    place = place.masked_fill_(sign == 0, 2 * dimension).view(-1)
    return place.int() if 2 * dimension < 2**31 else place


def pairs_hamiltonian(
    basis: ManyBodyBasis,
    pairs: BasisPairs,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
    keep_bytes: int = KEEP_BYTES,
    ranks: int = 1,
    rank: int = 0,
) -> PairsHamiltonian | PairsOnGpu:
    """The matrix-free operator of `pairs` on `basis`; of several ranks the share of one, which adds up to it."""
    device = torch.device(device)
    products = all_tasks(basis, pairs)
    if device.type == "cuda":
        return pairs_on_gpu(basis.dimension, products, dtype, device, ranks, rank)
    steps = steps_of(products, ranks, rank)
    used = {(step.kind, products[step.kind].tasks[step.task].block) for step in steps}
    kinds = []
    for number, kind in enumerate(products):
        matrices = [
            tensor(block.matrix_xx if (number, i) in used else block.matrix_xx[:0, :0], device).to(dtype)
            for i, block in enumerate(kind.blocks)
        ]
        kinds.append(replace(tables(kind, device), matrices=matrices))
    return PairsHamiltonian(basis.dimension, dtype, device, kinds, steps, keep_bytes)


def tables(kind: KindProducts, device: torch.device) -> KindTensors:
    """The tables of a kind on a device, without matrices."""
    return KindTensors(
        kind.tasks,
        [],
        [tensor(labels, device) for labels in kind.left_labels],
        [tensor(labels, device) for labels in kind.right_labels],
        tensor(kind.left.address_z, device),
        tensor(kind.left.sign_z, device),
        tensor(kind.right.address_z, device),
        tensor(kind.right.sign_z, device),
    )
