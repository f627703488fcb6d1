"""Effective masses along a line of k-points, 1/m* = (1/ħ²) d²ε/ds² at an extremum (no torch here).

At the end of a line, which is a point of high symmetry, a band that is extremal there is even in s:
ε = ε_0 + a s² + b s⁴ through the next points.  Inside a line ε is the polynomial of order four through five points, and
its second derivative is taken where its slope vanishes.  Bands that meet at the extremum are told apart by their order
in energy next to it.  The error is the difference from a fit to fewer, or more, points; where it is large, or a fit has
the wrong sign, there is no mass to be had from this path.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eigenwerk.dft.after.band_gap import BandEdge
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

DEGENERATE = 0.005
"""Bands within this energy (eV) of the extremum belong to it."""

LARGEST_ERROR = 0.1
"""Relative error of a mass beyond which it is left out."""

LARGEST_SLOPE = 0.2
"""Of what a band gains up to its next point, the share that a slope at the extremum may explain."""

HALF_SQUARE = 0.5 * HARTREE_EV * BOHR_ANGSTROM**2
"""ħ²/(2 m_e) in eV angstrom²."""


@dataclass(frozen=True)
class EffectiveMass:
    """One mass.  carrier: "hole" or "electron"; band, spin: from 1; mass, error: of the electron's; towards: the point
    that the line leads to, or both ends of the line."""

    carrier: str
    spin: int
    band: int
    towards: str
    mass: float
    error: float


def masses_at(
    distance_x: np.ndarray, eig_xn: np.ndarray, place: int, edge: BandEdge, filled: int, carrier: str, towards: str
) -> list[EffectiveMass]:
    """Masses of all bands that meet at an edge, along one line; those that cannot be had are left out.

    distance_x: (x,) 1/angstrom, along the line; eig_xn: eV; place: of the edge; filled: bands below the gap.
    """
    sign = 1.0 if carrier == "electron" else -1.0
    found = []
    for n in np.flatnonzero(np.abs(eig_xn[place] - edge.energy) < DEGENERATE):
        if (n < filled) is (carrier == "electron"):  # of the other side of the gap
            continue
        fits = _curvatures(distance_x - distance_x[place], sign * eig_xn[:, n], place)
        if fits is None or min(fits) <= 0.0:
            continue
        mass, other = (HALF_SQUARE / curvature for curvature in fits)
        if abs(mass - other) <= LARGEST_ERROR * mass:
            found.append(EffectiveMass(carrier, edge.spin, int(n) + 1, towards, mass, abs(mass - other)))
    return found


def _curvatures(s_x: np.ndarray, energy_x: np.ndarray, place: int) -> tuple[float, float] | None:
    """Half the second derivative at a minimum, eV angstrom², by two fits; None with too few points."""
    count = len(s_x)
    if place in (0, count - 1):
        order = range(1, 4) if place == 0 else range(count - 2, count - 5, -1)
        if count < 5:
            return None
        near = [place, *order]
        s_j, energy_j = s_x[near], energy_x[near] - energy_x[place]
        slope = float(np.linalg.solve(np.stack([s_j[1:] ** order for order in (1, 2, 3)], axis=1), energy_j[1:])[0])
        if abs(slope * s_j[1]) > LARGEST_SLOPE * abs(energy_j[1]):  # no extremum, or bands that cross there
            return None
        return _even(s_j[1:], energy_j[1:], 3), _even(s_j[1:3], energy_j[1:3], 2)
    if place < 2 or place > count - 3:
        return None
    five = _inside(s_x[place - 2 : place + 3], energy_x[place - 2 : place + 3])
    three = _inside(s_x[place - 1 : place + 2], energy_x[place - 1 : place + 2])
    return None if five is None or three is None else (five, three)


def _even(s_j: np.ndarray, energy_j: np.ndarray, orders: int) -> float:
    """a of a s² + b s⁴ + ..."""
    matrix = np.stack([s_j ** (2 * order) for order in range(1, orders + 1)], axis=1)
    return float(np.linalg.solve(matrix, energy_j)[0])


def _inside(s_j: Sequence[float] | np.ndarray, energy_j: np.ndarray) -> float | None:
    """Half the second derivative of the polynomial through the points, where its slope vanishes nearest to zero."""
    polynomial = np.polynomial.Polynomial.fit(s_j, energy_j, len(energy_j) - 1).convert()
    roots = polynomial.deriv().roots()
    real = roots[np.abs(roots.imag) < 1e-9].real
    inside = real[np.abs(real) <= np.abs(s_j).max()]
    if not len(inside):
        return None
    return 0.5 * float(polynomial.deriv(2)(inside[np.abs(inside).argmin()]))
