"""Densities of states, total and projected, from band energies: by a smearing of the k-points or by tetrahedra.

Both methods say how much of every state lies below an energy, w_skn(E).  All else follows from that:

    N_s(E) = g Σ_kn w_skn(E) P_skn,      D_s(E_i) = (N_s(E_i) - N_s(E_{i-1})) / (E_i - E_{i-1}),

with P = 1 for the total and the weight of a projection for its part; g = 2 for one spin row and 1 for two.  Differences
keep the sum rule Σ_i D(E_i) ΔE = N whatever the step, so that no narrow peak falls between two energies.  So does VASP
(wiki, page DOSCAR).  Equations: docs/equations/occupations.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from eigenwerk.dft.crystal.tetrahedra import Tetrahedra
from eigenwerk.dft.filling.occupations import Smearing, SmearingKind
from eigenwerk.dft.filling.tetrahedra import TetrahedronBands, corner_weights

_BLOCK = 2_000_000
"""Numbers of a table (energies, k-points) that are worked on at once."""

MARGIN_WIDTHS, MARGIN_SHARE = 10.0, 0.05
"""The automatic range goes beyond the band energies by so many widths or this share of their range, as VASP's does."""


class Counting(Protocol):
    """A way to say how much of a state lies below an energy."""

    def below(self, eig_skn: np.ndarray, energy_x: np.ndarray) -> Iterator[np.ndarray]:
        """For one band after the other w(E), (x, s, k), of energies (s, k, n) at energies (x,), ascending."""


@dataclass(frozen=True, eq=False)
class SmearedCounting:
    """w(E) = w_k f((ε - E) / width) with the step of a smearing; for fixed occupations that of Gaussian smearing.

    weight_k: sum one; width in the unit of the energies.
    """

    weight_k: np.ndarray
    smearing: Smearing
    width: float

    def below(self, eig_skn: np.ndarray, energy_x: np.ndarray) -> Iterator[np.ndarray]:
        """See `Counting`."""
        fixed = self.smearing.kind is SmearingKind.FIXED
        smearing = Smearing(SmearingKind.GAUSSIAN) if fixed else self.smearing
        for n in range(eig_skn.shape[2]):
            distance_xsk = torch.from_numpy((eig_skn[:, :, n] - energy_x[:, None, None]) / self.width)
            yield smearing.fraction(distance_xsk).numpy() * self.weight_k


@dataclass(frozen=True, eq=False)
class TetrahedronCounting:
    """w(E) by linear tetrahedra: without Blöchl's correction, which changes no total, and without smearing."""

    tetrahedra: Tetrahedra

    def below(self, eig_skn: np.ndarray, energy_x: np.ndarray) -> Iterator[np.ndarray]:
        """See `Counting`."""
        for n in range(eig_skn.shape[2]):
            yield self._below(TetrahedronBands.of(eig_skn[:, :, n : n + 1], self.tetrahedra), energy_x)

    @staticmethod
    def _below(bands: TetrahedronBands, energy_x: np.ndarray) -> np.ndarray:
        (spins, points, _), grid = bands.shape, len(energy_x)
        states = spins * points
        size = (grid + 1) * states
        full_x, inside_x = np.zeros((2, size))
        after_T = bands.full_from(energy_x)
        for state_T in bands.state_cx:
            full_x += np.bincount(after_T * states + state_T, bands.weight_x / 4, minlength=size)
        for each, place in bands.crossings(energy_x):
            share_cx = corner_weights(bands.energy_cx[:, each], energy_x[place]) * bands.weight_x[each]
            for state_T, share_x in zip(bands.state_cx, share_cx, strict=True):
                inside_x += np.bincount(place * states + state_T[each], share_x, minlength=size)
        below_xsk: np.ndarray = inside_x.reshape(-1, spins, points) + full_x.reshape(-1, spins, points).cumsum(0)
        return below_xsk[:grid]


def counting(smearing: Smearing, width: float, weight_k: np.ndarray) -> Counting:
    """The way that belongs to how the states were occupied.

    Raises ValueError for a width that is not positive where one is needed.
    """
    if smearing.tetrahedra is not None:
        return TetrahedronCounting(smearing.tetrahedra)
    if not width > 0:
        raise ValueError(f"counting: width = {width}, must be positive")
    return SmearedCounting(weight_k, smearing, width)


def density_of_states(
    method: Counting, eig_skn: np.ndarray, energy_x: np.ndarray, part_skny: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Density of states and its integral at ascending energies, total or of projections; see the head of the file.

    eig_skn: (s, k, n); energy_x: (x,) in the same unit, at least two; part_skny: (s, k, n, ...) weight of each
    projection (atom, lm ...) in each state.  Returns density (states per energy and cell) in the interval up to each
    energy and the integral up to it (states per cell), both (s, x, ...).
    """
    extended_x = np.concatenate([[2 * energy_x[0] - energy_x[1]], energy_x])
    tail = () if part_skny is None else part_skny.shape[3:]
    integrated_sxy = np.zeros((len(eig_skn), len(extended_x), int(np.prod(tail, dtype=int))))
    spins, points, _ = eig_skn.shape
    step = max(2, _BLOCK // (spins * points))
    for some in (slice(first, first + step) for first in range(0, len(extended_x), step)):
        for n, below_xsk in enumerate(method.below(eig_skn, extended_x[some])):
            for s in range(spins):
                part_ky = np.ones((points, 1)) if part_skny is None else part_skny[s, :, n].reshape(points, -1)
                integrated_sxy[s, some] += below_xsk[:, s] @ part_ky
    integrated_sxy *= 2 / len(eig_skn)
    density_sxy = np.diff(integrated_sxy, axis=1) / np.diff(extended_x)[:, None]
    shape = (len(eig_skn), len(energy_x), *tail)
    return density_sxy.reshape(shape), integrated_sxy[:, 1:].reshape(shape)


def energy_grid(
    eig_skn: np.ndarray, width: float, points: int = 301, lowest: float | None = None, highest: float | None = None
) -> np.ndarray:
    """Uniform energies from EMIN to EMAX, (points,).

    An end that is not given, and both if the lower is not below the upper, lie beyond the band energies by
    max(10 widths, 5 % of their range).  Source: VASP wiki, pages EMIN and EMAX.
    """
    bottom, top = float(eig_skn.min()), float(eig_skn.max())
    margin = max(MARGIN_WIDTHS * width, MARGIN_SHARE * (top - bottom), 1e-3)
    if lowest is not None and highest is not None and lowest >= highest:
        lowest = highest = None
    bottom, top = bottom - margin if lowest is None else lowest, top + margin if highest is None else highest
    return np.linspace(bottom, max(top, bottom + margin), points)
