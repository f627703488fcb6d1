"""The interaction of exact exchange as a function of the wave vector, and what stands for it at zero.

    v(q) = 4π/q² · {1;  1 - exp(-q²/4ω²);  1 - cos(q R)}     plain; screened, erfc(ωr)/r; cut at the radius R

Where v diverges at q = 0, the sum over the mesh stands for an integral, and the value that takes the place of v(0) is
chosen so that the pair density of a point charge has no energy with its images in the crystal of N_k cells (a "probe
charge"): v(0) = -N_k Ω φ, φ the potential of that lattice of charges in a neutral background, at a charge without its
own.  The screened and the cut interaction are finite there: π/ω², 2πR².

An interaction that ends at the Wigner-Seitz cell of that crystal (`wigner_seitz_kernel`) is that of an isolated system
for every pair density that fits into half of it:

    v(q) = 4π/q² (1 - exp(-q²/4a²)) + ∫ erf(a r)/r exp(-iq·r) over the Wigner-Seitz cell,  a = 5/R,  R its inner radius
Source: S. Massidda, M. Posternak and A. Baldereschi, Phys. Rev. B 48, 5058 (1993); J. Paier, R. Hirschl, M. Marsman
and G. Kresse, J. Chem. Phys. 122, 234102 (2005); J. Heyd, G. E. Scuseria and M. Ernzerhof, J. Chem. Phys. 118, 8207
(2003); cut interaction: J. Spencer and A. Alavi, Phys. Rev. B 77, 193110 (2008); Wigner-Seitz cell: R. Sundararaman and
T. A. Arias, Phys. Rev. B 87, 165122 (2013).
"""

from dataclasses import dataclass
from itertools import product
from math import ceil, pi

import numpy as np
import torch
from scipy.special import erf

from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.madelung import point_charge_potential
from eigenwerk.errors import InputError

ZERO = 1e-12
"""|q|² below this (bohr⁻²) is zero."""

WIDTH, WAVES = 5.0, 3.0
"""a R of the long range inside a Wigner-Seitz cell, and waves of its grid in units of a times heights of the cell."""


@dataclass(frozen=True)
class ExchangeKernel:
    """v(q), hartree bohr³.

    omega: screening, bohr⁻¹, 0 for none; radius: where a plain interaction is cut, bohr, 0 for nowhere; at_zero: v(0);
    words: which of these, for people; long_range: what is added, by wave.
    """

    omega: float
    radius: float
    at_zero: float
    words: str
    long_range: "LongRange | None" = None

    def of_waves(self, wave_xc: np.ndarray, norm2_x: torch.Tensor) -> torch.Tensor:
        """v of wave vectors q, fractional, and their |q|²."""
        value_x = self(norm2_x)
        if self.long_range is not None:
            value_x = value_x + torch.as_tensor(self.long_range(wave_xc)).to(value_x)
        return value_x

    def __call__(self, norm2_x: torch.Tensor) -> torch.Tensor:
        """v for |q|², without what depends on the direction."""
        safe_x = norm2_x.clamp_min(ZERO)
        value_x = 4 * pi / safe_x
        if self.omega:
            value_x = value_x * -torch.expm1(-safe_x / (4 * self.omega**2))
        elif self.radius:
            value_x = value_x * (1 - torch.cos(self.radius * safe_x.sqrt()))
        return torch.where(norm2_x < ZERO, torch.full_like(value_x, self.at_zero), value_x)


def screened_kernel(omega: float) -> ExchangeKernel:
    """erfc(ωr)/r, ω in bohr⁻¹."""
    return ExchangeKernel(omega, 0.0, pi / omega**2, "screened, at zero wave vector its limit")


def probe_charge_kernel(lattice_cv: np.ndarray, cells_cc: np.ndarray) -> ExchangeKernel:
    """1/r with a probe charge at zero.

    lattice_cv: of the cell, bohr; cells_cc: integers that make of it the cell in which Bloch waves are periodic.
    """
    crystal_cv = cells_cc @ lattice_cv
    at_zero = -abs(np.linalg.det(crystal_cv)) * point_charge_potential(crystal_cv)
    return ExchangeKernel(0.0, 0.0, at_zero, "1/r, at zero wave vector by a probe charge")


def cut_kernel(lattice_cv: np.ndarray, cells_cc: np.ndarray) -> ExchangeKernel:
    """1/r inside the sphere that has the volume of the cell in which Bloch waves are periodic."""
    volume = abs(np.linalg.det(cells_cc @ lattice_cv))
    radius = (3 * volume / (4 * pi)) ** (1 / 3)
    return ExchangeKernel(0.0, radius, 2 * pi * radius**2, f"1/r cut at {radius:.2f} bohr")


@dataclass(frozen=True)
class LongRange:
    """∫ erf(a r)/r exp(-iq·r) over a Wigner-Seitz cell, at the waves that are periodic in it.

    cells_cc: its integers; value_R: on a grid of waves, as an FFT gives them.
    """

    cells_cc: np.ndarray
    value_R: np.ndarray

    def __call__(self, wave_xc: np.ndarray) -> np.ndarray:
        """For wave vectors in fractional coordinates of the primitive cell; zero beyond the grid."""
        index_xc = np.rint(wave_xc @ self.cells_cc.T).astype(int)
        size_c = np.array(self.value_R.shape)
        inside_x = (2 * np.abs(index_xc) < size_c).all(1)
        return self.value_R[tuple((index_xc % size_c).T)] * inside_x


def wigner_seitz_kernel(lattice_cv: np.ndarray, cells_cc: np.ndarray) -> ExchangeKernel:
    """1/r inside the Wigner-Seitz cell of the lattice in which Bloch waves are periodic."""
    crystal_cv = cells_cc @ lattice_cv
    image_xv = np.array(list(product((-2, -1, 0, 1, 2), repeat=3))) @ crystal_cv
    inner = 0.5 * min(float(np.linalg.norm(image_v)) for image_v in image_xv if image_v.any())
    a = WIDTH / inner
    # the Gaussian of erf(a r)/r has died at the edge of the grid of waves
    height_c = 1 / np.linalg.norm(np.linalg.inv(crystal_cv), axis=0)
    size_c = [2 * ceil(WAVES * a * height) for height in height_c]
    axes = [np.arange(size) / size for size in size_c]
    value_R = np.empty(size_c)
    for place, first in zip(value_R, axes[0], strict=True):
        scaled_Rc = np.stack(np.meshgrid([first], axes[1], axes[2], indexing="ij"), -1)[0]
        scaled_Rc -= np.rint(scaled_Rc)
        distance_R = np.full(scaled_Rc.shape[:2], np.inf)
        for image_v in image_xv:
            distance_R = np.minimum(distance_R, np.linalg.norm(scaled_Rc @ crystal_cv + image_v, axis=-1))
        near_R = distance_R < 1e-9
        place[:] = np.where(near_R, 2 * a / np.sqrt(pi), erf(a * distance_R) / np.where(near_R, 1.0, distance_R))
    weight = abs(np.linalg.det(crystal_cv)) / value_R.size
    long_range = LongRange(cells_cc, np.fft.fftn(value_R).real * weight)
    return ExchangeKernel(a, 0.0, pi / a**2, "1/r that ends at the Wigner-Seitz cell of the mesh", long_range)


UNSCREENED = {"probe charge": probe_charge_kernel, "cut": cut_kernel, "Wigner-Seitz": wigner_seitz_kernel}
"""What becomes of an unscreened interaction at long range, by name."""


def kernel_for(
    lattice_cv: np.ndarray, kpoints: KPoints, omega: float, long_range: str = "probe charge"
) -> ExchangeKernel:
    """The interaction for the orbitals of a mesh; long_range: of `UNSCREENED`.  Raises InputError for a list of points.
    """
    if omega:
        return screened_kernel(omega)
    return UNSCREENED[long_range](lattice_cv, cells_of(kpoints))


def cells_of(kpoints: KPoints) -> np.ndarray:
    """Integers that make of the cell the one in which Bloch waves of the mesh are periodic, (3, 3)."""
    if kpoints.cells_cc is not None:
        return kpoints.cells_cc
    if len(kpoints.point_kc) == 1 and not kpoints.point_kc.any():
        return np.eye(3, dtype=np.int64)
    raise InputError(
        f"KPOINTS: exact exchange (LHFCALC) needs a mesh of k-points, and this is the {kpoints.source}. Give a Gamma "
        "or Monkhorst-Pack mesh."
    )
