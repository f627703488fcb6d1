"""H stored in blocks that ranks share, applied in the four steps of `ranks.four_steps`.

`ranks.layout` says who owns what; with one home for all ranks (blocks dealt out) steps 2 and 3 have nothing to move.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from eigenwerk.errors import InputError
from eigenwerk.ncci.basis.basis_pairs import BasisPairs
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.diagonal import diagonal
from eigenwerk.ncci.ranks.four_steps import FourSteps, steps_for
from eigenwerk.ncci.ranks.layout import Layout, block_rows_for, cut_evenly, dealt, triangle, triangle_of
from eigenwerk.ncci.ranks.scheme import AUTO, Scheme
from eigenwerk.ncci.ranks.segments import Segments
from eigenwerk.ncci.stored.csb_entries import Entries
from eigenwerk.ncci.stored.csb_part import CsbPart, csb_part
from eigenwerk.ncci.stored.csb_trial import Work, tried
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.runtime import Runtime

BITS = 14
"""Size of a run of rows or columns of a part, as a power of two."""


@dataclass(frozen=True, eq=False)
class OwnBlock:
    """A block of this rank with its rows and columns as parts of the home, None for the block row elsewhere."""

    part: CsbPart
    rows: slice | None
    columns: slice | None


@dataclass(frozen=True, eq=False)
class CsbOnRanks:
    """The share of one rank.

    segments: of all ranks; steps: how vectors travel.  diagonal_b: of the home, zero where another rank adds it.
    about: the layout, and by how much the rank that has most states, or nonzeros, is above the mean.  layout, cut_i:
    who owns what, and the states at which block rows are cut.
    """

    segments: Segments
    steps: FourSteps
    blocks: list[OwnBlock]
    diagonal_b: torch.Tensor
    about: dict[str, Any]
    layout: Layout
    cut_i: list[int]

    @property
    def nonzeros(self) -> int:
        """Those that this rank stores, without the diagonal."""
        return sum(block.part.nonzeros for block in self.blocks)

    def by_scheme(self, runtime: Runtime, scheme: Scheme) -> "CsbOnRanks":
        """The same blocks, with vectors that travel by another scheme; collective."""
        blocks = [replace(block, part=replace(block.part, simple=scheme.simple)) for block in self.blocks]
        return replace(self, steps=steps_for(self.layout, self.cut_i, runtime, scheme), blocks=blocks)

    def on_segments(self, x_ns: torch.Tensor) -> torch.Tensor:
        """H x, own components (n, s) of x and of the result."""
        x_nb = self.steps.gather(x_ns)

        def first() -> tuple[torch.Tensor, torch.Tensor]:
            y_nb, sum_nb = self.diagonal_b * x_nb, x_nb.new_zeros(len(x_nb), self.steps.row.states)
            for block in self.blocks:
                _first_pass(block, x_nb, y_nb, sum_nb)
            return y_nb, sum_nb

        def second() -> None:
            for block in self.blocks:
                _second_pass(block, other_nb, y_nb)

        (y_nb, sum_nb), other_nb = self.steps.broadcast_under(first, x_nb)
        self.steps.reduce_under(second, sum_nb, y_nb)
        return self.steps.scatter(y_nb)


def _first_pass(block: OwnBlock, x_nb: torch.Tensor, y_nb: torch.Tensor, sum_nb: torch.Tensor) -> None:
    """What needs components of the home only: H x and H^T x of blocks inside; of others H x, or H^T x where the columns
    are elsewhere."""
    if block.columns is None:
        block.part.add(x_nb[:, block.rows], None, None, sum_nb)
    elif block.rows is None:
        block.part.add(None, x_nb[:, block.columns], sum_nb, None)
    else:
        rows, columns = block.rows, block.columns
        block.part.add(x_nb[:, rows], x_nb[:, columns], y_nb[:, rows], y_nb[:, columns])


def _second_pass(block: OwnBlock, other_nb: torch.Tensor, y_nb: torch.Tensor) -> None:
    """The transposes of blocks that reach elsewhere; other_nb: the block row there."""
    if block.columns is None:
        block.part.add(None, other_nb, y_nb[:, block.rows], None)
    elif block.rows is None:
        block.part.add(other_nb, None, None, y_nb[:, block.columns])


def csb_on_ranks(
    basis: ManyBodyBasis, pairs: BasisPairs, runtime: Runtime, layout_name: str = "", scheme: Scheme = AUTO,
    work: Work | None = None,
) -> CsbOnRanks:  # fmt: skip
    """Builds the blocks of this rank and no others; collective.

    layout_name: "triangle", "dealt", or "" for the triangle where there is one; with `work` the other one if a short
    trial says that it is faster.  scheme: how vectors travel.  Raises InputError where states cannot be cut so.
    """
    world = runtime.world
    entries = Entries(basis, pairs, runtime.real, runtime.device, world)
    trial = None
    if work is not None and triangle_of(world.size) is not None and 1 < world.size <= most_ranks(basis):
        trial = tried(entries, basis.first_d, runtime, scheme, work)
        layout_name = trial.taken(layout_name or "triangle")
    layout, cuts_d = _layout(basis, entries, world, layout_name)
    cut_i = [int(basis.first_d[d]) for d in cuts_d]
    begin, end = (cut_i[i] for i in layout.home_p[world.rank])
    away = layout.away_p[world.rank]

    def place(i: int) -> slice | None:
        return None if i == away else slice(cut_i[i] - begin, cut_i[i + 1] - begin)

    blocks = []
    diagonal_b = torch.zeros(end - begin, dtype=torch.float64, device=runtime.device)
    for i, j in layout.blocks(world.rank):
        rows, columns = ((int(cuts_d[k]), int(cuts_d[k + 1])) for k in (i, j))
        part = csb_part(entries, rows, columns, BITS)
        blocks.append(OwnBlock(replace(part, simple=scheme.simple), place(i), place(j)))
        if i == j:
            diagonal_b[place(i)] = diagonal(basis, pairs, runtime.device, slice(cut_i[i], cut_i[i + 1]))
    segments = _segments(layout, cut_i, world)
    steps, about = steps_for(layout, cut_i, runtime, scheme), _about(layout, blocks, segments, world)
    about |= {} if trial is None else {"layout_trial": trial.words}
    return CsbOnRanks(segments, steps, blocks, diagonal_b.to(runtime.real), about, layout, cut_i)


def _about(layout: Layout, blocks: list[OwnBlock], segments: Segments, world: Communicator) -> dict[str, Any]:
    """What levels.h5 keeps of the layout."""
    own = sum(block.part.nonzeros for block in blocks)
    nonzeros_p = world.all_gather(torch.tensor([own])).numpy()
    name = "dealt" if len(layout.column(0)) == layout.ranks else "triangle"
    spread = float(nonzeros_p.max() / max(nonzeros_p.mean(), 1))
    return {
        "layout": name,
        "block_rows": layout.block_rows,
        "nonzeros_max_over_mean": spread,
        "states_max_over_mean": segments.length * world.size / segments.dimension,
    }


def _segments(layout: Layout, cut_i: list[int], world: Communicator) -> Segments:
    """Each home cut evenly among its ranks, as `Segments` cuts it."""
    starts = []
    for rank in range(world.size):
        column = layout.column(rank)
        first, stop = (cut_i[k] for k in layout.home_p[rank])
        length = -(-(stop - first) // len(column))
        starts.append(min(first + column.index(rank) * length, stop))
    return Segments(cut_i[-1], world, (*starts, cut_i[-1]))


def most_ranks(basis: ManyBodyBasis) -> int:
    """For so many ranks there are blocks at most, because states are cut at proton determinants."""
    usable = int(np.count_nonzero(np.diff(basis.first_d)))
    return usable * (usable + 1) // 2


def _layout(basis: ManyBodyBasis, entries: Entries, world: Communicator, name: str) -> tuple[Layout, np.ndarray]:
    """The table of owners and the proton determinants at which block rows are cut."""
    n_d, ranks = triangle_of(world.size), world.size
    if ranks > most_ranks(basis):
        raise InputError(
            "The stored Hamiltonian is cut at proton determinants, too few of them here: there are blocks for "
            f'{most_ranks(basis)} ranks at most, but {ranks} ranks. Start fewer, or set backend = "pairs".'
        )
    if n_d is not None and name != "dealt":
        return triangle(n_d), cut_evenly(basis.first_d, n_d)
    count = min(block_rows_for(ranks), int(np.count_nonzero(np.diff(basis.first_d))))
    cuts_d = cut_evenly(basis.first_d, count)
    blocks = [(i, j) for i in range(count) for j in range(i + 1)]
    cost_ij = np.zeros((count, count))
    for i, j in blocks[world.rank :: ranks]:
        rows, columns = ((int(cuts_d[k]), int(cuts_d[k + 1])) for k in (i, j))
        cost_ij[i, j] = entries.within(rows, columns).count()
    cost_ij = world.sum(torch.from_numpy(cost_ij)).cpu().numpy()
    return dealt(cost_ij + 1, ranks), cuts_d
