"""The Fermi level of tetrahedra, and how much of each state is occupied.

Tetrahedra end at a sharp level, or at a Fermi-Dirac step: with Ω(μ) = Σ_c (ε_c - μ) w_c(μ) of sharp tetrahedra

    Ω_T(μ) = ∫ dx (-f'(x)) Ω(μ + w x),   N_T = -∂Ω_T/∂μ,   w_c = ∂Ω_T/∂ε_c,   -TS = -w ∫ dx (-f'(x)) x N(μ + w x).

The integral is a sum over fixed x, so that the free energy is stationary whatever its step.  Tetrahedra that are
narrow against the width take points in their volume instead.  Equations: docs/equations/occupations.md.
"""

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import entr, expit, roots_jacobi

from eigenwerk.dft.crystal.tetrahedra import Tetrahedra
from eigenwerk.dft.filling.tetrahedra import TetrahedronBands, corner_weights, curvature_weights, share_below

COUNT_TOLERANCE = 1e-13
"""Relative error of the number of electrons that counts as exact."""

LEVEL_STEP = 0.02
"""First step (hartree) of the search for a sharp level."""

WINDOW = 1e-8
"""Levels this near (hartree) to the Fermi level are filled alike: rounding must not choose between equal levels."""

MARGIN = 1e-3
"""Bands that end so far (hartree) below the Fermi level, or begin above it, are full, or empty."""

SAME_LEVEL = 1e-6
"""Bands of one k-point this near (hartree) are degenerate and get the mean of their occupations."""

REACH = 20.0
"""End of the sum over x, in widths."""

SPREADS = {2.0: 0.25, 4.0: 0.5, 8.0: 1.0}
"""Spread of the corner energies, in widths, from which on steps of x may have this length; below the first, points in
the volume serve.  A kink of N inside a step costs some 0.002 step³/spread² of a tetrahedron."""


class Occupied(Protocol):
    """Bands in tetrahedra that are occupied up to a level in some way."""

    def states(self, level: float) -> float:
        """Number of occupied states per cell and electron of a state."""

    def weights(self, level: float, corrected: bool) -> np.ndarray:
        """How much of each state is occupied, (s, k, n)."""

    def between(self, low: float, high: float) -> "tuple[float, Occupied]":
        """For levels between two: the number of states that are full anyway, and the rest."""


@dataclass(frozen=True)
class Softened:
    """Tetrahedra occupied up to a Fermi-Dirac step of a width."""

    bands: TetrahedronBands
    width: float

    @cached_property
    def _wide(self) -> list[tuple[TetrahedronBands, np.ndarray, np.ndarray]]:
        """Tetrahedra by their spread, with the x that serve for them, and their shares."""
        spread_x = (self.bands.energy_cx[3] - self.bands.energy_cx[0]) / self.width
        ends = [*list(SPREADS)[1:], np.inf]
        chosen = [(spread_x > first) & (spread_x <= end) for first, end in zip(SPREADS, ends, strict=True)]
        return [(self.bands.part(some_x), *_nodes(step)) for some_x, step in zip(chosen, SPREADS.values(), strict=True)]

    @cached_property
    def _narrow(self) -> TetrahedronBands:
        return self.bands.part(self.bands.energy_cx[3] - self.bands.energy_cx[0] <= min(SPREADS) * self.width)

    def _points(self, level: float) -> np.ndarray:
        """x = (energy - level) / width at the points in narrow tetrahedra, (points, x)."""
        distance_px: np.ndarray = (_INSIDE_PC @ self._narrow.energy_cx - level) / self.width
        return distance_px

    def _sum(self, level: float, power: int) -> float:
        """Σ share x^power N(level + width x) of wide tetrahedra."""
        total = 0.0
        for bands, x, share in self._wide:
            factor, level_x = share * x**power, level + self.width * x
            # a tetrahedron is full at all levels from some place on
            rest = np.append(np.cumsum(factor[::-1])[::-1], 0.0)
            total += float(bands.weight_x @ rest[bands.full_from(level_x)])
            for each, place in bands.crossings(level_x):
                filled_x = share_below(bands.energy_cx[:, each], level_x[place])
                total += float((bands.weight_x[each] * factor[place]) @ filled_x)
        return total

    def states(self, level: float) -> float:
        """See `Occupied`."""
        return self._sum(level, 0) + float(_INSIDE_P @ expit(-self._points(level)) @ self._narrow.weight_x)

    def between(self, low: float, high: float) -> tuple[float, "Softened"]:
        """See `Occupied`."""
        full, bands = self.bands.between(low - REACH * self.width, high + REACH * self.width)
        return full, Softened(bands, self.width)

    def weights(self, level: float, corrected: bool) -> np.ndarray:
        """See `Occupied`."""
        total_skn = np.zeros(self.bands.shape)
        for bands, x, share in self._wide:
            level_x = level + self.width * x
            rest = np.append(np.cumsum(share[::-1])[::-1], 0.0) / 4
            every = np.arange(len(bands.weight_x))
            total_skn += bands.gathered(every, np.broadcast_to(rest[bands.full_from(level_x)], (4, len(every))))
            for each, place in bands.crossings(level_x):
                share_cx = corner_weights(bands.energy_cx[:, each], level_x[place])
                if corrected:
                    share_cx += curvature_weights(bands.energy_cx[:, each], level_x[place])
                total_skn += bands.gathered(each, share[place] * share_cx)
        narrow = self._narrow
        filled_px = _INSIDE_P[:, None] * expit(-self._points(level))
        share_cx = _INSIDE_PC.T @ filled_px
        if corrected:
            density_x = (filled_px * expit(self._points(level))).sum(0) / self.width
            share_cx += density_x / 40 * (narrow.energy_cx.sum(0) - 4 * narrow.energy_cx)
        return total_skn + narrow.gathered(np.arange(len(narrow.weight_x)), share_cx)

    def entropy(self, level: float) -> float:
        """-TS, in the unit of the width, per cell and electron of a state."""
        distance_px = self._points(level)
        disorder_px = entr(expit(distance_px)) + entr(expit(-distance_px))
        return -self.width * (self._sum(level, 1) + float(_INSIDE_P @ disorder_px @ self._narrow.weight_x))


def fill_bands(
    eig_skn: np.ndarray, tetrahedra: Tetrahedra, states: float, start: float, corrected: bool, width: float
) -> tuple[float, np.ndarray, float]:
    """The Fermi level that fills so many states, how much of each state is occupied, w_skn, and -TS per electron.

    eig_skn: (s, k, n) hartree; start: see `fill`; width: of the Fermi-Dirac step, 0 for a sharp level.
    """
    full_n, open_n = open_bands(eig_skn, states, width)
    bands = TetrahedronBands.of(eig_skn[..., open_n], tetrahedra)
    occupied = Softened(bands, width) if width else bands
    weight_skn = np.zeros(eig_skn.shape)
    weight_skn[..., full_n] = tetrahedra.weight_of_points(eig_skn.shape[1])[:, None]
    rest = states - full_n.sum() * len(eig_skn)
    level, weight_skn[..., open_n] = fill(occupied, rest, start, corrected, width or LEVEL_STEP)
    entropy = occupied.entropy(level) if isinstance(occupied, Softened) else 0.0
    return level, shared_by_degenerate(eig_skn, weight_skn), entropy


def fill(occupied: Occupied, states: float, start: float, corrected: bool, step: float) -> tuple[float, np.ndarray]:
    """The Fermi level that fills so many states, and how much of each state is occupied, w_skn.

    start: the level where the count is exact there already (middle of a gap); step: how far away the next try is.
    A level of tetrahedra without spread is filled in part: the occupations are those between its two sides, WINDOW
    away, that hold the exact number.
    """
    tolerance = COUNT_TOLERANCE * max(1.0, states)
    if abs(occupied.states(start) - states) <= tolerance:
        return start, occupied.weights(start, corrected)
    side = 1 if occupied.states(start) < states else -1
    near, far = start, start + side * step
    while side * (states - occupied.states(far)) > 0:
        if step > 1e6:
            raise ValueError("no Fermi level: the number of electrons cannot be reached")
        near, far, step = far, far + 2 * side * step, 2 * step
    full, rest = occupied.between(*sorted((near, far)))
    level = float(brentq(lambda energy: full + rest.states(energy) - states, near, far, xtol=1e-15, rtol=1e-15))
    window = WINDOW
    below, above = occupied.states(level - window), occupied.states(level + window)
    while below > states or above < states:
        window *= 2
        below, above = occupied.states(level - window), occupied.states(level + window)
    share = (states - below) / (above - below) if above > below else 0.5
    weights_skn = (1 - share) * occupied.weights(level - window, corrected)
    return level, weights_skn + share * occupied.weights(level + window, corrected)


def open_bands(eig_skn: np.ndarray, states: float, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Which bands are full in all channels, and which may be filled in part: as flags, (n,).  The others are empty.

    No more bands than begin below a level are occupied there, no fewer than end below it: that bounds the Fermi level.
    """
    margin = MARGIN + 1.5 * REACH * width
    begin_x, end_x = np.sort(eig_skn.min(1).reshape(-1)), np.sort(eig_skn.max(1).reshape(-1))
    slack = COUNT_TOLERANCE * max(1.0, states)
    lowest = begin_x[min(int(states + slack), len(begin_x) - 1)] - margin
    highest = end_x[min(max(math.ceil(states - slack), 1), len(end_x)) - 1] + margin
    open_n = (eig_skn.min((0, 1)) < highest) & (eig_skn.max((0, 1)) > lowest)
    return ~open_n & (eig_skn.max((0, 1)) <= lowest), open_n


def shared_by_degenerate(eig_skn: np.ndarray, weight_skn: np.ndarray) -> np.ndarray:
    """The weights with those of degenerate bands of one k-point replaced by their mean.

    Orbitals of a degenerate level are any basis of it, and the density must not depend on which.
    """
    order_skn = np.argsort(eig_skn, axis=2, kind="stable")
    sorted_skn = np.take_along_axis(eig_skn, order_skn, 2)
    first_skn = np.ones(eig_skn.shape, dtype=bool)
    first_skn[:, :, 1:] = np.diff(sorted_skn, axis=2) > SAME_LEVEL
    group_x = np.cumsum(first_skn.reshape(-1)) - 1
    mean_x = np.bincount(group_x, np.take_along_axis(weight_skn, order_skn, 2).reshape(-1)) / np.bincount(group_x)
    shared_skn = np.empty_like(weight_skn)
    np.put_along_axis(shared_skn, order_skn, mean_x[group_x].reshape(eig_skn.shape), 2)
    return shared_skn


@cache
def _nodes(step: float) -> tuple[np.ndarray, np.ndarray]:
    """Equal steps of x with the shares -f'(x), sum one: exact to exp(-2π²/step) where N is smooth."""
    x = step * (np.arange(-round(REACH / step), round(REACH / step)) + 0.5)
    share = expit(x) * expit(-x)
    return x, share / share.sum()


def _inside(order: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Weights (p,) and barycentric coordinates (p, 4) of points in a tetrahedron: polynomials of degree 9 are exact.

    Source: A. H. Stroud, Approximate Calculation of Multiple Integrals (1971), conical product formulas.
    """
    rules = [roots_jacobi(order, power, 0) for power in (2, 1, 0)]
    (u, a), (v, b), (w, c) = [((1 + x) / 2, weight / weight.sum()) for x, weight in rules]
    u, v, w = (x.reshape(-1) for x in np.meshgrid(u, v, w, indexing="ij"))
    weight_p = np.einsum("i,j,k->ijk", a, b, c).reshape(-1)
    return weight_p, np.stack([u, (1 - u) * v, (1 - u) * (1 - v) * w, (1 - u) * (1 - v) * (1 - w)], axis=1)


_INSIDE_P, _INSIDE_PC = _inside()
