"""The gap between occupied and empty states, and where in the Brillouin zone its edges lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class BandEdge:
    """A band edge: energy in hartree, spin channel, k-point index and its reduced coordinates, band index (from 0)."""

    energy: float
    spin: int
    point: int
    point_c: tuple[float, float, float]
    band: int


@dataclass(frozen=True)
class BandGap:
    """Band gap of a set of k-points; energies in hartree.

    gap, direct_gap: None where there is no gap to speak of (no empty band), 0 in a metal; vbm, cbm: band edges over all
    spins; direct: the band edge at the k-point and spin of the direct gap.
    """

    metal: bool
    gap: float | None
    direct_gap: float | None
    vbm: BandEdge | None
    cbm: BandEdge | None
    direct: BandEdge | None


def band_gap(eig_skn: Tensor, occ_skn: Tensor, point_kc: Tensor, fermi: float | Sequence[float]) -> BandGap:
    """Fundamental and direct gap, and where the band edges are.

    A channel is metallic if the number of bands below its Fermi level differs between k-points, or if the electrons at
    some k-point differ from that number by half a band or more (levels filled in part, smearing as wide as the gap).

    eig_skn, occ_skn: (s, k, n), hartree and 0 to 1; point_kc: (k, 3) reduced; fermi: hartree, one or per spin.
    """
    spins = eig_skn.shape[0]
    levels = list(fermi) if isinstance(fermi, Sequence) else [fermi] * spins
    below_skn = eig_skn <= eig_skn.new_tensor(levels)[:, None, None]
    count_sk = below_skn.sum(dim=2)
    uneven = bool((count_sk != count_sk[:, :1]).any())
    if uneven or bool(((occ_skn.sum(dim=2) - count_sk).abs() >= 0.5).any()):
        return BandGap(True, 0.0, 0.0, None, None, None)
    occupied_skn = torch.where(below_skn, eig_skn, -math.inf)
    empty_skn = torch.where(below_skn, math.inf, eig_skn)
    vbm = _edge(occupied_skn, int(occupied_skn.argmax()), point_kc)
    cbm = _edge(empty_skn, int(empty_skn.argmin()), point_kc)
    if vbm is None or cbm is None:
        return BandGap(False, None, None, vbm, cbm, None)
    if cbm.energy <= vbm.energy:  # possible between channels with Fermi levels of their own
        return BandGap(True, 0.0, 0.0, None, None, None)
    direct_sk = empty_skn.amin(dim=2) - occupied_skn.amax(dim=2)
    place = int(direct_sk.argmin())
    spin, point = divmod(place, eig_skn.shape[1])
    band = int(occupied_skn[spin, point].argmax())
    top = _edge(occupied_skn, place * eig_skn.shape[2] + band, point_kc)
    return BandGap(False, cbm.energy - vbm.energy, float(direct_sk[spin, point]), vbm, cbm, top)


def _edge(eig_skn: Tensor, place: int, point_kc: Tensor) -> BandEdge | None:
    """The band edge at a flat index into eig_skn, None if there is no such state."""
    _, points, bands = eig_skn.shape
    spin, point, band = place // (points * bands), place // bands % points, place % bands
    energy = float(eig_skn[spin, point, band])
    if not math.isfinite(energy):
        return None
    first, second, third = (float(c) for c in point_kc[point])
    return BandEdge(energy, spin, point, (first, second, third), band)
