"""The plane-wave world of one calculation: spheres, grids and their index maps.

Orbitals   ψ_nk(r) = Ω^(-1/2) Σ_G c_nk(G) exp(i (k+G)·r),   |k+G|²/2 <= E_cut
Densities  n(r)    = Σ_g n(g) exp(i g·r),                    |g| <= density radius

Densities are real, so only one of each pair ±g is kept (`weight_g` counts both).  The list of g is
sorted by length: its first `density_count` members are the density sphere, all of it is the larger
electrostatic sphere.
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np
import torch

from eigenwerk.dft.grids import (
    ELECTROSTATIC_FACTOR,
    PRECISION_FACTOR,
    GridSizes,
    choose_grids,
    sphere,
    sphere_radius,
)
from eigenwerk.dft.kpoints import KPoints
from eigenwerk.dft.structure import Structure
from eigenwerk.dft.symmetry import equivalent_axes, translation_denominators
from eigenwerk.dft.transforms import HalfSphereMap, half_sphere_map
from eigenwerk.errors import InputError
from eigenwerk.parallel.runtime import Runtime


@dataclass(frozen=True)
class PlaneWaveBasis:
    """Plane waves of the k-points of this k-group, padded along G to the longest sphere and shared by its band ranks.

    kpoints: all irreducible points; own_k: those of this group, which k counts.  own_G: the plane waves of this rank,
    which G counts: a slice of the padded sphere.  count_k: plane waves of the whole spheres.
    index_kGc integer G; mask_kG 1 for true plane waves, 0 for padding; kinetic_kG = |k+G|²/2;
    sphere_index_kG flat position on the wave grid of the whole spheres (padding points to unused grid points);
    index_gc integer g of the electrostatic half sphere; vector_gv = g in bohr⁻¹; weight_g 1 or 2;
    wave_map, fine_map: positions on the two FFT grids (the wave grid holds the density sphere only).
    """

    runtime: Runtime
    structure: Structure
    kpoints: KPoints
    cutoff: float
    precision: str
    grids: GridSizes
    own_k: slice
    own_G: slice
    count_k: tuple[int, ...]
    index_kGc: torch.Tensor
    mask_kG: torch.Tensor
    kinetic_kG: torch.Tensor
    sphere_index_kG: torch.Tensor
    index_gc: torch.Tensor
    vector_gv: torch.Tensor
    weight_g: torch.Tensor
    density_count: int
    wave_map: HalfSphereMap
    fine_map: HalfSphereMap

    @cached_property
    def norm2_g(self) -> torch.Tensor:
        """|g|² of the electrostatic sphere, bohr⁻²."""
        return (self.vector_gv**2).sum(dim=1)

    @cached_property
    def weight_k(self) -> torch.Tensor:
        """Weights of all irreducible k-points, those of other groups included; they sum to 1."""
        return self.runtime.tensor(self.kpoints.weight_k)

    @property
    def point_kc(self) -> np.ndarray:
        """Fractional k-points of this group."""
        return self.kpoints.point_kc[self.own_k]

    @property
    def volume(self) -> float:
        """Cell volume, bohr³."""
        return self.structure.volume

    @cached_property
    def wave_vector_kGv(self) -> torch.Tensor:
        """k+G in bohr⁻¹, zero at padding."""
        point_k1c = self.runtime.tensor(self.point_kc)[:, None]
        reciprocal_cv = self.runtime.tensor(self.structure.reciprocal_cv)
        return (self.index_kGc + point_k1c) @ reciprocal_cv * self.mask_kG[..., None]

    def inner(self, a_g: torch.Tensor, b_g: torch.Tensor) -> torch.Tensor:
        """∫ a(r) b(r) d³r of two real functions from their coefficients (last axis g)."""
        weight_g = self.weight_g[: a_g.shape[-1]]
        return self.volume * ((a_g.real * b_g.real + a_g.imag * b_g.imag) * weight_g).sum(-1)


def make_basis(
    structure: Structure,
    kpoints: KPoints,
    cutoff: float,
    precision: str = "Accurate",
    runtime: Runtime | None = None,
    grids: GridSizes | None = None,
) -> PlaneWaveBasis:
    """Build spheres and index maps.  cutoff in hartree; grids chosen from PREC unless given."""
    runtime = runtime or Runtime()
    if grids is None:
        symmetry = kpoints.symmetry
        equal_axes = tuple(map(tuple, equivalent_axes(symmetry)))
        grids = choose_grids(structure, cutoff, precision, translation_denominators(symmetry), equal_axes)
    radius = sphere_radius(cutoff)
    own_k = runtime.grid.own(len(kpoints.point_kc))
    point_kc = kpoints.point_kc[own_k]
    wave_sphere_kGc = [sphere(structure, radius, point_c) for point_c in point_kc]
    density_radius = PRECISION_FACTOR[precision] * radius
    dense_gc = sphere(structure, 2 * ELECTROSTATIC_FACTOR * radius, np.zeros(3), half=True)
    norm2_g = ((dense_gc @ structure.reciprocal_cv) ** 2).sum(axis=1)
    density_count = int((norm2_g <= density_radius**2 * (1 + 1e-12)).sum())
    _require_room(dense_gc[:density_count], grids.wave, "NGX, NGY, NGZ")
    _require_room(dense_gc, grids.fine, "NGXF, NGYF, NGZF")
    padded = _pad_spheres(wave_sphere_kGc, point_kc, structure, grids.wave, runtime.bands.size)
    size = padded[0].shape[1] // runtime.bands.size
    own_G = slice(size * runtime.bands.rank, size * (runtime.bands.rank + 1))
    return PlaneWaveBasis(
        runtime=runtime, structure=structure, kpoints=kpoints, cutoff=cutoff, precision=precision, grids=grids,
        own_k=own_k, own_G=own_G, count_k=tuple(len(index_Gc) for index_Gc in wave_sphere_kGc),
        index_kGc=runtime.index(padded[0][:, own_G]), mask_kG=runtime.tensor(padded[1][:, own_G]),
        kinetic_kG=runtime.tensor(padded[2][:, own_G]), sphere_index_kG=runtime.index(padded[3]),
        index_gc=runtime.index(dense_gc), vector_gv=runtime.tensor(dense_gc @ structure.reciprocal_cv),
        weight_g=runtime.tensor(np.where((dense_gc == 0).all(axis=1), 1.0, 2.0)), density_count=density_count,
        wave_map=half_sphere_map(dense_gc[:density_count], grids.wave, runtime),
        fine_map=half_sphere_map(dense_gc, grids.fine, runtime),
    )


def _require_room(index_gc: np.ndarray, size_c: tuple[int, int, int], tags: str) -> None:
    """Raise unless every g lies strictly inside the grid's Nyquist limits."""
    reach_c = np.abs(index_gc).max(axis=0)
    needed_c = 2 * reach_c + 1
    if (needed_c > np.array(size_c)).any():
        raise InputError(
            f"INCAR: {tags} = {size_c[0]} {size_c[1]} {size_c[2]} is too small: the density of this ENCUT needs at "
            f"least {needed_c[0]} {needed_c[1]} {needed_c[2]} points. Raise the grid or remove the tags."
        )


def _pad_spheres(
    index_kGc: list[np.ndarray], point_kc: np.ndarray, structure: Structure, size_c: tuple[int, int, int], parts: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Integer G, mask, kinetic energy and flat grid index of all k, padded to the longest sphere and to equal parts."""
    longest = parts * ceil(max(len(index_Gc) for index_Gc in index_kGc) / parts)
    kpts = len(index_kGc)
    padded_kGc = np.zeros((kpts, longest, 3), dtype=np.int64)
    mask_kG, kinetic_kG = np.zeros((kpts, longest)), np.zeros((kpts, longest))
    flat_kG = np.zeros((kpts, longest), dtype=np.int64)
    for k, index_Gc in enumerate(index_kGc):
        count = len(index_Gc)
        padded_kGc[k, :count], mask_kG[k, :count] = index_Gc, 1.0
        kinetic_kG[k, :count] = 0.5 * (((index_Gc + point_kc[k]) @ structure.reciprocal_cv) ** 2).sum(axis=1)
        flat_kG[k, :count] = np.ravel_multi_index(tuple((index_Gc % np.array(size_c)).T), size_c)
        # padding must scatter zeros to places that no plane wave of this k uses
        unused = np.setdiff1d(np.arange(min(int(np.prod(size_c)), count + 4 * longest)), flat_kG[k, :count])
        flat_kG[k, count:] = unused[: longest - count]
    return padded_kGc, mask_kG, kinetic_kG, flat_kG
