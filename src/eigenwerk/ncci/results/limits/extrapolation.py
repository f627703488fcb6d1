"""Energies at Nmax -> infinity from those of a series, E(Nmax) = E_inf + a exp(-b Nmax)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

FEWEST = 4
"""Points without which there is no error bar, and so no limit."""

MOST_MOVED = 2.0
"""A limit that moves by more than so many last steps says nothing."""

MOST_GROWN = 0.9
"""A ratio of steps that would grow to this leaves open where energies go."""

DOUBT = 2.0
"""An error bar is at least so many times the way that was extrapolated.

Two ratios of steps may be alike by chance, and energies come to fall more slowly than the exponential.  Missing were
1.85 of the way for 3H with Daejeon16 (20 MeV, Nmax 0 to 8: -8.379, -8.442 is right), 1.5 for 3H with JISP16 (40 MeV,
0 to 6: -7.440, -8.37), 0.7 for 2H with Daejeon16 (30 MeV, 2 to 10: -2.085, -2.2246).
"""


LEAST_DOUBT = 0.5
"""The same where exponentials at three hbar-omega are compared.  Missing were up to 0.57 of the way (4He with JISP16,
whose exponentials differ by more)."""


@dataclass(frozen=True)
class Limit:
    """An extrapolated number and its error bar; of `extrapolated` an energy (MeV), and how far it moves when the
    largest Nmax is left out, or ratios of steps go on growing, and at least `DOUBT` times the way extrapolated."""

    energy: float
    spread: float


def extrapolated(sizes: Sequence[int], energies: Sequence[float]) -> Limit | str:
    """The limit of an exponential through the last three of at least four equally spaced Nmax, or why there is none.

    E_inf = E3 - (E3-E2)^2 / ((E3-E2) - (E2-E1)), exactly; the spread compares with the three points before.  Steps have
    to shrink.  Where their ratio grows, energies fall more slowly than an exponential: the error bar then reaches what
    remains if the ratio grows by as much once more and stays there.  A limit that moves by more than twice the last
    step says nothing.
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
    grown = max(2 * ratio_x[-1] - ratio_x[-2], ratio_x[-1])
    if grown >= MOST_GROWN:
        return f"the steps shrink ever more slowly (each is {shown} of the one before): no exponential yet"
    last, before = _of_three(energies[-3:]), _of_three(energies[-4:-1])
    spread, step = abs(last - before), -float(step_x[-1])
    if spread > MOST_MOVED * step:
        return f"without the largest Nmax it moves by {spread:.3g} MeV, more than twice the last step of {step:.3g} MeV"
    slower = energies[-1] - step * grown / (1 - grown)
    return Limit(last, max(spread, DOUBT * (energies[-1] - last), last - slower))


def around_minimum(curves: Mapping[float, tuple[Sequence[int], Sequence[float]]]) -> Limit | str:
    """One limit from curves over Nmax at several hbar-omega (to each its Nmax and energies), or why there is none.

    The exponential at the hbar-omega of the lowest energy.  The limit is the same for every hbar-omega, so the error
    bar reaches those of the exponentials at the next lower and higher one, and that without the largest Nmax, and is at
    least `LEAST_DOUBT` of the way extrapolated: all of these may be alike by chance.
    """
    last = max(sizes[-1] for sizes, _ in curves.values())
    lowest = {hw: energies[-1] for hw, (sizes, energies) in curves.items() if sizes[-1] == last}
    quanta = sorted(lowest)
    place = quanta.index(min(quanta, key=lowest.__getitem__))
    if not 0 < place < len(quanta) - 1:
        return f"the lowest energy is at the end of the hbar-omega that there are, {quanta[place]:g} MeV"
    found = []
    for hw in (quanta[place], quanta[place - 1], quanta[place + 1]):
        limit = extrapolated(*curves[hw])
        if isinstance(limit, str):
            return f"at hbar-omega {hw:g} MeV {limit}"
        found.append(limit.energy)
    energies = curves[quanta[place]][1]
    found.append(_of_three(energies[-4:-1]))
    least = LEAST_DOUBT * (energies[-1] - found[0])
    return Limit(found[0], max([least, *(abs(energy - found[0]) for energy in found[1:])]))


def _of_three(energies: Sequence[float]) -> float:
    first, second = energies[1] - energies[0], energies[2] - energies[1]
    return energies[2] - second**2 / (second - first)
