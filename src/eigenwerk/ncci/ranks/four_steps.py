"""The four steps of a product that ranks share, stated once for every layout and scheme.

1. All-gather in the group of ranks with one home (a column): its components of x on each of them.
2. Broadcast of the block row that a rank's block reaches elsewhere, under the product with H of what is at hand.
3. Reduce of what that made of the other block row, under the product with the transposes.
4. Reduce-scatter in the group: own components of H x.

A call needs its own inputs only: 2 the first step on the rank that has the block row at home, 3 the products of 2.
On a GPU calls therefore run in a stream of their own that waits for these and no more, so that a kernel may be queued
before the call beside which it runs.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import torch

from eigenwerk.ncci.ranks.layout import BlockLayout
from eigenwerk.ncci.ranks.scheme import AUTO, Scheme
from eigenwerk.ncci.ranks.segments import Segments
from eigenwerk.parallel.communicator import Communicator, Handle
from eigenwerk.parallel.links import Links
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.serial import ALONE
from eigenwerk.parallel.side_stream import SideStream
from eigenwerk.parallel.transports.pairwise import sums_by_messages
from eigenwerk.record.trace import Trace

Result = TypeVar("Result")
Work = TypeVar("Work")


@dataclass(frozen=True, eq=False)
class RowGroup:
    """The ranks that need one block row, and this one among them.

    states: how many the block row has.  place: where they are in the home of its diagonal rank, None on the others.
    """

    comm: Communicator = ALONE
    states: int = 0
    place: slice | None = None

    def start_broadcast(self, x_nb: torch.Tensor) -> Handle[torch.Tensor]:
        """The components of the block row, (n, states), from the home of the diagonal rank."""
        if self.place is None:
            return self.comm.start_broadcast(x_nb.new_empty(len(x_nb), self.states))
        return self.comm.start_broadcast(x_nb[:, self.place].clone())

    def add(self, arrived_nb: torch.Tensor | None, y_nb: torch.Tensor) -> None:
        """What the others made of it, added to the home of the diagonal rank."""
        if self.place is not None and arrived_nb is not None:
            y_nb[:, self.place] += arrived_nb


@dataclass(frozen=True, eq=False)
class FourSteps:
    """The groups of one rank, and how the calls of a product follow each other.

    home: segments of the ranks that share the components of this one's home; row: the ranks with which it shares a
    block row.  Verbs are collective.  Each has a span of its name in the trace, of the time for which it held up the
    work: "all-gather", "broadcast", "reduce", "reduce-scatter", and "local products", "meeting" beside them.
    """

    home: Segments
    device: torch.device
    trace: Trace
    row: RowGroup = RowGroup()
    scheme: Scheme = AUTO

    @cached_property
    def _beside(self) -> SideStream:
        return SideStream(self.device)

    def gather(self, x_ns: torch.Tensor) -> torch.Tensor:
        """Step 1: the components of the home, (n, b), from own ones."""
        self._calm(self.home.comm)
        with self.trace.span("all-gather"):
            return self.home.whole(x_ns)

    def broadcast_under(self, work: Callable[[], Work], x_nb: torch.Tensor) -> tuple[Work, torch.Tensor]:
        """Step 2: what `work` makes, and the block row elsewhere, (n, states)."""
        return self._together("broadcast", work, lambda: self.row.start_broadcast(x_nb))

    def reduce_under(self, work: Callable[[], None], sum_nb: torch.Tensor, y_nb: torch.Tensor) -> None:
        """Step 3: `work` adds to y_nb, and so does what the ranks of the row made of the block row, (n, states)."""
        _, arrived_nb = self._together("reduce", work, lambda: self.row.comm.start_reduce(sum_nb))
        self.row.add(arrived_nb, y_nb)

    def scatter(self, y_nb: torch.Tensor) -> torch.Tensor:
        """Step 4: own components of the sum of all homes of the group."""
        self._calm(self.home.comm)
        with self.trace.span("reduce-scatter"):
            return self.home.own_sum(y_nb)

    def work(self, work: Callable[[], Work]) -> Work:
        """What `work` makes."""
        with self.trace.span("local products"):
            return work()

    def _together(
        self, verb: str, work: Callable[[], Work], start: Callable[[], Handle[Result]]
    ) -> tuple[Work, Result]:
        """A call and work that needs nothing of it, in the order that the scheme wants."""
        self._calm(self.row.comm)
        ready = self._beside.mark()
        # on a processor the kernel would be over before the call begins
        if self.device.type == "cuda" and self.scheme.schedule.kernel_first:
            made = self.work(work)
            with self.trace.span(verb):
                return made, self._beside.wait(self._beside.start(start, ready))
        with self.trace.span(verb):
            handle = self._beside.start(start, ready)
        made = self.work(work)
        with self.trace.span(verb):
            return made, self._beside.wait(handle)

    def _calm(self, comm: Communicator) -> None:
        """Ranks meet and their devices finish, where the scheme wants that before a call."""
        if self.scheme.schedule.quiet and comm.size > 1:
            with self.trace.span("meeting"):
                comm.barrier()
                if self.device.type == "cuda":
                    torch.cuda.synchronize(self.device)


def group_for(
    scheme: Scheme, world: Communicator, color: int, key: int, name: str, label: str = ""
) -> Communicator:
    """The communicator of ranks with this colour, ordered by key, as the scheme has it for "column" or "row";
    collective."""
    links: Links = scheme.row if name == "row" else scheme.column
    group = world.split(color, key, label + name, links)
    return sums_by_messages(group) if scheme.messages else group


def steps_for(layout: BlockLayout, cut_i: list[int], runtime: Runtime, scheme: Scheme, label: str = "") -> FourSteps:
    """The groups of this rank for blocks owned by a layout, block rows cut at these states; collective.

    label: stands before their names in records.
    """
    world = runtime.world
    group = group_for(scheme, world, layout.column(world.rank)[0], world.rank, "column", label)
    begin, end = (cut_i[i] for i in layout.home_p[world.rank])
    row_i = layout.row_of(world.rank)
    row = RowGroup(_row_ranks(layout, row_i, world, scheme, label))
    if row_i is not None:
        first, stop = cut_i[row_i], cut_i[row_i + 1]
        away = row_i == layout.away_p[world.rank]
        row = replace(row, states=stop - first, place=None if away else slice(first - begin, stop - begin))
    return FourSteps(Segments(end - begin, group), runtime.device, runtime.trace, row, scheme)


def _row_ranks(
    layout: BlockLayout, row_i: int | None, world: Communicator, scheme: Scheme, label: str
) -> Communicator:
    """The ranks of a block row, its diagonal rank first; alone without one.  Collective."""
    if row_i is None:
        return group_for(scheme, world, layout.block_rows + world.rank, 0, "row", label)
    return group_for(scheme, world, row_i, layout.row(row_i).index(world.rank), "row", label)
