"""The gap between occupied and empty states, and where in the Brillouin zone its edges lie (no torch here)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from eigenwerk.dft.filling.fermi_level import IN_PART
from eigenwerk.dft.filling.part_levels import part_levels


@dataclass(frozen=True)
class BandEdge:
    """A band edge: energy, spin channel, k-point and band counted from 1, the k-point's reduced coordinates."""

    energy: float
    spin: int
    kpoint: int
    point_c: tuple[float, float, float]
    band: int


@dataclass(frozen=True)
class BandGap:
    """The band gap among the computed k-points, in the unit of the eigenvalues.

    metal: no gap; partly_filled: states of the level at one k-point alone (a molecule or atom) that is filled in part,
    0 in other metals and without.  gap, direct_gap: None where all bands are filled, so that none is known, 0 in a
    metal; top, bottom: edges of valence and conduction bands over all spins, None in a metal; direct_at: where the
    direct gap is.
    """

    metal: bool
    gap: float | None
    direct_gap: float | None
    top: BandEdge | None
    bottom: BandEdge | None
    direct_at: BandEdge | None
    partly_filled: int = 0

    @property
    def is_direct(self) -> bool:
        """Whether both edges lie at the same k-point in the same spin channel."""
        return (
            self.top is not None
            and self.bottom is not None
            and (self.top.kpoint, self.top.spin) == (self.bottom.kpoint, self.bottom.spin)
        )

    def zero(self, fermi_level: float) -> tuple[float, str]:
        """The energy that pictures count from and what it is: the valence band top, or the Fermi level of a metal."""
        return (fermi_level, "Fermi level") if self.metal or self.top is None else (self.top.energy, "valence band top")

    @property
    def kind(self) -> str:
        """In a word or two."""
        if self.is_direct:
            return "direct"
        same = self.top is not None and self.bottom is not None and self.top.kpoint == self.bottom.kpoint
        return "from spin to spin at one k-point" if same else "indirect"


UNFILLED = 0.1
"""Of a band; see `band_gap`."""

METAL = BandGap(True, 0.0, 0.0, None, None, None)

SAME_LEVEL, SAME_PARTLY = 1e-5, 1e-3
"""Levels this near, in the unit of the eigenvalues, are one; those that are filled in part, at one k-point, up to the
second: what symmetry makes equal differs a little on grids that break it."""


def band_gap(eig_skn: np.ndarray, occ_skn: np.ndarray, point_kc: np.ndarray, fermi_s: Sequence[float]) -> BandGap:
    """Fundamental and direct gap, and where the band edges are.

    A channel is metallic if the number of bands below its Fermi level differs between k-points, or if the electrons at
    some k-point differ from that number by half a band or more (levels filled in part, smearing as wide as the gap), or
    at all of them by a tenth in the same direction: smearing takes from one what it gives to another, so these are
    electrons that do not fill whole bands.  Levels of one channel that are the same to rounding are one level: where it
    is filled in part there is no gap, however its states are counted.

    eig_skn: (s, k, n), occ_skn: 0 to 1; point_kc: (k, 3) reduced; fermi_s: Fermi level of each spin.
    """
    partly = _partly_filled(eig_skn, occ_skn)
    if partly:
        return replace(METAL, partly_filled=partly)
    below_skn = eig_skn <= np.asarray(fermi_s)[:, None, None]
    count_sk = below_skn.sum(axis=2)
    away_sk = occ_skn.sum(axis=2) - count_sk
    if (count_sk != count_sk[:, :1]).any() or (abs(away_sk) >= 0.5).any():
        return METAL
    if ((away_sk >= UNFILLED).all(axis=1) | (away_sk <= -UNFILLED).all(axis=1)).any():
        return METAL
    occupied_skn = np.where(below_skn, eig_skn, -math.inf)
    empty_skn = np.where(below_skn, math.inf, eig_skn)
    top = _edge(occupied_skn, int(occupied_skn.argmax()), point_kc)
    bottom = _edge(empty_skn, int(empty_skn.argmin()), point_kc)
    if top is None or bottom is None:
        return BandGap(False, None, None, top, bottom, None)
    if bottom.energy <= top.energy + SAME_LEVEL:  # also between channels with Fermi levels of their own
        return METAL
    if (empty_skn.min(axis=(1, 2)) <= occupied_skn.max(axis=(1, 2)) + SAME_LEVEL).any():
        return METAL
    direct_sk = empty_skn.min(axis=2) - occupied_skn.max(axis=2)
    place = int(direct_sk.argmin())
    spin, point = np.unravel_index(place, direct_sk.shape)
    band = int(occupied_skn[spin, point].argmax())
    direct_at = _edge(occupied_skn, place * eig_skn.shape[2] + band, point_kc)
    return BandGap(False, bottom.energy - top.energy, float(direct_sk[spin, point]), top, bottom, direct_at)


def _partly_filled(eig_skn: np.ndarray, occ_skn: np.ndarray) -> int:
    """States of one level, at one k-point alone, that electrons fill in part; 0 where there is none."""
    if eig_skn.shape[1] != 1:
        return 0
    levels = part_levels(eig_skn[:, 0], occ_skn[:, 0], SAME_PARTLY, IN_PART)
    for spin in range(len(eig_skn)):
        own = [level for level in levels if level.spin == spin]
        if len(own) == 1 and (own[0].count > 1 or abs(own[0].electrons - round(own[0].electrons)) > UNFILLED):
            return own[0].count
    return 0


def _edge(eig_skn: np.ndarray, place: int, point_kc: np.ndarray) -> BandEdge | None:
    """The band edge at a flat index into eig_skn, None if there is no such state."""
    spin, point, band = (int(x) for x in np.unravel_index(place, eig_skn.shape))
    energy = float(eig_skn[spin, point, band])
    if not math.isfinite(energy):
        return None
    first, second, third = (float(c) for c in point_kc[point])
    return BandEdge(energy, spin + 1, point + 1, (first, second, third), band + 1)
