"""The PAW Hamiltonian and overlap of one spin, applied to blocks of orbitals in one pass.

H = -∇²/2 + ṽ(r) + Σ_ij |p̃_i> ΔH_ij <p̃_j|,   S = 1 + Σ_ij |p̃_i> ΔS_ij <p̃_j|
"""

from collections.abc import Iterator
from copy import copy

import torch

from eigenwerk.dft.basis.distribution import grid_blocks, on_whole_spheres
from eigenwerk.dft.basis.transforms import orbital_blocks
from eigenwerk.dft.basis.wave_form import SphereMap
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.one_centre import OneCentreMatrix, projections
from eigenwerk.dft.paw.real_space import RealSpaceProjectors
from eigenwerk.dft.potential import Potential
from eigenwerk.linalg.operator import ALL, SplitOperator, Which
from eigenwerk.parallel.process_grid import share
from eigenwerk.parallel.threads import each, threads_for

REAL_SPACE_GRIDS = 4
"""Grids that share a pass through the tables of projectors in real space: one alone would wait for memory."""

ROW_ELEMENTS = 2**16
"""Numbers of a block of orbitals that elementwise work stays with: half a megabyte, enough for two threads."""


class Hamiltonian(SplitOperator):
    """H and S of one spin for a block of k-points: an operator of the eigensolvers.

    Split as A = -∇²/2 + ṽ, P the projectors, D = ΔH, E = ΔS; whole with projectors in real space, which find the
    orbitals on the grid where the potential is applied.
    """

    def __init__(self, atoms: PawAtoms, potential: Potential, spin: int):
        basis = atoms.basis
        self.basis, self.atoms, self.own_k = basis, atoms, slice(None)
        self.projector_kIG, self.kinetic_kG = atoms.projector_kIG, basis.kinetic_kG
        self.sphere_map, self.mask_kG = basis.sphere_map, basis.mask_kG
        self.real_space = atoms.real_space
        self.splits = self.real_space is None
        self.own_i = share(atoms.layout.projector_count, basis.runtime.bands.size, basis.runtime.bands.rank)
        # with the factor 1/N of the transform back
        self.local_R = basis.potential_for_orbitals(potential.potential_sg[spin]) / basis.wave_map.points
        self.energy_II = OneCentreMatrix(atoms.layout, atoms.even(potential.hamiltonian_sx[spin]), basis.form.dtype)
        self.overlap_II = OneCentreMatrix(atoms.layout, atoms.overlap_x, basis.form.dtype)

    def block(self, k: slice) -> "Hamiltonian":
        """The same Hamiltonian for some of the k-points (views, no copies)."""
        part = copy(self)
        part.own_k = k
        part.projector_kIG, part.kinetic_kG = self.projector_kIG[k], self.kinetic_kG[k]
        part.sphere_map, part.mask_kG = self.sphere_map.problems(k), self.mask_kG[k]
        part.real_space = None if self.real_space is None else self.real_space.problems(k)
        return part

    def apply(self, x_knG: torch.Tensor, k: Which = ALL) -> tuple[torch.Tensor, torch.Tensor]:
        """(H x, S x) of orbitals; (k, n, G) each.

        Projectors in real space find the orbitals on the grid of the local potential and leave their part of H x there;
        that of S x takes one more transform back.
        """
        if self.real_space is None:
            return super().apply(x_knG, k)
        with self.basis.runtime.trace.span("local"):
            h_knG, s_knG = self._from_grid(x_knG, k)
            return self._with_kinetic(h_knG, x_knG, k), s_knG.add_(x_knG)

    def first(self, x_knG: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """-∇²/2 x + ṽ x; (k, n, G)."""
        with self.basis.runtime.trace.span("local"):
            return self._with_kinetic(self._from_grid(x_knG, k)[0], x_knG, k)

    def _with_kinetic(self, h_knG: torch.Tensor, x_knG: torch.Tensor, k: Which) -> torch.Tensor:
        return h_knG.addcmul_(self.kinetic_kG[k][:, None], x_knG)

    def project(self, x_knG: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """<p̃_I|x>; (k, n, I)."""
        with self.basis.runtime.trace.span("projectors"):
            return self.sum(projections(x_knG, self.projector_kIG[k]))

    def times_dh(self, proj_knI: torch.Tensor) -> torch.Tensor:
        """Σ_J ΔH_IJ <p̃_J|x>."""
        return self.energy_II.times(proj_knI)

    def times_ds(self, proj_knI: torch.Tensor) -> torch.Tensor:
        """Σ_J ΔS_IJ <p̃_J|x>."""
        return self.overlap_II.times(proj_knI)

    def add_projected(self, q_knI: torch.Tensor, onto_knG: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """onto + Σ_I p̃_I q_I; (k, n, G)."""
        with self.basis.runtime.trace.span("projectors"):
            return onto_knG.baddbmm_(q_knI, self.projector_kIG[k])

    def solve_overlap(self, x_knG: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """S⁻¹ x = x - Σ_IJ p̃_I C_IJ <p̃_J|x>, C as in `PawAtoms.inverse_overlap_kII`; (k, n, G)."""
        projector_kIG = self.projector_kIG[k]
        inverse_kII = self.atoms.inverse_overlap_kII[self.own_k][k].to(x_knG.dtype)
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

    def _from_grid(self, x_knG: torch.Tensor, k: Which) -> tuple[torch.Tensor, ...]:
        """ṽ(r) ψ(r), a few orbitals at a time so that the grid stays in cache.

        With projectors in real space: (ṽ ψ + Σ p̃_i ΔH_ij <p̃_j|ψ>, Σ p̃_i ΔS_ij <p̃_j|ψ>).
        """
        runtime, sphere_map = self.basis.runtime, self.sphere_map.problems(k)
        real_space = None if self.real_space is None else self.real_space.problems(k)

        def act(x_kbG: torch.Tensor, k: slice) -> tuple[torch.Tensor, ...]:
            if real_space is None:
                return (self._local_of_spheres(x_kbG, sphere_map.problems(k)),)
            return self._all_of_spheres(x_kbG, sphere_map.problems(k), real_space.problems(k))

        images = on_whole_spheres(runtime.bands, x_knG, runtime.block_bytes, act)
        for image_knG in images:
            image_knG *= self.mask_kG[k][:, None]
        return images

    def _local_of_spheres(self, x_kbG: torch.Tensor, sphere_map: SphereMap) -> torch.Tensor:
        out_kbG = torch.empty_like(x_kbG)

        def multiply(block: tuple[slice, slice]) -> None:
            part_map, part_kbG = sphere_map.problems(block[0]), x_kbG[block]
            grid_kpR = part_map.to_grid(part_kbG)
            grid_kpR *= self.local_R
            out_kbG[block] = part_map.from_grid(grid_kpR, part_kbG.shape[1], norm="backward")

        each(multiply, grid_blocks(self.basis, x_kbG), threads_for(x_kbG.device))
        return out_kbG

    def _all_of_spheres(
        self, x_kbG: torch.Tensor, sphere_map: SphereMap, real_space: RealSpaceProjectors
    ) -> tuple[torch.Tensor, torch.Tensor]:
        h_kbG, s_kbG = torch.empty_like(x_kbG), torch.empty_like(x_kbG)

        def multiply(block: tuple[slice, slice]) -> None:
            part_map, part_kbG, tables = sphere_map.problems(block[0]), x_kbG[block], real_space.problems(block[0])
            bands = part_kbG.shape[1]
            grid_kpR = part_map.to_grid(part_kbG)
            proj_kbI = tables.project(grid_kpR, bands)
            grid_kpR *= self.local_R
            tables.add_back(grid_kpR, self.energy_II.times(proj_kbI))
            h_kbG[block] = part_map.from_grid(grid_kpR, bands, norm="backward")
            tables.add_back(grid_kpR.zero_(), self.overlap_II.times(proj_kbI))
            s_kbG[block] = part_map.from_grid(grid_kpR, bands, norm="backward")

        each(multiply, grid_blocks(self.basis, x_kbG, REAL_SPACE_GRIDS), threads_for(x_kbG.device))
        return h_kbG, s_kbG
