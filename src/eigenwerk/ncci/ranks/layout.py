"""Who owns which block of a symmetric matrix, and which components of vectors: one table for every number of ranks.

Rows and columns are cut into block rows.  Every unordered pair {i, j} of them has one owner, who applies the block and
its transpose.  The components of a run of block rows, the home of some ranks, are shared by these ranks; a block may
reach from home to one block row elsewhere.

`triangle`: n_d (n_d + 1) / 2 ranks, a block and a home of one block row for each; the layout of MFDn.  `dealt`: any
number of ranks, one home for all; blocks in the order of their rows, dealt out in runs of equally many nonzeros.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np

from eigenwerk.errors import InputError

EVENLY = 0.01
"""Shares that are further than this part from the mean are not cut at whole rows of a determinant."""

Span = tuple[int, int]


@dataclass(frozen=True, eq=False)
class BlockLayout:
    """owner_ij: (n, n) the rank of every pair of block rows, symmetric.  home_p: for each rank the first block row of
    its home and the one after the last; ranks of one home are neighbours, in the order of homes."""

    owner_ij: np.ndarray
    home_p: tuple[tuple[int, int], ...]

    @property
    def ranks(self) -> int:
        """How many there are."""
        return len(self.home_p)

    @property
    def block_rows(self) -> int:
        """How many there are."""
        return len(self.owner_ij)

    def blocks(self, rank: int) -> list[tuple[int, int]]:
        """The blocks (i, j), i >= j, of a rank."""
        i, j = np.nonzero(np.tril(self.owner_ij == rank))
        return list(zip(i.tolist(), j.tolist(), strict=True))

    def rectangles(self, rank: int) -> list[tuple[Span, Span]]:
        """The blocks of a rank in as few rectangles as there are: rows and columns from one block row to another.

        Of blocks below each other that reach the diagonal, one rectangle is made that reaches beyond it.
        """
        spans: dict[int, list[int]] = {}
        for i, j in self.blocks(rank):
            spans.setdefault(i, []).append(j)
        found: list[tuple[Span, Span]] = []
        for i, columns in spans.items():
            for first, stop in _runs(columns):
                (_, row), (left, right) = found[-1] if found else ((0, -1), (0, 0))
                alike = stop == i + 1 if right == row else stop == right  # both to the diagonal, or neither
                if row == i and left == first and alike:
                    found[-1] = (found[-1][0][0], i + 1), (first, stop)
                else:
                    found.append(((i, i + 1), (first, stop)))
        return found

    def column(self, rank: int) -> list[int]:
        """The ranks that share the home of a rank."""
        return [other for other in range(self.ranks) if self.home_p[other] == self.home_p[rank]]

    @cached_property
    def away_p(self) -> list[int | None]:
        """For each rank the block row outside its home that its blocks reach."""
        found: list[int | None] = []
        for rank, (first, stop) in enumerate(self.home_p):
            outside = {i for block in self.blocks(rank) for i in block if not first <= i < stop}
            if len(outside) > 1:
                raise ValueError(f"rank {rank} reaches block rows {sorted(outside)}")
            found.append(outside.pop() if outside else None)
        return found

    def row(self, i: int) -> list[int]:
        """The ranks that need a block row: the first of those at home there (its diagonal rank), then others."""
        root = next(rank for rank, (first, stop) in enumerate(self.home_p) if first <= i < stop)
        return [root, *(rank for rank, away in enumerate(self.away_p) if away == i)]

    def row_of(self, rank: int) -> int | None:
        """The block row over which a rank talks to others: the one its blocks reach, or its own as diagonal rank."""
        if self.away_p[rank] is not None:
            return self.away_p[rank]
        roots = [i for i in range(*self.home_p[rank]) if self.row(i)[0] == rank and len(self.row(i)) > 1]
        if len(roots) > 1:
            raise ValueError(f"rank {rank} is the root of block rows {roots}")
        return roots[0] if roots else None

    def travelling(self, sizes_i: Sequence[int]) -> int:
        """Components that reach a rank in one product, all ranks together; sizes_i: states of the block rows."""
        size_p = [sum(sizes_i[first:stop]) for first, stop in self.home_p]
        columns = sum(size - size // len(self.column(rank)) for rank, size in enumerate(size_p))
        rows = sum(sizes_i[i] * (len(self.row(i)) - 1) for i in range(self.block_rows))
        return 2 * (columns + rows)


def triangle_of(ranks: int) -> int | None:
    """n_d with n_d (n_d + 1) / 2 = ranks, None where there is none."""
    n_d = int(((8 * ranks + 1) ** 0.5 - 1) / 2 + 0.5)
    return n_d if n_d * (n_d + 1) // 2 == ranks else None


def triangle(n_d: int) -> BlockLayout:
    """Rank (j, k), numbered by j, then k, owns block (i, j) with i = (j + k) mod n_d.

    For odd n_d every k is 0 ... (n_d - 1) / 2, so that every row and column holds as many blocks; for even n_d columns
    of the first half have one more.  Source: H. M. Aktulga, C. Yang, E. G. Ng, P. Maris, J. P. Vary, Concurrency
    Computat.: Pract. Exper. 26, 2631 (2014), for odd n_d.
    """
    owner_ij = np.full((n_d, n_d), -1)
    home_p: list[tuple[int, int]] = []
    for j in range(n_d):
        count = n_d // 2 + 1 if n_d % 2 or j < n_d // 2 else n_d // 2
        for i in ((j + k) % n_d for k in range(count)):
            owner_ij[i, j] = owner_ij[j, i] = len(home_p)
            home_p.append((j, j + 1))
    return BlockLayout(owner_ij, tuple(home_p))


def dealt(count_d: np.ndarray, ranks: int, before: Callable[[int, int], int]) -> tuple[BlockLayout, np.ndarray]:
    """Nonzeros in the order of their rows, cut into equal shares for any number of ranks; and where block rows are cut.

    count_d: nonzeros in the rows of each determinant; before(d, c): those of determinant d whose columns are before
    determinant c.  A share ends with a determinant, or within it at a column where that would be uneven.
    """
    end_d = np.concatenate([[0], np.cumsum(count_d)])
    mean, last = end_d[-1] / ranks, len(count_d)
    ends = []  # of each share: a determinant and, within its rows, a column
    for wanted in mean * np.arange(1, ranks):
        d = min(int(np.searchsorted(end_d, wanted, side="right")) - 1, last - 1)
        inside, short = wanted - end_d[d], end_d[d + 1] - wanted
        if min(inside, short) <= EVENLY * mean:
            ends.append((d, 0) if inside < short else (d + 1, 0))
        else:
            c = bisect_left(range(d + 1), inside, key=partial(before, d))  # the first one that is not too early
            after = before(d, c) if c <= d else count_d[d]
            c -= bool(inside - before(d, c - 1) < after - inside)
            ends.append((d, c) if c <= d else (d + 1, 0))
    cuts = {0, last} | {d for d, _ in ends} | {d + 1 for d, c in ends if c} | {c for _, c in ends}
    cuts_d = np.array(sorted(cuts))
    i, j = np.tril_indices(len(cuts_d) - 1)
    owner_ij = np.full((len(cuts_d) - 1,) * 2, -1)
    begin = zip(cuts_d[i].tolist(), cuts_d[j].tolist(), strict=True)
    owner_ij[i, j] = owner_ij[j, i] = [bisect_right(ends, corner) for corner in begin]
    return BlockLayout(owner_ij, ((0, len(owner_ij)),) * ranks), cuts_d


def _runs(numbers: Sequence[int]) -> list[Span]:
    """Rising numbers as runs, each from its first to behind its last."""
    cuts = [k for k in range(1, len(numbers)) if numbers[k] != numbers[k - 1] + 1]
    return [(numbers[a], numbers[b - 1] + 1) for a, b in pairwise([0, *cuts, len(numbers)])]


def most_ranks(first_d: np.ndarray) -> int:
    """For so many ranks there are blocks at most, because states are cut at proton determinants; see `cut_evenly`."""
    usable = int(np.count_nonzero(np.diff(first_d)))
    return usable * (usable + 1) // 2


def too_few_blocks(first_d: np.ndarray, ranks: int) -> InputError:
    """The error where ranks are more than that."""
    usable, most = int(np.count_nonzero(np.diff(first_d))), most_ranks(first_d)
    return InputError(
        f"The stored Hamiltonian is cut at proton determinants. Here {usable} of them ha{'s' if usable == 1 else 've'} "
        f"states, which makes {most} block{'s' * (most > 1)} at most for {ranks} ranks. "
        f'Start {"one rank" if most == 1 else f"{most} ranks or fewer"}, or set backend = "pairs" in [solver].'
    )


def cut_evenly(first_d: np.ndarray, parts: int) -> np.ndarray:
    """(parts + 1) positions in first_d that cut the states into parts as equal as determinants allow.

    first_d: the first state of each determinant, and how many there are.  ValueError where there are fewer determinants
    with states than parts.
    """
    starts = np.flatnonzero(np.diff(first_d))
    if len(starts) < parts:
        raise ValueError(f"{len(starts)} determinants for {parts} parts")
    wanted = first_d[-1] * np.arange(1, parts) / parts
    cuts = np.rint(np.interp(wanted, first_d[starts], np.arange(len(starts)))).astype(int)
    for part in range(parts - 1):  # every part has a determinant
        least = cuts[part - 1] + 1 if part else 1
        cuts[part] = min(max(cuts[part], least), len(starts) - parts + 1 + part)
    return np.concatenate([[0], starts[cuts], [len(first_d) - 1]])
