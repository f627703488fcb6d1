"""The Fermi level of tetrahedra, and how much of each state is occupied.

Tetrahedra end at a sharp level, or at a Fermi-Dirac step: with Ω(μ) = Σ_c (ε_c - μ) w_c(μ) of sharp tetrahedra

    Ω_T(μ) = ∫ dx (-f'(x)) Ω(μ + w x),   N_T = -∂Ω_T/∂μ,   w_c = ∂Ω_T/∂ε_c,   -TS = -w ∫ dx (-f'(x)) x N(μ + w x).

The integral is a sum over fixed x, so that the free energy is stationary whatever its step.  Tetrahedra that are
narrow against the width take points in their volume instead.  Equations: docs/equations/occupations.md.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import entr, expit, roots_jacobi

from eigenwerk.dft.spectrum.tetrahedra import TetrahedronBands

COUNT_TOLERANCE = 1e-13
"""Relative error of the number of electrons that counts as exact."""

WINDOW = 1e-8
"""Levels this near (hartree) to the Fermi level are filled alike: rounding must not choose between equal levels."""

SAME_LEVEL = 1e-6
"""Bands of one k-point this near (hartree) are degenerate and get the mean of their occupations."""

STEP, REACH = 0.25, 20.0
"""Step and end of the sum over x, in widths."""

NARROW = 2.0
"""Spread of the corner energies, in widths, up to which points in the volume serve."""


class Occupied(Protocol):
    """Bands in tetrahedra that are occupied up to a level in some way."""

    def states(self, level: float) -> float:
        """Number of occupied states per cell and electron of a state."""

    def weights(self, level: float, corrected: bool) -> np.ndarray:
        """How much of each state is occupied, (s, k, n)."""


@dataclass(frozen=True)
class Softened:
    """Tetrahedra occupied up to a Fermi-Dirac step of a width."""

    bands: TetrahedronBands
    width: float

    @cached_property
    def _kinds(self) -> tuple[TetrahedronBands, TetrahedronBands]:
        narrow_x = self.bands.energy_cx[3] - self.bands.energy_cx[0] <= NARROW * self.width
        return self.bands.part(~narrow_x), self.bands.part(narrow_x)

    def _near(self, level: float) -> tuple[TetrahedronBands, np.ndarray]:
        """Wide tetrahedra that the step meets, and which of all wide ones are full."""
        wide = self._kinds[0]
        full_x = wide.energy_cx[3] <= level - REACH * self.width
        return wide.part(~full_x & (wide.energy_cx[0] < level + REACH * self.width)), full_x

    def _points(self, level: float) -> np.ndarray:
        """x = (energy - level) / width at the points in narrow tetrahedra, (points, x)."""
        distance_px: np.ndarray = (_INSIDE_PC @ self._kinds[1].energy_cx - level) / self.width
        return distance_px

    def states(self, level: float) -> float:
        """See `Occupied`."""
        near, full_x = self._near(level)
        wide, narrow = self._kinds
        count = float(wide.weight_x[full_x].sum())
        count += sum(share * near.states(level + self.width * x) for x, share in zip(_NODES, _SHARES, strict=True))
        return count + float(_INSIDE_P @ expit(-self._points(level)) @ narrow.weight_x)

    def weights(self, level: float, corrected: bool) -> np.ndarray:
        """See `Occupied`."""
        near, full_x = self._near(level)
        wide, narrow = self._kinds
        total_skn = wide.gathered(full_x, np.broadcast_to(0.25, (4, 1)))
        for x, share in zip(_NODES, _SHARES, strict=True):
            total_skn += share * near.weights(level + self.width * x, corrected)
        filled_px = _INSIDE_P[:, None] * expit(-self._points(level))
        share_cx = _INSIDE_PC.T @ filled_px
        if corrected:
            density_x = (filled_px * expit(self._points(level))).sum(0) / self.width
            share_cx += density_x / 40 * (narrow.energy_cx.sum(0) - 4 * narrow.energy_cx)
        return total_skn + narrow.gathered(np.arange(len(narrow.weight_x)), share_cx)

    def entropy(self, level: float) -> float:
        """-TS, in the unit of the width, per cell and electron of a state."""
        near, _ = self._near(level)
        narrow = self._kinds[1]
        wide_part = -sum(
            share * x * near.states(level + self.width * x) for x, share in zip(_NODES, _SHARES, strict=True)
        )
        distance_px = self._points(level)
        disorder_px = entr(expit(distance_px)) + entr(expit(-distance_px))
        return self.width * (wide_part - float(_INSIDE_P @ disorder_px @ narrow.weight_x))


def fill(
    occupied: Occupied, states: float, start: float, corrected: bool, step: float, window: float = WINDOW
) -> tuple[float, np.ndarray]:
    """The Fermi level that fills so many states, and how much of each state is occupied, w_skn.

    start: the level where the count is exact there already (middle of a gap); step: how far away the next try is.
    window: levels this near to each other are filled alike.  A level of tetrahedra without spread is filled in part:
    the occupations are those between the two sides of the window that hold the exact number.
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
    level = float(brentq(lambda energy: occupied.states(energy) - states, near, far, xtol=1e-15, rtol=1e-15))
    if not window:
        return level, occupied.weights(level, corrected)
    below, above = occupied.states(level - window), occupied.states(level + window)
    while below > states or above < states:
        window *= 2
        below, above = occupied.states(level - window), occupied.states(level + window)
    share = (states - below) / (above - below) if above > below else 0.5
    weights_skn = (1 - share) * occupied.weights(level - window, corrected)
    return level, weights_skn + share * occupied.weights(level + window, corrected)


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


def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """Equal steps of x with the weights -f'(x), sum one: exact but for exp(-4π²/STEP) where N is smooth."""
    x = STEP * (np.arange(-round(REACH / STEP), round(REACH / STEP)) + 0.5)
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


_NODES, _SHARES = _nodes()
_INSIDE_P, _INSIDE_PC = _inside()
