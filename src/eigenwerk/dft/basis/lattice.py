"""The lattice as that which measures plane waves and places: torch functions of its nine numbers.

Plane waves are integers x_c, atoms and grid points fractions x_c of the cell.  With lattice vectors a_c (rows)

    q = Σ_c x_c b_c,   r = Σ_c x_c a_c,   a_c · b_d = 2π δ_cd,   Ω = |det a|,

and whatever has a length follows from these: kinetic energies, Coulomb factors, tables of atoms.  All of it can be
differentiated by the lattice.  Equations: docs/equations/strain.md.
"""

from dataclasses import dataclass
from functools import cached_property
from math import pi

import torch

SMALLEST = 1e-40
"""Below any |q|² but zero, bohr⁻²; so large that its powers are finite in second derivatives too."""


@dataclass(frozen=True)
class Lattice:
    """Lattice vectors as rows, bohr, in host memory (nothing waits for a device); device: of what they measure."""

    vector_cv: torch.Tensor
    device: torch.device

    @cached_property
    def volume(self) -> torch.Tensor:
        """Cell volume, bohr³, in host memory."""
        return torch.linalg.det(self.vector_cv).abs()

    @cached_property
    def reciprocal_cv(self) -> torch.Tensor:
        """Reciprocal vectors as rows, bohr⁻¹."""
        return (2 * pi * torch.linalg.inv(self.vector_cv).mT).to(self.device)

    def waves(self, index_xc: torch.Tensor) -> torch.Tensor:
        """Wave vectors of integers, or of fractional k, in bohr⁻¹; (..., 3)."""
        return index_xc.to(self.reciprocal_cv.dtype) @ self.reciprocal_cv

    def places(self, scaled_xc: torch.Tensor) -> torch.Tensor:
        """Cartesian vectors of fractional ones, bohr; (..., 3)."""
        return scaled_xc @ self.vector_cv.to(self.device)


def square(vector_xv: torch.Tensor) -> torch.Tensor:
    """|v|²; (..., 3) -> (...)."""
    x, y, z = vector_xv.unbind(-1)  # a sum along three numbers is slow
    return x * x + y * y + z * z


def length(norm2_x: torch.Tensor) -> torch.Tensor:
    """|v| from |v|².  Where v = 0, in padding too, its derivative is 0 and not infinite: no strain moves these."""
    return norm2_x.clamp_min(SMALLEST).sqrt()
