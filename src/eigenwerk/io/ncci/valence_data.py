"""What files of valence-space interactions hold."""

from dataclasses import dataclass

import numpy as np

from eigenwerk.errors import InputError

LARGEST_LABEL = 100
"""Of n and l of an orbital; beyond the reach of any shell model."""

HEAVIEST, STEEPEST = 1000.0, 10.0
"""Of reference masses, and of exponents of the mass."""


def scaling_of(mass: float, exponent: float, place: str) -> tuple[float, float]:
    """Reference mass and exponent as they are; InputError with the place where no nucleus has such a mass, or no
    interaction such an exponent."""
    if not (1.0 <= mass <= HEAVIEST and abs(exponent) <= STEEPEST):
        raise InputError(
            f"{place}: matrix elements cannot scale as (A/{mass:g})^{exponent:g}. The reference mass lies between 1 "
            f"and {HEAVIEST:g}, the exponent between -{STEEPEST:g} and {STEEPEST:g} (-0.3 is usual)."
        )
    return mass, exponent


@dataclass(frozen=True, eq=False)
class ValenceData:
    """Orbitals, one-body energies and two-body matrix elements outside a core, as the file has them.

    orbital_3a_p, orbital_3a_n: rows n, l, 2j.  energy_aa_p, energy_aa_n: one-body matrices (MeV).
    elements: (kind, a, b, c, d, J, value) with kind pp, nn or pn, a..d counting from 0 in the list of their species
    (pn: a, c protons and b, d neutrons), between normalised antisymmetric states.
    core: protons and neutrons of the core, None if the file does not say.
    reference_mass, exponent: elements belong to A = reference_mass and scale as (A/reference_mass)^exponent; None
    without scaling.  hw: the oscillator quantum (MeV) that the file names, or None.
    """

    orbital_3a_p: np.ndarray
    orbital_3a_n: np.ndarray
    energy_aa_p: np.ndarray
    energy_aa_n: np.ndarray
    elements: list[tuple[str, int, int, int, int, int, float]]
    core: tuple[int, int] | None
    reference_mass: float | None = None
    exponent: float = 0.0
    hw: float | None = None
