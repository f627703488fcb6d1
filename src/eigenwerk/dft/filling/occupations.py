"""How electrons are put into bands: smearing, Fermi level, entropy.

A smearing gives the occupation f(x) of a state from x = (eigenvalue - Fermi level) / width, and the generalised entropy
that makes the free energy F = E - TS stationary.  Occupations run from 0 to 1 in each spin channel; a channel counts
`spin_degeneracy` electrons per state (2 without spin polarisation, else 1).

Sources: Fermi-Dirac: N. D. Mermin, Phys. Rev. 137, A1441 (1965).  Gaussian: C. L. Fu and K. M. Ho, Phys. Rev. B 28,
5480 (1983).  Methfessel-Paxton: M. Methfessel and A. T. Paxton, Phys. Rev. B 40, 3616 (1989).  Limit of zero width:
M. J. Gillan, J. Phys.: Condens. Matter 1, 689 (1989).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import torch
from scipy.optimize import brentq
from torch import Tensor

from eigenwerk.dft.crystal.tetrahedra import TETRAHEDRA, Tetrahedra
from eigenwerk.dft.filling.fermi_level import common_level
from eigenwerk.dft.filling.fixed_occupations import checked_occupations
from eigenwerk.dft.filling.tetrahedron_filling import COUNT_TOLERANCE, fill_bands
from eigenwerk.errors import InputError

TOP_BAND_LIMIT = 1e-3
"""An occupation of the highest band above this is reported: bands are missing."""

FIXED_SUM_TOLERANCE = 1e-4
"""Given occupations may miss the number of electrons by this much, the rounding of fractions written by hand."""


class SmearingKind(Enum):
    """The smearing kinds; the ISMEAR values of VASP are -1, 0, N > 0, -2, and -4, -5, -14, -15 of tetrahedra."""

    FERMI_DIRAC = "Fermi-Dirac"
    GAUSSIAN = "Gaussian"
    METHFESSEL_PAXTON = "Methfessel-Paxton"
    FIXED = "fixed"
    TETRAHEDRA = "tetrahedra"


@dataclass(frozen=True)
class Smearing:
    """A way to occupy states: kind, Methfessel-Paxton order, and (s, n) occupations if they are fixed.

    tetrahedra: where they take the place of weights of k-points; corrected: with Blöchl's correction; softened: at a
    Fermi-Dirac step instead of a sharp level.
    """

    kind: SmearingKind
    order: int = 0
    fixed_sn: tuple[tuple[float, ...], ...] | None = None
    tetrahedra: Tetrahedra | None = None
    corrected: bool = False
    softened: bool = False

    @property
    def extrapolation_factor(self) -> float:
        """c in E(width -> 0) = F - c (-TS): 1/2, or 1/(N + 2) for Methfessel-Paxton of order N; 0 without a width."""
        if self.kind is SmearingKind.FIXED or (self.kind is SmearingKind.TETRAHEDRA and not self.softened):
            return 0.0
        return 1.0 / (self.order + 2.0)

    def fraction(self, x: Tensor) -> Tensor:
        """Occupation f(x), x = (eigenvalue - Fermi level) / width; same shape.

        Fermi-Dirac: 1 / (exp x + 1).  Gaussian: erfc(x) / 2.
        Methfessel-Paxton: erfc(x) / 2 + sum_{m=1}^{N} A_m H_{2m-1}(x) exp(-x^2), A_m = (-1)^m / (m! 4^m sqrt pi).
        """
        if self.kind is SmearingKind.FERMI_DIRAC:
            return torch.sigmoid(-x)
        step_x = 0.5 * torch.erfc(x)
        if self.order == 0:
            return step_x
        hermite = _hermite_functions(x, 2 * self.order)
        return step_x + sum(_paxton(m) * hermite[2 * m - 1] for m in range(1, self.order + 1))

    def entropy(self, x: Tensor) -> Tensor:
        """-TS / width of one state at x; same shape.

        Fermi-Dirac: f ln f + (1 - f) ln(1 - f).  Methfessel-Paxton of order N (Gaussian: N = 0):
        -A_N H_{2N}(x) exp(-x^2) / 2.  In each case d(-TS)/df = -(eigenvalue - Fermi level).
        """
        if self.kind is SmearingKind.FERMI_DIRAC:
            filled_x, empty_x = torch.sigmoid(-x), torch.sigmoid(x)
            return torch.xlogy(filled_x, filled_x) + torch.xlogy(empty_x, empty_x)
        return -0.5 * _paxton(self.order) * _hermite_functions(x, 2 * self.order)[2 * self.order]


def _paxton(m: int) -> float:
    """A_m = (-1)^m / (m! 4^m sqrt pi)."""
    return (-1.0) ** m / (math.factorial(m) * 4.0**m * math.sqrt(math.pi))


def _hermite_functions(x: Tensor, highest: int) -> list[Tensor]:
    """H_m(x) exp(-x^2) for m = 0 ... highest, by H_{m+1} = 2x H_m - 2m H_{m-1}."""
    # Beyond |x| = 26 the exponential is below 1e-293: without the clamp infinity times zero could appear.
    x = x.clamp(-26.0, 26.0)
    functions = [torch.exp(-x.square())]
    functions.append(2.0 * x * functions[0])
    for m in range(1, highest):
        functions.append(2.0 * x * functions[m] - 2.0 * m * functions[m - 1])
    return functions


def make_smearing(
    ismear: int, fixed_sn: Sequence[Sequence[float]] | None = None, tetrahedra: Tetrahedra | None = None
) -> Smearing:
    """The smearing of VASP's ISMEAR: -2 fixed (needs fixed_sn, FERWE and FERDO), -1, 0, N > 0, or one of TETRAHEDRA.

    Raises InputError for other values, and for tetrahedra that are not there.
    """
    if ismear in TETRAHEDRA:
        if tetrahedra is None:
            raise InputError(f"ISMEAR = {ismear} needs tetrahedra, and these k-points have none. Set ISMEAR = 0.")
        corrected, softened = TETRAHEDRA[ismear]
        return Smearing(SmearingKind.TETRAHEDRA, 0, None, tetrahedra, corrected, softened)
    if ismear == -2:
        if fixed_sn is None:
            raise InputError("ISMEAR = -2 needs the occupation of every band. Set FERWE (and FERDO if ISPIN = 2).")
        return Smearing(SmearingKind.FIXED, 0, tuple(tuple(float(f) for f in row) for row in fixed_sn))
    if ismear < -2:
        raise InputError(f"ISMEAR = {ismear} is not a smearing. Set ISMEAR = -1, 0, or a small order such as 1.")
    kind = {-1: SmearingKind.FERMI_DIRAC, 0: SmearingKind.GAUSSIAN}.get(ismear, SmearingKind.METHFESSEL_PAXTON)
    return Smearing(kind, max(ismear, 0))


@dataclass(frozen=True)
class Occupations:
    """Occupied bands.

    occ_skn: (s, k, n), 0 to 1 (Methfessel-Paxton may leave this range); fermi_level_s: hartree, one value per spin
    channel, different only when the moment is fixed; common_level: one that separates filled from empty states of both,
    None where none does (`fermi_level.common_level`); entropy_term: -TS in hartree, to be added to the energy;
    extrapolation_factor: E(width -> 0) = F - extrapolation_factor * entropy_term; warnings: sentences for the user.
    """

    occ_skn: Tensor
    fermi_level_s: tuple[float, ...]
    entropy_term: float
    extrapolation_factor: float
    warnings: tuple[str, ...] = ()
    common_level: float | None = None

    @property
    def fermi_level(self) -> float:
        """The Fermi level in hartree: that of both channels, where no level separates both the higher one."""
        return max(self.fermi_level_s) if self.common_level is None else self.common_level

    @property
    def separate_levels(self) -> tuple[float, ...]:
        """Those of the channels, hartree, where no level separates filled from empty states of both; else none."""
        return self.fermi_level_s if self.common_level is None else ()

    def separated(self, eig_skn: Tensor) -> Occupations:
        """The same with the level common to both channels, if there is one; eig_skn: hartree."""
        found = common_level(eig_skn.cpu().numpy(), self.occ_skn.cpu().numpy(), self.fermi_level_s)
        return replace(self, common_level=found)

    @property
    def zero_width_correction(self) -> float:
        """What to add to the free energy F for the estimate at zero width, hartree."""
        return -self.extrapolation_factor * self.entropy_term


def occupations(
    eig_skn: Tensor,
    weight_k: Tensor,
    electrons: float,
    smearing: Smearing,
    width: float,
    spin_degeneracy: float,
    fixed_moment: float | None = None,
) -> Occupations:
    """Occupations, Fermi level and entropy of bands that hold a given number of electrons.

    N = g sum_{skn} w_k f((e_skn - mu) / width), solved for mu.  Where N(mu) is constant (insulators) mu is the middle
    of the gap.  Methfessel-Paxton occupations may allow several mu: one next to that of Gaussian smearing is taken.

    eig_skn: (s, k, n) hartree, any order of bands; weight_k: (k,) sums to 1; width: hartree, ignored if fixed;
    spin_degeneracy: electrons per state; fixed_moment: N_up - N_dn, needs two channels.
    The number of electrons is exact to 1e-12.  Raises InputError for a width that is not positive, too few bands, a
    moment that does not fit, fixed occupations of wrong length or sum.
    """
    weight_k = weight_k / weight_k.sum()  # the last digit of hand-written weights would shift an insulator's level
    if smearing.kind is SmearingKind.FIXED:
        return _fixed_occupations(eig_skn, electrons, smearing, spin_degeneracy, fixed_moment)
    sharp = smearing.kind is SmearingKind.TETRAHEDRA and not smearing.softened
    if not width > 0.0 and not sharp:
        raise InputError(f"the smearing width is {width:g} hartree; it must be positive. Set SIGMA = 0.05 (eV), say.")
    _check_bands(eig_skn.shape[-1], eig_skn.shape[0], electrons, spin_degeneracy)
    groups = _spin_groups(eig_skn, electrons, fixed_moment)
    if smearing.tetrahedra is not None:
        made = [_fill_tetrahedra(group, weight_k, count / spin_degeneracy, smearing, width) for group, count in groups]
        levels, parts, entropies = zip(*made, strict=True)
        occ_skn = torch.cat(parts)
        return Occupations(
            occ_skn, tuple(level for level, part in zip(levels, parts, strict=True) for _ in part),
            spin_degeneracy * sum(entropies), smearing.extrapolation_factor, _top_band_warning(eig_skn, occ_skn),
        ).separated(eig_skn)  # fmt: skip
    filled = [_fill(group, weight_k, count / spin_degeneracy, smearing, width) for group, count in groups]
    occ_skn = torch.cat([smearing.fraction(x_skn) for _, x_skn in filled])
    entropy_skn = torch.cat([smearing.entropy(x_skn) for _, x_skn in filled])
    entropy = spin_degeneracy * width * float(_sum(entropy_skn, weight_k))
    levels = tuple(level for (level, x_skn) in filled for _ in range(x_skn.shape[0]))
    warnings = _top_band_warning(eig_skn, occ_skn)
    return Occupations(occ_skn, levels, entropy, smearing.extrapolation_factor, warnings).separated(eig_skn)


def occupations_at(eig_skn: Tensor, fermi_level_s: Sequence[float], smearing: Smearing | None, width: float) -> Tensor:
    """Occupations of bands at a known Fermi level of each spin channel, or the fixed ones; (s, k, n).

    smearing: None for a sharp edge.
    """
    if smearing is not None and smearing.fixed_sn is not None:
        return eig_skn.new_tensor(smearing.fixed_sn)[:, None].expand(eig_skn.shape).contiguous()
    above_skn = eig_skn - eig_skn.new_tensor(fermi_level_s)[:, None, None]
    return (above_skn <= 0).to(eig_skn.dtype) if smearing is None else smearing.fraction(above_skn / width)


def _sum(value_skn: Tensor, weight_k: Tensor) -> Tensor:
    return (value_skn.sum(dim=(0, 2)) * weight_k).sum()


def _spin_groups(eig_skn: Tensor, electrons: float, fixed_moment: float | None) -> list[tuple[Tensor, float]]:
    """Sets of states with a common Fermi level, and their numbers of electrons."""
    if fixed_moment is None:
        return [(eig_skn, electrons)]
    if eig_skn.shape[0] != 2:
        raise InputError(f"NUPDOWN = {fixed_moment:g} needs two spin channels. Set ISPIN = 2, or remove NUPDOWN.")
    up, down = 0.5 * (electrons + fixed_moment), 0.5 * (electrons - fixed_moment)
    bands = eig_skn.shape[2]
    if min(up, down) < 0.0:
        raise InputError(f"NUPDOWN = {fixed_moment:g} is more than the {electrons:g} electrons. Set a smaller moment.")
    if max(up, down) > bands:
        raise InputError(
            f"NUPDOWN = {fixed_moment:g} puts {max(up, down):g} electrons into one spin channel, but NBANDS = {bands}. "
            f"Set NBANDS = {_comfortable(max(up, down))}."
        )
    return [(eig_skn[:1], up), (eig_skn[1:], down)]


def _comfortable(needed: float) -> int:
    """A number of bands with room above the occupied ones."""
    return max(math.ceil(needed) + 3, math.ceil(1.2 * needed))


def _check_bands(bands: int, spins: int, electrons: float, spin_degeneracy: float) -> None:
    if electrons < 0.0:
        raise InputError(f"NELECT = {electrons:g}: the number of electrons cannot be negative.")
    needed = electrons / (spins * spin_degeneracy)
    if needed > bands * (1.0 + 1e-12):
        raise InputError(
            f"NBANDS = {bands}, but {electrons:g} electrons need at least {math.ceil(needed - 1e-9)} bands. "
            f"Set NBANDS = {_comfortable(needed)}, or remove the line."
        )


def _top_band_warning(eig_skn: Tensor, occ_skn: Tensor) -> tuple[str, ...]:
    """Occupied states in the highest band at any k-point mean that bands are missing."""
    top_sk = occ_skn.gather(2, eig_skn.argmax(dim=2, keepdim=True)).abs()
    highest = float(top_sk.max())
    # all states full: an insulator without empty bands, where nothing is missing
    if highest <= TOP_BAND_LIMIT or bool((occ_skn > 1 - 1e-9).all()):
        return ()
    point = int(top_sk.argmax()) % eig_skn.shape[1]
    bands = eig_skn.shape[2]
    return (
        f"The highest of {bands} bands has occupation {highest:.4f} at k-point {point + 1}: bands are missing and the "
        f"energy is too high. Set NBANDS = {_comfortable(bands)}.",
    )


def _fixed_occupations(
    eig_skn: Tensor,
    electrons: float,
    smearing: Smearing,
    spin_degeneracy: float,
    fixed_moment: float | None,
) -> Occupations:
    """The given occupation of each band, the same at all k-points."""
    spins, points, bands = eig_skn.shape
    given_sn = checked_occupations(smearing.fixed_sn or (), spins, bands, fixed_moment)
    total = spin_degeneracy * math.fsum(f for row in given_sn for f in row)
    partial = spin_degeneracy * math.fsum(f for row in given_sn for f in row if 0.0 < f < 1.0)
    missing = electrons - total
    if abs(missing) > (FIXED_SUM_TOLERANCE if partial > 0.0 else COUNT_TOLERANCE * max(1.0, electrons)):
        raise InputError(
            f"FERWE (and FERDO) hold {total:.6f} electrons, but there are {electrons:g}. "
            f"Change the occupations, or set NELECT = {total:g}."
        )
    # Fractions written with a few digits are completed, so that the cell stays neutral to all digits.
    scale = 1.0 + missing / partial if partial > 0.0 else 1.0
    occ_sn = eig_skn.new_tensor([[f * scale if 0.0 < f < 1.0 else f for f in row] for row in given_sn])
    occ_skn = occ_sn[:, None, :].expand(spins, points, bands).contiguous()
    occupied_x, empty_x = eig_skn[occ_skn > 0.5], eig_skn[occ_skn <= 0.5]
    edges = [float(edge) for edge in (*occupied_x.sort()[0][-1:], *empty_x.sort()[0][:1])]
    level = sum(edges) / len(edges)
    return Occupations(occ_skn, (level,) * spins, 0.0, 0.0, common_level=level)


# --- the Fermi level --------------------------------------------------------------------------------------------------


def _fill(eig_skn: Tensor, weight_k: Tensor, states: float, smearing: Smearing, width: float) -> tuple[float, Tensor]:
    """Fermi level that fills `states` states, and x_skn = (eig - level) / width.

    The level is sought in units of the width and relative to an eigenvalue beside it: then widths far below the size
    of the eigenvalues cost no digits.
    """
    lower, upper = _frontier(eig_skn, weight_k, states)
    if math.isfinite(lower) and math.isfinite(upper):
        reference, start = lower, 0.5 * (upper - lower) / width
    else:  # all states full, or all empty: fifty widths away no tail is left
        reference, start = (lower, 50.0) if math.isfinite(lower) else (upper, -50.0)
    relative_skn = (eig_skn - reference) / width

    def excess(shift: float, kind: Smearing) -> float:
        return float(_sum(kind.fraction(relative_skn - shift), weight_k)) - states

    shift = _solve(excess, smearing, start, COUNT_TOLERANCE * max(1.0, states))
    return reference + shift * width, relative_skn - shift


def _fill_tetrahedra(
    eig_skn: Tensor, weight_k: Tensor, states: float, smearing: Smearing, width: float
) -> tuple[float, Tensor, float]:
    """Fermi level of tetrahedra, occupations (s, k, n), and -TS per electron of a state."""
    assert smearing.tetrahedra is not None
    lower, upper = _frontier(eig_skn, weight_k, states)
    width = width if smearing.softened else 0.0
    tail = 50 * width
    start = lower + tail if math.isinf(upper) else upper - tail if math.isinf(lower) else 0.5 * (upper + lower)
    level, weight_skn, entropy = fill_bands(
        eig_skn.numpy(), smearing.tetrahedra, states, start, smearing.corrected, width
    )
    own_k = weight_k[:, None]
    # points that are no corner hold no electrons, but have bands
    occ_skn = torch.where(own_k > 0, torch.from_numpy(weight_skn) / own_k, (eig_skn <= level).to(torch.float64))
    return level, occ_skn.to(eig_skn.dtype), entropy


def _frontier(eig_skn: Tensor, weight_k: Tensor, states: float) -> tuple[float, float]:
    """Highest filled and lowest empty eigenvalue at zero temperature; the same value if a level is filled in part.

    An infinite value stands for a side that does not exist.  Points of zero weight hold no electrons.
    """
    counted = weight_k > 0.0
    eig_x, order_x = eig_skn[:, counted].reshape(-1).sort()
    weight_x = weight_k[counted][None, :, None].expand_as(eig_skn[:, counted]).reshape(-1)
    filled_x = weight_x[order_x].cumsum(dim=0)
    tolerance = 1e-9 * max(1.0, states)
    whole = int((filled_x <= states + tolerance).sum())  # number of states that fit in whole
    held = float(filled_x[whole - 1]) if whole else 0.0
    last = whole - 1 if abs(held - states) <= tolerance else whole
    lower = float(eig_x[last]) if last >= 0 else -math.inf
    upper = float(eig_x[whole]) if whole < eig_x.numel() else math.inf
    return lower, upper


def _solve(excess: Callable[[float, Smearing], float], smearing: Smearing, start: float, tolerance: float) -> float:
    """Root of excess(shift): `start` itself where the count is exact there (middle of a gap), else by Brent's method.

    Methfessel-Paxton counts are not monotonic in the level.  Of several roots we take one beside the level of Gaussian
    smearing: the first change of sign met on a walk from there to both sides at once.
    """
    if abs(excess(start, smearing)) <= tolerance:
        return start
    if smearing.kind is not SmearingKind.METHFESSEL_PAXTON:
        return _root(lambda shift: excess(shift, smearing), start, growth=2.0, step=1.0)
    gaussian = _solve(excess, Smearing(SmearingKind.GAUSSIAN), start, tolerance)
    return _root(lambda shift: excess(shift, smearing), gaussian, growth=1.05, step=0.1)


def _root(function: Callable[[float], float], start: float, growth: float, step: float) -> float:
    """Root in the first interval with a change of sign on a walk of growing steps from start to both sides."""
    left = right = (start, function(start))
    if left[1] == 0.0:
        return start
    for _ in range(1000):
        for side in (-1.0, 1.0):
            old = left if side < 0.0 else right
            new = (old[0] + side * step, function(old[0] + side * step))
            if new[1] * old[1] <= 0.0:
                return float(brentq(function, *sorted((old[0], new[0])), xtol=1e-15, rtol=1e-15))
            left, right = (new, right) if side < 0.0 else (left, new)
        step *= growth
    raise ValueError("no Fermi level: the number of electrons cannot be reached")
