"""Levels of one k-point that hold neither none nor all of their electrons (no torch here)."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np


@dataclass(frozen=True)
class PartLevel:
    """A level that is partly filled: its spin channel, its bands, and the electrons of one spin in it."""

    spin: int
    bands: slice
    electrons: float

    @property
    def count(self) -> int:
        """How many bands it has."""
        return self.bands.stop - self.bands.start

    @property
    def words(self) -> str:
        """How it is told."""
        return f"bands {self.bands.start + 1} to {self.bands.stop}, {self.electrons:.2f} of {self.count} filled"


def part_levels(eig_sn: np.ndarray, occ_sn: np.ndarray, same: float, whole: float) -> tuple[PartLevel, ...]:
    """Levels with a band that holds more than a share `whole` of its electrons, and lacks more than that.

    eig_sn: ascending, those that differ from their neighbour by less than `same`, in their unit, are one level; occ_sn:
    0 to 1.
    """
    found = []
    for spin, (eig_n, occ_n) in enumerate(zip(np.asarray(eig_sn), np.asarray(occ_sn), strict=True)):
        edges = [0, *(np.flatnonzero(np.diff(eig_n) >= same) + 1).tolist(), len(eig_n)]
        for start, stop in pairwise(edges):
            held_n = occ_n[start:stop]
            if ((held_n > whole) & (held_n < 1 - whole)).any():
                found.append(PartLevel(spin, slice(start, stop), float(held_n.sum())))
    return tuple(found)
