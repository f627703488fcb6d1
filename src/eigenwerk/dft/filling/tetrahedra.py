"""Integrals over tetrahedra of k-points, between whose corners band energies are linear.

`TetrahedronBands` holds the energies of all bands at the corners of all tetrahedra, sorted, and says how much of each
state lies below an energy: the weight w_skn(E) with which the state enters integrals over the occupied part of the
Brillouin zone.  Blöchl's correction for the curvature of the bands is an option.
Source: P. E. Blöchl, O. Jepsen, O. K. Andersen, Phys. Rev. B 49, 16223 (1994), equations 22 and appendices B, C.
Equations: docs/equations/occupations.md.

Corner energies may be equal: every denominator is a distance of energies on the two sides of E, or across it, so that
each quotient below lies between 0 and 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from eigenwerk.dft.crystal.tetrahedra import Tetrahedra

PAIRS = 2_000_000
"""Pairs of a tetrahedron and a level inside it that are worked on at once, which bounds memory to some 300 MB."""


@dataclass(frozen=True, eq=False)
class TetrahedronBands:
    """One band in one tetrahedron after the other, x in all.

    energy_cx: (4, x) at the corners, ascending; state_cx: (4, x) place of each corner in a flat array (s, k, n);
    weight_x: part of the zone; shape: (s, k, n).
    """

    energy_cx: np.ndarray
    state_cx: np.ndarray
    weight_x: np.ndarray
    shape: tuple[int, ...]

    @staticmethod
    def of(eig_skn: np.ndarray, tetrahedra: Tetrahedra) -> "TetrahedronBands":
        """From band energies (s, k, n) of the irreducible points."""
        spins, points, bands = eig_skn.shape
        spin_csTn = np.arange(spins)[:, None, None]
        if tetrahedra.flip_Tc is not None and spins == 2:
            spin_csTn = spin_csTn ^ tetrahedra.flip_Tc.T[:, None, :, None]
        point_csTn = tetrahedra.corner_Tc.T[:, None, :, None] + points * spin_csTn
        state_cx = (point_csTn * bands + np.arange(bands)).reshape(4, -1)
        energy_cx = np.ascontiguousarray(eig_skn, dtype=np.float64).reshape(-1)[state_cx]
        order_cx = np.argsort(energy_cx, axis=0, kind="stable")
        weight_x = np.broadcast_to(tetrahedra.weight_T[None, :, None], (spins, len(tetrahedra.weight_T), bands))
        return TetrahedronBands(
            np.take_along_axis(energy_cx, order_cx, 0), np.take_along_axis(state_cx, order_cx, 0),
            weight_x.reshape(-1), eig_skn.shape,
        )  # fmt: skip

    def part(self, chosen_x: np.ndarray) -> "TetrahedronBands":
        """Some of the tetrahedra."""
        chosen = self.energy_cx[:, chosen_x], self.state_cx[:, chosen_x], self.weight_x[chosen_x]
        return TetrahedronBands(*chosen, self.shape)

    def states(self, energy: float) -> float:
        """Number of states below an energy, per cell and electron of a state."""
        lowest_x, _, _, highest_x = self.energy_cx
        inside_x = np.flatnonzero((lowest_x < energy) & (highest_x > energy))
        full = float(self.weight_x[highest_x <= energy].sum())
        return full + float(self.weight_x[inside_x] @ share_below(self.energy_cx[:, inside_x], energy))

    def weights(self, energy: float, corrected: bool) -> np.ndarray:
        """How much of each state lies below an energy, w_skn; the sum is `states(energy)`.

        corrected: with Blöchl's correction, which moves weight between the corners of a tetrahedron.
        """
        lowest_x, _, _, highest_x = self.energy_cx
        full_x = highest_x <= energy
        inside_x = np.flatnonzero((lowest_x < energy) & ~full_x)
        share_cx = corner_weights(self.energy_cx[:, inside_x], energy)
        if corrected:
            share_cx += curvature_weights(self.energy_cx[:, inside_x], energy)
        return self.gathered(full_x, np.broadcast_to(0.25, (4, 1))) + self.gathered(inside_x, share_cx)

    def between(self, low: float, high: float) -> tuple[float, "TetrahedronBands"]:
        """For levels between two: the number of states in tetrahedra that are full, and those that are not empty."""
        full_x = self.energy_cx[3] <= low
        return float(self.weight_x[full_x].sum()), self.part(~full_x & (self.energy_cx[0] < high))

    def full_from(self, level_x: np.ndarray) -> np.ndarray:
        """The place of the first of ascending levels below which a tetrahedron lies as a whole, (x,)."""
        return np.searchsorted(level_x, self.energy_cx[3], "left")

    def crossings(self, level_x: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """All pairs of a tetrahedron and one of ascending levels inside it, in blocks."""
        first_x = np.searchsorted(level_x, self.energy_cx[0], "right")
        count_x = np.maximum(self.full_from(level_x) - first_x, 0)
        edges = np.searchsorted(np.cumsum(count_x), np.arange(PAIRS, count_x.sum(), PAIRS))
        for block in np.split(np.arange(len(count_x)), edges):
            each = np.repeat(block, count_x[block])
            yield each, np.arange(len(each)) + np.repeat(first_x[block] - _before(count_x[block]), count_x[block])

    def gathered(self, chosen_x: np.ndarray, share_cx: np.ndarray) -> np.ndarray:
        """Sum of the shares (4, x) of some tetrahedra at every state, times their parts of the zone; (s, k, n)."""
        total, size = np.zeros(int(np.prod(self.shape))), int(np.prod(self.shape))
        weight_x = self.weight_x[chosen_x]
        for state_x, share_x in zip(self.state_cx, share_cx, strict=True):
            total += np.bincount(state_x[chosen_x], weight_x * share_x, minlength=size)
        return total.reshape(self.shape)


def _before(count_x: np.ndarray) -> np.ndarray:
    """Sum of what comes before each number."""
    return np.cumsum(count_x) - count_x


def corner_weights(energy_cx: np.ndarray, level: np.ndarray | float) -> np.ndarray:
    """Integrals of the linear weights of the corners over the part of a tetrahedron that lies below a level, (4, x).

    energy_cx: (4, x) ascending with energy_1 < level < energy_4; level: one, or (x,).  In parts of the volume: the sum
    is the share of the tetrahedron below the level.
    """
    level_x = np.broadcast_to(level, energy_cx.shape[1:])
    share_cx = np.empty(energy_cx.shape)
    low_x, middle_x, high_x = _regions(energy_cx, level_x)
    share_cx[:, low_x] = _tip(level_x[low_x], energy_cx[:, low_x])
    share_cx[:, high_x] = 0.25 - _tip(level_x[high_x], energy_cx[::-1, high_x])[::-1]
    up3, up4, from3, from4 = _cuts(level_x[middle_x], energy_cx[:, middle_x])
    first, second, third = _pieces(up3, up4, from3, from4) / 4
    whole = first + second + third
    share_cx[0, middle_x] = first + (first + second) * (1 - up3) + whole * (1 - up4)
    share_cx[1, middle_x] = whole + (second + third) * (1 - from3) + third * (1 - from4)
    share_cx[2, middle_x] = (first + second) * up3 + (second + third) * from3
    share_cx[3, middle_x] = whole * up4 + third * from4
    return share_cx


def share_below(energy_cx: np.ndarray, level: np.ndarray | float) -> np.ndarray:
    """The part of a tetrahedron that lies below a level, (x,): the sum of `corner_weights`."""
    level_x = np.broadcast_to(level, energy_cx.shape[1:])
    share_x = np.empty(energy_cx.shape[1])
    low_x, middle_x, high_x = _regions(energy_cx, level_x)
    share_x[low_x] = _edges(level_x[low_x], energy_cx[:, low_x]).prod(0)
    share_x[high_x] = 1 - _edges(level_x[high_x], energy_cx[::-1, high_x]).prod(0)
    share_x[middle_x] = _pieces(*_cuts(level_x[middle_x], energy_cx[:, middle_x])).sum(0)
    return share_x


def curvature_weights(energy_cx: np.ndarray, level: np.ndarray | float) -> np.ndarray:
    """Blöchl's correction of `corner_weights`: D(level) Σ_j (energy_j - energy_c) / 40, D the density of states of the
    tetrahedron in parts of its volume; (4, x), with sum 0 over the corners."""
    level_x = np.broadcast_to(level, energy_cx.shape[1:])
    scaled_x = np.empty(energy_cx.shape[1])  # D times energy_4 - energy_1, which has no pole
    low_x, middle_x, high_x = _regions(energy_cx, level_x)
    scaled_x[low_x] = _scaled_tip(level_x[low_x], energy_cx[:, low_x])
    scaled_x[high_x] = _scaled_tip(level_x[high_x], energy_cx[::-1, high_x])
    (e1, e2, e3, e4), e = energy_cx[:, middle_x], level_x[middle_x]
    rise, part = e - e2, (e - e2) / (e3 - e2)
    scaled_x[middle_x] = 3 * ((e2 - e1 + (2 - part) * rise) / (e3 - e1) - part * rise / (e4 - e2))
    spread_cx = (energy_cx.sum(0) - 4 * energy_cx) / (energy_cx[3] - energy_cx[0])
    return scaled_x / 40 * spread_cx


def _regions(energy_cx: np.ndarray, level_x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the level lies up to the second corner, up to the third, and above."""
    low_x, high_x = level_x <= energy_cx[1], level_x > energy_cx[2]
    return np.flatnonzero(low_x), np.flatnonzero(~(low_x | high_x)), np.flatnonzero(high_x)


def _edges(level_x: np.ndarray, energy_cx: np.ndarray) -> np.ndarray:
    """Where the level meets the edges from the first corner to the others, (3, x) as parts of their lengths."""
    edge_cx: np.ndarray = (level_x - energy_cx[0]) / (energy_cx[1:] - energy_cx[0])
    return edge_cx


def _cuts(level_x: np.ndarray, energy_cx: np.ndarray) -> tuple[np.ndarray, ...]:
    """Where a level between the second corner and the third meets the edges 1-3, 1-4, 2-3, 2-4."""
    e1, e2, e3, e4 = energy_cx
    from1, from2 = level_x - e1, level_x - e2
    return from1 / (e3 - e1), from1 / (e4 - e1), from2 / (e3 - e2), from2 / (e4 - e2)


def _pieces(up3: np.ndarray, up4: np.ndarray, from3: np.ndarray, from4: np.ndarray) -> np.ndarray:
    """Volumes of the three tetrahedra that make up the part below, between the corners 1, 2 and those four points."""
    return np.stack([up3 * up4, up4 * from3 * (1 - up3), from3 * from4 * (1 - up4)])


def _tip(level_x: np.ndarray, energy_cx: np.ndarray) -> np.ndarray:
    """Corner weights of the tip at the first corner that the level cuts off."""
    edge_cx = _edges(level_x, energy_cx)
    quarter_x = edge_cx.prod(0) / 4
    return quarter_x * np.concatenate([(4 - edge_cx.sum(0))[None], edge_cx])


def _scaled_tip(level_x: np.ndarray, energy_cx: np.ndarray) -> np.ndarray:
    """Density of states of that tip times the spread of the four energies."""
    near, far = energy_cx[1] - energy_cx[0], energy_cx[2] - energy_cx[0]
    scaled_x: np.ndarray = 3 * (level_x - energy_cx[0]) / near * ((level_x - energy_cx[0]) / far)
    return scaled_x
