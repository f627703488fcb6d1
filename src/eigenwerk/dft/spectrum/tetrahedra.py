"""Integrals over tetrahedra of k-points, between whose corners band energies are linear.

`TetrahedronBands` holds the energies of all bands at the corners of all tetrahedra, sorted, and says how much of each
state lies below an energy: the weight w_skn(E) with which the state enters integrals over the occupied part of the
Brillouin zone.  Blöchl's correction for the curvature of the bands is an option.
Source: P. E. Blöchl, O. Jepsen, O. K. Andersen, Phys. Rev. B 49, 16223 (1994), equations 22 and appendices B, C.
Equations: docs/equations/occupations.md.

Corner energies may be equal: every denominator is a distance of energies on the two sides of E, or across it, so that
each quotient below lies between 0 and 1.
"""

from dataclasses import dataclass

import numpy as np

from eigenwerk.dft.crystal.tetrahedra import Tetrahedra


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
        point_csTn = tetrahedra.corner_Tc.T[:, None, :, None] + points * np.arange(spins)[:, None, None]
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
        return full + float(self.weight_x[inside_x] @ corner_weights(self.energy_cx[:, inside_x], energy).sum(0))

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

    def gathered(self, chosen_x: np.ndarray, share_cx: np.ndarray) -> np.ndarray:
        """Sum of the shares (4, x) of some tetrahedra at every state, times their parts of the zone; (s, k, n)."""
        total, size = np.zeros(int(np.prod(self.shape))), int(np.prod(self.shape))
        weight_x = self.weight_x[chosen_x]
        for state_x, share_x in zip(self.state_cx, share_cx, strict=True):
            total += np.bincount(state_x[chosen_x], weight_x * share_x, minlength=size)
        return total.reshape(self.shape)


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
    (e1, e2, e3, e4), e = energy_cx[:, middle_x], level_x[middle_x]
    up3, up4, from3, from4 = (e - e1) / (e3 - e1), (e - e1) / (e4 - e1), (e - e2) / (e3 - e2), (e - e2) / (e4 - e2)
    # three tetrahedra make up the part below, between the corners 1, 2 and the points where edges meet the level
    first, second, third = up3 * up4 / 4, up4 * from3 * (1 - up3) / 4, from3 * from4 * (1 - up4) / 4
    whole = first + second + third
    share_cx[0, middle_x] = first + (first + second) * (1 - up3) + whole * (1 - up4)
    share_cx[1, middle_x] = whole + (second + third) * (1 - from3) + third * (1 - from4)
    share_cx[2, middle_x] = (first + second) * up3 + (second + third) * from3
    share_cx[3, middle_x] = whole * up4 + third * from4
    return share_cx


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


def _tip(level_x: np.ndarray, energy_cx: np.ndarray) -> np.ndarray:
    """Corner weights of the tip at the first corner that the level cuts off."""
    edge_cx = (level_x - energy_cx[0]) / (energy_cx[1:] - energy_cx[0])
    quarter_x = edge_cx.prod(0) / 4
    return quarter_x * np.concatenate([(4 - edge_cx.sum(0))[None], edge_cx])


def _scaled_tip(level_x: np.ndarray, energy_cx: np.ndarray) -> np.ndarray:
    """Density of states of that tip times the spread of the four energies."""
    near, far = energy_cx[1] - energy_cx[0], energy_cx[2] - energy_cx[0]
    scaled_x: np.ndarray = 3 * (level_x - energy_cx[0]) / near * ((level_x - energy_cx[0]) / far)
    return scaled_x
