"""Occupied orbitals of all points of a mesh, made of those of the irreducible points by symmetry.

An operation x -> W x + t with Cartesian part R takes ψ of the point k to one of k' = W^-T k,

    c'(q') = c(q) exp(-2πi q'·t),  q' = W^-T q;     P'_b,i = exp(-2πi k'·n) Σ_j M_ij P_a,j,  W x_a + t = x_b + n,

q = k+G in fractional coordinates, M the matrix of the harmonics, Y_i(R x) = Σ_j M_ij Y_j(x).  Time reversal takes the
complex conjugate of either and -k'.  An operation that exchanges the spins takes the orbital of the other channel.

Every rank holds the coefficients of all occupied orbitals of the irreducible points.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from eigenwerk.dft.basis.orbital_fft import FilledGrid, to_points
from eigenwerk.dft.basis.wave_form import partners
from eigenwerk.dft.crystal.inversion import turns
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.density import filled_bands
from eigenwerk.dft.exchange.pair_grid import PairGrid
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.equivalence import projector_rotation
from eigenwerk.dft.paw.one_centre import projections
from eigenwerk.parallel.block_sizes import EXCHANGE_SOURCE_BYTES
from eigenwerk.parallel.process_grid import share

SAME_POINT = 10**7
"""Coordinates of k-points that agree to as many parts are one."""


@dataclass(frozen=True)
class MeshPoint:
    """A point of the whole mesh: point_c fractional; weight, of all 1 in sum; the irreducible point and the operation
    that it is made of."""

    point_c: np.ndarray
    weight: float
    irreducible: int
    operation: int
    reverses: bool
    flips: bool


def mesh_points(kpoints: KPoints) -> tuple[MeshPoint, ...]:
    """All points of a mesh, each as its operation makes it (not wrapped); of a list, the stars of its points.

    Points of a list share their weights with their stars, as their density does.
    """
    if kpoints.irreducible_of_full is None:
        return tuple(point for k in range(len(kpoints.point_kc)) for point in _star(kpoints, k))
    count = len(kpoints.irreducible_of_full)
    operation_k = np.zeros(count, int) if kpoints.operation_of_full is None else kpoints.operation_of_full
    reversed_k = np.zeros(count, bool) if kpoints.reversed_of_full is None else kpoints.reversed_of_full
    made_of = zip(kpoints.irreducible_of_full, operation_k, reversed_k, strict=True)
    return tuple(_made(kpoints, int(k), int(o), bool(reverses), 1 / count) for k, o, reverses in made_of)


def _made(kpoints: KPoints, k: int, o: int, reverses: bool, weight: float) -> MeshPoint:
    point_c = kpoints.symmetry.reciprocal_occ[o] @ kpoints.point_kc[k]
    flips = bool(kpoints.symmetry.spin_flip_o[o])
    return MeshPoint(-point_c if reverses else point_c, weight, k, o, reverses, flips)


def _star(kpoints: KPoints, k: int) -> list[MeshPoint]:
    """The different images of a point of a list; none without weight."""
    if kpoints.weight_k[k] == 0:
        return []
    symmetry, found = kpoints.symmetry, dict[tuple[int, ...], tuple[int, bool]]()
    for reverses in (False, True) if symmetry.time_reversal else (False,):
        for o, matrix_cc in enumerate(symmetry.reciprocal_occ):
            image_c = (-1 if reverses else 1) * (matrix_cc @ kpoints.point_kc[k])
            key = tuple(int(x) % SAME_POINT for x in np.rint(image_c * SAME_POINT))
            found.setdefault(key, (o, reverses))
    return [_made(kpoints, k, *way, float(kpoints.weight_k[k]) / len(found)) for way in found.values()]


@dataclass(frozen=True)
class SourceBlock:
    """Some orbitals of one spin: u_nR on the grid, proj_nI = <p̃_I|ψ̃_n>, weight_n = f times the point's; the points
    that they are of, and q_n: of which one each is."""

    u_nR: torch.Tensor
    proj_nI: torch.Tensor
    weight_n: torch.Tensor
    points: tuple[MeshPoint, ...]
    q_n: torch.Tensor

    def some(self, n: slice, u_nR: torch.Tensor) -> "SourceBlock":
        """Some of them; u_nR: of all, perhaps in other numbers."""
        return SourceBlock(u_nR[n], self.proj_nI[n], self.weight_n[n], self.points, self.q_n[n])


class MeshOrbitals:
    """The occupied orbitals of all spins and points of a mesh."""

    def __init__(
        self, stars: "Stars", coeff_sknW: torch.Tensor, proj_sknI: torch.Tensor, occ_skn: torch.Tensor,
        dtype: torch.dtype,
    ):  # fmt: skip
        """coeff_sknW, proj_sknI, occ_skn (0 to 1): of all irreducible points, complex, whole spheres; dtype: complex
        numbers of orbitals on the grid."""
        self.stars, self.coeff_sknW, self.proj_sknI, self.occ_skn = stars, coeff_sknW, proj_sknI, occ_skn
        self.dtype, self._made = dtype, dict[tuple[int, ...], tuple[torch.Tensor, torch.Tensor]]()

    def blocks(self, s: int, points: Sequence[MeshPoint], size: int) -> Iterator[SourceBlock]:
        """Occupied orbitals of a spin and some points, so many at a time; on a GPU those of several points together,
        where one has few."""
        together, waiting, count = self.coeff_sknW.is_cuda, list[tuple[MeshPoint, slice]](), 0
        for point in points:
            for n in blocks_of(self.filled(s, point), size):
                if waiting and (not together or count + n.stop - n.start > size):
                    yield self._block(s, waiting)
                    waiting, count = [], 0
                waiting.append((point, n))
                count += n.stop - n.start
        if waiting:
            yield self._block(s, waiting)

    def filled(self, s: int, point: MeshPoint) -> int:
        """How many orbitals of a point may be occupied."""
        return filled_bands(self.occ_skn[self._spin(s, point), point.irreducible][None])

    def weights(self, s: int, point: MeshPoint) -> torch.Tensor:
        """w_n = f_n times the weight of the point."""
        return self.occ_skn[self._spin(s, point), point.irreducible] * point.weight

    def block(self, s: int, point: MeshPoint, n: slice) -> SourceBlock:
        """Some orbitals of one point."""
        return self._block(s, [(point, n)])

    def _block(self, s: int, pieces: list[tuple[MeshPoint, slice]]) -> SourceBlock:
        made = [self._piece(self._spin(s, point), point, n) for point, n in pieces]
        orbitals, projections_ = zip(*made, strict=True)
        weights = [self.weights(s, point)[n] for point, n in pieces]
        place_n = torch.repeat_interleave(torch.tensor([len(weight_n) for weight_n in weights]))
        u_nR, proj_nI = (one[0] if len(one) == 1 else torch.cat(one) for one in (orbitals, projections_))
        points = tuple(point for point, _ in pieces)
        return SourceBlock(u_nR, proj_nI, torch.cat(weights).to(proj_nI.device), points, place_n.to(proj_nI.device))

    def _piece(self, spin: int, point: MeshPoint, n: slice) -> tuple[torch.Tensor, torch.Tensor]:
        """Orbitals of one point, turned, on the grid, and their projections; a GPU keeps them."""
        key = spin, point.irreducible, point.operation, int(point.reverses), n.start, n.stop
        if key in self._made:
            return self._made[key]
        stars, k = self.stars, point.irreducible
        index_W, phase_W = stars.turned_waves(point)
        turned_nW = stars.on_whole_sphere(self.coeff_sknW[spin, k, n], k) * phase_W
        if point.reverses:
            turned_nW = turned_nW.conj().resolve_conj()
        grid_nR = turned_nW.new_zeros((len(turned_nW), stars.points))
        grid_nR.index_copy_(1, index_W, turned_nW)
        u_nR = to_points(grid_nR.unflatten(1, stars.grid.size_c)[None], stars.grid)[0].flatten(1)
        u_nR = u_nR.real.contiguous() if stars.real else u_nR
        made = u_nR.to(precision_of(u_nR, self.dtype)), stars.turned_projections(point, self.proj_sknI[spin, k, n])
        if self._keeps:
            self._made[key] = made
        return made

    @cached_property
    def _keeps(self) -> bool:
        """Whether there is room for all on the grid."""
        spins, _, occupied = self.occ_skn.shape
        bytes_all = spins * len(self.stars.mesh) * occupied * self.stars.points * self.dtype.itemsize
        return self.coeff_sknW.is_cuda and bytes_all <= EXCHANGE_SOURCE_BYTES

    @staticmethod
    def _spin(s: int, point: MeshPoint) -> int:
        """The channel that the orbitals for channel s come from."""
        return 1 - s if point.flips else s


def precision_of(value: torch.Tensor, dtype: torch.dtype) -> torch.dtype:
    """A complex type, or the real one that belongs to it, for a tensor."""
    return dtype if value.is_complex() else torch.empty(0, dtype=dtype).real.dtype


def blocks_of(count: int, size: int) -> Sequence[slice]:
    """0 ... count-1 in pieces of at most `size`."""
    return [slice(first, min(first + size, count)) for first in range(0, count, size)]


class Stars:
    """How the orbitals of a basis become those of all points of its mesh: integers and phases, made once.

    shift_c: of the grid against the origin of the cell, fractional, which the phases hold.
    """

    def __init__(self, atoms: PawAtoms, grid: PairGrid):
        """grid: on which the orbitals are wanted."""
        self.atoms, self.basis, self.shift_c = atoms, atoms.basis, grid.shift_c
        basis, kpoints = atoms.basis, atoms.basis.kpoints
        self.mesh = mesh_points(kpoints)
        self.grid, self.points = FilledGrid(grid.size_c), grid.points
        # orbitals of Gamma alone are real on the grid
        self.real = basis.form.real_in_space and len(self.mesh) == 1 and not kpoints.point_kc.any()
        self._index_kWc, self._used_kW = self._whole_spheres()
        rotation_ovv = kpoints.symmetry.rotation_ovv
        self._rotation_oij = {
            one.setup.symbol: atoms.runtime.tensor(
                projector_rotation(rotation_ovv, one.setup.l_j), atoms.runtime.complex
            )
            for one in atoms.layout.species
        }

    def of(self, coeff_sknG: torch.Tensor, occ_skn: torch.Tensor, dtype: torch.dtype | None = None) -> MeshOrbitals:
        """From the orbitals of this k-group on this rank's plane waves; occ_skn: of all points, in host memory; dtype:
        complex numbers on the grid, those of the basis by default."""
        atoms, basis, runtime = self.atoms, self.basis, self.basis.runtime
        used = filled_bands(occ_skn.flatten(0, 1))
        own_coeff, own_proj = [], []
        for x_knG in coeff_sknG[:, :, :used]:
            own_coeff.append(basis.form.waves(x_knG).to(runtime.complex))
            rows_knI = runtime.bands.sum(projections(x_knG, atoms.projector_kIG))
            own_proj.append(true_projections(atoms, rows_knI))
        coeff_ksnW = self._of_all_points(torch.stack(own_coeff, 1), True)
        proj_ksnI = self._of_all_points(torch.stack(own_proj, 1), False)
        whole = coeff_ksnW.movedim(0, 1), proj_ksnI.movedim(0, 1), occ_skn[..., :used]
        return MeshOrbitals(self, *whole, dtype or runtime.complex)

    def on_whole_sphere(self, coeff_nW: torch.Tensor, k: int) -> torch.Tensor:
        """With the partners of waves, if half of them is kept, and without padding."""
        if self.basis.form.real_in_space:
            coeff_nW = torch.cat([coeff_nW, coeff_nW.conj()], 1)
        return coeff_nW.index_select(1, self._used_kW[k])

    def turned_waves(self, point: MeshPoint) -> tuple[torch.Tensor, torch.Tensor]:
        """Places on the grid of what becomes of the waves, and phases (before a complex conjugation); made once."""
        key = point.irreducible, point.operation, point.reverses
        if key not in self._turned:
            self._turned[key] = self._places_and_phases(point)
        return self._turned[key]

    @cached_property
    def _turned(self) -> dict[tuple[int, int, bool], tuple[torch.Tensor, torch.Tensor]]:
        return {}

    def _places_and_phases(self, point: MeshPoint) -> tuple[torch.Tensor, torch.Tensor]:
        symmetry, o = self.basis.kpoints.symmetry, point.operation
        sign = -1 if point.reverses else 1
        turned_Wc = self._index_kWc[point.irreducible] @ symmetry.reciprocal_occ[o].T  # q' - k'
        wave_Wc = turned_Wc + sign * point.point_c
        size_c = self.grid.size_c
        flat_W = np.ravel_multi_index(tuple((sign * turned_Wc % np.array(size_c)).T), size_c)
        phase_W = turns(wave_Wc, self.shift_c - symmetry.translation_oc[o])
        return self.basis.runtime.index(flat_W), self.basis.runtime.tensor(phase_W, self.basis.runtime.complex)

    def turned_projections(self, point: MeshPoint, proj_nI: torch.Tensor) -> torch.Tensor:
        """<p̃_I|ψ̃> of the turned orbitals."""
        out_nI = torch.empty_like(proj_nI)
        for column_ai, target_ai, rotation_ij, factor_a1 in self._turned_columns(point):
            out_nI[:, target_ai] = (proj_nI[:, column_ai] @ rotation_ij.T) * factor_a1
        return out_nI.conj().resolve_conj() if point.reverses else out_nI

    def _turned_columns(self, point: MeshPoint) -> list[tuple[torch.Tensor, ...]]:
        """Of each species: places of its projections and of what becomes of them, rotation, phases; made once."""
        key = point.irreducible, point.operation, point.reverses
        if key in self._columns:
            return self._columns[key]
        layout, symmetry, runtime, o = self.atoms.layout, self.basis.kpoints.symmetry, self.basis.runtime, key[1]
        scaled_ac, atom_a = self.basis.structure.scaled_ac, symmetry.atom_map_oa[o]
        moved_ac = scaled_ac @ symmetry.rotation_occ[o].T + symmetry.translation_oc[o] - scaled_ac[atom_a]
        sign = -1 if point.reverses else 1
        phase_a = turns(-np.rint(moved_ac), sign * point.point_c)
        found = list[tuple[torch.Tensor, ...]]()
        for species in layout.species:
            column_ai = layout.columns(species, runtime.device)
            place = {int(a): x for x, a in enumerate(species.atom_a)}
            target_x = runtime.index([place[int(atom_a[a])] for a in species.atom_a])
            factor_a1 = runtime.tensor(phase_a[species.atom_a], runtime.complex)[:, None]
            rotation_ij = self._rotation_oij[species.setup.symbol][o]
            found.append((column_ai, column_ai[target_x], rotation_ij, factor_a1))
        self._columns[key] = found
        return found

    @cached_property
    def _columns(self) -> dict[tuple[int, int, bool], list[tuple[torch.Tensor, ...]]]:
        return {}

    def _whole_spheres(self) -> tuple[list[np.ndarray], list[torch.Tensor]]:
        """Of all irreducible points: integer waves of whole spheres, and which of the gathered numbers they are."""
        basis, point_kc = self.basis, self.basis.kpoints.point_kc
        index_kWc = self._of_all_points(basis.index_khc, True).cpu().numpy()
        mask_kW = self._of_all_points(basis.mask_kh, True).cpu().numpy() > 0
        waves, used = [], []
        for index_Wc, mask_W, point_c in zip(index_kWc, mask_kW, point_kc, strict=True):
            if basis.form.real_in_space:
                partner_Wc = partners(index_Wc, point_c)
                mask_W = np.concatenate([mask_W, mask_W & (partner_Wc != index_Wc).any(1)])
                index_Wc = np.concatenate([index_Wc, partner_Wc])
            waves.append(index_Wc[mask_W])
            used.append(basis.runtime.index(np.flatnonzero(mask_W)))
        return waves, used

    def _of_all_points(self, value_kx: torch.Tensor, waves: bool) -> torch.Tensor:
        """Values of this k-group's points -> those of all points.

        waves: the last axis (the second of integers) is that of this rank's plane waves, and becomes whole spheres.
        """
        grid, count = self.basis.runtime.grid, len(self.basis.kpoints.point_kc)
        if waves:
            axis = 1 if not value_kx.is_floating_point() and not value_kx.is_complex() else value_kx.dim() - 1
            whole_Wx = grid.bands.all_gather(value_kx.movedim(axis, 0).contiguous())
            longest = int(grid.kpoints.max(self.basis.runtime.index([len(whole_Wx)])))
            if longest > len(whole_Wx):
                missing = whole_Wx.new_zeros((longest - len(whole_Wx), *whole_Wx.shape[1:]))
                whole_Wx = torch.cat([whole_Wx, missing])
            value_kx = whole_Wx.movedim(0, axis)
        lengths = [(own := share(count, grid.groups, group)).stop - own.start for group in range(grid.groups)]
        return grid.kpoints.all_gather(value_kx.contiguous(), lengths)


def true_projections(atoms: PawAtoms, rows_knI: torch.Tensor) -> torch.Tensor:
    """<p̃_I|ψ̃>, complex, from the products of orbitals with the rows of projectors of their form."""
    if atoms.pairs is None:
        return rows_knI.to(atoms.runtime.complex)
    return atoms.pairs.whole_projections(rows_knI, atoms.runtime.tensor(atoms.basis.point_kc))
