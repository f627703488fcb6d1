"""Projectors in real space: <p̃|ψ> and Σ p̃ c from the points of the wave grid inside each atom's sphere.

With the filtered projectors χ (filtered.py), N points R of the wave grid and u = exp(-ik·r) ψ Ω^(1/2) on it,

    <p̃_I|ψ> = Ω^(1/2)/N Σ_R χ_I(R - R_a) exp(ik·R) u(R),

which is, up to rounding, the scalar product of ψ's plane waves with the vectors

    <k+G|p̃_I> = Ω^(1/2)/N Σ_R χ_I(R - R_a) exp(-i(k+G)·R).

All that is computed in reciprocal space uses those (`vectors`), so that both ways agree, H stays Hermitian, and only
the projectors themselves differ from the exact ones, by the error that ROPT allows.  Work grows with the number of
atoms times the points of a sphere, not times the plane waves of the cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import pi, sqrt

import numpy as np
import torch

from eigenwerk.dft.basis.lattice import length, square
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.basis.wave_form import SphereMap
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.paw.filtered import FilteredProjectors
from eigenwerk.dft.paw.radial_table import RadialTable
from eigenwerk.dft.paw.spherical import solid_harmonics, solid_harmonics_gradient

ALL_K = slice(None)
"""All k-points of the basis."""


@dataclass(frozen=True)
class SphereSpecies:
    """Atoms of one kind: their projectors, positions, first projectors on axis I; channel and harmonic of each i."""

    filtered: FilteredProjectors
    scaled_ac: np.ndarray
    start_a: np.ndarray
    j_i: np.ndarray
    L_i: np.ndarray


@dataclass(frozen=True)
class SpherePart:
    """Spheres of one species, padded to the same number of points P.

    start: of their points on the axis S of all spheres; place_x: of their projectors (a, i) on the axis I;
    table_aPi: Ω^(1/2)/N χ; offset_aPv: R - R_a, from which, with radial, the table of the derivative follows.
    """

    start: int
    place_x: torch.Tensor
    table_aPi: torch.Tensor
    offset_aPv: torch.Tensor
    radial: RadialTable
    species: SphereSpecies

    @property
    def points(self) -> slice:
        """Of this species on the axis S."""
        atoms, count, _ = self.table_aPi.shape
        return slice(self.start, self.start + atoms * count)


@dataclass(frozen=True)
class RealSpaceProjectors:
    """Projectors of all atoms on the wave grid.

    count: length of the axis I; index_S: points of the grid, sphere after sphere; phase_kS: exp(ik·R), None if all k
    are zero.
    """

    basis: PlaneWaveBasis
    count: int
    index_S: torch.Tensor
    phase_kS: torch.Tensor | None
    parts: tuple[SpherePart, ...]

    def problems(self, k: slice | torch.Tensor) -> "RealSpaceProjectors":
        """Some of the k-points."""
        return self if self.phase_kS is None else replace(self, phase_kS=self.phase_kS[k])

    def project(self, grid_ktR: torch.Tensor, count: int) -> torch.Tensor:
        """<p̃_I|ψ> of the `count` orbitals on the grids of `SphereMap.to_grid`; (k, n, I)."""
        k, t = grid_ktR.shape[:2]
        field_ktS = grid_ktR.flatten(2).gather(2, self.index_S.expand(k, t, -1))
        if self.phase_kS is not None:
            field_ktS *= self.phase_kS[:, None]
        # real and imaginary part one after the other, as two real fields
        field_xS = torch.view_as_real(field_ktS).movedim(-1, 2).reshape(k * t * 2, -1)
        proj_xI = field_xS.new_empty((len(field_xS), self.count))
        for part in self.parts:
            atoms, points, channels = part.table_aPi.shape
            field_axP = field_xS[:, part.points].unflatten(1, (atoms, points)).movedim(1, 0)
            proj_xI[:, part.place_x] = (field_axP @ part.table_aPi).movedim(0, 1).reshape(-1, atoms * channels)
        proj_kt2I = proj_xI.view(k, t, 2, self.count)
        if self.basis.form.real:
            return proj_kt2I.flatten(1, 2)[:, :count]
        return torch.view_as_complex(proj_kt2I.movedim(2, -1).contiguous())

    def add_back(self, grid_ktR: torch.Tensor, proj_knI: torch.Tensor) -> None:
        """grid += Σ_I p̃_I c_I, without the factor 1/N of the transform back: for `SphereMap.from_grid`, "backward"."""
        k, t = grid_ktR.shape[:2]
        if proj_knI.is_complex():
            proj_kt2I = torch.view_as_real(proj_knI).movedim(-1, 2)
        else:
            proj_kt2I = proj_knI.new_zeros((k, 2 * t, self.count))
            proj_kt2I[:, : proj_knI.shape[1]] = proj_knI
        proj_xI = proj_kt2I.reshape(k * t * 2, self.count)
        field_xS = proj_xI.new_empty((len(proj_xI), len(self.index_S)))
        for part in self.parts:
            atoms, points, channels = part.table_aPi.shape
            proj_axi = proj_xI[:, part.place_x].unflatten(1, (atoms, channels)).movedim(1, 0)
            field_xaP = field_xS[:, part.points].unflatten(1, (atoms, points))
            field_xaP.copy_((proj_axi @ part.table_aPi.mT).movedim(0, 1))
        self._scatter(grid_ktR, torch.view_as_complex(field_xS.view(k, t, 2, -1).movedim(2, -1).contiguous()))

    def _scatter(self, grid_ktR: torch.Tensor, field_ktS: torch.Tensor) -> None:
        if self.phase_kS is not None:
            field_ktS = field_ktS * self.phase_kS[:, None].conj()
        index_ktS = self.index_S.expand(*field_ktS.shape[:2], -1)
        grid_ktR.view(*grid_ktR.shape[:2], -1).scatter_add_(2, index_ktS, field_ktS)

    def vectors(self, sphere_map: SphereMap, k: slice = ALL_K) -> torch.Tensor:
        """<k+G|p̃_I> on the plane waves of this rank; (k, I, G).  k: which k-points."""
        basis, mask_kG = self.basis, self.basis.mask_kG[k]
        numbers = basis.form.numbers
        own = slice(basis.own_h.start * numbers, basis.own_h.stop * numbers)
        out_kIG = mask_kG.new_zeros((len(mask_kG), self.count, mask_kG.shape[1]), dtype=basis.form.dtype)
        for row, point in enumerate(range(len(basis.mask_kG))[k]):
            one = slice(point, point + 1)
            here, map_1 = self.problems(one), sphere_map.problems(one)
            for part in self.parts:
                for a, place_i in enumerate(part.place_x.view(len(part.table_aPi), -1)):
                    out_kIG[row, place_i] = here._sphere_vectors(part, a, map_1)[0, :, own]
        return out_kIG.mul_(mask_kG[:, None])

    def _sphere_vectors(self, part: SpherePart, a: int, sphere_map: SphereMap) -> torch.Tensor:
        """The projectors of one atom as vectors of whole spheres; (1, i, W)."""
        points, channels = part.table_aPi.shape[1:]
        own = slice(part.start + a * points, part.start + (a + 1) * points)
        phase_kS = None if self.phase_kS is None else self.phase_kS[:, own]
        atom = replace(self, count=channels, index_S=self.index_S[own], phase_kS=phase_kS)
        table_1iP = part.table_aPi[a].T[None].to(self.basis.runtime.complex)
        if self.basis.form.real:
            odd = table_1iP[:, 1::2]
            table_1iP = table_1iP[:, 0::2].clone()
            table_1iP[:, : odd.shape[1]] += 1j * odd
        grid_1pR = table_1iP.new_zeros((1, table_1iP.shape[1], *self.basis.grids.wave))
        atom._scatter(grid_1pR, table_1iP)
        return sphere_map.from_grid(grid_1pR, channels, norm="backward")

    def slopes(self, k: int, weight_IG: torch.Tensor) -> torch.Tensor:
        """A number whose derivative by the lattice is that of Re Σ_IG W_IG <k+G|p̃_I> of a k-point.

        That is Re <p̃_I|W*_I>: the tables times the fields that the rows of W* make on the points of the spheres.
        """
        basis, one = self.basis, slice(k, k + 1)
        here, map_1, numbers = self.problems(one), basis.sphere_map.problems(one), basis.form.numbers
        total, mask_G = weight_IG.real.new_zeros(()), basis.mask_kG[k]
        own_G = slice(basis.own_h.start * numbers, basis.own_h.stop * numbers)
        for part in self.parts:
            points, channels = part.table_aPi.shape[1:]
            field_aPi = torch.empty_like(part.table_aPi, requires_grad=False)
            for a, place_i in enumerate(part.place_x.view(len(part.table_aPi), -1)):
                row_1iW = weight_IG.new_zeros((1, channels, map_1.waves * numbers))
                row_1iW[0, :, own_G] = weight_IG[place_i].conj() * mask_G
                own = slice(part.start + a * points, part.start + (a + 1) * points)
                field_tP = map_1.to_grid(row_1iW)[0].flatten(1)[:, self.index_S[own]]
                if here.phase_kS is not None:
                    field_tP = field_tP * here.phase_kS[:, own]
                if basis.form.real:  # two rows share a field
                    field_tP = torch.view_as_real(field_tP).movedim(-1, 1).flatten(0, 1)[:channels]
                field_aPi[a] = field_tP.real.T
            total = total + (part.table_aPi * field_aPi).sum()
        return total

    def slope(self, v: int) -> "RealSpaceProjectors":
        """∂/∂R_a,v of all projectors, in their place."""
        return replace(self, parts=tuple(
            replace(part, table_aPi=_slopes(part, v) * _weight(self.basis)) for part in self.parts
        ))  # fmt: skip


def make_real_space(basis: PlaneWaveBasis, species: Sequence[SphereSpecies]) -> RealSpaceProjectors:
    """Tables of all atoms."""
    runtime, size_c = basis.runtime, np.array(basis.grids.wave)
    parts, index_x, point_xc, start = [], [], [], 0
    for kind in species:
        points_a = [sphere_points(basis.structure, basis.grids.wave, c, kind.filtered.radius) for c in kind.scaled_ac]
        most = max(1, max(len(point_xc) for point_xc in points_a))
        point_aPc = np.array(
            [_padded(point_xc, most, size_c, c) for point_xc, c in zip(points_a, kind.scaled_ac, strict=True)]
        )
        offset_aPv = basis.lattice.places(runtime.tensor(point_aPc / size_c - kind.scaled_ac[:, None]))
        coeff_pmj = np.stack([radial.c for radial in kind.filtered.radial_j], -1)
        radial = RadialTable.of(float(kind.filtered.radial_j[0].x[1]), coeff_pmj, runtime)
        place_ai = kind.start_a[:, None] + np.arange(len(kind.j_i))
        part = SpherePart(start, runtime.index(place_ai.ravel()), offset_aPv, offset_aPv, radial, kind)
        parts.append(replace(part, table_aPi=_values(part) * _weight(basis)))
        point_xc.append(point_aPc.reshape(-1, 3))
        index_x.append(np.ravel_multi_index(tuple((point_xc[-1] % size_c).T), basis.grids.wave))
        start += len(index_x[-1])
    phase_kS = None
    if np.any(basis.point_kc):
        angle_kS = 2 * pi * runtime.tensor(basis.point_kc) @ runtime.tensor(np.concatenate(point_xc) / size_c).T
        phase_kS = torch.polar(torch.ones_like(angle_kS), angle_kS)
    count = sum(len(part.place_x) for part in parts)
    return RealSpaceProjectors(basis, count, runtime.index(np.concatenate(index_x)), phase_kS, tuple(parts))


def sphere_points(
    structure: Structure, size_c: tuple[int, int, int], scaled_c: np.ndarray, radius: float
) -> np.ndarray:
    """Points of a periodic grid within a radius of a position, as integers of any cell; (x, 3)."""
    reach_c = radius * np.linalg.norm(structure.reciprocal_cv, axis=1) / (2 * pi)
    axis_c = [
        np.arange(int(np.ceil((s - reach) * n)), int(np.floor((s + reach) * n)) + 1)
        for s, reach, n in zip(scaled_c, reach_c, size_c, strict=True)
    ]
    point_xc = np.stack(np.meshgrid(*axis_c, indexing="ij"), axis=-1).reshape(-1, 3)
    offset_xv = (point_xc / np.array(size_c) - scaled_c) @ structure.lattice_cv
    return point_xc[(offset_xv**2).sum(axis=1) < radius**2]


def _padded(point_xc: np.ndarray, count: int, size_c: np.ndarray, scaled_c: np.ndarray) -> np.ndarray:
    """Points of one sphere and, up to the count, one far outside of it, where the projectors are zero."""
    far_c = np.rint(scaled_c * size_c).astype(np.int64) + 1000 * size_c
    return np.concatenate([point_xc, np.broadcast_to(far_c, (count - len(point_xc), 3))])


def _weight(basis: PlaneWaveBasis) -> torch.Tensor:
    """Ω^(1/2) / N."""
    return basis.volume.sqrt() / basis.wave_map.points


def _values(part: SpherePart) -> torch.Tensor:
    """χ_i(R - R_a), (a, P, i)."""
    harmonic_aPL = solid_harmonics(_lmax(part), part.offset_aPv)
    return _radial(part, part.radial) * harmonic_aPL[..., part.species.L_i]


def _slopes(part: SpherePart, v: int) -> torch.Tensor:
    """∂χ_i(R - R_a)/∂R_a,v = -(f' Y r_v/r + f ∂_v Y) for χ = f(r) Y, Y a solid harmonic; (a, P, i)."""
    offset_xv = part.offset_aPv.flatten(0, 1)
    along_aP1 = (offset_xv[:, v] / length(square(offset_xv))).view(*part.offset_aPv.shape[:2], 1)
    harmonic_aPL = solid_harmonics(_lmax(part), part.offset_aPv)
    gradient_aPL = solid_harmonics_gradient(_lmax(part), offset_xv)[..., v].view(harmonic_aPL.shape)
    L_i, slope_aPi = part.species.L_i, _radial(part, part.radial.slope)
    return -slope_aPi * along_aP1 * harmonic_aPL[..., L_i] - _radial(part, part.radial) * gradient_aPL[..., L_i]


def _lmax(part: SpherePart) -> int:
    return int(sqrt(part.species.L_i.max()))


def _radial(part: SpherePart, table: RadialTable) -> torch.Tensor:
    """f_j(r) = χ_j / r^l, or f', of the table for each i; zero outside the sphere; (a, P, i)."""
    radius, length_aP = part.species.filtered.radius, length(square(part.offset_aPv))
    value_jaP = table(length_aP.clamp_max(radius)) * (length_aP < radius)
    return value_jaP[part.species.j_i].movedim(0, -1)
