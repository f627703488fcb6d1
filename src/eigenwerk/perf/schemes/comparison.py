"""Runs of one case beside each other: speed-up over other schemes, slowdown by thread blocks, parallel efficiency."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eigenwerk.perf.communication_text import device_model
from eigenwerk.perf.schemes.products import ProductUse

BLOCKS = "nccl:4"
"""How names of schemes begin that fix thread blocks."""


@dataclass(frozen=True)
class Row:
    """One run.  over_plain, over_mpi: how many times faster its products are than those by these schemes on as many
    ranks; slower: than those of the fastest numbers of thread blocks on as many ranks, as a share; efficiency: of that
    of fewer ranks by the same scheme, fewest first.  None where there is nothing to compare with.
    """

    use: ProductUse
    over_plain: float | None
    over_mpi: float | None
    slower: float | None
    efficiency: float | None


def compared(uses: Sequence[ProductUse]) -> list[Row]:
    """A row for each run, in their order; only runs of one case on one kind of device are compared."""
    return [_row(use, [other for other in uses if _what(other) == _what(use)]) for use in uses]


def _what(use: ProductUse) -> tuple[object, ...]:
    """What runs have to have in common."""
    names = ("title", "states", "nonzeros", "precision", "block", "backend")
    models = tuple(dict.fromkeys(device_model(rank.device) for rank in use.run.ranks))
    return (*(tuple(case.get(name) for name in names) for case in use.cases), models)


def _row(use: ProductUse, alike: Sequence[ProductUse]) -> Row:
    def fastest(wanted: Callable[[ProductUse], bool]) -> float | None:
        return min((other.seconds for other in alike if wanted(other)), default=None)

    def over(scheme: str) -> float | None:
        found = fastest(lambda other: (other.scheme, other.ranks) == (scheme, use.ranks))
        return None if found is None else found / use.seconds

    slower = None
    if use.scheme.startswith(BLOCKS):
        best = fastest(lambda other: other.scheme.startswith(BLOCKS) and other.ranks == use.ranks)
        slower = None if best is None else use.seconds / best - 1
    same = [other for other in alike if other.scheme == use.scheme or other.ranks == 1]
    fewest = min(other.ranks for other in same)
    base = fastest(lambda other: other in same and other.ranks == fewest)
    efficiency = None if base is None or fewest == use.ranks else base * fewest / (use.seconds * use.ranks)
    return Row(use, over("plain"), over("mpi"), slower, efficiency)
