"""Vectors shared out over ranks: each has a run of components, all of equal length but for the last ones, or as given.

Equal lengths are what reduce-scatter and NCCL want: a vector of `length` times ranks numbers, zeros beyond its
dimension, is all that travels.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import torch
from torch.nn.functional import pad

from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.serial import SerialCommunicator


@dataclass(frozen=True, eq=False)
class Segments:
    """Which components of vectors with `dimension` components each rank has.

    Rank r has those from r * length on, `length` of them as far as there are so many; the last ranks of a short vector
    may have none.  With `cuts`, ranks + 1 rising numbers, it has those from cuts[r] to cuts[r + 1].  Verbs are
    collective, and take and return what they got where there is one rank.
    """

    dimension: int
    comm: Communicator = field(default_factory=SerialCommunicator)
    cuts: tuple[int, ...] | None = None

    @property
    def length(self) -> int:
        """Components of a rank that has most."""
        if self.cuts is not None:
            return max(stop - start for start, stop in pairwise(self.cuts))
        return -(-self.dimension // self.comm.size)

    @property
    def own(self) -> slice:
        """The components of this rank."""
        return self.of(self.comm.rank)

    def of(self, rank: int) -> slice:
        """The components of a rank."""
        if self.cuts is not None:
            return slice(self.cuts[rank], self.cuts[rank + 1])
        first = min(rank * self.length, self.dimension)
        return slice(first, min(first + self.length, self.dimension))

    @property
    def lengths(self) -> list[int]:
        """How many components each rank has."""
        return [part.stop - part.start for part in map(self.of, range(self.comm.size))]

    def whole(self, x_ns: torch.Tensor) -> torch.Tensor:
        """All components (n, b), on every rank, of vectors whose own ones (n, s) each rank gives."""
        ranks, (count, own) = self.comm.size, x_ns.shape
        if ranks == 1:
            return x_ns
        all_ns = self.comm.all_gather(pad(x_ns, (0, self.length - own)), [count] * ranks)
        all_pns = all_ns.view(ranks, count, self.length)
        if self.cuts is not None:
            return torch.cat([x_ns[:, :size] for x_ns, size in zip(all_pns, self.lengths, strict=True)], dim=1)
        return _side_by_side(all_pns)[:, : self.dimension]

    def on_first(self, x_s: torch.Tensor) -> torch.Tensor | None:
        """All components (b,) of one vector on rank 0, None elsewhere."""
        return self.comm.gather(x_s, 0, self.lengths)

    def from_first(self, x_b: torch.Tensor | None, like: torch.Tensor) -> torch.Tensor:
        """The own components of a vector that rank 0 has and the others do not; of the number type and on the device
        of `like`."""
        if self.comm.size == 1:
            assert x_b is not None
            return x_b.to(like)
        none = like.new_empty(0)
        sent_p = [none] * self.comm.size if x_b is None else [x_b[self.of(r)].to(like) for r in range(self.comm.size)]
        own = self.own.stop - self.own.start
        return self.comm.exchange(sent_p, [[own], *([[0]] * (self.comm.size - 1))])[0]

    def own_sum(self, y_nb: torch.Tensor) -> torch.Tensor:
        """The own components (n, s) of the sum over ranks of whole vectors."""
        ranks, count = self.comm.size, len(y_nb)
        if ranks == 1:
            return y_nb
        if self.cuts is None:
            y_nb = pad(y_nb, (0, ranks * self.length - self.dimension))
            y_pns = y_nb.view(count, ranks, self.length).transpose(0, 1).contiguous()
        else:
            y_pns = y_nb.new_zeros(ranks, count, self.length)
            for rank in range(ranks):
                part = self.of(rank)
                y_pns[rank, :, : part.stop - part.start] = y_nb[:, part]
        return self.comm.reduce_scatter(y_pns)[:, : self.own.stop - self.own.start].contiguous()


def _side_by_side(x_pns: torch.Tensor) -> torch.Tensor:
    """(p, n, s) -> (n, p s); nothing is copied for one vector."""
    return x_pns.transpose(0, 1).reshape(x_pns.shape[1], -1)


def share_by_cost(cost_i: np.ndarray | Sequence[float], ranks: int, rank: int) -> slice:
    """The pieces of a rank, neighbours: those whose middle lies in its part of the cost of all.

    No share is larger than an equal one by more than the most expensive piece.
    """
    cost_i = np.asarray(cost_i, dtype=np.float64)
    last_i = np.cumsum(cost_i)
    middle_i = last_i - cost_i / 2
    total = last_i[-1] if len(last_i) else 0.0
    first, stop = np.searchsorted(middle_i, [total * rank / ranks, total * (rank + 1) / ranks])
    return slice(int(first), int(stop) if rank + 1 < ranks else len(cost_i))


def owners_by_cost(cost_i: np.ndarray | Sequence[float], ranks: int) -> np.ndarray:
    """(i,) the rank of every piece: from the most expensive one on, each to the rank that has least.

    Source: R. L. Graham, SIAM J. Appl. Math. 17, 416 (1969): at most 4/3 of the best possible.
    """
    cost_i = np.asarray(cost_i, dtype=np.float64)
    owner_i = np.zeros(len(cost_i), dtype=np.int64)
    least = [(0.0, rank) for rank in range(ranks)]
    for piece in np.argsort(-cost_i, kind="stable").tolist():
        load, rank = heapq.heappop(least)
        owner_i[piece] = rank
        heapq.heappush(least, (load + float(cost_i[piece]), rank))
    return owner_i
