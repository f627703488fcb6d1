"""H stored in blocks that ranks share, applied in the four steps of `ranks.four_steps`.

`ranks.layout` says who owns what; with one home for all ranks (rows dealt out) steps 2 and 3 have nothing to move.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from eigenwerk.ncci.basis.basis_pairs import BasisPairs
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.diagonal import diagonal
from eigenwerk.ncci.ranks.four_steps import FourSteps, steps_for
from eigenwerk.ncci.ranks.layout import (
    BlockLayout,
    cut_evenly,
    dealt,
    most_ranks,
    too_few_blocks,
    triangle,
    triangle_of,
)  # fmt: skip
from eigenwerk.ncci.ranks.scheme import AUTO, Scheme
from eigenwerk.ncci.ranks.segments import Segments
from eigenwerk.ncci.stored.csb_entries import Entries
from eigenwerk.ncci.stored.csb_part import CsbPart, Rectangle, csb_part
from eigenwerk.ncci.stored.csb_trial import ProductWork, tried
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.runtime import Runtime

Ends = tuple[bool, bool]
"""Whether rows are at home, and whether columns are."""

HOME = True, True


@dataclass(frozen=True, eq=False)
class CsbOnRanks:
    """The share of one rank.

    segments: of all ranks; steps: how vectors travel.  parts: the blocks, those with both ends at home and those that
    reach elsewhere.  diagonal_b: of the home, zero where another rank adds it.
    about: the layout, and by how much the rank that has most states, or nonzeros, is above the mean.  layout, cut_i:
    who owns what, and the states at which block rows are cut.
    """

    segments: Segments
    steps: FourSteps
    parts: dict[Ends, CsbPart]
    diagonal_b: torch.Tensor
    about: dict[str, Any]
    layout: BlockLayout
    cut_i: list[int]

    @property
    def nonzeros(self) -> int:
        """Those that this rank stores, without the diagonal."""
        return sum(part.nonzeros for part in self.parts.values())

    def by_scheme(self, runtime: Runtime, scheme: Scheme) -> "CsbOnRanks":
        """The same blocks, with vectors that travel by another scheme; collective."""
        parts = {ends: replace(part, simple=scheme.simple) for ends, part in self.parts.items()}
        return replace(self, steps=steps_for(self.layout, self.cut_i, runtime, scheme), parts=parts)

    def on_segments(self, x_ns: torch.Tensor) -> torch.Tensor:
        """H x, own components (n, s) of x and of the result."""
        x_nb = self.steps.gather(x_ns)

        def first() -> tuple[torch.Tensor, torch.Tensor]:
            y_nb, sum_nb = self.diagonal_b * x_nb, x_nb.new_zeros(len(x_nb), self.steps.row.states)
            for ends, part in self.parts.items():
                _first_pass(ends, part, x_nb, y_nb, sum_nb)
            return y_nb, sum_nb

        if not self.steps.row.states:  # no block reaches elsewhere: nothing to ask others for between the ends
            return self.steps.scatter(self.steps.work(first)[0])

        def second() -> None:
            for ends, part in self.parts.items():
                _second_pass(ends, part, other_nb, y_nb)

        (y_nb, sum_nb), other_nb = self.steps.broadcast_under(first, x_nb)
        self.steps.reduce_under(second, sum_nb, y_nb)
        return self.steps.scatter(y_nb)


def _first_pass(ends: Ends, part: CsbPart, x_nb: torch.Tensor, y_nb: torch.Tensor, sum_nb: torch.Tensor) -> None:
    """What needs components of the home only: H x and H^T x of blocks inside; of others H x, or H^T x where the columns
    are elsewhere."""
    if ends == HOME:
        part.add(x_nb, x_nb, y_nb, y_nb)
    elif ends[0]:
        part.add(x_nb, None, None, sum_nb)
    else:
        part.add(None, x_nb, sum_nb, None)


def _second_pass(ends: Ends, part: CsbPart, other_nb: torch.Tensor, y_nb: torch.Tensor) -> None:
    """The transposes of blocks that reach elsewhere; other_nb: the block row there."""
    if ends == HOME:
        return
    if ends[0]:
        part.add(None, other_nb, y_nb, None)
    else:
        part.add(other_nb, None, None, y_nb)


def csb_on_ranks(
    basis: ManyBodyBasis, pairs: BasisPairs, runtime: Runtime, layout_name: str = "", scheme: Scheme = AUTO,
    work: ProductWork | None = None,
) -> CsbOnRanks:  # fmt: skip
    """Builds the blocks of this rank and no others; collective.

    layout_name: "triangle", "dealt", or "" for the triangle where there is one; with `work` the other one if a short
    trial says that it is faster.  scheme: how vectors travel.  Raises InputError where states cannot be cut so.
    """
    world = runtime.world
    entries = Entries(basis, pairs, runtime.real, runtime.device, world)
    trial = None
    if work is not None and triangle_of(world.size) is not None and 1 < world.size <= most_ranks(basis.first_d):
        trial = tried(entries, basis.first_d, runtime, scheme, work)
        layout_name = trial.taken(layout_name or "triangle")
    layout, cuts_d = _layout(basis, entries, world, layout_name)
    cut_i = [int(basis.first_d[d]) for d in cuts_d]
    begin, end = (cut_i[i] for i in layout.home_p[world.rank])
    away = layout.away_p[world.rank]
    rectangles: dict[Ends, list[Rectangle]] = {}
    diagonal_b = torch.zeros(end - begin, dtype=torch.float64, device=runtime.device)
    for (i, below), (j, right) in layout.rectangles(world.rank):
        rows, columns = (int(cuts_d[i]), int(cuts_d[below])), (int(cuts_d[j]), int(cuts_d[right]))
        row, column = (0 if k == away else cut_i[k] - begin for k in (i, j))
        rectangles.setdefault((i != away, j != away), []).append(Rectangle(rows, columns, (row, column)))
        if below == right:
            some = slice(cut_i[i], cut_i[below])
            diagonal_b[some.start - begin : some.stop - begin] = diagonal(basis, pairs, runtime.device, some)
    states = {True: end - begin, False: 0 if away is None else cut_i[away + 1] - cut_i[away]}
    parts = {
        ends: replace(csb_part(entries, some, (states[ends[0]], states[ends[1]])), simple=scheme.simple)
        for ends, some in rectangles.items()
    }
    if runtime.device.type == "cuda":
        torch.cuda.empty_cache()  # NCCL takes memory of its own, and PyTorch keeps what sorting took
    segments = _segments(layout, cut_i, world)
    steps, about = steps_for(layout, cut_i, runtime, scheme), _about(layout, parts, segments, world)
    about |= {} if trial is None else {"layout_trial": trial.words}
    return CsbOnRanks(segments, steps, parts, diagonal_b.to(runtime.real), about, layout, cut_i)


def _about(layout: BlockLayout, parts: dict[Ends, CsbPart], segments: Segments, world: Communicator) -> dict[str, Any]:
    """What levels.h5 keeps of the layout."""
    own = sum(part.nonzeros for part in parts.values())
    nonzeros_p = world.all_gather(torch.tensor([own])).numpy()
    name = "dealt" if len(layout.column(0)) == layout.ranks else "triangle"
    spread = float(nonzeros_p.max() / max(nonzeros_p.mean(), 1))
    return {
        "layout": name,
        "block_rows": layout.block_rows,
        "nonzeros_max_over_mean": spread,
        "states_max_over_mean": segments.length * world.size / segments.dimension,
    }


def _segments(layout: BlockLayout, cut_i: list[int], world: Communicator) -> Segments:
    """Each home cut evenly among its ranks, as `Segments` cuts it."""
    starts = []
    for rank in range(world.size):
        column = layout.column(rank)
        first, stop = (cut_i[k] for k in layout.home_p[rank])
        length = -(-(stop - first) // len(column))
        starts.append(min(first + column.index(rank) * length, stop))
    return Segments(cut_i[-1], world, (*starts, cut_i[-1]))


def _layout(basis: ManyBodyBasis, entries: Entries, world: Communicator, name: str) -> tuple[BlockLayout, np.ndarray]:
    """The table of owners and the proton determinants at which block rows are cut; collective."""
    n_d, ranks = triangle_of(world.size), world.size
    if ranks > most_ranks(basis.first_d):
        raise too_few_blocks(basis.first_d, ranks)
    if n_d is not None and name != "dealt":
        return triangle(n_d), cut_evenly(basis.first_d, n_d)
    cuts_d = np.searchsorted(basis.first_d, np.linspace(0, basis.dimension, ranks + 1))
    cuts_d[-1] = len(basis.protons)
    first, last = (int(d) for d in cuts_d[world.rank : world.rank + 2])
    count_d = torch.zeros(len(basis.protons), dtype=torch.float64)
    if first < last:
        count_d += torch.from_numpy(entries.within((first, last), (0, last)).count_rows())
    count_d = world.sum(count_d).cpu()
    return dealt(count_d.numpy(), ranks, lambda d, c: entries.within((d, d + 1), (0, c)).count())
