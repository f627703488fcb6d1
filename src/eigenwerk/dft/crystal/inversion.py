"""Crystals that an inversion r -> t - r takes into themselves: their orbitals need real numbers only.

H commutes with inversion followed by complex conjugation, which leaves k alone.  So at every k-point orbitals can be
chosen with ψ(t - r)* = ψ(r), that is  c(G) exp(i (k+G)·t/2)  real.  docs/equations/plane_waves.md.
"""

from dataclasses import dataclass
from math import pi

import numpy as np

from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import Symmetry

ON_GRID = 1e-6
"""Largest distance of N t from integers that counts as zero."""


@dataclass(frozen=True, eq=False)
class Inversion:
    """r -> t - r.

    translation_c: t, fractional; partner_a: where each atom goes (to a lattice image of it).
    """

    translation_c: np.ndarray
    partner_a: np.ndarray

    def grid_shift(self, size_c: tuple[int, int, int]) -> np.ndarray:
        """Fractional shift of an FFT grid after which inversion maps it onto itself; zero along axes where it does."""
        steps_c = self.translation_c * np.array(size_c)
        return np.where(np.abs(steps_c - np.rint(steps_c)) < ON_GRID, 0.0, self.translation_c / 2)

    def off_grid(self, size_c: tuple[int, int, int]) -> np.ndarray:
        """t/2 - s, s the shift of the grid."""
        return self.translation_c / 2 - self.grid_shift(size_c)

    def positions(self, structure: Structure) -> tuple[np.ndarray, np.ndarray]:
        """(x_ac, n_ac): exactly symmetric positions from the centre t/2, x = -x_partner + n with integers n."""
        from_centre_ac = structure.scaled_ac - self.translation_c / 2
        other_ac = from_centre_ac[self.partner_a]
        cell_ac = np.rint(from_centre_ac + other_ac)
        return (from_centre_ac - other_ac + cell_ac) / 2, cell_ac


def find_inversion(symmetry: Symmetry) -> Inversion | None:
    """The inversion of a group that keeps the spins, with t = 0 if there is a choice; None without one."""
    inverts_o = (symmetry.rotation_occ == -np.eye(3, dtype=np.int64)).all((1, 2)) & ~symmetry.spin_flip_o
    found = np.flatnonzero(inverts_o)
    if len(found) == 0:
        return None
    translation_xc = symmetry.translation_oc[found]
    translation_xc = translation_xc - np.rint(translation_xc)
    first = int(np.argmin(np.abs(translation_xc).sum(1).round(9)))
    return Inversion(translation_xc[first], symmetry.atom_map_oa[found[first]])


def inversion_of_orbitals(kpoints: KPoints) -> Inversion | None:
    """The inversion by which orbitals are real; None without one, and where they are real in space at all k-points."""
    return None if kpoints.allow_real_orbitals else find_inversion(kpoints.symmetry)


def turns(wave_xc: np.ndarray, shift_c: np.ndarray) -> np.ndarray:
    """exp(i q·s) of waves q and a shift s, both fractional; (..., 3) -> (...)."""
    return np.exp(2j * pi * (wave_xc @ shift_c))
