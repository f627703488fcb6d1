"""What the electrostatic potential of a run tells besides the energy: levels in the vacuum and at atoms, corrections of
charged cells."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class VacuumLevels:
    """The electrostatic potential in the vacuum of a slab, eV, with the zero of the eigenvalues.

    axis: that across the vacuum, from 0; thickness in Angstrom; below, above: where the coordinate is smaller and where
    it is larger, so `below` is in front of the upper surface.
    """

    axis: int
    thickness: float
    below: float
    above: float

    @property
    def field(self) -> float:
        """How much the potential rises across a third of the vacuum, eV; 0 where it is flat, or has a step there."""
        return self.above - self.below


@dataclass(frozen=True, eq=False)
class CorePotentials:
    """Electrostatic potentials at the sites of atoms, eV, (a,); radius: root of the mean r² of each element's test
    charge, Angstrom."""

    value_a: np.ndarray
    radius: Mapping[str, float]


@dataclass(frozen=True)
class ChargedCell:
    """A net charge (e, positive where electrons are missing) in a uniform background, and corrections of the energy.

    madelung: constant α of the cell; length: cube root of its volume, Angstrom; epsilon: dielectric constant.  In eV:
    background: energy of a point charge in the background among its images, unscreened, -q² α/2L; monopole,
    quadrupole, alignment: to be added to the energy if at all, and never both of the last two; potential_shift: behind
    the alignment, of electrons.  None where they are not defined.
    """

    charge: float
    madelung: float
    length: float
    epsilon: float
    background: float
    monopole: float | None
    quadrupole: float | None
    potential_shift: float | None
    alignment: float | None
