"""How many bands to compute."""

from dataclasses import dataclass
from math import ceil, floor, pi, sqrt

DEGENERATE = 6
"""States of one level that electrons added to a neutral cell may meet: valleys of a cubic crystal that fold onto one
k-point (silicon of eight atoms has six at Gamma)."""

LARGEST_VOLUME = 60.0 / 0.148185
"""bohr³ for each atom (60 Å³): what is beyond is vacuum, whose states lie above those that smearing fills."""

ORDINARY = 0.03
"""hartree (0.8 eV): in windows no wider the empty bands of the formula do (0.5 eV of ISMEAR = 1 with SIGMA = 0.2)."""

SPREAD = 0.4
"""Bands differ between k-points: of waves in a sphere of radius r, in units of which one is alone, (r + SPREAD)³ lie
inside at some k-point."""

LOCALISED_FROM = 0.075
"""hartree (2 eV): a window so wide reaches the empty d and f states of an atom, which plane waves do not count."""


@dataclass(frozen=True)
class BandDemand:
    """What asks for bands besides electrons and atoms; 0 says nothing.

    moment: Bohr magnetons that have to have room, the larger one of the sum of |MAGMOM| and NUPDOWN; neutral: valence
    electrons of the neutral cell; valence_states: valence orbitals of its free atoms, empty_states: of open d and f
    shells, what they leave empty; window: hartree above the Fermi level up to which smearing fills more than 0.001 of a
    state; volume: of the cell, bohr³.
    """

    moment: float = 0.0
    neutral: float = 0.0
    valence_states: int = 0
    empty_states: float = 0.0
    window: float = 0.0
    volume: float = 0.0
    localised: float = 0.0


def default_bands(electrons: float, atoms: int, filling: BandDemand = BandDemand()) -> int:
    """NBANDS when it is not given: half the electrons and some empty bands.

    N = max(nint(N_e + 2) / 2 + max(N_atoms / 2, 3), int(0.6 N_e)) + (N_mag + 1) / 2,  all divisions of integers.
    Source: VASP wiki, NBANDS.  N_mag is the integer part of the sum of |MAGMOM|: with the signed sum an antiferromagnet
    gets too few bands (VASP wiki, Known issues); where MAGMOM is not given it should hold what open f shells have,
    since a channel that is full holds no larger moment (hcp Gd: 10 in place of 15.6 Bohr magnetons, 2.3 eV too high);
    and it is no less than NUPDOWN.

    A charged cell has at least the bands of the neutral one, and `DEGENERATE` more where electrons are added: a level
    of several states that is cut gets an energy that is too high, and breaks the symmetry.  A free atom has one more
    than its valence orbitals for the same reason.  f shells that keep electrons lie at the Fermi level, all of their
    states within smearing of it: where they are cut, orbitals of the highest band do not converge (hcp Pr without spin:
    17 bands, 17 meV per atom too low, not in 120 steps; 27 bands: 15 steps).  Wide smearing asks for what
    `thermal_bands` says.
    """
    more = DEGENERATE if filling.neutral and electrons > filling.neutral + 1e-8 else 0
    base = max(electrons, filling.neutral)
    nearest = floor(base + 2.5)
    plain = max(nearest // 2 + max(atoms // 2, 3), int(0.6 * base)) + more
    if atoms == 1:
        plain = max(plain, filling.valence_states + 1)
    moments = (int(filling.moment + 1e-9) + 1) // 2
    localised = ceil(0.5 * electrons + filling.localised) + max(atoms // 2, 3) if filling.localised else 0
    return max(plain + moments, localised, thermal_bands(electrons, atoms, filling))


def thermal_bands(electrons: float, atoms: int, filling: BandDemand) -> int:
    """Bands up to the end of the window that smearing fills, an estimate; 0 where the window is an ordinary one.

    N = V (2 (E_F + w))^(3/2) / 6π² of free electrons that are as dense as these, E_F = (3π² N_e / V)^(2/3) / 2, by the
    larger spin channel; (N^(1/3) + SPREAD)³ at the k-point that has most.  At least what open d and f shells leave
    empty, where the window reaches so far.
    """
    volume = min(filling.volume, LARGEST_VOLUME * atoms)
    if filling.window < ORDINARY or volume <= 0.0:
        return 0
    channel = 0.5 * (electrons + min(filling.moment, electrons))
    level = 0.5 * (6 * pi**2 * channel / volume) ** (2 / 3)
    free = volume * (2 * (level + filling.window)) ** 1.5 / (6 * pi**2)
    localised = channel + filling.empty_states if filling.window > LOCALISED_FROM else 0.0
    return ceil(max((free ** (1 / 3) + SPREAD) ** 3, localised))


WINDOWS = {-1: 6.9, -14: 6.9, -15: 6.9, 0: 2.2}
"""Widths above the Fermi level where 0.001 of a state is filled, by ISMEAR: ln(1/f - 1) of a Fermi-Dirac step,
erfc(x) = 0.002 of a Gaussian."""


def smearing_window(ismear: int, width: float) -> float:
    """Energy above the Fermi level, in the unit of the width, up to which smearing fills states; 0 of a sharp edge.

    Methfessel-Paxton of order N: 2.2 + 0.4 sqrt N widths, where |f| falls below 0.001 (2.6 for 1, 2.8 for 2).
    """
    if ismear > 0:
        return (2.2 + 0.4 * sqrt(ismear)) * width
    return WINDOWS.get(ismear, 0.0) * width


def fewest_bands(electrons: float, fixed_moment: float = 0.0) -> int:
    """Bands that hold the electrons: those of the larger spin channel, (N_e + |M|) / 2, rounded up."""
    return max(1, ceil(0.5 * (electrons + abs(fixed_moment)) - 1e-9))


def guard_bands(bands: int) -> int:
    """Bands above NBANDS that take part in the first step only: two for each twenty.

    Atomic orbitals may order empty states wrongly: in folded silicon the lowest empty ones, at X, come after others.
    What the start leaves out, and no other band has the symmetry of, a solver finds through rounding errors only.
    """
    return bands // 20 * 2
