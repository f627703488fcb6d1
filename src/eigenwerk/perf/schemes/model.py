"""What products on ranks would take: collectives by latency and bandwidth, kernels by a rate, and what overlaps.

A call over p ranks with an array of m bytes takes  t = λ ⌈log₂ p⌉ + x(p) m / β,  x = (p - 1)/p for all-gather and
reduce-scatter of m bytes in all, 1 for broadcast and reduce (long arrays travel in pieces).  A product is

    t = t(all-gather) + max(kernel 1, t(broadcast)) + max(kernel 2, t(reduce)) + t(reduce-scatter).

Source: R. W. Hockney, Parallel Computing 20, 389 (1994), for latency and bandwidth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log2

import numpy as np

VERBS = ("all_gather", "broadcast", "reduce", "reduce_scatter")
"""Of the four steps, in their order."""


@dataclass(frozen=True)
class Link:
    """latency: seconds of a stage; bandwidth: bytes per second of a rank.  error: root mean square of the relative
    differences to what it was fitted to."""

    latency: float
    bandwidth: float
    error: float = 0.0

    def seconds(self, verb: str, ranks: int, bytes: float) -> float:
        """A call with an array of so many bytes; nothing for one rank."""
        return 0.0 if ranks == 1 else self.latency * stages(ranks) + crossing(verb, ranks) * bytes / self.bandwidth


@dataclass(frozen=True)
class Sample:
    """A measured call."""

    verb: str
    ranks: int
    bytes: float
    seconds: float


def stages(ranks: int) -> int:
    """⌈log₂ p⌉."""
    return ceil(log2(ranks))


def crossing(verb: str, ranks: int) -> float:
    """Which part of the array each link carries at least."""
    return (ranks - 1) / ranks if verb in ("all_gather", "reduce_scatter") else 1.0


def fitted(samples: Sequence[Sample]) -> Link:
    """Latency and bandwidth with the least relative error.  ValueError for fewer than two samples."""
    if len(samples) < 2:
        raise ValueError(f"{len(samples)} samples for a latency and a bandwidth")
    rows = [(stages(one.ranks), crossing(one.verb, one.ranks) * one.bytes) for one in samples]
    matrix, ones = np.array(rows) / np.array([[one.seconds] for one in samples]), np.ones(len(rows))
    found = np.linalg.lstsq(matrix, ones, rcond=None)[0]
    if found[0] < 0:  # no latency can be seen
        found = np.array([0.0, float(matrix[:, 1].sum() / (matrix[:, 1] ** 2).sum())])
    error = float(np.sqrt(np.mean((matrix @ found - 1) ** 2)))
    return Link(float(found[0]), 1 / float(found[1]), error)


@dataclass(frozen=True)
class ProductShape:
    """A product on ranks: bytes of a vector in all, ranks of a column and of a row, block rows n_d (1: dealt out, one
    home for all), and the seconds of the kernels of the rank that has most."""

    vector_bytes: float
    column: int
    row: int
    block_rows: int
    first: float
    second: float


def product_seconds(
    shape: ProductShape, links: dict[str, Link], beside: bool = True, meeting: float = 0.0
) -> dict[str, float]:
    """Seconds of a product and of its parts: the four verbs, "kernels", "held" (what the calls hold up), "product".

    links: of every verb.  beside: whether kernels run beside steps 2 and 3; meeting: seconds before each call.
    """
    part = shape.vector_bytes / shape.block_rows
    ranks = {"all_gather": shape.column, "reduce_scatter": shape.column, "broadcast": shape.row, "reduce": shape.row}
    found = {verb: links[verb].seconds(verb, ranks[verb], part) for verb in VERBS}
    kernels = shape.first + shape.second
    inside = sum(
        max(found[verb] - (kernel if beside else 0.0), 0.0)
        for verb, kernel in (("broadcast", shape.first), ("reduce", shape.second))
    )
    held = found["all_gather"] + inside + found["reduce_scatter"] + meeting * sum(ranks[verb] > 1 for verb in VERBS)
    return found | {"kernels": kernels, "held": held, "product": kernels + held}


def triangle_shape(vector_bytes: float, block_rows: int, kernel: float) -> ProductShape:
    """That of n_d (n_d + 1) / 2 ranks, n_d odd; kernel: seconds of one reading of a full block."""
    group = (block_rows + 1) // 2
    return ProductShape(vector_bytes, group, group, block_rows, kernel, kernel)


def dealt_shape(vector_bytes: float, ranks: int, kernel: float) -> ProductShape:
    """That of rows dealt out: one home, blocks read once."""
    return ProductShape(vector_bytes, ranks, 1, 1, kernel, 0.0)
