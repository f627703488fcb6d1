"""The interaction of exact exchange as a function of the wave vector, and what stands for it at zero.

    v(q) = 4π/q² · {1;  1 - exp(-q²/4ω²);  1 - cos(q R)}     plain; screened, erfc(ωr)/r; cut at the radius R

Where v diverges at q = 0, the sum over the mesh stands for an integral, and the value that takes the place of v(0) is
chosen so that the pair density of a point charge has no energy with its images in the crystal of N_k cells (a "probe
charge"): v(0) = -N_k Ω φ, φ the potential of that lattice of charges in a neutral background, at a charge without its
own.  The screened and the cut interaction are finite there: π/ω², 2πR².
Source: S. Massidda, M. Posternak and A. Baldereschi, Phys. Rev. B 48, 5058 (1993); J. Paier, R. Hirschl, M. Marsman
and G. Kresse, J. Chem. Phys. 122, 234102 (2005); J. Heyd, G. E. Scuseria and M. Ernzerhof, J. Chem. Phys. 118, 8207
(2003); cut interaction: J. Spencer and A. Alavi, Phys. Rev. B 77, 193110 (2008).
"""

from dataclasses import dataclass
from math import pi

import numpy as np
import torch

from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.madelung import point_charge_potential
from eigenwerk.errors import InputError

ZERO = 1e-12
"""|q|² below this (bohr⁻²) is zero."""


@dataclass(frozen=True)
class ExchangeKernel:
    """v(q), hartree bohr³.

    omega: screening, bohr⁻¹, 0 for none; radius: where a plain interaction is cut, bohr, 0 for nowhere; at_zero: v(0);
    words: which of these, for people.
    """

    omega: float
    radius: float
    at_zero: float
    words: str

    def __call__(self, norm2_x: torch.Tensor) -> torch.Tensor:
        """v for |q|²."""
        safe_x = norm2_x.clamp_min(ZERO)
        value_x = 4 * pi / safe_x
        if self.omega:
            value_x = value_x * -torch.expm1(-safe_x / (4 * self.omega**2))
        elif self.radius:
            value_x = value_x * (1 - torch.cos(self.radius * safe_x.sqrt()))
        return torch.where(norm2_x < ZERO, torch.full_like(value_x, self.at_zero), value_x)


def screened_kernel(omega: float) -> ExchangeKernel:
    """erfc(ωr)/r, ω in bohr⁻¹."""
    return ExchangeKernel(omega, 0.0, pi / omega**2, "screened: its limit at zero wave vector, π/ω²")


def probe_charge_kernel(lattice_cv: np.ndarray, cells_cc: np.ndarray) -> ExchangeKernel:
    """1/r with a probe charge at zero.

    lattice_cv: of the cell, bohr; cells_cc: integers that make of it the cell in which Bloch waves are periodic.
    """
    crystal_cv = cells_cc @ lattice_cv
    at_zero = -abs(np.linalg.det(crystal_cv)) * point_charge_potential(crystal_cv)
    return ExchangeKernel(0.0, 0.0, at_zero, "unscreened: a probe charge for zero wave vector")


def cut_kernel(lattice_cv: np.ndarray, cells_cc: np.ndarray) -> ExchangeKernel:
    """1/r inside the sphere that has the volume of the cell in which Bloch waves are periodic."""
    volume = abs(np.linalg.det(cells_cc @ lattice_cv))
    radius = (3 * volume / (4 * pi)) ** (1 / 3)
    return ExchangeKernel(0.0, radius, 2 * pi * radius**2, f"unscreened, cut at {radius:.2f} bohr")


def kernel_for(lattice_cv: np.ndarray, kpoints: KPoints, omega: float) -> ExchangeKernel:
    """The interaction for the orbitals of a mesh.  Raises InputError for a list of points."""
    if omega:
        return screened_kernel(omega)
    return probe_charge_kernel(lattice_cv, cells_of(kpoints))


def cells_of(kpoints: KPoints) -> np.ndarray:
    """Integers that make of the cell the one in which Bloch waves of the mesh are periodic, (3, 3)."""
    if kpoints.cells_cc is not None:
        return kpoints.cells_cc
    if len(kpoints.point_kc) == 1 and kpoints.irreducible_of_full is not None:
        return np.eye(3, dtype=np.int64)
    raise InputError(
        f"KPOINTS: exact exchange (LHFCALC) needs a mesh of k-points, and this is the {kpoints.source}. Give a Gamma "
        "or Monkhorst-Pack mesh."
    )
