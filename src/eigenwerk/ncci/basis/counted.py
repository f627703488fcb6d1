"""Dimension and nonzeros of a space, counted once, and no longer than counting may take."""

from functools import lru_cache

from eigenwerk.ncci.basis.counting import CountingStopped, Counts, count, dimension, nonzeros_countable
from eigenwerk.ncci.basis.space import ManyBodySpace

COUNT_SECONDS = 120.0
"""Of one core, after which nonzeros are left uncounted: very many orbitals, which `pairs` computes."""

_dimension = lru_cache(maxsize=4)(dimension)
_tried: dict[tuple[ManyBodySpace, bool], tuple[float, Counts | None]] = {}
"""By space and kind: seconds that counting might take, and what it found."""


def counts_of(space: ManyBodySpace, valence: bool, seconds: float | None = None) -> tuple[int, Counts | None]:
    """Dimension, and the nonzeros by kinds where protons and neutrons share one limit and counting ends in time.

    seconds: that counting may take; None: `COUNT_SECONDS`, or what was allowed when this space was counted before.
    """
    if not nonzeros_countable(space):
        return _dimension(space), None
    allowed, found = _tried.get((space, valence), (0.0, None))
    if seconds is None:
        seconds = allowed or COUNT_SECONDS
    if found is None and allowed < seconds:
        try:
            found = count(space, like_j_even=valence, seconds=seconds)
        except CountingStopped:
            found = None
        while len(_tried) > 3:
            _tried.pop(next(iter(_tried)))
        _tried[space, valence] = seconds, found
    return (_dimension(space), None) if found is None else (found.dimension, found)
