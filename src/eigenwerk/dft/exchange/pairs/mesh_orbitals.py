"""Occupied orbitals of all points of a mesh, made of those of the irreducible points by symmetry.

An operation x -> W x + t with Cartesian part R takes ψ of the point k to one of k' = W^-T k,

    c'(q') = c(q) exp(-2πi q'·t),  q' = W^-T q;     P'_b,i = exp(-2πi k'·n) Σ_j M_ij P_a,j,  W x_a + t = x_b + n,

q = k+G in fractional coordinates, M the matrix of the harmonics, Y_i(R x) = Σ_j M_ij Y_j(x).  Time reversal takes the
complex conjugate of either and -k'.  An operation that exchanges the spins takes the orbital of the other channel.

Every rank holds the coefficients of some bands of the irreducible points of its k-group.  Those of other ranks come
while it works with what it has in hand (`MeshOrbitals.parts`), two at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from eigenwerk.dft.basis.distribution import bands_per_rank
from eigenwerk.dft.basis.orbital_fft import FilledGrid, to_points, to_waves
from eigenwerk.dft.basis.wave_form import WaveForm, partners
from eigenwerk.dft.crystal.inversion import turns
from eigenwerk.dft.density.kinds.kind import filled_bands
from eigenwerk.dft.exchange.pairs.mesh_points import MeshPoint, mesh_points
from eigenwerk.dft.exchange.pairs.pair_grid import PairGrid
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.equivalence import projector_rotation
from eigenwerk.parallel.memory.block_sizes import EXCHANGE_SOURCE_BYTES
from eigenwerk.parallel.process_grid import share
from eigenwerk.parallel.ring import ring
from eigenwerk.record.traffic import TRAVEL


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


@dataclass(frozen=True)
class OwnBands:
    """Bands of a point on a rank, dealt: whole orbitals and their products with rows of projectors."""

    x_1bW: torch.Tensor
    rows_1bI: torch.Tensor


class MeshOrbitals:
    """The occupied orbitals of all spins and points of a mesh, shared out to the ranks of the world."""

    def __init__(self, stars: "Stars", own_skbx: torch.Tensor, occ_skn: torch.Tensor, dtype: torch.dtype):
        """own_skbx: of this rank, whole spheres and after them the products with rows of projectors, as vectors of the
        basis; occ_skn: 0 to 1, of all irreducible points and bands; dtype: complex numbers of orbitals on the grid."""
        self.stars, self.own_skbx, self.occ_skn, self.dtype = stars, own_skbx, occ_skn, dtype
        self._own = dict[int, MeshPart]()

    def parts(self, s: int) -> Iterator["MeshPart"]:
        """What each rank has of the orbitals that one spin is exchanged with, the own part first; collective.

        A part is not to be used after the next one was asked for.
        """
        runtime, (first, stop) = self.stars.basis.runtime, self._spins(s)
        own_skbx = self.own_skbx[first:stop]
        shapes = [(stop - first, *shape) for shape in self.stars.shapes(self.own_skbx.shape[2])]
        for rank, block_skbx in ring(runtime.world, own_skbx, shapes, runtime.trace, TRAVEL):
            yield self.own_part(s) if rank == runtime.world.rank else MeshPart(self, rank, first, block_skbx)

    def own_part(self, s: int) -> "MeshPart":
        """What this rank has of the orbitals that one spin is exchanged with."""
        first, stop = self._spins(s)
        if first not in self._own:
            self._own[first] = MeshPart(self, self.stars.basis.runtime.world.rank, first, self.own_skbx[first:stop])
        return self._own[first]

    def _spins(self, s: int) -> tuple[int, int]:
        """Channels that orbitals for one come from: the first and where they end."""
        return (0, len(self.own_skbx)) if any(point.flips for point in self.stars.mesh) else (s, s + 1)


class MeshPart:
    """Those of one rank: some bands of the irreducible points own_k of its k-group, and of their stars."""

    def __init__(self, whole: MeshOrbitals, rank: int, first_s: int, block_skbx: torch.Tensor):
        """block_skbx: as `own_skbx` of `MeshOrbitals`, of the spins from first_s on."""
        self.stars, self.dtype, self._first_s, self._block_skbx = whole.stars, whole.dtype, first_s, block_skbx
        self.rank, grid = rank, self.stars.basis.runtime.grid
        group, band_rank = divmod(rank, grid.band_ranks)
        self.own_k = share(whole.occ_skn.shape[1], grid.groups, group)
        self._occ_skb = whole.occ_skn[..., band_rank :: grid.band_ranks]
        self._made = dict[tuple[int, ...], tuple[torch.Tensor, torch.Tensor]]()

    def points(self, points: Sequence[MeshPoint]) -> list[MeshPoint]:
        """Those of some points that are in the stars of its own."""
        return [point for point in points if self.own_k.start <= point.irreducible < self.own_k.stop]

    def blocks(self, s: int, points: Sequence[MeshPoint], size: int) -> Iterator[SourceBlock]:
        """Its orbitals of a spin and some points, so many at a time; on a GPU those of several points together, where
        one has few."""
        together, waiting, count = self._block_skbx.is_cuda, list[tuple[MeshPoint, slice]](), 0
        for point in self.points(points):
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
        return filled_bands(self._occ_skb[self._spin(s, point), point.irreducible][None])

    def weights(self, s: int, point: MeshPoint) -> torch.Tensor:
        """w_n = f_n times the weight of the point."""
        return self._occ_skb[self._spin(s, point), point.irreducible] * point.weight

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
        vector_nG, rows_nI = stars.parted(self._block_skbx[spin - self._first_s, k - self.own_k.start, n])
        turned_nW = stars.on_whole_sphere(vector_nG, k) * phase_W
        if point.reverses:
            turned_nW = turned_nW.conj().resolve_conj()
        grid_nR = turned_nW.new_zeros((len(turned_nW), stars.points))
        grid_nR.index_copy_(1, index_W, turned_nW)
        u_nR = to_points(grid_nR.unflatten(1, stars.grid.size_c)[None], stars.grid)[0].flatten(1)
        u_nR = u_nR.real.contiguous() if stars.real else u_nR
        proj_nI = stars.turned_projections(point, stars.projections(rows_nI, k))
        made = u_nR.to(precision_of(u_nR, self.dtype)), proj_nI
        if self._keeps:
            self._made[key] = made
        return made

    @cached_property
    def _keeps(self) -> bool:
        """Whether there is room for all on the grid."""
        spins, _, occupied = self._block_skbx.shape[:3]
        points = len(self.points(self.stars.mesh))
        bytes_all = spins * points * occupied * self.stars.points * self.dtype.itemsize
        return self._block_skbx.is_cuda and bytes_all <= EXCHANGE_SOURCE_BYTES

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

    def __init__(self, atoms: PawAtoms, grid: PairGrid, any_wave: bool = True):
        """grid: on which the orbitals are wanted; any_wave: of the interaction, see `mesh_points`."""
        self.atoms, self.basis, self.shift_c = atoms, atoms.basis, grid.shift_c
        basis, kpoints = atoms.basis, atoms.basis.kpoints
        self.mesh = mesh_points(kpoints, any_wave)
        self.grid, self.points = FilledGrid(grid.size_c), grid.points
        # orbitals of Gamma alone are real on the grid
        self.real = basis.form.real_in_space and len(self.mesh) == 1 and not kpoints.point_kc.any()
        self._length_p = self._lengths()
        self._index_kWc, self._used_kW, self._form_k = self._whole_spheres()
        rotation_ovv = kpoints.symmetry.rotation_ovv
        self._rotation_oij = {
            one.setup.symbol: atoms.runtime.tensor(
                projector_rotation(rotation_ovv, one.setup.l_j), atoms.runtime.complex
            )
            for one in atoms.layout.species
        }

    def of(
        self, own_sk: Sequence[Sequence[OwnBands]], occ_skn: torch.Tensor, dtype: torch.dtype | None = None
    ) -> MeshOrbitals:
        """From this rank's bands of the points of its k-group; occ_skn: of all points and bands, in host memory; dtype:
        complex numbers on the grid, those of the basis by default."""
        used = filled_bands(occ_skn.flatten(0, 1))
        count = bands_per_rank(self.basis.runtime.bands, used)  # as many on all ranks, the last one perhaps zero
        first, width, rows = own_sk[0][0].x_1bW, own_sk[0][0].x_1bW.shape[2], own_sk[0][0].rows_1bI.shape[2]
        own_skbx = first.new_zeros((len(own_sk), len(own_sk[0]), count, width + rows))
        for s, own_k in enumerate(own_sk):
            for k, own in enumerate(own_k):
                there = min(count, own.x_1bW.shape[1])
                own_skbx[s, k, :there, :width] = own.x_1bW[0, :there]
                own_skbx[s, k, :there, width:] = own.rows_1bI[0, :there]
        return MeshOrbitals(self, own_skbx, occ_skn[..., :used], dtype or self.basis.runtime.complex)

    def shapes(self, bands: int) -> list[tuple[int, int, int]]:
        """Of what each rank of the world has of one spin, with so many bands each."""
        rows, band_ranks = self.atoms.layout.projector_count, self.basis.runtime.grid.band_ranks
        points_p = np.repeat(self._points_g, band_ranks).tolist()
        return [(count, bands, length + rows) for count, length in zip(points_p, self._length_p, strict=True)]

    def parted(self, block_nx: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Vectors of whole spheres, and their products with rows of projectors."""
        rows = self.atoms.layout.projector_count
        return block_nx[:, :-rows], block_nx[:, -rows:]

    @cached_property
    def plain(self) -> dict[int, MeshPoint]:
        """Those of the irreducible points that are in the mesh as they are, by number."""
        symmetry, found = self.basis.kpoints.symmetry, dict[int, MeshPoint]()
        for point in self.mesh:
            o = point.operation
            same = not (point.reverses or point.flips or np.any(symmetry.translation_oc[o]))
            if same and np.array_equal(symmetry.reciprocal_occ[o], np.eye(3)):
                found.setdefault(point.irreducible, point)
        return found

    def width(self, rank: int) -> int:
        """Numbers that travel for an orbital of a rank."""
        return self._length_p[rank] + self.atoms.layout.projector_count

    def vectors(self, field_nR: torch.Tensor, k: int) -> torch.Tensor:
        """Vectors of functions on the grid, used up, of an irreducible point that is in the mesh as it is; of complex
        ones where orbitals are real that of the real part; (n, G)."""
        index_W, phase_W = self.turned_waves(self.plain[k])
        grid_nR = to_waves(field_nR.unflatten(1, self.grid.size_c)[None], self.grid)[0].flatten(1)
        wave_nW = grid_nR.index_select(1, index_W) * (phase_W.conj() / self.points)
        form, used_W = self._form_k[k], self._used_kW[k]
        kept = self._length_p[self._rank_of[k]] // form.numbers
        all_nW = wave_nW.new_zeros((len(wave_nW), kept * (2 if form.real_in_space else 1)))
        all_nW.index_copy_(1, used_W, wave_nW)
        if form.real_in_space:
            first_nW, second_nW = all_nW.chunk(2, 1)
            paired_W = torch.zeros(2 * kept, dtype=torch.bool, device=used_W.device).index_fill_(0, used_W, True)[kept:]
            all_nW = torch.where(paired_W, 0.5 * (first_nW + second_nW.conj()), first_nW)
        return form.vectors(all_nW[None])[0]

    def rows(self, out_nI: torch.Tensor, k: int) -> torch.Tensor:
        """Coefficients of rows of such functions from those of projectors; (n, I)."""
        if self.atoms.pairs is not None:
            point_kc = self.basis.runtime.tensor(self.basis.kpoints.point_kc[k : k + 1])
            out_nI = self.atoms.pairs.rows_of_projections(out_nI[None], point_kc)[0]
        return (out_nI.real if self.basis.form.real else out_nI).to(self.basis.form.dtype)

    def projections(self, rows_nI: torch.Tensor, k: int) -> torch.Tensor:
        """<p̃_I|ψ̃>, complex, of an irreducible point, from the products with rows of projectors."""
        if self.atoms.pairs is not None:
            point_kc = self.basis.runtime.tensor(self.basis.kpoints.point_kc[k : k + 1])
            rows_nI = self.atoms.pairs.whole_projections(rows_nI[None], point_kc)[0]
        return rows_nI.to(self.basis.runtime.complex)

    def on_whole_sphere(self, vector_nG: torch.Tensor, k: int) -> torch.Tensor:
        """Complex coefficients, with the partners of waves, if half of them is kept, and without padding."""
        coeff_nW = self._form_k[k].waves(vector_nG[None])[0].to(self.basis.runtime.complex)
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

    @cached_property
    def _rank_of(self) -> list[int]:
        """The first rank of the k-group of each irreducible point."""
        band_ranks = self.basis.runtime.grid.band_ranks
        return [group * band_ranks for group, points in enumerate(self._points_g) for _ in range(points)]

    @cached_property
    def _points_g(self) -> list[int]:
        """Irreducible points of each k-group."""
        grid, count = self.basis.runtime.grid, len(self.basis.kpoints.point_kc)
        owns = [share(count, grid.groups, group) for group in range(grid.groups)]
        return [own.stop - own.start for own in owns]

    def _lengths(self) -> list[int]:
        """Numbers of a vector of a whole sphere on each rank of the world."""
        runtime = self.basis.runtime
        own = runtime.bands.size * self.basis.mask_kG.shape[1]
        return runtime.world.all_gather(runtime.index([own]), [1] * runtime.world.size).tolist()

    def _whole_spheres(self) -> tuple[list[np.ndarray], list[torch.Tensor], list[WaveForm]]:
        """Of all irreducible points: integer waves of whole spheres, which of the coefficients they are, and how these
        follow from vectors."""
        basis, form, point_kc = self.basis, self.basis.form, self.basis.kpoints.point_kc
        index_kWc = self._of_all_points(basis.index_khc).cpu().numpy()
        mask_kW = self._of_all_points(basis.mask_kh).cpu().numpy() > 0
        scale_kW, turn_kW = (
            None if x_kh is None else self._of_all_points(x_kh) for x_kh in (form.scale_kh, form.turn_kh)
        )
        grid, waves, used, forms = basis.runtime.grid, [], [], []
        length_k = np.repeat(self._length_p[:: grid.band_ranks], self._points_g)
        for k, (index_Wc, mask_W, point_c) in enumerate(zip(index_kWc, mask_kW, point_kc, strict=True)):
            # without what makes the spheres of all k-groups equally long
            own = slice(0, length_k[k] // form.numbers)
            index_Wc, mask_W = index_Wc[own], mask_W[own]
            scale_1W, turn_1W = (None if x_kW is None else x_kW[k : k + 1, own] for x_kW in (scale_kW, turn_kW))
            forms.append(WaveForm(form.real, form.dtype, scale_1W, turn_1W))
            if form.real_in_space:
                partner_Wc = partners(index_Wc, point_c)
                mask_W = np.concatenate([mask_W, mask_W & (partner_Wc != index_Wc).any(1)])
                index_Wc = np.concatenate([index_Wc, partner_Wc])
            waves.append(index_Wc[mask_W])
            used.append(basis.runtime.index(np.flatnonzero(mask_W)))
        return waves, used, forms

    def _of_all_points(self, value_kx: torch.Tensor) -> torch.Tensor:
        """Values of this k-group's points -> those of all points; the last axis (the second of integers) is that of
        this rank's plane waves, and becomes whole spheres."""
        grid = self.basis.runtime.grid
        axis = 1 if not value_kx.is_floating_point() and not value_kx.is_complex() else value_kx.dim() - 1
        whole_Wx = grid.bands.all_gather(value_kx.movedim(axis, 0).contiguous())
        longest = int(grid.kpoints.max(self.basis.runtime.index([len(whole_Wx)])))
        if longest > len(whole_Wx):
            missing = whole_Wx.new_zeros((longest - len(whole_Wx), *whole_Wx.shape[1:]))
            whole_Wx = torch.cat([whole_Wx, missing])
        return grid.kpoints.all_gather(whole_Wx.movedim(0, axis).contiguous(), self._points_g)
