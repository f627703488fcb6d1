"""Energies at Nmax -> infinity from those of a series, E(Nmax) = E_inf + a exp(-b Nmax)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FEWEST = 4
"""Points without which there is no error bar, and so no limit."""

SLACK = 0.01
"""Ratios of steps count as equal within this share; energies are known to some 1e-5 MeV."""

DOUBT = 0.5
"""Share of the way to the limit that an error bar has at least.

Two ratios of steps may be alike by chance.  3H with NNLOopt from Nmax = 4, 6, 8, 10: -8.327 (without this +- 0.010) at
24 MeV, -7.931 (+- 0.020) at 40, where -8.249 is right (A. Ekstrom et al., Phys. Rev. Lett. 110, 192502 (2013)): 0.3 and
0.9 of the way.
"""


@dataclass(frozen=True)
class Limit:
    """An extrapolated energy and its error bar (MeV): how far it moves when the largest Nmax is left out, and at least
    half of the way that was extrapolated."""

    energy: float
    spread: float


def extrapolated(sizes: Sequence[int], energies: Sequence[float]) -> Limit | str:
    """The limit of an exponential through the last three of at least four equally spaced Nmax, or why there is none.

    E_inf = E3 - (E3-E2)^2 / ((E3-E2) - (E2-E1)), exactly; the spread compares with the three points before.  Steps have
    to shrink, and by a ratio that does not grow: where it grows, energies fall more slowly than an exponential and
    would go on below its limit; and a limit whose error bar is longer than the last step says nothing.
    Source: P. Maris, J. P. Vary and A. M. Shirokov, Phys. Rev. C 79, 014308 (2009).
    """
    if len(sizes) < FEWEST:
        return f"{len(sizes)} value{'s' if len(sizes) > 1 else ''} of Nmax; it takes {FEWEST}"
    if len(set(np.diff(sizes[-FEWEST:]).tolist())) != 1:
        return "the last values of Nmax are not equally spaced"
    step_x = np.diff(energies[-FEWEST:])
    if (step_x >= 0).any():
        return "the energy does not fall with every Nmax"
    ratio_x = step_x[1:] / step_x[:-1]
    shown = ", ".join(f"{ratio:.2f}" for ratio in ratio_x)
    if (ratio_x >= 1).any():
        return f"the steps do not shrink (each is {shown} of the one before)"
    if (np.diff(ratio_x) > SLACK * ratio_x[:-1]).any():
        return f"the steps shrink ever more slowly (each is {shown} of the one before): no exponential yet"
    last, before = _of_three(energies[-3:]), _of_three(energies[-4:-1])
    spread, step = abs(last - before), -float(step_x[-1])
    if spread > step:
        return f"its error bar of {spread:.3g} MeV is longer than the last step of {step:.3g} MeV"
    return Limit(last, max(spread, DOUBT * (energies[-1] - last)))


def _of_three(energies: Sequence[float]) -> float:
    first, second = energies[1] - energies[0], energies[2] - energies[1]
    return energies[2] - second**2 / (second - first)
