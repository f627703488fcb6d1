"""Pair densities, their potentials, and what these make of orbitals: the work of exact exchange.

    ρ_nm(q+G) = 1/Ω ∫ u_n* u_m exp(-iG·r) + Σ_aL Q_nm,aL g_aL(q+G),   Q_nm,aL = Σ_ij P*_ni Δ_L,ij P_mj,   q = k - k'
    V_nm = v(q+G) ρ_nm(q+G)
    V_x ψ_m = -α Σ_n w_n [ψ_n(r) V_nm(r) + Σ_j p̃_j Σ_iaL P_ni Δ_L,ij ∫ g_aL V_nm],   w_n = f_n/N_k
    ∂E_x/∂R_a = -α Σ_m f_m w_k g Σ_n w_n Re Σ_L Q*_nm,aL ∫ g_aL ∇V_nm     (fixed P: compensation charges that move)

V_x is linear, so two real orbitals may be given as one complex one, ψ₁ + iψ₂.  Pair densities are kept on a sphere of
waves and a grid of their own (pair_grid.py).
"""

from collections.abc import Sequence
from functools import cached_property, reduce
from math import pi

import numpy as np
import torch

from eigenwerk.dft.basis.lattice import square
from eigenwerk.dft.basis.orbital_fft import FilledGrid, to_points, to_waves
from eigenwerk.dft.exchange.kernel import ExchangeKernel
from eigenwerk.dft.exchange.kernels import pair_loops_cuda, pair_loops_native, pair_passes_cuda
from eigenwerk.dft.exchange.kernels.pair_loops import PairLoops, PairTable
from eigenwerk.dft.exchange.pairs.mesh_orbitals import SourceBlock, blocks_of, precision_of
from eigenwerk.dft.exchange.pairs.pair_charges import PairCharges, pair_charges
from eigenwerk.dft.exchange.pairs.pair_fields import Mirror, PairDerivatives, PairFields, PairWaves, Targets
from eigenwerk.dft.exchange.pairs.pair_grid import PairGrid
from eigenwerk.dft.hamiltonian.single_precision import LOWER
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.parallel.memory.block_sizes import exchange_bytes, exchange_table_bytes
from eigenwerk.parallel.threads import each, threads_for

TARGETS_TOGETHER, TARGETS_OF_PASSES = 64, 16
"""Of pairs with one orbital, at most: several orbitals share what is read and written of targets; in `PairPasses`."""

SAME_WAVE = 1e8
"""Wave vectors that agree to as many parts are one."""


class PairExchange:
    """Pair densities between orbitals of any two points of a mesh."""

    def __init__(self, atoms: PawAtoms, kernel: ExchangeKernel, grid: PairGrid, single: bool = False):
        """single: in single precision, but for sums of what potentials make of orbitals."""
        self.atoms, self.basis, self.kernel, self.pair_grid = atoms, atoms.basis, kernel, grid
        self.grid = FilledGrid(grid.size_c)
        self.dtype = LOWER[atoms.runtime.complex] if single else atoms.runtime.complex
        self.real = torch.empty(0, dtype=self.dtype).real.dtype
        self.points = int(np.prod(grid.size_c))
        self.volume, self.radius = float(atoms.basis.volume), grid.wave * (1 + 1e-9)
        self.scaled_ac = atoms.basis.structure.scaled_ac - grid.shift_c

    @cached_property
    def multipole_LIi(self) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
        """Of each species: places of its projectors (a, i), of its charges (a, L), and Δ_Lij as complex numbers."""
        atoms, found = self.atoms, []
        for species in atoms.layout.species:
            multipole_Lij = atoms.multipole_Lij(species.setup).to(self.dtype)
            harmonics = len(multipole_Lij)
            charge_aL = torch.as_tensor(species.atom_a[:, None] * harmonics + np.arange(harmonics))
            column_ai = atoms.layout.columns(species, multipole_Lij.device)
            found.append((column_ai, charge_aL.to(multipole_Lij.device), multipole_Lij))
        return found

    @cached_property
    def charges(self) -> PairCharges:
        """Compensation charges times the volume."""
        return pair_charges(self.basis, self.atoms.layout, self.pair_grid, self.scaled_ac).to(self.real)

    def waves(self, q_c: np.ndarray) -> PairWaves:
        """Those of pairs with the wave vector q, fractional; kept for the next application while there is room."""
        key = tuple(np.rint(np.asarray(q_c) * SAME_WAVE).astype(int).tolist())
        if key not in self._kept:
            found = self._waves(q_c)
            if not self._room(found.nbytes):
                return found
            self._kept[key] = found
        return self._kept[key]

    def table(self, q_qc: Sequence[np.ndarray]) -> PairTable:
        """Of several wave vectors, fractional; kept as `waves` are."""
        key = tuple(int(x) for q_c in q_qc for x in np.rint(np.asarray(q_c) * SAME_WAVE))
        if key in self._tables:
            return self._tables[key]
        waves = [self.waves(q_c) for q_c in q_qc]
        if len(waves) == 1:
            (one,) = waves
            found, more = PairTable(one.kernel_R[None], None if one.phase_S is None else one.phase_S[None]), 0
        else:
            phases = [one.phase_S for one in waves]
            unit_S = torch.ones(len(self.charges.index_S), dtype=self.dtype, device=waves[0].kernel_R.device)
            turned = None
            if any(phase_S is not None for phase_S in phases):
                turned = torch.stack([unit_S if phase_S is None else phase_S for phase_S in phases])
            found = PairTable(torch.stack([one.kernel_R for one in waves]), turned)
            more = 2 * found.nbytes  # and what passes make of it
        if self._room(more):
            self._tables[key] = found
        return found

    def _room(self, more: int) -> bool:
        """Whether there is room for more tables."""
        kept = sum(one.nbytes for one in self._kept.values())
        kept += sum(2 * one.nbytes for one in self._tables.values() if len(one.kernel_qR) > 1)
        return kept + more <= exchange_table_bytes(self.basis.runtime.grid_bytes)

    @cached_property
    def _kept(self) -> dict[tuple[int, ...], PairWaves]:
        return {}

    @cached_property
    def _tables(self) -> dict[tuple[int, ...], PairTable]:
        return {}

    def _waves(self, q_c: np.ndarray) -> PairWaves:
        basis, runtime = self.basis, self.basis.runtime
        index_Gc = self._sphere(q_c)
        place_G = runtime.index(
            np.ravel_multi_index(tuple((index_Gc % np.array(self.grid.size_c)).T), self.grid.size_c)
        )
        wave_Gc = index_Gc + q_c
        vector_Gv = basis.lattice.waves(runtime.tensor(wave_Gc))
        kernel_R = vector_Gv.new_zeros(self.points)
        kernel_R[place_G] = self.kernel.of_waves(wave_Gc, square(vector_Gv)) / (self.volume * self.points)
        phase_S = self.charges.phases(q_c)
        turned_S = None if phase_S is None else phase_S.to(self.dtype)
        return PairWaves(wave_Gc, vector_Gv, place_G, kernel_R.to(self.real), turned_S)

    def _sphere(self, q_c: np.ndarray) -> np.ndarray:
        """Integer G with |q+G| in the sphere of pair densities; (G, 3).  The same in a strained cell."""
        lattice_cv = self.basis.sphere_cv
        size_c = self.radius * np.linalg.norm(lattice_cv, axis=1) / (2 * pi)
        low_c, high_c = np.ceil(-size_c - q_c).astype(int), np.floor(size_c - q_c).astype(int)
        axes = [np.arange(low, high + 1) for low, high in zip(low_c, high_c, strict=True)]
        index_Gc = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
        vector_Gv = (index_Gc + q_c) @ (2 * pi * np.linalg.inv(lattice_cv).T)
        return index_Gc[(vector_Gv**2).sum(1) <= self.radius**2]

    def add(self, sources: SourceBlock, table: PairTable, targets: Targets) -> None:
        """What exchange with some orbitals adds to all targets, without the factor -α; threads share the targets.

        table: of the wave vectors from the points of these orbitals to that of the targets.
        """
        charges = self.charges_of_sources(sources.proj_nI)
        u_nR = self.orbitals(sources)
        threads, step, most_t, most_n = self._blocks(targets)

        def work(part: slice) -> None:
            for t in blocks_of(part.stop - part.start, most_t):
                some = targets.some(slice(part.start + t.start, part.start + t.stop))
                for n in blocks_of(len(u_nR), most_n):
                    self._add(sources.some(n, u_nR), [one[:, n] for one in charges], table, some)

        each(work, blocks_of(len(targets.u_tR), step), threads)

    def add_mirrored(
        self, sources: SourceBlock, table: PairTable, targets: Targets, weighted: PairFields, mirror: Mirror
    ) -> None:
        """As `add`, and what the conjugate potentials make of the sources; weighted: targets times weights that they
        have as sources."""
        charges, u_nR = self.charges_of_sources(sources.proj_nI), self.orbitals(sources)
        threads, step, most_t, most_n = self._blocks(targets)

        def work(part: slice) -> Mirror:
            # threads must not add to the same sources
            own = mirror
            if threads > 1:
                own = Mirror(torch.zeros_like(mirror.out_nR), torch.zeros_like(mirror.out_nI))
            for t in blocks_of(part.stop - part.start, most_t):
                here = slice(part.start + t.start, part.start + t.stop)
                for n in blocks_of(len(u_nR), most_n):
                    some, back = [one[:, n] for one in charges], (weighted.some(here), own.some(n))
                    self._add(sources.some(n, u_nR), some, table, targets.some(here), back)
            return own

        for own in each(work, blocks_of(len(targets.u_tR), step), threads):
            if own is not mirror:
                mirror.plus(own)

    def _blocks(self, targets: Targets) -> tuple[int, int, int, int]:
        """Threads that share targets, targets of each, targets and sources at a time."""
        threads, count = threads_for(targets.u_tR.device), len(targets.u_tR)
        step = -(-count // min(count, threads))
        _, room = exchange_bytes(self.basis.runtime.grid_bytes)
        together = max(1, int(room) // (self.points * targets.u_tR.element_size()))
        most_t = min(step, together, TARGETS_TOGETHER if self.passes is None else TARGETS_OF_PASSES)
        return threads, step, most_t, max(1, together // most_t)

    def orbitals(self, sources: SourceBlock) -> torch.Tensor:
        """Those of a block in the precision of pairs."""
        return sources.u_nR.to(precision_of(sources.u_nR, self.dtype)).contiguous()

    def charges_of_sources(self, proj_nI: torch.Tensor) -> list[torch.Tensor]:
        """Σ_i P*_ni Δ_L,ij of each species; (a, n, L, j)."""
        found = []
        for column_ai, _, multipole_Lij in self.multipole_LIi:
            count = multipole_Lij.shape[1]
            matrix_ix = multipole_Lij.movedim(1, 0).reshape(count, -1)  # x = (L, j)
            proj_ani = proj_nI[:, column_ai].to(self.dtype).conj().movedim(1, 0)
            found.append((proj_ani @ matrix_ix).unflatten(-1, (-1, count)))
        return found

    def _add(
        self, sources: SourceBlock, charges: list[torch.Tensor], table: PairTable, targets: Targets,
        mirrored: tuple[PairFields, Mirror] | None = None,
    ) -> None:  # fmt: skip
        """mirrored: weighted targets, and where to add what they make of sources."""
        u_nR, weight_n, q_n = sources.u_nR, sources.weight_n, sources.q_n
        pair_ntA = self.charges_of_pairs(charges, targets.proj_tI)
        if self.passes is not None:
            passed = self.passes(
                u_nR, targets.u_tR, pair_ntA.flatten(0, 1), self.charges, table, q_n, weight_n, targets.out_tR,
                1 / self.points, mirrored is not None,
            )  # fmt: skip
            integral_xA, field_xR = passed.integral_xA, passed.potential_xR
        else:
            field_xR = self.potentials(self.densities(u_nR, targets.u_tR, pair_ntA, table, q_n), table, q_n)
            integral_xA = self.integrals(self.charges, field_xR, table, q_n)
            self.loops.accumulate(field_xR, u_nR, weight_n, targets.out_tR)
        self.collect(charges, integral_xA.view_as(pair_ntA), weight_n, targets.out_tI)
        if mirrored is not None and field_xR is not None:
            weighted, mirror = mirrored
            self.loops.mirror(field_xR, weighted.u_tR, mirror.out_nR)
            self._collect_back(weighted.proj_tI, integral_xA.view_as(pair_ntA), mirror.out_nI)

    def _collect_back(self, weighted_tI: torch.Tensor, integral_ntA: torch.Tensor, out_nI: torch.Tensor) -> None:
        """`collect` of conjugate potentials for the sources; weighted_tI: of targets times weights."""
        one_t = integral_ntA.real.new_ones(1).expand(len(weighted_tI))
        integral_tnA = integral_ntA.transpose(0, 1).conj().resolve_conj()
        self.collect(self.charges_of_sources(weighted_tI), integral_tnA, one_t, out_nI)

    def add_derivatives(
        self, sources: SourceBlock, table: PairTable, targets: Targets, filling_t: torch.Tensor,
        mirrored: tuple[torch.Tensor, torch.Tensor] | None = None,
    ) -> PairDerivatives:  # fmt: skip
        """Coefficients of projectors as in `add`, and what changes with atoms and cell; threads share the targets.

        mirrored: projections of weighted targets as in `add_mirrored`, and where to add coefficients of projectors of
        sources, (n, I).
        """
        charges, u_nR = self.charges_of_sources(sources.proj_nI), self.orbitals(sources)
        threads, step, most_t, most_n = self._blocks(targets)

        def work(part: slice) -> tuple[PairDerivatives, torch.Tensor | None]:
            found = PairDerivatives.nothing(self.charges, table, filling_t)
            back_nI = None if mirrored is None else torch.zeros_like(mirrored[1])
            for t in blocks_of(part.stop - part.start, most_t):
                here = slice(part.start + t.start, part.start + t.stop)
                for n in blocks_of(len(u_nR), most_n):
                    back = None
                    if mirrored is not None and back_nI is not None:
                        back = mirrored[0][here], back_nI[n]
                    some = sources.some(n, u_nR), [one[:, n] for one in charges]
                    self._differentiate(*some, table, targets.some(here), filling_t[here], found, back)
            return found, back_nI

        all_found, all_back = zip(*each(work, blocks_of(len(targets.u_tR), step), threads), strict=True)
        for back_nI in all_back:
            if mirrored is not None and back_nI is not None:
                mirrored[1].add_(back_nI)
        return reduce(PairDerivatives.plus, all_found)

    def _differentiate(
        self, sources: SourceBlock, charges: list[torch.Tensor], table: PairTable, targets: Targets,
        filling_t: torch.Tensor, found: PairDerivatives, mirrored: tuple[torch.Tensor, torch.Tensor] | None,
    ) -> None:  # fmt: skip
        u_nR, weight_n, q_n = sources.u_nR, sources.weight_n, sources.q_n
        pair_ntA = self.charges_of_pairs(charges, targets.proj_tI)
        weight_x = (weight_n[:, None] * filling_t).flatten()
        if self.passes is not None:
            passed = self.passes(
                u_nR, targets.u_tR, pair_ntA.flatten(0, 1), self.charges, table, q_n, weight_n, None, 1 / self.points,
                True, weight_x,
            )  # fmt: skip
            integral_xA, field_xR, square_qR = passed.integral_xA, passed.potential_xR, passed.square_qR
            assert field_xR is not None and square_qR is not None
            found.square_qR.add_(square_qR)
        else:
            density_xR = self.densities(u_nR, targets.u_tR, pair_ntA, table, q_n)
            self.loops.add_squares(density_xR, weight_x, q_n, found.square_qR)
            field_xR = self.potentials(density_xR, table, q_n)
            integral_xA = self.integrals(self.charges, field_xR, table, q_n)
        weighted_xA = pair_ntA.flatten(0, 1) * (weight_x / self.points).to(self.real)[:, None]
        self.loops.add_table_slopes(field_xR, weighted_xA, self.charges, table.phase_qS, q_n, found.slope_y)
        integral_ntA = integral_xA.view_as(pair_ntA)
        self.collect(charges, integral_ntA, weight_n, targets.out_tI)
        if mirrored is not None:
            self._collect_back(mirrored[0], integral_ntA, mirrored[1])

    @cached_property
    def loops(self) -> PairLoops:
        """Loops over the points of the grid: compiled where that is possible."""
        device = self.atoms.runtime.device
        made = pair_loops_cuda if device.type == "cuda" else pair_loops_native
        return made.loops(device, self.dtype, self.charges.harmonics) or PairLoops()

    @cached_property
    def passes(self) -> pair_passes_cuda.PairPasses | None:
        """All of it in three passes, on a GPU, if they cover the grid."""
        if not isinstance(self.loops, pair_loops_cuda.CudaLoops):
            return None
        device, harmonics = self.atoms.runtime.device, self.charges.harmonics
        return pair_passes_cuda.passes(self.grid.size_c, device, self.dtype, harmonics)

    def densities(
        self, u_nR: torch.Tensor, u_tR: torch.Tensor, pair_ntA: torch.Tensor, table: PairTable, q_n: torch.Tensor
    ) -> torch.Tensor:
        """Ω N ρ_nm(q+G) with compensation charges, pairs x = (n, t) one after the other, on the grid; (x, R)."""
        grid_xR = self.loops.form(u_nR, u_tR, pair_ntA.flatten(0, 1), self.charges, table.phase_qS, q_n)
        return to_waves(grid_xR.unflatten(-1, self.grid.size_c), self.grid, single=True).flatten(-3)

    def potentials(self, density_xR: torch.Tensor, table: PairTable, q_n: torch.Tensor) -> torch.Tensor:
        """V_nm at the points of the grid from what `densities` gives, whose memory is used up."""
        self.loops.multiply(density_xR, table.kernel_qR, q_n)
        return to_points(density_xR.unflatten(-1, self.grid.size_c), self.grid, single=True).flatten(-3)

    def integrals(
        self, charges: PairCharges, field_xR: torch.Tensor, table: PairTable, q_n: torch.Tensor
    ) -> torch.Tensor:
        """∫ g_aL V of some charges; (x, A)."""
        return self.loops.integrals(field_xR, charges, table.phase_qS, q_n, 1 / self.points)

    def charges_of_pairs(self, charges: list[torch.Tensor], proj_tI: torch.Tensor) -> torch.Tensor:
        """Q_nm,aL from those of sources; (n, t, A)."""
        count_n, count_t = charges[0].shape[1], len(proj_tI)
        out_ntA = proj_tI.new_empty((count_n, count_t, len(self.scaled_ac) * self.charges.harmonics))
        for (column_ai, charge_aL, multipole_Lij), charge_anLj in zip(self.multipole_LIi, charges, strict=True):
            proj_ait = proj_tI[:, column_ai].movedim(0, -1)
            found_anLt = (charge_anLj.flatten(1, 2) @ proj_ait).unflatten(1, (count_n, len(multipole_Lij)))
            out_ntA[..., charge_aL] = found_anLt.permute(1, 3, 0, 2)
        return out_ntA

    def collect(
        self, charges: list[torch.Tensor], integral_ntA: torch.Tensor, weight_n: torch.Tensor, out_tI: torch.Tensor
    ) -> None:
        """out_tI += Σ_n w_n Σ_iL P_ni Δ_L,ij I_nt,aL."""
        weighted_ntA = integral_ntA * weight_n.to(self.real)[:, None, None]
        for (column_ai, charge_aL, _), charge_anLj in zip(self.multipole_LIi, charges, strict=True):
            integral_atx = weighted_ntA[..., charge_aL].permute(2, 1, 0, 3).flatten(2)  # x = (n, L)
            out_tI[:, column_ai] += (integral_atx @ charge_anLj.conj().flatten(1, 2)).movedim(0, 1)


def block_of_sources(points: int, bytes_together: int, itemsize: int = 16) -> int:
    """How many orbitals are made on the grid at a time."""
    return max(1, bytes_together // max(1, points * itemsize))

