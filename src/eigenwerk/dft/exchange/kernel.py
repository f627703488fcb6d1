"""The interaction of exact exchange as a function of the wave vector, and what stands for it at zero.

    v(q) = 4π/q² · {1;  1 - exp(-q²/4ω²);  1 - cos(q R)}     plain; screened, erfc(ωr)/r; cut at the radius R

Where v diverges at q = 0, the sum over the mesh stands for an integral, and the value that takes the place of v(0) is
chosen so that the pair density of a point charge has no energy with its images in the crystal of N_k cells (a "probe
charge"): v(0) = -N_k Ω φ, φ the potential of that lattice of charges in a neutral background, at a charge without its
own.  The screened and the cut interaction are finite there: π/ω², 2πR².  On a part of the q-points (NKRED) a probe
charge sees images of its own in a smaller crystal; for the screened interaction v(0) is less by what those beyond the
images of the whole mesh have, N_k Ω Σ_R erfc(ωR)/R.

An interaction that ends at the Wigner-Seitz cell of that crystal (`wigner_seitz_kernel`) is that of an isolated system
for every pair density that fits into half of it:

    v(q) = 4π/q² (1 - exp(-q²/4a²)) + ∫ erf(a r)/r exp(-iq·r) over the Wigner-Seitz cell,  a = 5/R,  R its inner radius
Source: S. Massidda, M. Posternak and A. Baldereschi, Phys. Rev. B 48, 5058 (1993); J. Paier, R. Hirschl, M. Marsman
and G. Kresse, J. Chem. Phys. 122, 234102 (2005); J. Heyd, G. E. Scuseria and M. Ernzerhof, J. Chem. Phys. 118, 8207
(2003); cut interaction: J. Spencer and A. Alavi, Phys. Rev. B 77, 193110 (2008); Wigner-Seitz cell: R. Sundararaman and
T. A. Arias, Phys. Rev. B 87, 165122 (2013).
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import ceil, pi

import numpy as np
import torch
from scipy.special import erf

from eigenwerk.dft.crystal.downsampling import ODD, Downsampling
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.madelung import (
    point_charge_potential,
    point_charge_strain,
    screened_images,
    screened_images_strain,
)
from eigenwerk.errors import InputError
from eigenwerk.lattice_reduction import heights

ZERO = 1e-12
"""|q|² below this (bohr⁻²) is zero."""

NEAR = 1e-9
"""Distances below this (bohr) are zero."""

SHIFT = 1e-8
"""Of waves against those of the cell, in units of them: zero below this."""

WIDTH, WAVES = 5.0, 3.0
"""a R of the long range inside a Wigner-Seitz cell, and waves of its grid in units of a times heights of the cell."""


@dataclass(frozen=True)
class ExchangeKernel:
    """v(q), hartree bohr³.

    omega: screening, bohr⁻¹, 0 for none; radius: where a plain interaction is cut, bohr, 0 for nowhere; at_zero: v(0);
    words: which of these, for people; long_range: what is added, by wave; crystal_cv: the cell in which Bloch waves are
    periodic, of an interaction that depends on it; whole_cv: that of the whole mesh, if q-points are left out.
    """

    omega: float
    radius: float
    at_zero: float
    words: str
    long_range: "LongRange | None" = None
    crystal_cv: np.ndarray | None = None
    whole_cv: np.ndarray | None = None

    @property
    def any_wave(self) -> bool:
        """Whether it is the same at all wave vectors, and not made for the differences of the points of one mesh."""
        return self.crystal_cv is None

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

    def cell_strain(self, wave_xc: np.ndarray, norm2_x: torch.Tensor, weight_x: torch.Tensor) -> torch.Tensor:
        """Σ_x W_x ∂v(q_x)/∂ε_vw of a strain that changes the cell and leaves q, for weights W; (3, 3).

        What a strain does to q is in `of_waves`, which can be differentiated by |q|².
        """
        total_vv = weight_x.new_zeros((3, 3))
        if self.crystal_cv is None:
            return total_vv
        zero_x = norm2_x < ZERO
        if self.radius:  # R³ is proportional to the volume
            slope_x = 4 * pi * torch.sin(self.radius * norm2_x.sqrt()) / norm2_x.clamp_min(ZERO).sqrt()
            slope_x = torch.where(zero_x, torch.full_like(slope_x, 4 * pi * self.radius), slope_x)
            return total_vv + torch.eye(3).to(total_vv) * float((weight_x * slope_x).sum() * self.radius / 3)
        if self.long_range is not None:
            return total_vv + torch.as_tensor(self.long_range.cell_strain(wave_xc, weight_x.cpu().numpy())).to(total_vv)
        at_zero = float((weight_x * zero_x).sum())
        if self.omega and self.whole_cv is not None:
            images = screened_images(self.crystal_cv, self.omega) - screened_images(self.whole_cv, self.omega)
            slope_vv = screened_images_strain(self.crystal_cv, self.omega) + images * np.eye(3)
            slope_vv = slope_vv - screened_images_strain(self.whole_cv, self.omega)
        else:
            slope_vv = point_charge_potential(self.crystal_cv) * np.eye(3) + point_charge_strain(self.crystal_cv)
        return total_vv - at_zero * abs(np.linalg.det(self.crystal_cv)) * torch.as_tensor(slope_vv).to(total_vv)


def screened_kernel(omega: float) -> ExchangeKernel:
    """erfc(ωr)/r, ω in bohr⁻¹."""
    return ExchangeKernel(omega, 0.0, pi / omega**2, "screened, at zero wave vector its limit")


def thinned_screened_kernel(
    omega: float, lattice_cv: np.ndarray, cells_cc: np.ndarray, whole_cc: np.ndarray
) -> ExchangeKernel:
    """erfc(ωr)/r on a part of the q-points: v(0) gives a probe charge the energy that all of them give it.

    cells_cc, whole_cc: integers of the cells in which the waves of the part and of the whole mesh are periodic.
    """
    crystal_cv, whole_cv = cells_cc @ lattice_cv, whole_cc @ lattice_cv
    images = screened_images(crystal_cv, omega) - screened_images(whole_cv, omega)
    at_zero = pi / omega**2 - abs(np.linalg.det(crystal_cv)) * images
    words = "screened, at zero wave vector by a probe charge"
    return ExchangeKernel(omega, 0.0, at_zero, words, None, crystal_cv, whole_cv)


def probe_charge_kernel(lattice_cv: np.ndarray, cells_cc: np.ndarray) -> ExchangeKernel:
    """1/r with a probe charge at zero.

    lattice_cv: of the cell, bohr; cells_cc: integers that make of it the cell in which Bloch waves are periodic.
    """
    crystal_cv = cells_cc @ lattice_cv
    at_zero = -abs(np.linalg.det(crystal_cv)) * point_charge_potential(crystal_cv)
    words = "1/r, at zero wave vector by a probe charge"
    return ExchangeKernel(0.0, 0.0, at_zero, words, crystal_cv=crystal_cv)


def cut_kernel(lattice_cv: np.ndarray, cells_cc: np.ndarray) -> ExchangeKernel:
    """1/r inside the sphere that has the volume of the cell in which Bloch waves are periodic."""
    crystal_cv = cells_cc @ lattice_cv
    radius = (3 * abs(np.linalg.det(crystal_cv)) / (4 * pi)) ** (1 / 3)
    return ExchangeKernel(0.0, radius, 2 * pi * radius**2, f"1/r cut at {radius:.2f} bohr", crystal_cv=crystal_cv)


@dataclass(frozen=True)
class LongRange:
    """∫ erf(a r)/r exp(-iq·r) over a Wigner-Seitz cell, at the waves that are periodic in it, or such with one shift.

    With a shift, r counts: it is that of the nearest image, the mean of those that are equally near.

    cells_cc, crystal_cv: its integers and lattice; a: bohr⁻¹; size_c: of the grid of waves, beyond which it is zero.
    """

    cells_cc: np.ndarray
    crystal_cv: np.ndarray
    a: float
    size_c: tuple[int, ...]

    def __call__(self, wave_xc: np.ndarray) -> np.ndarray:
        """For wave vectors in fractional coordinates of the primitive cell, all with the same shift."""
        index_xc = wave_xc @ self.cells_cc.T
        shift_c = index_xc[0] - np.floor(index_xc[0] + 0.5 + SHIFT)
        if np.abs(shift_c).max() < SHIFT:
            return self._at(self._value_R, index_xc)
        return self._at(self._shifted(shift_c), index_xc - shift_c)

    def _shifted(self, shift_c: np.ndarray) -> np.ndarray:
        """With exp(-2πi shift·r) in the cell; the last one is kept."""
        key = tuple(np.rint(shift_c / SHIFT).astype(int).tolist())
        if key not in self._kept:
            place_y, scaled_yc, share_y = self._points
            phase_y = share_y * np.exp(-2j * pi * (scaled_yc @ shift_c))
            field_R = self._field_R.ravel() * (
                np.bincount(place_y, phase_y.real) + 1j * np.bincount(place_y, phase_y.imag)
            )
            self._kept.clear()
            self._kept[key] = self._fft(field_R.reshape(self.size_c))
        return self._kept[key]

    @cached_property
    def _kept(self) -> dict[tuple[int, ...], np.ndarray]:
        return {}

    @cached_property
    def _field_R(self) -> np.ndarray:
        return self._fields[0]

    @cached_property
    def _points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nearest images of all points of the cell: which point, fractional coordinates, share of those as near."""
        axes, slab = [np.arange(size) / size for size in self.size_c], int(np.prod(self.size_c[1:]))
        image_xc, places, scaled, shares = np.array(list(product((-2, -1, 0, 1, 2), repeat=3))), [], [], []
        for x, first in enumerate(axes[0]):
            base_Rc = np.stack(np.meshgrid([first], axes[1], axes[2], indexing="ij"), -1).reshape(-1, 3)
            base_Rc = base_Rc - np.rint(base_Rc)
            images = [(base_Rc + image_c) @ self.crystal_cv for image_c in image_xc]
            length_xR = np.stack([np.linalg.norm(image_Rv, axis=1) for image_Rv in images])
            near_xR = length_xR < length_xR.min(0) + NEAR
            image_y, place_y = np.nonzero(near_xR)
            places.append(place_y + x * slab)
            scaled.append(base_Rc[place_y] + image_xc[image_y])
            shares.append(1.0 / near_xR.sum(0)[place_y])
        return np.concatenate(places), np.concatenate(scaled), np.concatenate(shares)

    def cell_strain(self, wave_xc: np.ndarray, weight_x: np.ndarray) -> np.ndarray:
        """Σ_x W_x ∂/∂ε_vw of it at fixed waves in fractional coordinates, with a as it is; (3, 3).

        Phases q·r stay, r and the volume follow the strain.  The waves themselves have no part in it.
        """
        strain_vv = np.empty((3, 3))
        for (v, w), value_R in self._strain_R.items():
            strain_vv[v, w] = strain_vv[w, v] = weight_x @ self._at(value_R, wave_xc @ self.cells_cc.T)
        return strain_vv

    def _at(self, value_R: np.ndarray, wave_xc: np.ndarray) -> np.ndarray:
        """wave_xc: whole numbers of waves of the cell."""
        index_xc = np.rint(wave_xc).astype(int)
        size_c = np.array(self.size_c)
        inside_x = (2 * np.abs(index_xc) < size_c).all(1)
        return np.asarray(value_R[tuple((index_xc % size_c).T)] * inside_x)

    @cached_property
    def _value_R(self) -> np.ndarray:
        """On the grid of waves, as an FFT gives them."""
        return self._fft(self._field_R)

    @cached_property
    def _strain_R(self) -> dict[tuple[int, int], np.ndarray]:
        """Derivatives by the strain; of f(r): f'(r) r_v r_w / r, and f for the volume."""
        value_R, strain_Rvw = self._fields
        return {
            (v, w): self._fft(strain_Rvw[..., v, w] + (v == w) * value_R) for v in range(3) for w in range(v + 1)
        }

    def _fft(self, field_R: np.ndarray) -> np.ndarray:
        """The integral over the cell with exp(-iq·r)."""
        return np.asarray(np.fft.fftn(field_R).real * (abs(np.linalg.det(self.crystal_cv)) / field_R.size))

    @property
    def _fields(self) -> tuple[np.ndarray, np.ndarray]:
        """erf(a r)/r of nearest images on the points of the cell, and its slope times r_v r_w / r."""
        axes = [np.arange(size) / size for size in self.size_c]
        value_R, strain_Rvw = np.empty(self.size_c), np.empty((*self.size_c, 3, 3))
        for x, first in enumerate(axes[0]):
            scaled_Rc = np.stack(np.meshgrid([first], axes[1], axes[2], indexing="ij"), -1)[0]
            product_Rvw, length_R = _nearest(scaled_Rc, self.crystal_cv)
            safe_R, zero_R = np.maximum(length_R, NEAR), length_R < NEAR
            gauss_R = 2 * self.a / np.sqrt(pi) * np.exp(-((self.a * length_R) ** 2))
            value_R[x] = np.where(zero_R, gauss_R, erf(self.a * safe_R) / safe_R)
            slope_R = np.where(zero_R, 0.0, (gauss_R - value_R[x]) / safe_R**2)
            strain_Rvw[x] = slope_R[..., None, None] * product_Rvw
        return value_R, strain_Rvw


def _nearest(scaled_Rc: np.ndarray, crystal_cv: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the shortest images of points of a cell their lengths and r_v r_w, the mean of those that are equally long."""
    base_Rv = (scaled_Rc - np.rint(scaled_Rc)) @ crystal_cv
    images = [base_Rv + image_v for image_v in _images(crystal_cv)]
    length_R = np.min([np.linalg.norm(image_Rv, axis=-1) for image_Rv in images], axis=0)
    product_Rvw, count_R = np.zeros((*length_R.shape, 3, 3)), np.zeros(length_R.shape)
    for image_Rv in images:
        same_R = np.linalg.norm(image_Rv, axis=-1) < length_R + NEAR
        count_R += same_R
        product_Rvw += same_R[..., None, None] * image_Rv[..., :, None] * image_Rv[..., None, :]
    return product_Rvw / count_R[..., None, None], length_R


def _images(crystal_cv: np.ndarray) -> np.ndarray:
    return np.array(list(product((-2, -1, 0, 1, 2), repeat=3))) @ crystal_cv


def wigner_seitz_kernel(lattice_cv: np.ndarray, cells_cc: np.ndarray) -> ExchangeKernel:
    """1/r inside the Wigner-Seitz cell of the lattice in which Bloch waves are periodic."""
    crystal_cv = cells_cc @ lattice_cv
    inner = 0.5 * min(float(np.linalg.norm(image_v)) for image_v in _images(crystal_cv) if image_v.any())
    a = WIDTH / inner
    # the Gaussian of erf(a r)/r has died at the edge of the grid of waves
    height_c = heights(crystal_cv)
    long_range = LongRange(cells_cc, crystal_cv, a, tuple(2 * ceil(WAVES * a * height) for height in height_c))
    words = "1/r that ends at the Wigner-Seitz cell of the mesh"
    return ExchangeKernel(a, 0.0, pi / a**2, words, long_range, crystal_cv)


UNSCREENED = {"probe charge": probe_charge_kernel, "cut": cut_kernel, "Wigner-Seitz": wigner_seitz_kernel}
"""What becomes of an unscreened interaction at long range, by name."""


def kernel_for(
    lattice_cv: np.ndarray, kpoints: KPoints, omega: float, long_range: str = "probe charge",
    downsampling: Downsampling | None = None,
) -> ExchangeKernel:  # fmt: skip
    """The interaction for the orbitals of a mesh; long_range: of `UNSCREENED`; downsampling: which pairs of points
    count.  Raises InputError for a list of points."""
    mesh = kpoints.mesh if downsampling is not None else None
    if mesh is None or downsampling is None or downsampling.parity == ODD:
        return screened_kernel(omega) if omega else UNSCREENED[long_range](lattice_cv, cells_of(kpoints))
    cells_cc = downsampling.cells(mesh)
    if omega:
        return thinned_screened_kernel(omega, lattice_cv, cells_cc, cells_of(kpoints))
    return UNSCREENED[long_range](lattice_cv, cells_cc)


def cells_of(kpoints: KPoints) -> np.ndarray:
    """Integers that make of the cell the one in which Bloch waves of the mesh are periodic, (3, 3)."""
    if kpoints.cells_cc is not None:  # its inverse has the steps of the mesh as rows: columns are lattice vectors
        return kpoints.cells_cc.T
    if len(kpoints.point_kc) == 1 and not kpoints.point_kc.any():
        return np.eye(3, dtype=np.int64)
    raise InputError(
        f"KPOINTS: exact exchange (LHFCALC) needs a mesh of k-points, and this is the {kpoints.source}. Give a Gamma "
        "or Monkhorst-Pack mesh."
    )
