"""Work dealt out to ranks so that each has about the same: neighbours for each, or the largest pieces first."""

import heapq
from collections.abc import Sequence

import numpy as np


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
