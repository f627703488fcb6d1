"""The plane-wave world of one calculation: spheres, grids and their index maps.

Orbitals   ψ_nk(r) = Ω^(-1/2) Σ_G c_nk(G) exp(i (k+G)·r),   |k+G|²/2 <= E_cut
Densities  n(r)    = Σ_g n(g) exp(i g·r),                    |g| <= 2 G_cut, and told apart by the wave grid

Densities are real, so only one of each pair ±g is kept (`weight_g` counts both).  The list of g is the
electrostatic sphere; its first `density_count` members are the waves of the density.  Both parts are sorted by length.

Which waves there are, and where they stand on the grids, is said by integers, which know no lattice; a `Lattice`
measures them.  The same waves in another cell: `strained`.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, pi
from typing import Any

import numpy as np
import torch

from eigenwerk.dft.basis.grids import (
    DENSITY_FACTOR,
    ELECTROSTATIC_FACTOR,
    LEAST_FACTOR,
    GridSizes,
    choose_grids,
    sphere,
    sphere_radius,
    told_apart,
)
from eigenwerk.dft.basis.lattice import Lattice, square
from eigenwerk.dft.basis.orbital_fft import FilledGrid
from eigenwerk.dft.basis.transforms import HalfSphereMap, half_sphere_map
from eigenwerk.dft.basis.wave_form import SphereMap, WaveForm, half_of, partners
from eigenwerk.dft.crystal.inversion import Inversion, inversion_of_orbitals, turns
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import equivalent_axes, translation_denominators
from eigenwerk.dft.spin.form import UNPOLARISED, Spin
from eigenwerk.errors import InputError
from eigenwerk.parallel.runtime import Runtime

ALIGNMENT = {"cpu": 1, "cuda": 16}
"""Waves of a rank come in multiples of so many: where a row of double-precision numbers has an odd length, products on
an H100 run at 31 TFLOP/s in place of 47 (1152 orbitals, 6656 projectors, 45 983 waves); on a processor it makes no
difference (benchmarks/device/results.md, Rows of even length)."""


@dataclass(frozen=True)
class PlaneWaveBasis:
    """Plane waves of the k-points of this k-group, padded along G to the longest sphere and shared by its band ranks.

    kpoints: all irreducible points; own_k: those of this group, which k counts.  form: what orbitals are as vectors
    (axis G); of real ones half the plane waves are kept.  own_h: the kept waves of this rank, which h counts: a slice
    of the padded sphere.  count_k: kept waves of whole spheres.
    index_khc integer G; mask_kh 1 for true waves, 0 for padding; sphere_map: where waves of whole spheres lie on the
    wave grid (padding: unused points); inversion: that by which orbitals are real, if they are;
    index_gc integer g of the electrostatic half sphere; weight_g 1 or 2;
    wave_map, fine_map: positions on the two FFT grids (on the wave grid of the waves of the density only).
    spin: what it makes of orbitals and densities.
    sphere_cv: the lattice in which they are spheres, (3, 3) in bohr, rows.
    lattice: measures them.  wave_vector_khv, kinetic_kh, vector_gv, norm2_g, coulomb_g and volume follow from it;
    kinetic_kG, mask_kG: for the numbers of vectors.
    """

    runtime: Runtime
    structure: Structure
    kpoints: KPoints
    cutoff: float
    precision: str
    grids: GridSizes
    own_k: slice
    form: WaveForm
    own_h: slice
    count_k: tuple[int, ...]
    index_khc: torch.Tensor
    mask_kh: torch.Tensor
    sphere_map: SphereMap
    inversion: Inversion | None
    index_gc: torch.Tensor
    weight_g: torch.Tensor
    density_count: int
    wave_map: HalfSphereMap
    fine_map: HalfSphereMap
    sphere_cv: np.ndarray
    lattice: Lattice
    spin: Spin = UNPOLARISED

    def strained(self, lattice_cv: torch.Tensor) -> "PlaneWaveBasis":
        """The same plane waves, grids and maps in another cell, (3, 3) in bohr, rows; atoms at the same fractions.

        What follows from the lattice can be differentiated by lattice_cv.  Waves no longer fill spheres of one energy,
        and operations of the k-points need not be symmetries of the new cell.
        """
        lattice = Lattice(lattice_cv.to("cpu", self.runtime.real), self.runtime.device)
        structure = replace(self.structure, lattice_cv=lattice.vector_cv.detach().numpy())
        return replace(self, structure=structure, lattice=lattice)

    def moved(self, structure: Structure) -> "PlaneWaveBasis":
        """The same plane waves, grids and maps for atoms elsewhere, also in another cell (`strained`)."""
        if not np.array_equal(structure.lattice_cv, self.structure.lattice_cv):
            return replace(self.strained(torch.tensor(structure.lattice_cv)), structure=structure)
        other = replace(self, structure=structure)
        for name, value in vars(self).items():  # what has been made of the lattice holds here, too
            vars(other).setdefault(name, value)
        return other

    def at_points(self, kpoints: KPoints, real: bool = True) -> "PlaneWaveBasis":
        """Orbitals of other k-points, on the same grids and beside the same waves of the density."""
        radius = sphere_radius(self.cutoff)
        return replace(self, **_of_orbitals(self.structure, kpoints, radius, self.grids, self.runtime, real))

    @cached_property
    def vector_gv(self) -> torch.Tensor:
        """g of the electrostatic sphere, bohr⁻¹."""
        return self.lattice.waves(self.index_gc)

    @cached_property
    def norm2_g(self) -> torch.Tensor:
        """|g|² of the electrostatic sphere, bohr⁻²."""
        return square(self.vector_gv)

    @cached_property
    def coulomb_g(self) -> torch.Tensor:
        """4π/|g|² of the electrostatic sphere, bohr²; 0 at g = 0."""
        return torch.where(self.norm2_g > 0, 4 * pi / self.norm2_g.clamp_min(1e-12), torch.zeros_like(self.norm2_g))

    @cached_property
    def weight_k(self) -> torch.Tensor:
        """Weights of all irreducible k-points, those of other groups included; they sum to 1."""
        return self.runtime.tensor(self.kpoints.weight_k)

    def filling(self, occ_skn: torch.Tensor) -> torch.Tensor:
        """w_k g f: electrons of orbitals with occupations 0 to 1, in host memory; (s, k, n)."""
        return self.weight_k.cpu()[:, None] * occ_skn * self.spin.degeneracy

    @property
    def point_kc(self) -> np.ndarray:
        """Fractional k-points of this group."""
        return self.kpoints.point_kc[self.own_k]

    @property
    def volume(self) -> torch.Tensor:
        """Cell volume, bohr³, in host memory."""
        return self.lattice.volume

    @cached_property
    def mask_kG(self) -> torch.Tensor:
        """1 for the numbers of vectors that count, 0 for the others: padding, and the imaginary part of q = 0."""
        mask_kG = self.form.slots(self.mask_kh)
        if self.form.scale_kh is not None:
            mask_kG[:, 1::2] *= self.form.scale_kh != 1
        return mask_kG

    @cached_property
    def kinetic_kh(self) -> torch.Tensor:
        """|k+G|²/2, zero at padding."""
        return 0.5 * square(self.wave_vector_khv)

    @cached_property
    def kinetic_kG(self) -> torch.Tensor:
        """|k+G|²/2 for each number of a vector."""
        return self.form.slots(self.kinetic_kh)

    @cached_property
    def wave_vector_khv(self) -> torch.Tensor:
        """k+G in bohr⁻¹, zero at padding."""
        point_k1c = self.runtime.tensor(self.point_kc)[:, None]
        return self.lattice.waves(self.index_khc + point_k1c) * self.mask_kh[..., None]

    def potential_for_orbitals(self, potential_g: torch.Tensor) -> torch.Tensor:
        """v(R) of a local potential on the points where orbitals are multiplied with it; (..., g) -> (..., R, R, R).

        By inversion only its even part, exactly, and on a grid that inversion maps onto itself.
        """
        if self.inversion is not None:
            centre_g, grid_g = self._turn_xg[:, : potential_g.shape[-1]]
            potential_g = (potential_g * centre_g).real * grid_g
        return self.wave_map.to_grid(potential_g)

    def density_of_orbitals(self, density_xR: torch.Tensor) -> torch.Tensor:
        """Density coefficients of what orbitals make on their points; (..., R, R, R) -> (..., g)."""
        density_xg = self.wave_map.from_grid(density_xR)
        if self.inversion is None:
            return density_xg
        centre_g, grid_g = self._turn_xg[:, : density_xg.shape[-1]]
        return density_xg * (centre_g * grid_g).conj()

    @cached_property
    def _turn_xg(self) -> torch.Tensor:
        """exp(i g·t/2), and exp(-i g·(t/2 - s)) for the grid's shift s; (2, g)."""
        assert self.inversion is not None
        index_gc = self.index_gc.cpu().numpy()[: self.density_count]
        shift_xc = self.inversion.translation_c / 2, -self.inversion.off_grid(self.grids.wave)
        return self.runtime.tensor(np.stack([turns(index_gc, shift_c) for shift_c in shift_xc]), self.runtime.complex)

    def slope_vg(self, count: int) -> torch.Tensor:
        """i g of the first waves of the sphere: by it the coefficients of a field become those of its gradient."""
        return 1j * self.vector_gv[:count].T

    def inner(self, a_g: torch.Tensor, b_g: torch.Tensor) -> torch.Tensor:
        """∫ a(r) b(r) d³r of two real functions from their coefficients (last axis g)."""
        pair_g2 = torch.view_as_real(a_g) * torch.view_as_real(b_g)
        return (pair_g2.sum(-1) * self._integral_g[: a_g.shape[-1]]).sum(-1)

    @cached_property
    def _integral_g(self) -> torch.Tensor:
        return self.volume * self.weight_g


def make_basis(
    structure: Structure,
    kpoints: KPoints,
    cutoff: float,
    precision: str = "Accurate",
    runtime: Runtime | None = None,
    grids: GridSizes | None = None,
    real: bool = True,
    spin: Spin = UNPOLARISED,
) -> PlaneWaveBasis:
    """Build spheres and index maps.  cutoff in hartree; grids chosen from PREC unless given.

    real: real orbitals where all k-points (`KPoints.allow_real_orbitals`) or an inversion among the symmetries of the
    k-points allow it; False: complex ones everywhere.
    """
    runtime = runtime or Runtime()
    if grids is None:
        symmetry = kpoints.symmetry
        equal_axes = tuple(map(tuple, equivalent_axes(symmetry)))
        grids = choose_grids(structure, cutoff, precision, translation_denominators(symmetry), equal_axes)
    radius = sphere_radius(cutoff)
    lattice = Lattice(torch.tensor(structure.lattice_cv), runtime.device)
    dense_gc = sphere(structure, 2 * ELECTROSTATIC_FACTOR * radius, np.zeros(3), half=True)
    norm2_g = square(lattice.waves(runtime.index(dense_gc)))
    within = [int((norm2_g <= (factor * radius) ** 2 * (1 + 1e-12)).sum()) for factor in (LEAST_FACTOR, DENSITY_FACTOR)]
    _require_room(dense_gc[: within[0]], grids.wave, "NGX, NGY, NGZ")
    _require_room(dense_gc, grids.fine, "NGXF, NGYF, NGZF")
    apart_g = told_apart(structure, dense_gc[: within[1]], grids.wave)
    dense_gc = np.concatenate([dense_gc[: within[1]][apart_g], dense_gc[: within[1]][~apart_g], dense_gc[within[1] :]])
    index_gc, density_count = runtime.index(dense_gc), int(apart_g.sum())
    return PlaneWaveBasis(
        runtime=runtime, structure=structure, cutoff=cutoff, precision=precision, grids=grids,
        index_gc=index_gc, weight_g=1 + index_gc.any(1).to(runtime.real), density_count=density_count, lattice=lattice,
        wave_map=half_sphere_map(dense_gc[:density_count], grids.wave, runtime),
        fine_map=half_sphere_map(dense_gc, grids.fine, runtime), sphere_cv=structure.lattice_cv, spin=spin,
        **_of_orbitals(structure, kpoints, radius, grids, runtime, real),
    )


def _of_orbitals(
    structure: Structure, kpoints: KPoints, radius: float, grids: GridSizes, runtime: Runtime, real: bool
) -> dict[str, Any]:
    """What of a basis depends on the k-points."""
    own_k = runtime.grid.own(len(kpoints.point_kc))
    point_kc = kpoints.point_kc[own_k]
    wave_sphere_kGc = [sphere(structure, radius, point_c) for point_c in point_kc]
    in_space = real and kpoints.allow_real_orbitals
    inversion = inversion_of_orbitals(kpoints) if real else None
    if in_space:
        wave_sphere_kGc = [
            index_Gc[half_of(index_Gc, point_c)] for index_Gc, point_c in zip(wave_sphere_kGc, point_kc, strict=True)
        ]
    unit = runtime.bands.size * ALIGNMENT[runtime.device.type]
    padded = _pad_spheres(wave_sphere_kGc, point_kc, grids.wave, unit, in_space)
    size = padded.mask_kW.shape[1] // runtime.bands.size
    own_h = slice(size * runtime.bands.rank, size * (runtime.bands.rank + 1))
    if in_space:
        form, sphere_map = _real_in_space(padded, point_kc, runtime, grids.wave, own_h)
    elif inversion is not None:
        form, sphere_map = _real_by_inversion(padded, point_kc, inversion, runtime, grids.wave, own_h)
    else:
        form = WaveForm(False, runtime.complex)
        sphere_map = SphereMap(padded.filled(grids.wave), runtime.index(padded.flat_kW))
    return {
        "kpoints": kpoints, "own_k": own_k, "form": form, "own_h": own_h,
        "count_k": tuple(len(index_Gc) for index_Gc in wave_sphere_kGc),
        "index_khc": runtime.index(padded.index_kWc[:, own_h]), "mask_kh": runtime.tensor(padded.mask_kW[:, own_h]),
        "sphere_map": sphere_map, "inversion": inversion,
    }  # fmt: skip


def _require_room(index_gc: np.ndarray, size_c: tuple[int, int, int], tags: str) -> None:
    """Raise unless every g lies strictly inside the grid's Nyquist limits."""
    reach_c = np.abs(index_gc).max(axis=0)
    needed_c = 2 * reach_c + 1
    if (needed_c > np.array(size_c)).any():
        raise InputError(
            f"INCAR: {tags} = {size_c[0]} {size_c[1]} {size_c[2]} is too small: the density of this ENCUT needs at "
            f"least {needed_c[0]} {needed_c[1]} {needed_c[2]} points. Raise the grid or remove the tags."
        )


@dataclass(frozen=True)
class _Spheres:
    """Waves of all k-points padded to the same number: integer G, mask, places on the grid (of partners)."""

    index_kWc: np.ndarray
    mask_kW: np.ndarray
    flat_kW: np.ndarray
    mirror_kW: np.ndarray

    def filled(self, size_c: tuple[int, int, int]) -> FilledGrid:
        """The grid with the rows that some wave, or its partner, stands in."""
        true_kW = self.mask_kW > 0
        return FilledGrid.by(np.concatenate([self.flat_kW[true_kW], self.mirror_kW[true_kW]]), size_c)


def _pad_spheres(
    index_kGc: list[np.ndarray], point_kc: np.ndarray, size_c: tuple[int, int, int], unit: int, real: bool
) -> _Spheres:
    """Pad to the longest sphere and to a multiple of the unit."""
    longest = unit * ceil(max(len(index_Gc) for index_Gc in index_kGc) / unit)
    shape = len(index_kGc), longest
    flat_kW, mirror_kW = np.zeros((2, *shape), dtype=np.int64)
    padded = _Spheres(np.zeros((*shape, 3), dtype=np.int64), np.zeros(shape), flat_kW, mirror_kW)

    def flat(index_Gc: np.ndarray) -> np.ndarray:
        return np.ravel_multi_index(tuple((index_Gc % np.array(size_c)).T), size_c)

    for k, index_Gc in enumerate(index_kGc):
        count = len(index_Gc)
        padded.index_kWc[k, :count], padded.mask_kW[k, :count] = index_Gc, 1.0
        padded.flat_kW[k, :count] = flat(index_Gc)
        padded.mirror_kW[k, :count] = flat(partners(index_Gc, point_kc[k])) if real else padded.flat_kW[k, :count]
        # padding must scatter zeros to places that no plane wave of this k uses
        unused = np.ones(int(np.prod(size_c)), dtype=bool)
        unused[padded.flat_kW[k, :count]] = unused[padded.mirror_kW[k, :count]] = False
        padded.flat_kW[k, count:] = padded.mirror_kW[k, count:] = np.resize(np.flatnonzero(unused), longest - count)
    return padded


def _real_in_space(
    padded: _Spheres, point_kc: np.ndarray, runtime: Runtime, size_c: tuple[int, int, int], own_h: slice
) -> tuple[WaveForm, SphereMap]:
    """Half of the waves, two numbers for each."""
    moving_kW = (2 * padded.index_kWc + np.rint(2 * point_kc).astype(np.int64)[:, None]).any(-1)  # all but q = 0
    scale_kW = np.where(moving_kW, np.sqrt(2.0), 1.0) * padded.mask_kW
    form = WaveForm(True, runtime.real, runtime.tensor(scale_kW[:, own_h]))
    whole_kW = runtime.tensor(np.where(scale_kW > 0, scale_kW, 1.0))
    both_kW = np.concatenate([padded.flat_kW, padded.mirror_kW], axis=1)
    return form, SphereMap(padded.filled(size_c), runtime.index(both_kW), whole_kW)


def _real_by_inversion(
    padded: _Spheres, point_kc: np.ndarray, inversion: Inversion, runtime: Runtime, size_c: tuple[int, int, int],
    own_h: slice,
) -> tuple[WaveForm, SphereMap]:  # fmt: skip
    """All waves, a number for each."""
    wave_kWc, half_c = padded.index_kWc + point_kc[:, None], inversion.translation_c / 2
    form = WaveForm(True, runtime.real, turn_kh=runtime.tensor(turns(wave_kWc[:, own_h], half_c), runtime.complex))
    rest_c = inversion.off_grid(size_c)
    turn_kW = runtime.tensor(turns(wave_kWc, -rest_c), runtime.complex) if rest_c.any() else None
    return form, SphereMap(padded.filled(size_c), runtime.index(padded.flat_kW), None, True, turn_kW)
