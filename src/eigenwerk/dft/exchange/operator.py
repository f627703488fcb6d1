"""The operator of exact exchange between orbitals, applied to orbitals as solvers see them.

V_x of the occupied orbitals of the whole mesh (pairs.py), for the points of this k-group; each rank takes the bands it
has in the layout of bands, so that pairs are shared by all ranks: bands are dealt one by one, and ranks have as many
occupied ones.  A rank begins with the sources that it has itself; those of the others come meanwhile, and what each
part makes of the targets is added up on their waves.  One-centre parts are functions of the occupancies D and stand on
their own (one_centre.py).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil

import numpy as np
import torch
from torch.nn.functional import pad

from eigenwerk.dft.basis.distribution import ToBands, ToWaves, bands_per_rank, dealt_bands
from eigenwerk.dft.basis.wave_form import SphereMap
from eigenwerk.dft.crystal.downsampling import Downsampling
from eigenwerk.dft.density.kinds.kind import filled_bands
from eigenwerk.dft.exchange.kernel import ExchangeKernel
from eigenwerk.dft.exchange.kernels.pair_loops import PairTable
from eigenwerk.dft.exchange.pairs.mesh_orbitals import MeshOrbitals, MeshPart, OwnBands, SourceBlock, Stars, blocks_of
from eigenwerk.dft.exchange.pairs.mesh_points import MeshPoint
from eigenwerk.dft.exchange.pairs.pair_fields import PairFields, Targets
from eigenwerk.dft.exchange.pairs.pair_grid import PairGrid
from eigenwerk.dft.exchange.pairs.pairs import PairExchange, block_of_sources
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.one_centre import projections
from eigenwerk.parallel.memory.block_sizes import EXCHANGE_GRID_BYTES, exchange_bytes


@dataclass(frozen=True)
class Share:
    """Bands of a spin and point on a rank: whole orbitals, their rows, w_k g f of them and of all bands."""

    s: int
    k: int
    x_1bW: torch.Tensor
    rows_1bI: torch.Tensor
    filling_b: torch.Tensor
    filling_n: torch.Tensor


@dataclass(frozen=True)
class RootOccupations:
    """√f of a share's bands, and its inverse, 0 where f is.

    f₁ <ψ₁|..|ψ₁> + f₂ <ψ₂|..|ψ₂> of two real orbitals is that of √f₁ ψ₁ + i √f₂ ψ₂, on one grid.
    """

    scale_b: torch.Tensor
    inverse_b: torch.Tensor


class ExchangeOperator:
    """-α times the exchange with occupied orbitals, for those of the same points or of others."""

    def __init__(
        self, occupied: PawAtoms, kernel: ExchangeKernel, fraction: float, atoms: PawAtoms | None = None,
        downsampling: Downsampling | None = None, together: int = 0, grid: PairGrid | None = None, single: bool = False,
    ):  # fmt: skip
        """occupied: of the occupied orbitals, on a mesh; atoms: of the orbitals that it is applied to, if others;
        downsampling: which pairs of points count, if not all; together: orbitals at a time, 0 as memory allows;
        grid: of pair densities, that of PRECFOCK = Normal by default; single: pairs in single precision."""
        self.together, self.single = together, single
        self.occupied, self.atoms, self.downsampling = occupied, atoms or occupied, downsampling
        self.basis, self.kernel, self.fraction = self.atoms.basis, kernel, fraction
        self.grid = (grid or PairGrid.of(occupied.basis, "Normal")).at(self.basis)
        self.stars = Stars(occupied, self.grid, kernel.any_wave and downsampling is None)
        self.pairs = PairExchange(self.atoms, kernel, self.grid, single)

    @cached_property
    def sphere_map(self) -> SphereMap:
        """Where the waves of orbitals lie on the grid of pairs."""
        return self.grid.sphere_map(self.basis)

    def at(self, atoms: PawAtoms) -> "ExchangeOperator":
        """The same for orbitals of other points."""
        settings = self.downsampling, self.together, self.grid, self.single
        return ExchangeOperator(self.occupied, self.kernel, self.fraction, atoms, *settings)

    def in_double(self) -> "ExchangeOperator":
        """The same with pairs in double precision."""
        settings = self.downsampling, self.together, self.grid, False
        return ExchangeOperator(self.occupied, self.kernel, self.fraction, self.atoms, *settings)

    def partners(self, k: int) -> tuple[MeshPoint, ...]:
        """Points of the mesh that a point is paired with, and their weights."""
        points, mesh = self.stars.mesh, self.occupied.basis.kpoints.mesh
        if self.downsampling is None or mesh is None:
            return points
        difference_xc = self.basis.point_kc[k] - np.array([point.point_c for point in points])
        kept_x, times = self.downsampling.kept(difference_xc, mesh), self.downsampling.times_fewer
        return tuple(
            replace(point, weight=times * point.weight) for point, kept in zip(points, kept_x, strict=True) if kept
        )

    def sources(self, coeff_sknG: torch.Tensor, occ_skn: torch.Tensor) -> MeshOrbitals:
        """The orbitals to exchange with; occ_skn: occupations 0 to 1 of all irreducible points, in host memory."""
        used = filled_bands(occ_skn.flatten(0, 1))
        return self.sources_of(self.own(coeff_sknG[:, :, :used], self.occupied), occ_skn)

    def sources_of(self, own_sk: Sequence[Sequence[OwnBands]], occ_skn: torch.Tensor) -> MeshOrbitals:
        """The same from this rank's bands."""
        return self.stars.of(own_sk, occ_skn, self.pairs.dtype)

    def apply(self, sources: MeshOrbitals, coeff_sknG: torch.Tensor) -> torch.Tensor:
        """V_x of all orbitals of this k-group's points, on this rank's plane waves; (s, k, n, G).

        `pair_symmetry.applied_to_own` is faster for the orbitals of the sources themselves."""
        with self.basis.runtime.trace.span("exact exchange"):
            out_sknG = torch.empty_like(coeff_sknG)
            for s, own_k in enumerate(self.own(coeff_sknG, self.atoms)):
                for k, (image_1bW, rows_bI) in enumerate(self.of_parts(sources.parts(s), s, own_k)):
                    out_sknG[s, k] = self.to_waves(k, image_1bW, rows_bI, coeff_sknG.shape[2])[0]
            return out_sknG

    def energy(self, coeff_sknG: torch.Tensor, image_sknG: torch.Tensor, filling_skn: torch.Tensor) -> float:
        """E_x = 1/2 Σ w g f <ψ|V_x ψ>, hartree; filling = w_k g f of all points, in host memory."""
        filling_skn = filling_skn[:, self.basis.own_k].to(coeff_sknG.device)
        value_skn = (coeff_sknG.conj() * image_sknG).real.sum(-1)
        return 0.5 * float(self.basis.runtime.world.sum((value_skn * filling_skn).sum()))

    def sharing(self, one: "Share") -> RootOccupations | None:
        """How real orbitals share grids where a sum over them is wanted; None if they cannot.

        In crystals with inversion fields of real coefficients are complex: sums would have a part of their product.
        """
        if not self.basis.form.real_in_space or bool((one.filling_b < 0).any()):
            return None
        scale_b = one.filling_b.sqrt()
        return RootOccupations(scale_b, torch.where(scale_b > 0, 1 / scale_b.clamp_min(1e-150), 0.0))

    def shares(self, coeff_sknG: torch.Tensor, filling_skn: torch.Tensor) -> Iterator["Share"]:
        """This rank's part of the bands that hold electrons, of each spin and point; filling as in `forces`."""
        comm, used = self.basis.runtime.bands, filled_bands(filling_skn.flatten(0, 1))
        own_n, own_skn = dealt_bands(comm, used), filling_skn[:, self.basis.own_k].to(coeff_sknG.device)
        for s, x_knG in enumerate(coeff_sknG[:, :, :used]):
            for k in range(len(x_knG)):
                here = slice(k, k + 1)
                rows_1bI = comm.sum(projections(x_knG[here], self.atoms.projector_kIG[here]))[:, own_n]
                own_1bW = ToBands(comm, x_knG[here], dealt=True).wait()[:, : rows_1bI.shape[1]]
                yield Share(s, k, own_1bW, rows_1bI, own_skn[s, k, :used][own_n], own_skn[s, k, :used])

    def pencils(self, coeff_sknG: torch.Tensor, filling_skn: torch.Tensor) -> torch.Tensor:
        """Room for f_n c_nI of the bands that hold electrons; (s, k, n, I)."""
        used = filled_bands(filling_skn.flatten(0, 1))
        return coeff_sknG.new_empty((*coeff_sknG.shape[:2], used, self.atoms.layout.projector_count))

    def pencil(self, one: "Share", rows_bI: torch.Tensor, used: int) -> torch.Tensor:
        """f_n c_nI of a spin and point from this rank's coefficients of rows without the factor -α; (n, I)."""
        return -self.fraction * one.filling_n[:, None] * self._of_all_bands(rows_bI, used)

    def _of_all_bands(self, rows_bI: torch.Tensor, count: int) -> torch.Tensor:
        """Of this rank's bands -> of all; (n, I)."""
        comm = self.basis.runtime.bands
        size = bands_per_rank(comm, count)
        padded_bI = pad(rows_bI, (0, 0, 0, size - len(rows_bI)))
        all_pbI = comm.all_gather(padded_bI, [size] * comm.size).unflatten(0, (comm.size, size))
        return all_pbI.transpose(0, 1).flatten(0, 1)[:count]

    def own(self, coeff_sknG: torch.Tensor, atoms: PawAtoms) -> list[list[OwnBands]]:
        """This rank's part of the bands of each spin and point of its k-group, which are those of `atoms`."""
        comm, count, found = atoms.runtime.bands, coeff_sknG.shape[2], []
        own_n = dealt_bands(comm, count)
        for x_knG in coeff_sknG:
            found.append(list[OwnBands]())
            for k in range(len(x_knG)):
                x_1nG = x_knG[k : k + 1]
                rows_1nI = comm.sum(projections(x_1nG, atoms.projector_kIG[k : k + 1]))[:, own_n]
                own_1bW = ToBands(comm, x_1nG, dealt=True).wait()[:, : rows_1nI.shape[1]]
                found[-1].append(OwnBands(own_1bW, rows_1nI))
        return found

    def to_waves(self, k: int, image_1bW: torch.Tensor, rows_bI: torch.Tensor, count: int) -> torch.Tensor:
        """V_x of all bands of one point from this rank's; the part between projectors in the layout of waves."""
        comm, here = self.basis.runtime.bands, slice(k, k + 1)
        padded_1bW = image_1bW.new_zeros((1, bands_per_rank(comm, count), image_1bW.shape[2]))
        padded_1bW[:, : image_1bW.shape[1]] = image_1bW
        out_1nG = ToWaves(comm, padded_1bW, count, dealt=True).wait()
        out_1nG = torch.baddbmm(out_1nG, self._of_all_bands(rows_bI, count)[None], self.atoms.projector_kIG[here])
        return out_1nG.mul_(-self.fraction * self.basis.mask_kG[here][:, None])

    def of_parts(
        self, parts: Iterable[MeshPart], s: int, own_k: Sequence[OwnBands]
    ) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """V_x of this rank's bands of all points, without the factor -α: local part (1, b, W), coefficients of rows
        (b, I)."""
        found = list[tuple[torch.Tensor, torch.Tensor]]()
        for part in parts:
            for k, own in enumerate(own_k):
                image_1bW, rows_bI = self.of_bands(part, s, k, own)
                if k == len(found):
                    found.append((image_1bW, rows_bI))
                else:
                    found[k][0].add_(image_1bW)
                    found[k][1].add_(rows_bI)
        return found

    def of_bands(self, sources: MeshPart, s: int, k: int, own: OwnBands) -> tuple[torch.Tensor, torch.Tensor]:
        """The same of one point, in the exchange with a part of the occupied orbitals."""
        x_1bW, rows_1bI = own.x_1bW, own.rows_1bI
        basis, sphere_map = self.basis, self.sphere_map.problems(slice(k, k + 1))
        sharing = basis.form.orbitals_on_grid
        # blocks of equal size, and an even number of orbitals where two share a grid
        room, _ = exchange_bytes(basis.runtime.grid_bytes)
        grids = -(-self.together // sharing) or int(room) // (16 * self.pairs.points)
        most, count = max(1, grids) * sharing, x_1bW.shape[1]
        size = ceil(count / max(1, ceil(count / most)) / sharing) * sharing if count else 1
        images, rows = [x_1bW[:, :0]], [rows_1bI[0, :0]]
        for n in blocks_of(count, size):
            targets = self.targets(k, x_1bW[:, n], rows_1bI[:, n])
            for block in sources.blocks(s, self.partners(k), self.source_block()):
                self.pairs.add(block, self.table(k, block), targets)
            rows.append(self.rows(k, targets.out_tI, n.stop - n.start))
            images.append(sphere_map.from_grid(targets.out_tR.unflatten(1, self.grid.size_c)[None], n.stop - n.start))
        return torch.cat(images, 1), torch.cat(rows)

    def targets(self, k: int, x_1bW: torch.Tensor, rows_1bI: torch.Tensor) -> Targets:
        """Whole orbitals of a point on the grid, and room for what is made of them in double precision."""
        return Targets.of(self.on_grid(k, x_1bW, rows_1bI), self.basis.runtime.complex)

    def on_grid(self, k: int, x_1bW: torch.Tensor, rows_1bI: torch.Tensor) -> PairFields:
        """Whole orbitals of a point on the grid, real ones in pairs, in the numbers of pairs."""
        u_1tR = self.sphere_map.problems(slice(k, k + 1)).to_grid(x_1bW)
        dtype = self.pairs.dtype
        return PairFields(u_1tR[0].flatten(1).to(dtype).contiguous(), self.fields(k, rows_1bI).to(dtype))

    def table(self, k: int, block: SourceBlock) -> PairTable:
        """Of the wave vectors from the points of a block to one of this k-group."""
        return self.pairs.table([self.basis.point_kc[k] - point.point_c for point in block.points])

    def source_block(self) -> int:
        """How many of the occupied orbitals are on the grid at a time."""
        return block_of_sources(self.pairs.points, max(EXCHANGE_GRID_BYTES, self.basis.runtime.grid_bytes))

    def fields(self, k: int, rows_1bI: torch.Tensor) -> torch.Tensor:
        """<p̃_I|ψ̃> of fields, two real orbitals in one, from those of rows; (t, I)."""
        field_1tI = _paired(rows_1bI) if self.basis.form.real else rows_1bI
        if self.atoms.pairs is not None:
            field_1tI = self.atoms.pairs.whole_projections(field_1tI, self._point(k))
        return field_1tI[0]

    def rows(self, k: int, field_tI: torch.Tensor, count: int) -> torch.Tensor:
        """Coefficients of rows of so many orbitals from those of projectors in fields; (b, I)."""
        out_1tI = field_tI[None]
        if self.atoms.pairs is not None:
            out_1tI = self.atoms.pairs.rows_of_projections(out_1tI, self._point(k))
        if self.basis.form.real:
            out_1tI = torch.view_as_real(out_1tI).movedim(-1, 2).flatten(1, 2)[:, :count]
        return out_1tI[0].to(self.basis.form.dtype)

    def _point(self, k: int) -> torch.Tensor:
        return self.basis.runtime.tensor(self.basis.point_kc[k : k + 1])


def _paired(rows_1bI: torch.Tensor) -> torch.Tensor:
    """Real projections of neighbours as one complex number."""
    first_1tI, second_1tI = rows_1bI[:, 0::2], rows_1bI[:, 1::2]
    if rows_1bI.shape[1] % 2:
        second_1tI = torch.cat([second_1tI, torch.zeros_like(rows_1bI[:, :1])], 1)
    return torch.complex(first_1tI, second_1tI)


def alone(x_1bx: torch.Tensor) -> torch.Tensor:
    """With zeros as neighbours."""
    return torch.stack([x_1bx, torch.zeros_like(x_1bx)], 2).flatten(1, 2)
