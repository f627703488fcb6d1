"""Pair densities, their potentials, and what these make of orbitals: the work of exact exchange.

    ρ_nm(q+G) = 1/Ω ∫ u_n* u_m exp(-iG·r) + Σ_aL Q_nm,aL g_aL(q+G),   Q_nm,aL = Σ_ij P*_ni Δ_L,ij P_mj,   q = k - k'
    V_nm = v(q+G) ρ_nm(q+G)
    V_x ψ_m = -α Σ_n w_n [ψ_n(r) V_nm(r) + Σ_j p̃_j Σ_iaL P_ni Δ_L,ij ∫ g_aL V_nm],   w_n = f_n/N_k
    ∂E_x/∂R_a = -α Σ_m f_m w_k g Σ_n w_n Re Σ_L Q*_nm,aL ∫ g_aL ∇V_nm     (fixed P: compensation charges that move)

V_x is linear, so two real orbitals may be given as one complex one, ψ₁ + iψ₂.  Pair densities are kept on the sphere of
the density, as far as the wave grid holds it around every q.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import pi

import numpy as np
import torch

from eigenwerk.dft.basis.grids import PRECISION_FACTOR, sphere_radius
from eigenwerk.dft.basis.lattice import square
from eigenwerk.dft.basis.orbital_fft import FilledGrid, to_points, to_waves
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.crystal.inversion import turns
from eigenwerk.dft.exchange.kernel import ExchangeKernel
from eigenwerk.dft.exchange.mesh_orbitals import SourceBlock
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.setup import COMPENSATION_LMAX, Setup
from eigenwerk.dft.paw.spherical import solid_harmonics
from eigenwerk.parallel.block_sizes import EXCHANGE_TABLE_BYTES
from eigenwerk.parallel.threads import each, threads_for

HARMONICS = (COMPENSATION_LMAX + 1) ** 2

SAME_WAVE = 1e8
"""Wave vectors that agree to as many parts are one."""


@dataclass(frozen=True)
class PairWaves:
    """Plane waves q+G of pair densities: their places on the grid, the interaction, compensation charges.

    wave_Sc, vector_Sv: q+G, fractional and in bohr⁻¹; kernel_S: v(q+G); charge_AS: g_aL(q+G) of all atoms and L,
    A = (a, L), per volume of the cell.
    """

    wave_Sc: np.ndarray
    vector_Sv: torch.Tensor
    place_S: torch.Tensor
    kernel_S: torch.Tensor
    charge_AS: torch.Tensor


@dataclass(frozen=True)
class Targets:
    """Orbitals that V_x is applied to, and what it makes of them: tR on the grid, tI coefficients of projectors.

    out_tav: if wanted, Σ_n w_n Re Σ_L Q*_nm,aL ∫ g_aL ∇V_nm; not of two orbitals in one.
    """

    u_tR: torch.Tensor
    proj_tI: torch.Tensor
    out_tR: torch.Tensor
    out_tI: torch.Tensor
    out_tav: torch.Tensor | None = None

    @staticmethod
    def of(u_tR: torch.Tensor, proj_tI: torch.Tensor, slopes_of: int = 0) -> "Targets":
        """With nothing made of them yet; slopes_of: so many atoms, 0 if they are not wanted."""
        slopes = proj_tI.real.new_zeros((len(u_tR), slopes_of, 3)) if slopes_of else None
        return Targets(u_tR, proj_tI, torch.zeros_like(u_tR), torch.zeros_like(proj_tI), slopes)

    def some(self, t: slice) -> "Targets":
        """Some of them; what is added to their results is added to these."""
        slopes = None if self.out_tav is None else self.out_tav[t]
        return Targets(self.u_tR[t], self.proj_tI[t], self.out_tR[t], self.out_tI[t], slopes)


class PairExchange:
    """Pair densities between orbitals of any two points of a mesh."""

    def __init__(self, atoms: PawAtoms, kernel: ExchangeKernel, grid: FilledGrid, shift_c: np.ndarray):
        """shift_c: of the grid against the origin of the cell, fractional."""
        self.atoms, self.basis, self.kernel, self.grid = atoms, atoms.basis, kernel, grid
        self.points = int(np.prod(grid.size_c))
        self.volume, self.radius = float(atoms.basis.volume), pair_radius(atoms.basis)
        self.scaled_ac = atoms.basis.structure.scaled_ac - shift_c

    @cached_property
    def multipole_LIi(self) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
        """Of each species: places of its projectors (a, i), of its charges (a, L), and Δ_Lij as complex numbers."""
        atoms, found = self.atoms, []
        for species in atoms.layout.species:
            multipole_Lij = atoms.constant(species.setup, "multipole_Lij").to(atoms.runtime.complex)
            charge_aL = torch.as_tensor(species.atom_a[:, None] * HARMONICS + np.arange(HARMONICS))
            column_ai = atoms.layout.columns(species, multipole_Lij.device)
            found.append((column_ai, charge_aL.to(multipole_Lij.device), multipole_Lij))
        return found

    def waves(self, q_c: np.ndarray) -> PairWaves:
        """Those of pairs with the wave vector q, fractional; kept for the next application while there is room."""
        key = tuple(np.rint(np.asarray(q_c) * SAME_WAVE).astype(int).tolist())
        if key not in self._kept:
            found = self._waves(q_c)
            if sum(one.charge_AS.nbytes for one in self._kept.values()) + found.charge_AS.nbytes > EXCHANGE_TABLE_BYTES:
                return found
            self._kept[key] = found
        return self._kept[key]

    @cached_property
    def _kept(self) -> dict[tuple[int, ...], PairWaves]:
        return {}

    def _waves(self, q_c: np.ndarray) -> PairWaves:
        basis, runtime = self.basis, self.basis.runtime
        index_Sc = self._sphere(q_c)
        flat_S = np.ravel_multi_index(tuple((index_Sc % np.array(self.grid.size_c)).T), self.grid.size_c)
        wave_Sc = index_Sc + q_c
        vector_Sv = basis.lattice.waves(runtime.tensor(wave_Sc))
        norm2_S = square(vector_Sv)
        charge_AS = torch.empty(
            (len(self.scaled_ac), HARMONICS, len(flat_S)), dtype=runtime.complex, device=runtime.device
        )
        for species in self.atoms.layout.species:
            shape_LS = self.shapes(species.setup, vector_Sv) * (1 / self.volume)
            for a in species.atom_a:
                torch.mul(shape_LS, self.phases(wave_Sc, int(a)), out=charge_AS[int(a)])
        kernel_S = self.kernel.of_waves(wave_Sc, norm2_S)
        return PairWaves(wave_Sc, vector_Sv, runtime.index(flat_S), kernel_S, charge_AS.flatten(0, 1))

    def shapes(self, setup: Setup, vector_Sv: torch.Tensor) -> torch.Tensor:
        """∫ g_L exp(-iq·r) of an atom at the origin but for (-i)^l, which `shape_factor_L` has; (L, S)."""
        gauss_S = torch.exp(-0.25 * setup.shape_radius**2 * square(vector_Sv)) * (4 * pi)
        harmonic_LS = solid_harmonics(COMPENSATION_LMAX, vector_Sv).T * self.atoms.shape_factor_L[:, None]
        return harmonic_LS * gauss_S

    def phases(self, wave_Sc: np.ndarray, a: int) -> torch.Tensor:
        """exp(-iq·R_a) of waves q, fractional."""
        return self.basis.runtime.tensor(turns(wave_Sc, -self.scaled_ac[a]), self.basis.runtime.complex)

    def _sphere(self, q_c: np.ndarray) -> np.ndarray:
        """Integer G with |q+G| in the sphere of pair densities; (S, 3).  The same in a strained cell."""
        lattice_cv = self.basis.sphere_cv
        size_c = self.radius * np.linalg.norm(lattice_cv, axis=1) / (2 * pi)
        low_c, high_c = np.ceil(-size_c - q_c).astype(int), np.floor(size_c - q_c).astype(int)
        axes = [np.arange(low, high + 1) for low, high in zip(low_c, high_c, strict=True)]
        index_Sc = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
        vector_Sv = (index_Sc + q_c) @ (2 * pi * np.linalg.inv(lattice_cv).T)
        return index_Sc[(vector_Sv**2).sum(1) <= self.radius**2]

    def add(self, sources: SourceBlock, waves: PairWaves, targets: Targets) -> None:
        """What exchange with some orbitals adds to all targets, without the factor -α; threads share the targets."""
        charges_nIL = self.charges_of_sources(sources.proj_nI)
        threads = threads_for(targets.u_tR.device)
        pieces = min(len(targets.u_tR), threads)
        step = -(-len(targets.u_tR) // pieces)
        parts = [slice(first, first + step) for first in range(0, len(targets.u_tR), step)]

        def work(t: slice) -> None:
            self._add(sources, charges_nIL, waves, targets.some(t))

        each(work, parts, threads)

    def charges_of_sources(self, proj_nI: torch.Tensor) -> torch.Tensor:
        """Σ_i P*_ni Δ_L,ij; (n, I, L)."""
        out_nIL = proj_nI.new_zeros((*proj_nI.shape, HARMONICS))
        for column_ai, _, multipole_Lij in self.multipole_LIi:
            out_nIL[:, column_ai] = torch.einsum("nai,Lij->najL", proj_nI[:, column_ai].conj(), multipole_Lij)
        return out_nIL

    def _add(self, sources: SourceBlock, charges_nIL: torch.Tensor, waves: PairWaves, targets: Targets) -> None:
        pair_ntA = self.charges_of_pairs(charges_nIL, targets.proj_tI)
        grid_ntR, pair_ntS = self.densities(sources.u_nR, targets.u_tR, pair_ntA, waves)
        pair_ntS.mul_(waves.kernel_S)
        integral_ntA = self.integrals(pair_ntS, waves)
        if targets.out_tav is not None:
            self._add_slopes(pair_ntA, pair_ntS, sources.weight_n, waves, targets.out_tav)
        grid_ntR.zero_().index_copy_(-1, waves.place_S, pair_ntS)
        grid_ntR = to_points(grid_ntR.unflatten(-1, self.grid.size_c), self.grid).flatten(-3)
        for u_R, weight, grid_tR in zip(sources.u_nR, sources.weight_n.tolist(), grid_ntR, strict=True):
            targets.out_tR.addcmul_(grid_tR, u_R.to(grid_tR.dtype), value=weight)
        self.collect(charges_nIL, integral_ntA, sources.weight_n, targets.out_tI)

    def densities(
        self, u_nR: torch.Tensor, u_tR: torch.Tensor, pair_ntA: torch.Tensor, waves: PairWaves
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """ρ_nm(q+G) with compensation charges, (n, t, S); and a grid for all of them, to be written on."""
        grid_ntR = u_nR.conj()[:, None] * u_tR
        grid_ntR = to_waves(grid_ntR.unflatten(-1, self.grid.size_c), self.grid).flatten(-3)
        pair_ntS = grid_ntR.index_select(-1, waves.place_S).mul_(1 / (self.volume * self.points))
        pair_ntS.flatten(0, 1).addmm_(pair_ntA.flatten(0, 1), waves.charge_AS)
        return grid_ntR, pair_ntS

    def integrals(self, potential_ntS: torch.Tensor, waves: PairWaves) -> torch.Tensor:
        """∫ g_aL V_nm; (n, t, A)."""
        integral_yA = (potential_ntS.flatten(0, 1) @ waves.charge_AS.mH).mul_(self.volume)
        return integral_yA.unflatten(0, potential_ntS.shape[:2])

    def _add_slopes(
        self, pair_ntA: torch.Tensor, potential_ntS: torch.Tensor, weight_n: torch.Tensor, waves: PairWaves,
        out_tav: torch.Tensor,
    ) -> None:  # fmt: skip
        """Forces of compensation charges: i(q+G) V for ∇V."""
        for v in range(3):
            slope_ntA = (potential_ntS * (1j * self.volume * waves.vector_Sv[:, v])) @ waves.charge_AS.mH
            product_ntA = (pair_ntA.conj() * slope_ntA).real * weight_n[:, None, None]
            out_tav[..., v] += product_ntA.sum(0).unflatten(1, (-1, HARMONICS)).sum(2)

    def charges_of_pairs(self, charges_nIL: torch.Tensor, proj_tI: torch.Tensor) -> torch.Tensor:
        """Q_nm,aL; (n, t, A)."""
        count_n, count_t = len(charges_nIL), len(proj_tI)
        out_ntA = proj_tI.new_empty((count_n, count_t, len(self.scaled_ac) * HARMONICS))
        for column_ai, charge_aL, _ in self.multipole_LIi:
            found_ntaL = torch.einsum("naiL,tai->ntaL", charges_nIL[:, column_ai], proj_tI[:, column_ai])
            out_ntA[..., charge_aL] = found_ntaL
        return out_ntA

    def collect(
        self, charges_nIL: torch.Tensor, integral_ntA: torch.Tensor, weight_n: torch.Tensor, out_tI: torch.Tensor
    ) -> None:
        """out_tI += Σ_n w_n Σ_iL P_ni Δ_L,ij I_nt,aL."""
        for column_ai, charge_aL, _ in self.multipole_LIi:
            weighted_naiL = charges_nIL[:, column_ai].conj() * weight_n[:, None, None, None]
            out_tI[:, column_ai] += torch.einsum("naiL,ntaL->tai", weighted_naiL, integral_ntA[..., charge_aL])


def pair_radius(basis: PlaneWaveBasis) -> float:
    """Radius of the sphere of pair densities, bohr⁻¹: that of the density, or the largest inside the grid's planes.

    |q+G| <= r has |x_c| <= r |a_c|/2π along each axis, which must stay below N_c/2 for any q.
    """
    height_c = pi * np.array(basis.grids.wave) / np.linalg.norm(basis.sphere_cv, axis=1)
    held = float(height_c.min()) * (1 - 1e-9)
    return min(PRECISION_FACTOR[basis.precision] * sphere_radius(basis.cutoff) * (1 + 1e-9), held)


def block_of_sources(points: int, targets: int, bytes_together: int, itemsize: int = 16) -> int:
    """How many orbitals are paired with all targets at a time."""
    return max(1, bytes_together // max(1, points * targets * itemsize))


def blocks_of(count: int, size: int) -> Sequence[slice]:
    """0 ... count-1 in pieces of at most `size`."""
    return [slice(first, min(first + size, count)) for first in range(0, count, size)]
