"""Energies at Nmax -> infinity from those of a series, E(Nmax) = E_inf + a exp(-b Nmax)."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Limit:
    """An extrapolated energy (MeV).  spread: how far it moves when the smallest Nmax is left out, None with three."""

    energy: float
    spread: float | None


def extrapolated(sizes: list[int], energies: list[float]) -> Limit | None:
    """From the last three of equally spaced Nmax, exactly: E_inf = E3 - (E3-E2)^2 / ((E3-E2) - (E2-E1)).

    The spread compares with the value from the three before.  None for fewer than three points, for unequal steps and
    where the energies do not fall ever more slowly.
    Source: P. Maris, J. P. Vary and A. M. Shirokov, Phys. Rev. C 79, 014308 (2009).
    """
    last = _three(sizes[-3:], energies[-3:])
    if last is None:
        return None
    before = _three(sizes[-4:-1], energies[-4:-1])
    return Limit(last, None if before is None else abs(last - before))


def _three(sizes: list[int], energies: list[float]) -> float | None:
    if len(sizes) < 3 or len(set(np.diff(sizes).tolist())) != 1:
        return None
    first, second = energies[1] - energies[0], energies[2] - energies[1]
    if not first < second < 0:
        return None
    return energies[2] - second**2 / (second - first)
