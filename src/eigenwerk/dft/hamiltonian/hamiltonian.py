"""The PAW Hamiltonian and overlap, applied to blocks of orbitals in one pass.

H = -∇²/2 + ṽ(r) + Σ_ij |p̃_i> ΔH_ij <p̃_j| + Σ_mm' |ξ_m> w_mm' <ξ_m'|,   S = 1 + Σ_ij |p̃_i> ΔS_ij <p̃_j|

ξ are rows that terms of the energy may add (`LowRank`).  Where the energy depends on more fields of the density, what
their derivatives do comes in addition (`WaveField.act`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import torch

from eigenwerk.dft.basis.distribution import grid_blocks, on_whole_spheres
from eigenwerk.dft.basis.transforms import orbital_blocks
from eigenwerk.dft.basis.wave_form import SphereMap
from eigenwerk.dft.density.kinds.kind import WaveField
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.one_centre import OneCentreMatrix, projections
from eigenwerk.dft.paw.real_space import RealSpaceProjectors
from eigenwerk.dft.terms.potential import Potential
from eigenwerk.dft.terms.term import LowRank
from eigenwerk.linalg.operator import ALL, SplitOperator, Which, of_those
from eigenwerk.parallel.process_grid import share
from eigenwerk.parallel.threads import each, threads_for

REAL_SPACE_GRIDS = 4
"""Grids that share a pass through the tables of projectors in real space: one alone would wait for memory."""

ROW_ELEMENTS = 2**16
"""Numbers of a block of orbitals that elementwise work stays with: half a megabyte, enough for two threads."""


@dataclass(frozen=True)
class Hamiltonian:
    """H and S of all orbitals of a calculation: what belongs to its k-points, and a field for each spin channel.

    vt_sR: ṽ on the wave grid with the factor 1/N of the transform back; dH, dS: ΔH of each channel, and ΔS; others: the
    same of more fields that act; splits: whether solvers may keep P x: not with projectors in real space, which find
    the orbitals on the grid.
    """

    atoms: PawAtoms
    projector_kIG: torch.Tensor
    kinetic_kG: torch.Tensor
    mask_kG: torch.Tensor
    sphere_map: SphereMap
    real_space: RealSpaceProjectors | None
    vt_sR: torch.Tensor
    dH: OneCentreMatrix
    dS: OneCentreMatrix
    rows: LowRank | None
    splits: bool
    others: tuple[tuple[WaveField, torch.Tensor], ...] = ()

    @staticmethod
    def of(atoms: PawAtoms, potential: Potential) -> "Hamiltonian":
        """That of a potential."""
        basis, layout, rows = atoms.basis, atoms.layout, potential.rows
        # what finds the projectors on the grid does not find the rows there
        weight_smm = None if rows is None or atoms.real_space is not None else rows.weight_smm
        zero_smm = None if weight_smm is None else torch.zeros_like(weight_smm[:1])
        vt_sR, *others = (
            (kind, basis.potential_for_orbitals(slope_sg) / basis.wave_map.points)
            for kind, slope_sg in potential.derivative.on_waves
        )
        return Hamiltonian(
            atoms, atoms.projector_kIG, basis.kinetic_kG, basis.mask_kG, basis.sphere_map, atoms.real_space,
            vt_sR=vt_sR[1],
            dH=OneCentreMatrix(layout, atoms.even(potential.dH_sx), basis.form.dtype, weight_smm),
            dS=OneCentreMatrix(layout, atoms.overlap_x[None], basis.form.dtype, zero_smm),
            rows=rows, splits=atoms.real_space is None, others=tuple(others),
        )  # fmt: skip

    @property
    def row_count(self) -> int:
        """Components of P x: projectors and the rows of terms."""
        rows = self.rows if self.real_space is None else None
        return self.projector_kIG.shape[1] + (0 if rows is None else rows.row_skmG.shape[2])

    def block(self, s: int | slice = 0, k: slice = ALL) -> "HamiltonianBlock":
        """The operator of some k-points of one spin channel, or of several channels one after the other."""
        return HamiltonianBlock(self, s, k)


class HamiltonianBlock(SplitOperator):
    """H and S of a list of problems k: an operator of the eigensolvers.

    Split as A = -∇²/2 + ṽ, P the projectors and the rows of terms, D = ΔH and w, E = ΔS and zero.  Problems of several
    channels go through the same k-points, as often as `copies` says; place_k: which of these each problem has.
    row_kmG: rows behind the projectors in P; apart_kmG: rows where the projectors are used on the grid.
    """

    def __init__(self, whole: Hamiltonian, s: int | slice, k: slice):
        self.whole, self.atoms, self.basis, self.splits = whole, whole.atoms, whole.atoms.basis, whole.splits
        runtime, channels = self.basis.runtime, [s] if isinstance(s, int) else list(range(len(whole.vt_sR))[s])
        self.own_i = share(whole.row_count, runtime.bands.size, runtime.bands.rank)
        self.own_k, self.projector_kIG, self.copies = k, whole.projector_kIG[k], len(channels)
        rows, on_grid = whole.rows, whole.real_space is not None
        row_kmG = None if rows is None else rows.row_skmG[channels[0] : channels[-1] + 1, k].flatten(0, 1)
        self.row_kmG, self.apart_kmG = None if on_grid else row_kmG, row_kmG if on_grid else None
        self.place_k: Which = ALL
        self.grid = OnGrid(whole, whole.vt_sR, whole.sphere_map, whole.real_space, channels[0]).problems(k)
        if self.copies > 1:
            points = range(len(self.projector_kIG))
            self.place_k = runtime.index([*points] * self.copies)
            field_k = runtime.index([channel for channel in channels for _ in points])
            self.grid = replace(self.grid.problems(self.place_k), field=field_k)
        self.kinetic_kG, self.mask_kG = whole.kinetic_kG[k][self.place_k], whole.mask_kG[k][self.place_k]
        self.others = [(kind, replace(self.grid, vt_sR=v_sR, real_space=None)) for kind, v_sR in whole.others]
        if self.others:
            vector_vkh = self.basis.wave_vector_khv[k][self.place_k].movedim(-1, 0)
            self.vector_vkG = self.basis.form.slots(vector_vkh).to(self.kinetic_kG.dtype)

    def apply(self, x_knG: torch.Tensor, k: Which = ALL) -> tuple[torch.Tensor, torch.Tensor]:
        """(H x, S x) of orbitals; (k, n, G) each.

        Projectors in real space find the orbitals on the grid of the local potential and leave their part of H x there;
        that of S x takes one more transform back.
        """
        if self.grid.real_space is None:
            return super().apply(x_knG, k)
        with self.basis.runtime.trace.span("local"):
            h_knG, s_knG = self._from_grid(self.grid, x_knG, k)
            h_knG, s_knG = self._with_kinetic(h_knG, x_knG, k), s_knG.add_(x_knG)
        if self.whole.rows is not None and self.apart_kmG is not None:
            row_kmG, weight_smm = self.apart_kmG[k], self.whole.rows.weight_smm[self.grid.fields(k)]
            h_knG.baddbmm_(self.sum(projections(x_knG, row_kmG)) @ weight_smm.mT, row_kmG)
        return h_knG, s_knG

    def first(self, x_knG: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """-∇²/2 x + ṽ x; (k, n, G)."""
        with self.basis.runtime.trace.span("local"):
            return self._with_kinetic(self._from_grid(self.grid, x_knG, k)[0], x_knG, k)

    def _with_kinetic(self, h_knG: torch.Tensor, x_knG: torch.Tensor, k: Which) -> torch.Tensor:
        """And what other fields do."""
        for kind, grid in self.others:
            h_knG += kind.act(self.basis.form, x_knG, self.vector_vkG[:, k], partial(self._product, grid, k))
        return h_knG.addcmul_(self.kinetic_kG[k][:, None], x_knG)

    def _product(self, grid: "OnGrid", k: Which, x_knG: torch.Tensor) -> torch.Tensor:
        return self._from_grid(grid, x_knG, k)[0]

    def project(self, x_knG: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """<p̃_I|x>, and behind them <ξ_m|x>; (k, n, I)."""
        with self.basis.runtime.trace.span("projectors"):
            projector_kIG, copies = self._projectors(k)
            found = [projections(part_knG, projector_kIG) for part_knG in x_knG.chunk(copies)]
            proj_knI = found[0] if copies == 1 else torch.cat(found)
            if self.row_kmG is not None:
                proj_knI = torch.cat([proj_knI, projections(x_knG, self.row_kmG[k])], -1)
            return self.sum(proj_knI)

    def completed(self, proj_knI: torch.Tensor, x_knG: torch.Tensor) -> torch.Tensor:
        """P x of which only <p̃_I|x> is known for sure: the rows of terms may be others than before."""
        if self.row_kmG is None:
            return proj_knI
        own_knI = proj_knI[..., : self.projector_kIG.shape[1]]
        return torch.cat([own_knI, self.sum(projections(x_knG, self.row_kmG))], -1)

    def _projectors(self, k: Which) -> tuple[torch.Tensor, int]:
        """Those of some problems, and how many copies of these k-points the problems are (no copy of tensors)."""
        if self.copies == 1:
            return self.projector_kIG[k], 1
        if isinstance(k, slice) and k == ALL:
            return self.projector_kIG, self.copies
        return self.projector_kIG[of_those(self.place_k, k)], 1

    def times_dh(self, proj_knI: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """Σ_J ΔH_IJ <p̃_J|x>, and Σ_m' w_mm' <ξ_m'|x>."""
        return self.whole.dH.times(proj_knI, self.grid.fields(k))

    def times_ds(self, proj_knI: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """Σ_J ΔS_IJ <p̃_J|x>, and zeros."""
        return self.whole.dS.times(proj_knI)

    def add_projected(self, q_knI: torch.Tensor, onto_knG: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """onto + Σ_I p̃_I q_I + Σ_m ξ_m q_m; (k, n, G)."""
        with self.basis.runtime.trace.span("projectors"):
            projector_kIG, copies = self._projectors(k)
            own_knI = q_knI[..., : projector_kIG.shape[1]]
            for part_knI, part_knG in zip(own_knI.chunk(copies), onto_knG.chunk(copies), strict=True):
                part_knG.baddbmm_(part_knI, projector_kIG)
            if self.row_kmG is not None:
                onto_knG.baddbmm_(q_knI[..., projector_kIG.shape[1] :], self.row_kmG[k])
            return onto_knG

    def solve_overlap(self, x_knG: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """S⁻¹ x = x - Σ_IJ p̃_I C_IJ <p̃_J|x>, C as in `PawAtoms.inverse_overlap_kII`; (k, n, G)."""
        place_k = of_those(self.place_k, k)
        projector_kIG = self.projector_kIG[place_k]
        inverse_kII = self.atoms.inverse_overlap_kII[self.own_k][place_k].to(x_knG.dtype)
        proj_knI = self.sum(projections(x_knG, projector_kIG))
        return torch.baddbmm(x_knG, proj_knI @ inverse_kII, projector_kIG, alpha=-1)

    def precondition(
        self, residual_knG: torch.Tensor, eig_kn: torch.Tensor, x_knG: torch.Tensor, k: Which = ALL
    ) -> torch.Tensor:
        """Residual times the polynomial of kinetic energy over that of the band.

        K(x) = (27 + 18x + 12x² + 8x³) / (27 + 18x + 12x² + 8x³ + 16x⁴), x = T_G / (3/2 T_n);
        with y = 2x the numerator is (y + 3)(y² + 9), and 16x⁴ is y⁴.
        Source: Teter, Payne, Allan, Phys. Rev. B 40, 12255 (1989).
        """
        norm_kn, kinetic_kn = self.sum(self._norm_and_kinetic(x_knG, k))
        kinetic_kn = (kinetic_kn / norm_kn.clamp_min(1e-30)).clamp_min(1e-3)
        scale_kn1, kinetic_k1G = (0.75 * kinetic_kn).reciprocal()[..., None], self.kinetic_kG[k][:, None]
        out_knG = torch.empty_like(residual_knG)
        for block in self._blocks_in_cache(residual_knG):
            y = kinetic_k1G[block[0]] * scale_kn1[block]
            square = y.square()
            numerator = (square + 9).mul_(y.add_(3))
            denominator = square.square_().add_(numerator)
            torch.mul(residual_knG[block], numerator.div_(denominator), out=out_knG[block])
        return out_knG

    def _blocks_in_cache(self, x_knG: torch.Tensor) -> Iterator[tuple[slice, slice]]:
        """Bands whose factors stay in a processor's cache from one operation to the next; a GPU takes all at once."""
        problems, count, waves = x_knG.shape
        return orbital_blocks(problems, count, max(waves, 1), ROW_ELEMENTS if x_knG.is_cpu else x_knG.numel())

    def _norm_and_kinetic(self, x_knG: torch.Tensor, k: Which) -> torch.Tensor:
        """Σ_G |x_G|² and Σ_G T_G |x_G|² on this rank; (2, k, n)."""
        square_knG = torch.view_as_real(x_knG).flatten(-2).square() if x_knG.is_complex() else x_knG.square()
        kinetic_kG = self.kinetic_kG[k]
        if x_knG.is_complex():
            kinetic_kG = kinetic_kG.repeat_interleave(2, -1)
        weight_kG2 = torch.stack([torch.ones_like(kinetic_kG), kinetic_kG], -1)
        return (square_knG @ weight_kG2).movedim(-1, 0)

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """Sum over the ranks that share plane waves."""
        return self.basis.runtime.bands.sum(tensor)

    def _from_grid(self, grid: "OnGrid", x_knG: torch.Tensor, k: Which) -> tuple[torch.Tensor, ...]:
        """ṽ(r) ψ(r), a few orbitals at a time so that the grid stays in cache.

        With projectors in real space: (ṽ ψ + Σ p̃_i ΔH_ij <p̃_j|ψ>, Σ p̃_i ΔS_ij <p̃_j|ψ>).
        """
        runtime = self.basis.runtime
        images = on_whole_spheres(runtime.bands, x_knG, runtime.block_bytes, grid.problems(k).act)
        for image_knG in images:
            image_knG *= self.mask_kG[k][:, None]
        return images


@dataclass(frozen=True)
class OnGrid:
    """What H does where orbitals are on the FFT grid.

    vt_sR: the local fields; field: which of them and which one-centre matrix all problems have, or each of them.
    """

    whole: Hamiltonian
    vt_sR: torch.Tensor
    sphere_map: SphereMap
    real_space: RealSpaceProjectors | None
    field: int | torch.Tensor

    def fields(self, k: Which) -> int | torch.Tensor:
        """The field of some problems."""
        return self.field if isinstance(self.field, int) else self.field[k]

    def problems(self, k: Which) -> "OnGrid":
        """Some of the problems."""
        real_space = None if self.real_space is None else self.real_space.problems(k)
        return OnGrid(self.whole, self.vt_sR, self.sphere_map.problems(k), real_space, self.fields(k))

    def act(self, x_kbG: torch.Tensor, k: slice) -> tuple[torch.Tensor, ...]:
        """The images of whole orbitals of the problems k, block by block."""
        least, images = (1, 1) if self.real_space is None else (REAL_SPACE_GRIDS, 2)
        here, out = self.problems(k), tuple(torch.empty_like(x_kbG) for _ in range(images))

        def put(block: tuple[slice, slice]) -> None:
            for out_kbG, image_kbG in zip(out, here.problems(block[0])._images(x_kbG[block]), strict=True):
                out_kbG[block] = image_kbG

        each(put, grid_blocks(self.whole.atoms.basis, x_kbG, least), threads_for(x_kbG.device))
        return out

    def _images(self, x_kbG: torch.Tensor) -> Iterator[torch.Tensor]:
        bands, tables, sphere_map = x_kbG.shape[1], self.real_space, self.sphere_map
        grid_ktR = sphere_map.to_grid(x_kbG)
        proj_kbI = None if tables is None else tables.project(grid_ktR, bands)
        vt_kR = self.vt_sR[self.field]
        grid_ktR = self.whole.atoms.basis.spin.times(vt_kR if isinstance(self.field, int) else vt_kR[:, None], grid_ktR)
        if tables is None or proj_kbI is None:
            yield sphere_map.from_grid(grid_ktR, bands, norm="backward")
            return
        tables.add_back(grid_ktR, self.whole.dH.times(proj_kbI, self.field))
        yield sphere_map.from_grid(grid_ktR, bands, norm="backward")
        tables.add_back(grid_ktR.zero_(), self.whole.dS.times(proj_kbI))
        yield sphere_map.from_grid(grid_ktR, bands, norm="backward")
