"""The PAW side of a structure on a plane-wave basis: projectors, compensation charges, atomic fields.

Fourier transforms of f(r) Y_L(r̂) at atom R_a:  4π (-i)^l Y_L(q̂) F(q) exp(-i q·R_a) with
F(q) = ∫ r² j_l(q r) f(r) dr.  Orbital-like functions carry Ω^(-1/2), density-like ones Ω^(-1).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from math import pi, prod, sqrt

import numpy as np
import torch

from eigenwerk.dft.basis.grids import sphere_radius
from eigenwerk.dft.basis.lattice import length
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.paw.atom_layout import Species, atom_layout
from eigenwerk.dft.paw.filtered import FilteredProjectors
from eigenwerk.dft.paw.inversion_pairs import InversionPairs, inversion_pairs
from eigenwerk.dft.paw.radial_table import RadialTable, fourier_table
from eigenwerk.dft.paw.real_space import RealSpaceProjectors, SphereSpecies, make_real_space
from eigenwerk.dft.paw.setup import Setup
from eigenwerk.dft.paw.shape import degrees, form_factor
from eigenwerk.dft.paw.spherical import solid_harmonics
from eigenwerk.dft.paw.structure_factors import Multipoles, StructureFactors, WaveColumns, phases

RadialChoice = Callable[[Setup], np.ndarray]
"""Picks a radial function, or one per channel, of a setup."""

ALL_K = slice(None)
"""All k-points of the basis."""


class PawAtoms:
    """Atoms of a structure seen by a plane-wave basis (tables for the cutoff, tensors on the device).

    Whatever is a function of the lattice of the basis can be differentiated by it.
    """

    def __init__(
        self, basis: PlaneWaveBasis, setups: dict[str, Setup], filtered: Mapping[str, FilteredProjectors] | None = None
    ):
        """filtered: projectors by element, if they are to be used in real space."""
        self.basis, self.runtime, self.filtered = basis, basis.runtime, filtered
        self.layout = atom_layout(setups, basis.structure.symbols)
        self.scaled_ac = self.runtime.tensor(basis.structure.scaled_ac)
        # of all ranks: the tables, and with them the results, do not depend on the layout
        self.qmax_orbital = float(torch.sqrt(2 * basis.runtime.world.max(basis.kinetic_kh.detach().max())))
        self.length_g = length(basis.norm2_g)
        self.qmax_density = float(self.length_g.detach().max())
        self._gauss_g: dict[str, torch.Tensor] = {}
        self.factors, self.multipoles = {}, {}
        for count in (basis.density_count, len(self.length_g)):
            columns = WaveColumns.of(basis.index_gc[:count])
            self.multipoles[count] = Multipoles.of(columns, basis.lattice.reciprocal_cv, self.layout.charges_lmax)
            for species in self.layout.species:
                self.factors[species.setup.symbol, count] = StructureFactors(columns, self.scaled_ac[species.atom_a])
        self._tables: dict[tuple[bytes, tuple[int, ...], float], RadialTable] = {}
        self._constants: dict[tuple[str, str], torch.Tensor] = {}

    def strained(self, lattice_cv: torch.Tensor) -> "PawAtoms":
        """The same atoms at the same fractions of another cell, on the same plane waves (`PlaneWaveBasis.strained`)."""
        setups = {species.setup.symbol: species.setup for species in self.layout.species}
        other = PawAtoms(self.basis.strained(lattice_cv), setups, self.filtered)
        other._tables, other.factors = self._tables, self.factors
        return other

    def moved(self, structure: Structure) -> "PawAtoms":
        """The same atoms elsewhere, also in another cell, on the same plane waves (`PlaneWaveBasis.moved`)."""
        setups = {species.setup.symbol: species.setup for species in self.layout.species}
        other = PawAtoms(self.basis.moved(structure), setups, self.filtered)
        other._constants = self._constants
        if other.basis.lattice is self.basis.lattice:
            other._tables, other._gauss_g, other.multipoles = self._tables, self._gauss_g, self.multipoles
        return other

    def at_points(self, basis: PlaneWaveBasis) -> "PawAtoms":
        """The same atoms for orbitals of other k-points (`PlaneWaveBasis.at_points`); tables of the density are shared.

        Radial tables reach to the cutoff, so that they do not depend on which points are asked for together.
        """
        other = copy(self)
        for name in ("pairs", "inverse_overlap_kII", "projector_kIG", "real_space"):
            other.__dict__.pop(name, None)
        other.basis, other.qmax_orbital = basis, sphere_radius(basis.cutoff)
        return other

    def constant(self, setup: Setup, name: str) -> torch.Tensor:
        """A table of a setup on the device, by its name; copied there once."""
        key = setup.symbol, name
        if key not in self._constants:
            self._constants[key] = self.runtime.tensor(getattr(setup, name))
        return self._constants[key]

    def multipole_Lij(self, setup: Setup) -> torch.Tensor:
        """Δ_Lij of a setup, zero for L that only other species' charges have; (L, i, i)."""
        multipole_Lij = self.constant(setup, "multipole_Lij")
        missing = (self.layout.charges_lmax + 1) ** 2 - len(multipole_Lij)
        return torch.nn.functional.pad(multipole_Lij, (0, 0, 0, 0, 0, missing)) if missing else multipole_Lij

    @cached_property
    def pairs(self) -> InversionPairs | None:
        """What inversion does to the projectors, if orbitals are real by it."""
        inversion, structure = self.basis.inversion, self.basis.structure
        if inversion is None:
            return None
        parity = {s.setup.symbol: s.setup.parity_i for s in self.layout.species}
        return inversion_pairs(inversion, structure, [parity[s] for s in structure.symbols], self.scaled_ac)

    def even(self, flat_sx: torch.Tensor) -> torch.Tensor:
        """One-centre matrices as they must be with the rows of `pairs`: unchanged by inversion."""
        return flat_sx if self.pairs is None else self.pairs.even(flat_sx)

    @cached_property
    def overlap_x(self) -> torch.Tensor:
        """ΔS_ij of all atoms in flat order, (x,)."""
        blocks = [self.runtime.tensor(s.setup.overlap_ij).expand(s.count, -1, -1) for s in self.layout.species]
        return self.layout.flatten(blocks)

    @cached_property
    def inverse_overlap_kII(self) -> torch.Tensor:
        """C of S⁻¹ = 1 - Σ_IJ |p̃_I> C_IJ <p̃_J|: C = ΔS (1 + B ΔS)⁻¹, B_IJ = <p̃_J|p̃_I>; (k, I, I).

        Exact (the identity of Woodbury), for ΔS with or without an inverse.
        """
        starts_a, counts_a = self.layout.block_start_a, self.layout.projectors_a
        blocks = [self.overlap_x[s : s + i * i].view(i, i) for s, i in zip(starts_a, counts_a, strict=False)]
        overlap_II = torch.block_diag(*blocks).to(self.basis.form.dtype)
        inverse = []
        for projector_IG in self.projector_kIG:
            metric_II = self.runtime.bands.sum(projector_IG @ projector_IG.mH)
            unit_II = torch.eye(len(metric_II), dtype=metric_II.dtype, device=metric_II.device)
            inverse.append(torch.linalg.solve(unit_II + metric_II @ overlap_II, overlap_II, left=False))
        return torch.stack(inverse)

    # -- orbital-like functions -------------------------------------------------------------------------

    @cached_property
    def projector_kIG(self) -> torch.Tensor:
        """<k+G|p̃_I> of all projectors I (atoms in order); zero at padding; (k, I, G)."""
        if self.real_space is not None:
            return self.real_space.vectors(self.basis.sphere_map)
        return self.orbital_functions(lambda setup: setup.dataset.projector_jg)

    @cached_property
    def real_space(self) -> RealSpaceProjectors | None:
        """The projectors on the wave grid, None if they are used in reciprocal space only."""
        if self.filtered is None:
            return None
        scaled_ac = self.basis.structure.scaled_ac
        return make_real_space(self.basis, [
            SphereSpecies(self.filtered[s.setup.symbol], scaled_ac[s.atom_a], s.start_a, s.setup.j_i, s.setup.L_i)
            for s in self.layout.species
        ])  # fmt: skip

    def orbital_functions(self, radial_of: RadialChoice, k: slice = ALL_K) -> torch.Tensor:
        """<k+G|f_j Y_L> for every channel of every atom, radial parts given by `radial_of(setup)`.

        k: which k-points.  Returns (k, I, G): 4π Ω^(-1/2) (-i)^l Y_L F_j(|k+G|) exp(-i (k+G)·R_a) as vectors of the
        form of the orbitals; by inversion, the rows of `pairs`.
        """
        basis = self.basis
        k_count, g_count = basis.mask_kG[k].shape
        out_kIG = torch.zeros(
            (k_count, self.layout.projector_count, g_count), dtype=basis.form.dtype, device=self.runtime.device
        )
        for species in self.layout.species:
            setup = species.setup
            shape_kih = self._shapes_of(setup, radial_of(setup), k)
            start_of = dict(zip(species.atom_a.tolist(), species.start_a.tolist(), strict=True))
            for atom in start_of:
                for a, vector_kiG in self.rows_of(atom, setup.l_j, shape_kih, k):
                    out_kIG[:, start_of[a] : start_of[a] + shape_kih.shape[1]] = vector_kiG
        return out_kIG

    def projector_slopes(self, k: slice, weight_kIG: torch.Tensor) -> torch.Tensor:
        """A number whose derivative by the lattice is that of Re Σ_kIG W_kIG <k+G|p̃_I>.

        What the lattice changes is the same for all atoms of a species, which pass one after the other.
        """
        if self.real_space is not None:
            parts = zip(range(len(self.basis.mask_kG))[k], weight_kIG, strict=True)
            return torch.stack([self.real_space.slopes(point, weight_IG) for point, weight_IG in parts]).sum()
        total = weight_kIG.real.new_zeros(())
        for species in self.layout.species:
            setup = species.setup
            shape_kih = self._shapes_of(setup, setup.dataset.projector_jg, k)
            leaf_kih = shape_kih.detach().requires_grad_()
            start_of = dict(zip(species.atom_a.tolist(), species.start_a.tolist(), strict=True))
            for atom in start_of:
                for a, vector_kiG in self.rows_of(atom, setup.l_j, leaf_kih, k):
                    weight_kiG = weight_kIG[:, start_of[a] : start_of[a] + setup.projector_count]
                    (vector_kiG * weight_kiG).real.sum().backward(retain_graph=True)
            if leaf_kih.grad is not None:
                total = total + (shape_kih * leaf_kih.grad.conj()).real.sum()
        return total

    def true_projections(
        self, a: int, rows: list[torch.Tensor], l_j: Sequence[int], k: slice
    ) -> list[tuple[int, torch.Tensor]]:
        """<f_j Y_L|ψ̃_n> of an atom, and by inversion of its partner, from products with their `rows_of`; (k, n, i)."""
        if self.pairs is None:
            return [(a, rows[0])]
        return self.pairs.projections(a, rows, self.runtime.tensor(self.basis.point_kc[k]), self._parity(l_j))

    def _parity(self, l_j: Sequence[int]) -> torch.Tensor:
        return self.runtime.tensor([(-1.0) ** l for l in l_j for _ in range(2 * l + 1)])

    def rows_of(self, a: int, l_j: Sequence[int], shape_kih: torch.Tensor, k: slice) -> list[tuple[int, torch.Tensor]]:
        """The functions of an atom as vectors, (k, i, G); by inversion, with those of its partner at the first one."""
        pairs = self.pairs
        if pairs is None:
            return [(a, self.basis.form.vectors(shape_kih * self.orbital_phase_kh(a, k)[:, None], k))]
        if pairs.inversion.partner_a[a] < a:
            return []
        wave_kih = shape_kih * self._phase_kh(pairs.position_ac[a], k)[:, None]
        return pairs.rows(a, wave_kih, self.runtime.tensor(self.basis.point_kc[k]), self._parity(l_j))

    def orbital_phase_kh(self, a: int, k: slice = ALL_K) -> torch.Tensor:
        """exp(-i (k+G)·R_a), (k, h)."""
        return self._phase_kh(self.scaled_ac[a], k)

    def _phase_kh(self, position_c: torch.Tensor, k: slice) -> torch.Tensor:
        point_kc = self.runtime.tensor(self.basis.point_kc[k])
        return phases((self.basis.index_khc[k] + point_kc[:, None]) @ position_c)

    def _shapes_of(self, setup: Setup, radial_jg: np.ndarray, k: slice) -> torch.Tensor:
        return self.orbital_shapes(setup.l_j, self._table(setup, radial_jg, setup.l_j, self.qmax_orbital), k)

    def orbital_shapes(self, l_j: Sequence[int], table: RadialTable, k: slice) -> torch.Tensor:
        """4π Ω^(-1/2) (-i)^l Y_L F_j of functions with l_j and Fourier transforms F_j, without the phase of the atom;
        (k, i, h)."""
        basis = self.basis
        j_i = np.array([j for j, l in enumerate(l_j) for _ in range(2 * l + 1)])
        L_i = np.concatenate([np.arange(l * l, (l + 1) ** 2) for l in l_j])
        length_kh = length(2 * basis.kinetic_kh[k])
        harmonic_khL = solid_harmonics(max(l_j), basis.wave_vector_khv[k] / length_kh[..., None])
        scale_kh = basis.mask_kh[k] * (4 * pi / basis.volume.sqrt())
        radial_kih = (table(length_kh) * scale_kh).movedim(0, 1)[:, j_i]
        phase_i = self.runtime.tensor((-1j) ** np.array(l_j)[j_i], self.runtime.complex)
        return radial_kih * harmonic_khL[..., L_i].movedim(-1, 1) * phase_i[:, None]

    def _table(self, setup: Setup, f_xg: np.ndarray, l_x: Sequence[int], qmax: float) -> RadialTable:
        """`fourier_table`, made once for the same functions: blocks of k-points, potentials and forces ask for them."""
        key = f_xg.tobytes(), tuple(l_x), qmax
        if key not in self._tables:
            self._tables[key] = fourier_table(setup.dataset.grid, f_xg, l_x, qmax, self.runtime)
        return self._tables[key]

    # -- density-like functions -------------------------------------------------------------------------

    def structure_factors(self, species: Species, count: int | None = None) -> StructureFactors:
        """exp(-i g·R_a) of one species' atoms on the electrostatic sphere; count: a smaller one is enough."""
        spheres = sorted(self.multipoles)
        return self.factors[species.setup.symbol, next(n for n in spheres if n >= (count or spheres[-1]))]

    def compensation_gauss_g(self, setup: Setup) -> torch.Tensor:
        """4π/Ω f(g) of the compensation charges, (g,)."""
        if setup.symbol not in self._gauss_g:
            gauss_g = form_factor(setup.shape, self.basis.norm2_g) * (4 * pi / self.basis.volume)
            self._gauss_g[setup.symbol] = gauss_g
        return self._gauss_g[setup.symbol]

    @cached_property
    def shape_factor_L(self) -> torch.Tensor:
        """(-i)^l / (2l+1)!!."""
        l_L = degrees(self.layout.charges_lmax)
        return self.runtime.tensor([(-1j) ** l / prod(range(2 * l + 1, 0, -2)) for l in l_L], self.runtime.complex)

    def scalar_field(self, radial_of: RadialChoice, count: int) -> torch.Tensor:
        """Σ_a f_a(g) exp(-i g·R_a) / Ω of spherical functions, 4π Y_00 F(|g|); (g,)."""
        total_g = torch.zeros(count, dtype=self.runtime.complex, device=self.runtime.device)
        for species in self.layout.species:
            form_g = self.form_factor_g(species.setup, radial_of(species.setup), count)
            one_xa = total_g.new_ones((1, species.count))
            total_g += form_g * self.structure_factors(species, count).waves(one_xa, count)[0]
        return total_g

    def form_factor_g(
        self, setup: Setup, f_g: np.ndarray, count: int, length_g: torch.Tensor | None = None
    ) -> torch.Tensor:
        """sqrt(4π) F(|g|) / Ω of the function f(r) Y_00; (g,) real.  length_g: of waves of another cell."""
        table = self._table(setup, f_g[None], (0,), self.qmax_density)
        length_g = self.length_g[:count] if length_g is None else length_g.clamp_max(self.qmax_density)
        return table(length_g)[0] * (sqrt(4 * pi) / self.basis.volume)

    @cached_property
    def pseudo_core_g(self) -> torch.Tensor:
        """Smooth core density of all atoms on the density sphere."""
        return self.scalar_field(lambda setup: setup.dataset.pseudo_core_density_g, self.basis.density_count)

    @cached_property
    def zero_potential_g(self) -> torch.Tensor:
        """Zero potential v̄ of all atoms on the density sphere, hartree."""
        return self.scalar_field(lambda setup: setup.dataset.zero_potential_g, self.basis.density_count)

    def charge_moments(self, occupancy_x: torch.Tensor) -> Iterator[tuple[Species, torch.Tensor]]:
        """Q_aL = Δ_0 δ_L0 + Σ_ij Δ_Lij D_ij of each species' atoms, for the D of all spins together; (a, L)."""
        for species, moment_saL in self._valence_moments(occupancy_x[None]):
            moment_aL = moment_saL[0]
            moment_aL[:, 0] += species.setup.multipole_core
            yield species, moment_aL

    def _valence_moments(self, occupancy_sx: torch.Tensor) -> Iterator[tuple[Species, torch.Tensor]]:
        for species in self.layout.species:
            blocks_saij = self.layout.blocks(occupancy_sx, species)
            multipole_Lij = self.multipole_Lij(species.setup)
            yield species, blocks_saij.flatten(2) @ multipole_Lij.flatten(1).T

    def compensation_charge(self, occupancy_x: torch.Tensor) -> torch.Tensor:
        """Compensation charge density on the electrostatic sphere, cores and nuclei included; (g,)."""
        total_g = torch.zeros(len(self.length_g), dtype=self.runtime.complex, device=self.runtime.device)
        for species, moment_aL in self.charge_moments(occupancy_x):
            total_g += self._charge_of(species, moment_aL, len(self.length_g))
        return total_g

    def valence_compensation(self, occupancy_sx: torch.Tensor, whole: bool = False) -> torch.Tensor:
        """Compensation charges of the valence electrons alone, spin by spin, on the density sphere; (s, g).

        whole: on the electrostatic sphere.
        """
        count = len(self.length_g) if whole else self.basis.density_count
        total_sg = torch.zeros((len(occupancy_sx), count), dtype=self.runtime.complex, device=self.runtime.device)
        for species, moment_saL in self._valence_moments(occupancy_sx):
            for moment_aL, total_g in zip(moment_saL, total_sg, strict=True):
                total_g += self._charge_of(species, moment_aL, count)
        return total_sg

    def _charge_of(self, species: Species, moment_aL: torch.Tensor, count: int) -> torch.Tensor:
        """Σ_aL Q_aL g_L(g) exp(-i g·R_a) on a sphere; (g,)."""
        factors = self.structure_factors(species, count)
        charge_g = factors.multipole_waves(self.multipoles[count], moment_aL * self.shape_factor_L)
        return charge_g.mul_(self.compensation_gauss_g(species.setup)[:count])

    def compensation_potential(self, potential_g: torch.Tensor) -> Iterator[tuple[Species, torch.Tensor]]:
        """∫ v(r) g_L(r - R_a) d³r of each species' atoms; (a, L)."""
        weighted_g = (potential_g * (self.basis.weight_g * self.basis.volume)).conj_physical()
        for species in self.layout.species:
            yield species, self.compensation_integrals(species, weighted_g)

    def compensation_integrals(self, species: Species, weighted_g: torch.Tensor) -> torch.Tensor:
        """Re Σ_g f_g g_L(g) exp(-i g·R_a) on the electrostatic sphere; (a, L)."""
        field_g = weighted_g * self.compensation_gauss_g(species.setup)
        value_aL = self.structure_factors(species).multipoles_at(self.multipoles[len(self.length_g)], field_g)
        return (value_aL * self.shape_factor_L).real
