"""The limit of a level by one fit to all Nmax and all hbar-omega, in infrared length and ultraviolet momentum.

A truncated oscillator space is like a hyperspherical wall at L in space, and one at Lambda in momentum:

    E = E_inf + a exp(-2 k L) + c exp(-2 Lambda^2 / u^2),   Lambda = L / b^2,

    r^2 = r_inf^2 [1 - (c_0 beta^3 + c_1 beta) exp(-beta)],   beta = 2 k L.

L: the kinetic energy of the hyperradius, its lowest eigenvalue in the space, is that behind the wall.  With grand
angular momentum K (the quanta of the lowest configuration), D = 3 (A - 1) and order s = K + D/2 - 1 these are
x_1 / b^2, x_1 the smallest zero of the Laguerre polynomial of degree Nmax/2 + 1 and order s, and (j_1 / L)^2, j_1 the
first zero of the Bessel function of order s, so L = b j_1 / sqrt(x_1).

Sources: R. J. Furnstahl, G. Hagen and T. Papenbrock, Phys. Rev. C 86, 031301 (2012); S. N. More et al., Phys. Rev. C
87, 044326 (2013); K. A. Wendt et al., Phys. Rev. C 91, 061301 (2015).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq, minimize, nnls
from scipy.special import jv, roots_genlaguerre

from eigenwerk.ncci.results.limits.extrapolation import MOST_MOVED, Limit
from eigenwerk.units import HBAR_C_MEV_FM, NUCLEON_MASS_MEV

FEWEST_POINTS, FEWEST_SIZES, FEWEST_QUANTA = 8, 3, 2
"""Energies, values of Nmax and of hbar-omega that the fit takes: it has five parameters."""

DECAYS, SCALES = np.geomspace(0.03, 1.5, 24), np.geomspace(0.4, 6.0, 20)
"""k and u (fm^-1) from which the best fit is sought."""

LEAST_INFRARED, FEWEST_RADII = 0.3, 5
"""Points tell about radii where this part of what the energy lacks, at least, is infrared; so many are needed."""


@dataclass(frozen=True)
class LevelPoint:
    """One energy (MeV) of a level, and its squared point-proton radius (fm^2) where it is known."""

    size: int
    hw: float
    energy: float
    square: float | None = None


@dataclass(frozen=True)
class Infrared:
    """What a fit gives: the limits of energy (MeV) and of the point-proton radius (fm; None where too few points tell),
    k in fm^-1, and how many energies it was made of."""

    energy: Limit
    radius: Limit | None
    decay: float
    points: int


@dataclass(frozen=True)
class _Fit:
    energy: float
    infrared: float
    ultraviolet: float
    decay: float
    scale: float
    misfit: float


@lru_cache(maxsize=256)
def infrared_length(nucleons: int, quanta: int, size: int, hw: float) -> float:
    """L in fm of a space of `size` = Nmax quanta above the lowest configuration, which has `quanta`.

    Nmax of the other parity counts from the lowest configuration of that one.
    """
    steps, lowest = size // 2, quanta + size % 2
    order = lowest + 1.5 * (nucleons - 1) - 1
    length = HBAR_C_MEV_FM / np.sqrt(NUCLEON_MASS_MEV * hw)
    smallest = float(roots_genlaguerre(steps + 1, order)[0].min())
    return float(length * _first_zero(order) / np.sqrt(smallest))


def _first_zero(order: float) -> float:
    """Of the Bessel function J of this order, which lies beyond the order."""
    guess = order + 1.8557571 * order ** (1 / 3) + 1.033150 * order ** (-1 / 3)
    return float(brentq(lambda x: jv(order, x), max(guess - 0.5, order), guess + 0.5))


def together(points: Sequence[LevelPoint], nucleons: int, quanta: int) -> Infrared | str:
    """The limits of one level from all of its energies, or why there are none.

    The error bar is the farthest that the limit moves when the largest Nmax, the smallest Nmax, the lowest or the
    highest hbar-omega is left out, or other weights are taken, and at least the way from the lowest energy to it.
    A limit that moves by more than twice what the largest Nmax has brought says nothing, as in `extrapolated`.  There
    is none of radii, which converge more slowly, where that of the energy is larger than what the largest Nmax has
    brought.
    """
    sizes, quanta_hw = sorted({p.size for p in points}), sorted({p.hw for p in points})
    if len(points) < FEWEST_POINTS or len(sizes) < FEWEST_SIZES or len(quanta_hw) < FEWEST_QUANTA:
        return (
            f"{len(points)} energies with {len(sizes)} values of Nmax and {len(quanta_hw)} of hbar-omega; it takes "
            f"{FEWEST_POINTS}, {FEWEST_SIZES} and {FEWEST_QUANTA}"
        )
    best = min(p.energy for p in points)
    whole = _fitted(points, nucleons, quanta, 1.0)
    if not whole.energy < best or whole.infrared <= 0:
        return "the energies do not fall as exponentials of the infrared length"
    radius = _radius(points, whole, nucleons, quanta)
    moved, radii = [], []
    for part, power in _variations(points, sizes, quanta_hw):
        if len(part) >= FEWEST_POINTS - 2 and len({p.size for p in part}) > 1:
            other = _fitted(part, nucleons, quanta, power)
            moved.append(abs(other.energy - whole.energy))
            found = _radius(part, other, nucleons, quanta)
            radii += [] if found is None or radius is None else [abs(found - radius)]
    energy = Limit(whole.energy, max([best - whole.energy, *moved]))
    step = min(p.energy for p in points if p.size < sizes[-1]) - best
    if max(moved) > MOST_MOVED * step:
        return f"parts of the energies move it by {max(moved):.3g} MeV, more than twice the last step of {step:.3g} MeV"
    limit = None
    if radius is not None and len(radii) >= 3 and energy.spread <= step:
        last = min((p for p in points if p.square is not None), key=lambda p: p.energy)
        limit = Limit(radius, max([abs(radius - float(last.square or 0.0) ** 0.5), *radii]))
    return Infrared(energy, limit, whole.decay, len(points))


def _variations(
    points: Sequence[LevelPoint], sizes: list[int], quanta_hw: list[float]
) -> list[tuple[list[LevelPoint], float]]:
    """Parts of the points, with the power of their weights."""
    parts = [[p for p in points if p.size != size] for size in (sizes[0], sizes[-1])]
    if len(quanta_hw) > FEWEST_QUANTA:
        parts += [[p for p in points if p.hw != hw] for hw in (quanta_hw[0], quanta_hw[-1])]
    return [*((part, 1.0) for part in parts), (list(points), 0.5), (list(points), 1.5)]


def _fitted(points: Sequence[LevelPoint], nucleons: int, quanta: int, power: float) -> _Fit:
    """The best fit.  Energies far above the lowest one, where more than the leading terms counts, weigh less."""
    energy_p = np.array([p.energy for p in points])
    length_p = np.array([infrared_length(nucleons, quanta, p.size, p.hw) for p in points])
    momentum_p = length_p * NUCLEON_MASS_MEV * np.array([p.hw for p in points]) / HBAR_C_MEV_FM**2
    above_p = energy_p - energy_p.min()
    weight_p = (above_p + np.sort(above_p)[min(2, len(above_p) - 1)] + 1e-6) ** -power

    def solved(decay: float, scale: float) -> _Fit:
        """Linear parameters of given k and u; a and c are not negative, and E_inf lies below the lowest energy."""
        infrared_p = np.exp(-2 * decay * (length_p - length_p.max()))
        ultraviolet_p = np.exp(-2 * (momentum_p**2 - momentum_p.max() ** 2) / scale**2)
        columns = np.stack([-np.ones_like(energy_p), infrared_p, ultraviolet_p], axis=1)
        norm = np.abs(columns * weight_p[:, None]).max(axis=0)
        found, misfit = nnls(columns * weight_p[:, None] / norm, above_p * weight_p)
        down, a, c = (found / norm).tolist()
        return _Fit(float(energy_p.min() - down), a, c, decay, scale, float(misfit))

    start = min((solved(k, u) for k in DECAYS for u in SCALES), key=lambda fit: fit.misfit)
    refined = minimize(
        lambda x: solved(*np.exp(np.clip(x, -6, 4))).misfit, np.log([start.decay, start.scale]), method="Nelder-Mead",
        options={"xatol": 1e-4, "fatol": 1e-12, "maxiter": 300},
    )  # fmt: skip
    fit = min(start, solved(*np.exp(np.clip(refined.x, -6, 4))), key=lambda fit: fit.misfit)
    return replace(fit, infrared=fit.infrared * np.exp(2 * fit.decay * length_p.max()))


def _radius(points: Sequence[LevelPoint], fit: _Fit, nucleons: int, quanta: int) -> float | None:
    """The point-proton radius (fm) of infinite L, from points whose energies lack little in the ultraviolet."""
    known = [p for p in points if p.square is not None]
    length_p = np.array([infrared_length(nucleons, quanta, p.size, p.hw) for p in known])
    if not known:
        return None
    above_p = np.array([p.energy for p in known]) - fit.energy
    infrared_p = fit.infrared * np.exp(-2 * fit.decay * length_p)
    ours_p = infrared_p >= LEAST_INFRARED * above_p
    if ours_p.sum() < FEWEST_RADII:
        return None
    beta_p = 2 * fit.decay * length_p[ours_p]
    weight_p = 1 / above_p[ours_p].clip(min=1e-6)
    columns = np.stack([np.ones_like(beta_p), -(beta_p**3) * np.exp(-beta_p), -beta_p * np.exp(-beta_p)], axis=1)
    square_p = np.array([float(p.square or 0.0) for p in known])[ours_p]
    found = np.linalg.lstsq(columns * weight_p[:, None], square_p * weight_p, rcond=None)[0]
    return float(found[0] ** 0.5) if found[0] > 0 else None
