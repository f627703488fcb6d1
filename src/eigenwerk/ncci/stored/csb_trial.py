"""Which layout of stored blocks is faster, by a short trial: vectors travel as they would in products by each of them,
and a small part of H is applied.

H is not built for it: that would cost more than many products.  The layout that the estimate prefers stays unless the
other one is faster by a tenth, so that the noise of a clock decides nothing.  Whichever is taken, products are the same
to rounding errors.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from eigenwerk.ncci.ranks.four_steps import FourSteps, steps_for
from eigenwerk.ncci.ranks.layout import BlockLayout, cut_evenly, triangle, triangle_of
from eigenwerk.ncci.ranks.scheme import Scheme
from eigenwerk.ncci.stored.csb_entries import Entries
from eigenwerk.ncci.stored.csb_part import Rectangle, csb_part
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.runtime import Runtime

SAMPLE = {"cpu": 1e6, "cuda": 5e7}
"""Nonzeros that are built for the trial, at most."""

REPEATS = 3
"""The fastest of so many calls counts, after one that warms up."""

CLEARLY = 0.9
"""The other layout is taken if its products take less than this part of the time."""


@dataclass(frozen=True)
class ProductWork:
    """Nonzeros of half of H with its diagonal, and vectors at once."""

    nonzeros: int
    vectors: int


@dataclass(frozen=True)
class LayoutTrial:
    """Seconds of a product by each layout, the same on all ranks."""

    seconds: dict[str, float]

    def taken(self, usual: str) -> str:
        """The usual one, unless the other one is clearly faster."""
        (other,) = set(self.seconds) - {usual}
        return other if self.seconds[other] < CLEARLY * self.seconds[usual] else usual

    @property
    def words(self) -> str:
        """What was found."""
        shown = ", ".join(f"{name} {1e3 * seconds:.3g} ms" for name, seconds in sorted(self.seconds.items()))
        return f"tried: {shown} for a product"


@dataclass(frozen=True)
class Rates:
    """Seconds of a nonzero of a block: for H and H^T at once, for H, for H^T."""

    both: float
    forward: float
    back: float


def tried(entries: Entries, first_d: np.ndarray, runtime: Runtime, scheme: Scheme, work: ProductWork) -> LayoutTrial:
    """Both layouts on as many ranks as a triangle has; collective.  first_d: as in `cut_evenly`."""
    ranks, states = runtime.world.size, int(first_d[-1])
    n_d = triangle_of(ranks)
    if n_d is None:
        raise ValueError(f"no triangle of {ranks} ranks")
    rates = _rates(entries, first_d, runtime, scheme, work)
    columns = BlockLayout(np.zeros((1, 1), dtype=int), ((0, 1),) * ranks)  # one home for all ranks
    cut_i = [int(first_d[d]) for d in cut_evenly(first_d, n_d)]
    found = {}
    for name, layout, cuts in (("dealt", columns, [0, states]), ("triangle", triangle(n_d), cut_i)):
        steps = steps_for(layout, cuts, runtime, scheme, "tried ")
        gather, broadcast, reduce, scatter = _travel(steps, runtime, work.vectors)
        for comm in (steps.row.comm, steps.home.comm):
            comm.close()
        share = work.nonzeros / ranks
        if name == "dealt":
            found[name] = gather + share * rates.both + scatter
        else:  # blocks off the diagonal are full, those on it half full
            most = share * (n_d + 1) / n_d
            first, second = most * rates.forward, most * rates.back
            found[name] = gather + scatter + _beside(first, broadcast, runtime) + _beside(second, reduce, runtime)
    return LayoutTrial(found)


def _beside(kernel: float, call: float, runtime: Runtime) -> float:
    """On a GPU a call runs beside a kernel; on a processor it takes cores of that, and is counted in full."""
    return max(kernel, call) if runtime.device.type == "cuda" else kernel + call


def _rates(entries: Entries, first_d: np.ndarray, runtime: Runtime, scheme: Scheme, work: ProductWork) -> Rates:
    """From a block on the diagonal with so many rows that it has no more than `SAMPLE` nonzeros; of the slowest
    rank."""
    states = int(first_d[-1])
    rows = int(SAMPLE[runtime.device.type] * states / max(work.nonzeros, 1))
    last = max(int(np.searchsorted(first_d, rows, side="right")) - 1, 1)
    part = csb_part(entries, [Rectangle((0, last), (0, last))], (int(first_d[last]),) * 2)
    x_nb = torch.ones(work.vectors, part.shape[0], dtype=runtime.real, device=runtime.device)
    y_nb, z_nb = torch.zeros_like(x_nb), torch.zeros_like(x_nb)
    ways: list[Callable[[], object]] = [
        lambda: part.add(x_nb, x_nb, y_nb, z_nb), lambda: part.forward(x_nb), lambda: part.back(x_nb)
    ]  # fmt: skip
    nonzeros = max(part.nonzeros, 1)
    return Rates(*(_fastest(way, runtime.world, runtime.device) / nonzeros for way in ways))


def _travel(steps: FourSteps, runtime: Runtime, vectors: int) -> list[float]:
    """Seconds of each of the four steps, with nothing beside them."""
    own, home = steps.home.own, steps.home.dimension
    x_ns = torch.zeros(vectors, own.stop - own.start, dtype=runtime.real, device=runtime.device)
    x_nb = x_ns.new_zeros(vectors, home)
    sum_nb = x_ns.new_zeros(vectors, steps.row.states)
    calls: list[Callable[[], object]] = [
        lambda: steps.gather(x_ns), lambda: steps.row.start_broadcast(x_nb).wait(),
        lambda: steps.row.comm.start_reduce(sum_nb.clone()).wait(), lambda: steps.scatter(x_nb.clone()),
    ]  # fmt: skip
    return [_fastest(call, runtime.world, runtime.device) for call in calls]


def _fastest(call: Callable[[], object], world: Communicator, device: torch.device) -> float:
    """Seconds of the fastest of some calls, each that of the slowest rank: the same number on all ranks."""
    seconds = []
    for _ in range(REPEATS + 1):
        world.barrier()
        begin = time.perf_counter()
        call()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        seconds.append(time.perf_counter() - begin)
    return float(world.max(torch.tensor(seconds[1:], dtype=torch.float64)).min())
