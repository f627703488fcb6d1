"""Which rank does which pairs of occupied orbitals, so that each is done once.

Orbitals go round in a ring: after d steps a rank has in hand those of the rank d places before it.  Of P ranks it does
all pairs with these while 2 d < P; where 2 d = P the two ranks have each other's orbitals at the same time, and each
does half of their pairs; after that all are done.  What potentials make of the orbitals in hand goes back to their
rank.  Among its own orbitals a rank does each pair of two points once, and of a point with itself all blocks on one
side of the diagonal.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True)
class Meeting:
    """Bands of a source point and of a target point that are paired now; both: targets make something of the sources,
    too, else sources of targets alone."""

    n: slice
    t: slice
    both: bool


@dataclass(frozen=True)
class Turn:
    """A step of the ring: this rank, the one whose orbitals it has in hand, and all ranks."""

    rank: int
    owner: int
    size: int

    @property
    def step(self) -> int:
        """How far these orbitals have come."""
        return (self.rank - self.owner) % self.size

    @property
    def gives_back(self) -> bool:
        """Whether orbitals of another rank become targets, too."""
        return 0 < 2 * self.step <= self.size

    def meetings(
        self, here: tuple[int, int], there: tuple[int, int], n: slice, unit: int, width: int
    ) -> Iterator[Meeting]:
        """Of bands n of a source point with all of a target point.

        here, there: number of the target and of the source point, and how many bands they have; unit: bands that stay
        together; width: of the blocks that a point is cut into when it meets itself.
        """
        (here_k, targets), (there_k, sources) = here, there
        if not self.step:
            if here_k < there_k:
                yield Meeting(n, slice(0, targets), True)
            elif here_k == there_k:
                yield from _among_themselves(n, targets, width)
        elif 2 * self.step < self.size:
            yield Meeting(n, slice(0, targets), True)
        elif 2 * self.step == self.size and self.rank < self.owner:  # the first half of the other one's orbitals
            if n.start < _half(sources, unit):
                yield Meeting(slice(n.start, min(n.stop, _half(sources, unit))), slice(0, targets), True)
        elif 2 * self.step == self.size and _half(targets, unit) < targets:
            yield Meeting(n, slice(_half(targets, unit), targets), True)


def _half(bands: int, unit: int) -> int:
    return bands // (2 * unit) * unit


def _among_themselves(n: slice, bands: int, width: int) -> Iterator[Meeting]:
    """Both ways in the same block; later sources with earlier targets once for both."""
    for first in range(0, bands, width):
        last = min(first + width, bands)
        same = slice(max(first, n.start), min(last, n.stop))
        later = slice(max(last, n.start), n.stop)
        if same.start < same.stop:
            yield Meeting(same, slice(first, last), False)
        if later.start < later.stop:
            yield Meeting(later, slice(first, last), True)


def width_of(bands: int, pieces: int, unit: int) -> int:
    """Bands of a block where a point is cut into so many, a multiple of `unit`."""
    return max(1, ceil(bands / pieces / unit)) * unit
