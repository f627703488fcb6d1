"""One ground state from a structure: everything is built here, once, and handed on."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from eigenwerk.dft.after.fixed_potential import OnBatch, PointBands, Visit, bands_in_potential, residual_tolerance
from eigenwerk.dft.after.projections import Projections, site_projections
from eigenwerk.dft.basis.grids import GridSizes
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis, make_basis
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import deviation
from eigenwerk.dft.crystal.tetrahedra import TETRAHEDRA
from eigenwerk.dft.density.density import Density, moment_per_atom, starting_density
from eigenwerk.dft.density.symmetrise import UNSYMMETRIC, Symmetriser, make_symmetriser
from eigenwerk.dft.derivatives.forces import Forces, correction, forces
from eigenwerk.dft.derivatives.pulay import cutoff_slope, pulay_pressure
from eigenwerk.dft.derivatives.stress import stress
from eigenwerk.dft.energy_terms import potential_builder
from eigenwerk.dft.exchange.exact_exchange import ExactExchange
from eigenwerk.dft.filling.occupations import make_smearing
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.filtered import FilteredProjectors, filtered_projectors
from eigenwerk.dft.paw.setup import make_setup
from eigenwerk.dft.paw.wave_limits import wave_limits
from eigenwerk.dft.scf.bands import Bands
from eigenwerk.dft.scf.cycle_settings import ScfSettings
from eigenwerk.dft.scf.loop import ScfLoop
from eigenwerk.dft.scf.mixing.mixing import MixSettings
from eigenwerk.dft.scf.stages.exchange_loop import CORES, ExchangeLoop, force_error_of
from eigenwerk.dft.scf.stages.force_goal import ForceGoal
from eigenwerk.dft.scf.start.earlier import Earlier, earlier_of, starting_point
from eigenwerk.dft.scf.state import ScfStep, StartingPoint, State, System
from eigenwerk.dft.settings.mixing_extent import screens_locally, smallest_factor
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.dft.spin.forms import FORMS
from eigenwerk.dft.terms.builder import PotentialBuilder
from eigenwerk.dft.terms.potential import Potential
from eigenwerk.dft.terms.reference_atoms import reference_energy
from eigenwerk.dft.terms.term import Scene
from eigenwerk.errors import InputError
from eigenwerk.functionals.table import find_functional
from eigenwerk.io.paw.paw_xml import PawDataset
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.units import BOHR_ANGSTROM

FIT_MAG_FROM = 15
"""Steps with AMIX_MAG in crystals before the response decides: most magnets are done by then, and a magnetisation that
is mixed gently from the start may settle in a higher minimum (bent iron: 0.3 eV).  Free atoms, whose levels empty and
fill at once, need it from the start; they have one k-point."""

NEAR_SQUARE = 30.0
"""The mixer of atoms and molecules counts the end as near where the squared residual is so many times that of
convergence."""

ASYMMETRY = 1e-3
"""Bohr by which atoms that move may miss the places that operations give them: rounding leaves a millionth of it."""

StepCallback = Callable[[ScfStep, State], None]


@dataclass(frozen=True)
class GroundState:
    """A state and what is derived from it.

    forces_av: (a, 3) hartree per bohr; correction_av: what is in them for the density not being self-consistent;
    force_error: estimate of the largest error left of that; moment_a: moments inside the augmentation spheres, Bohr
    magneton.  stress_vv: (3, 3) hartree per bohr³, positive where the cell wants to shrink, and pulay, the Pulay stress
    in its pressure, and projections of the orbitals on atoms; None if not asked for.  seconds: wall time.
    """

    state: State
    forces_av: np.ndarray
    moment_a: np.ndarray
    correction_av: np.ndarray
    force_error: float
    stress_vv: np.ndarray | None = None
    pulay: float | None = None
    seconds: float | None = None
    projections: Projections | None = None

    @property
    def basis(self) -> PlaneWaveBasis:
        """The plane waves of the state."""
        return self.state.system.basis


class Calculation:
    """Structure, k-points, parameters and PAW data, ready to be solved."""

    def __init__(
        self,
        structure: Structure,
        kpoints: KPoints,
        parameters: Parameters,
        datasets: Mapping[str, PawDataset],
        runtime: Runtime | None = None,
        real: bool = True,
    ):
        """real: real orbitals where k-points or an inversion allow it; False takes complex ones, the slow twin."""
        self.real = real
        if parameters.ismear in TETRAHEDRA:
            kpoints = kpoints.with_tetrahedra(structure)
        self.structure, self.kpoints, self.parameters = structure, kpoints, parameters
        self.datasets, self.runtime = datasets, runtime or Runtime()

    def moved(self, structure: Structure) -> "Calculation":
        """The same calculation for atoms elsewhere, or in another cell, on the same plane waves and k-points.

        The operations of the k-points have to be symmetries of the new structure, too; RuntimeError if they are not:
        forces and densities would be averaged over what is not alike.
        """
        kpoints = self.kpoints
        if (away := deviation(kpoints.symmetry, structure)) > ASYMMETRY:
            raise RuntimeError(
                f"the atoms have left the symmetry of the start by {away * BOHR_ANGSTROM:.1e} Å, which the run was to "
                "keep: a fault of eigenwerk, please report it. ISYM = 0 does without symmetry."
            )
        if not np.array_equal(structure.lattice_cv, self.structure.lattice_cv):
            kpoints = replace(kpoints, symmetry=replace(kpoints.symmetry, lattice_cv=structure.lattice_cv))
        other = Calculation(structure, kpoints, self.parameters, self.datasets, self.runtime, self.real)
        with self.runtime.trace.span("data sets"):
            other.atoms = self.atoms.moved(structure)
        other.basis = other.atoms.basis
        other.symmetrise = replace(self.symmetrise, atoms=other.atoms, symmetry=kpoints.symmetry)
        return other

    def at_points(self, kpoints: KPoints) -> "Calculation":
        """The same with other k-points and operations, on the same grids."""
        other = Calculation(self.structure, kpoints, self.parameters, self.datasets, self.runtime, self.real)
        real = self.real and (kpoints.allow_real_orbitals or not self.parameters.real_space)
        other.basis = self.basis.at_points(other.kpoints, real)
        other.atoms = self.atoms.at_points(other.basis)
        return other

    def at_cutoff(self, cutoff: float) -> "Calculation":
        """The same with another cutoff, hartree, on grids that it chooses; without a stress."""
        parameters = replace(self.parameters, cutoff=cutoff, wave_grid=None, fine_grid=None, stress=False)
        return Calculation(self.structure, self.kpoints, parameters, self.datasets, self.runtime, self.real)

    @cached_property
    def basis(self) -> PlaneWaveBasis:
        """Plane waves and grids."""
        given = self.parameters
        grids = None
        if given.wave_grid is not None and given.fine_grid is not None:
            grids = GridSizes(given.wave_grid, given.fine_grid)
        # orbitals that are real by inversion only have no projectors in real space
        real = self.real and (self.kpoints.allow_real_orbitals or not given.real_space)
        with self.runtime.trace.span("basis"):
            return make_basis(
                self.structure, self.kpoints, given.cutoff, given.precision, self.runtime, grids, real,
                FORMS[given.spins],
            )

    @cached_property
    def atoms(self) -> PawAtoms:
        """PAW tables on the basis."""
        with self.runtime.trace.span("data sets"):
            # energies of hybrids count from the atoms of the functional that they are made of
            functional = find_functional(self.parameters.functional)
            data = {symbol: self.datasets[symbol] for symbol in self.structure.species}
            setups = {symbol: make_setup(one, reference_energy(one, functional)) for symbol, one in data.items()}
            return PawAtoms(self.basis, setups, self._filtered())

    def _filtered(self) -> dict[str, FilteredProjectors] | None:
        """Projectors for the wave grid, if they are to be used in real space."""
        accuracy = self.parameters.real_space
        if not accuracy:
            return None
        limits = wave_limits(self.structure, self.basis.grids, self.parameters.cutoff)
        return {s: filtered_projectors(self.datasets[s], limits, accuracy[s]) for s in self.structure.species}

    @property
    def scene(self) -> Scene:
        """What the terms of the energy are made for: densities with the symmetry of the k-points."""
        return Scene(self.atoms, self.parameters, self.kpoints.symmetry)

    @cached_property
    def builder(self) -> PotentialBuilder:
        """Density -> potential, for such densities."""
        return potential_builder(self.scene)

    @property
    def exchange(self) -> ExactExchange | None:
        """The exact exchange between orbitals, None without."""
        return self.builder.term(ExactExchange)

    def _outer(self) -> ExchangeLoop | None:
        """The self-consistency of exact exchange, None without."""
        if self.exchange is None:
            return None
        return ExchangeLoop(
            self.exchange, self.builder, potential_builder(self.scene.semilocal), self.parameters.energy_tolerance,
            CORES[self.parameters.core_screened],
        )

    @cached_property
    def settings(self) -> ScfSettings:
        """What the self-consistency loop needs of the parameters."""
        given = self.parameters
        smallest = smallest_factor(given.mixing, self.structure)
        screening = screens_locally(given.mixing, self.structure, float(self.basis.norm2_g[1]) ** 0.5)
        isolated = smallest > given.mixing.amin
        near = (NEAR_SQUARE * given.energy_tolerance * given.electrons) ** 0.5 if isolated else 0.0
        mixing = MixSettings(
            kind=given.mixing.kind, amix=given.mixing.amix,
            # atoms and molecules answer like no dielectric: measured, a fitted factor serves as many as it harms
            fit_charge=given.mixing.fit_charge and smallest == given.mixing.amin and not screening,
            bmix=given.mixing.bmix, amix_mag=given.mixing.amix_mag,
            fit_mag=given.mixing.fit_mag, fit_mag_from=FIT_MAG_FROM if len(self.kpoints.point_kc) > 1 else 0,
            bmix_mag=given.mixing.bmix_mag, amin=given.mixing.amin, history=given.mixing.history,
            amin_charge=smallest,
            near=near,
        )
        return ScfSettings(
            bands=given.bands, electrons=given.electrons,
            smearing=make_smearing(given.ismear, given.fixed_occupations, self.kpoints.tetrahedra), width=given.width,
            fixed_moment=given.fixed_moment, energy_tolerance=given.energy_tolerance, max_steps=given.max_steps,
            min_steps=given.min_steps, frozen_steps=given.frozen_steps, solver=given.solver,
            motion_time=given.motion_time, start_single=given.start_single, screening=screening, mixing=mixing,
        )

    @property
    def system(self) -> System:
        """What its states are states of."""
        return System(self.basis, self.parameters, self.datasets)

    @cached_property
    def symmetrise(self) -> Symmetriser:
        """Averages over the symmetry of the k-points."""
        return make_symmetriser(self.kpoints.symmetry, self.atoms)

    def starting_density(self) -> Density:
        """Superposed atoms with the starting moments of the structure."""
        return starting_density(self.atoms, self.parameters.electrons)

    def start_from(self, earlier: Earlier, orbitals: bool = True) -> StartingPoint:
        """Where to begin so as to go on from an earlier state, with its orbitals if wanted and usable."""
        found = starting_point(earlier, self.system, self.atoms, orbitals)
        if found.progress is None or self.symmetrise.deviation(found.density) <= UNSYMMETRIC:
            return found
        # the memory of a mixer of densities with fewer operations never loses what these lack
        note = "mixing starts afresh: the density had fewer operations than now"
        return replace(found, progress=None, exchange=None, notes=(*found.notes, note))

    def loop(self) -> ScfLoop:
        """The self-consistency cycle, at its beginning."""
        return ScfLoop(self.system, self.atoms, self.builder, self.symmetrise, self.settings, self._outer())

    def run(
        self, on_step: StepCallback | None = None, start: State | StartingPoint | None = None,
        force_error: float | None = None, repeatable: bool = False,
    ) -> GroundState:  # fmt: skip
        """Solve; `start`: a state to go on from, of this or of another structure of the same atoms, in place of
        superposed atoms; force_error: hartree per bohr, until forces are known so well (`ForceGoal`); repeatable: see
        `ScfLoop.run`."""
        trace, started = self.runtime.trace, time.perf_counter()
        symmetrise = self.symmetrise
        with trace.span("start"):
            if isinstance(start, State):
                start = self.start_from(earlier_of(start))
            start = start or StartingPoint(self.starting_density())
            if start.progress is None:  # else nothing may change, not by rounding either
                start = replace(start, density=symmetrise(start.density))
        world = self.runtime.world
        # exchange of all pairs once more: for the last state only
        error_of = self.force_error_of if self.exchange is not None else None
        goal = ForceGoal(
            self.forces_of, lambda error: float(world.max(self.runtime.tensor(error))), force_error, error_of
        )
        loop, wanted = self.loop(), self.parameters.correct_forces
        if loop.outer is not None and wanted:
            loop.outer.aim(force_error)
        state = loop.run(start, on_step, goal.objection if wanted else None, repeatable)
        found = goal.forces(state)
        stress_vv, pulay = self.stress_of(state) if self.parameters.stress else (None, None)
        projections = self.projections_of(self.atoms, state.coeff_sknG, state.filling_skn)
        moment_a = moment_per_atom(state.density, self.atoms)
        seconds = time.perf_counter() - started
        trace.lap("LOOP+", seconds)
        if state.converged:  # nothing of exact exchange is needed from here on but what orbitals feel
            state = replace(state, exchange=None)
        return GroundState(
            state, found.force_av.cpu().numpy(), moment_a, found.correction_av.cpu().numpy(), found.error, stress_vv,
            pulay, seconds, projections,
        )

    def bands_at(
        self, density: Density, kpoints: KPoints, visit: Visit | None = None, on_batch: OnBatch | None = None,
        keep: bool = False,
    ) -> PointBands:
        """Bands at any k-points in the potential of a density, to a tolerance that follows from EDIFF.

        keep: the orbitals too, of the k-points of this calculation.
        """
        given, parts = self.parameters, list[Projections]()

        def potential_for(atoms: PawAtoms) -> Potential:
            if potential.rows is None or atoms is self.atoms:
                return potential
            # rows of terms belong to k-points; those of exchange are made of orbitals, first of semilocal ones
            scene = self.scene if self.exchange is None else self.scene.semilocal
            return potential_builder(replace(scene, atoms=atoms))(density)

        def renew(atoms: PawAtoms) -> Callable[[torch.Tensor], Potential]:
            assert self.exchange is not None
            rows_of = self.exchange.rows_at(atoms)
            return lambda coeff_sknG: replace(potential, rows=rows_of(coeff_sknG))

        def real(points: KPoints) -> bool:
            return self.real and (points.allow_real_orbitals or not given.real_space)

        def look(atoms: PawAtoms, bands: Bands, own: slice) -> None:
            if visit is not None:
                visit(atoms, bands, own)
            projections = self.projections_of(atoms, bands.coeff_sknG)
            if projections is not None:
                parts.append(projections.first(own.stop - own.start))

        with self.runtime.trace.span("band structure"):
            potential = self.builder(density)
            self._require_screening(kpoints)
            found = bands_in_potential(
                self.atoms, potential_for, kpoints, given.bands, real=real, visit=look, on_batch=on_batch,
                tolerance=residual_tolerance(given.energy_tolerance), max_sweeps=given.max_steps, keep=keep,
                renew=None if self.exchange is None else renew,
            )
            return replace(found, projections=Projections.joined(parts)) if parts else found

    def _require_screening(self, kpoints: KPoints) -> None:
        """Raise unless exchange with the mesh means something for bands at these points."""
        hybrid = self.parameters.hybrid
        if self.exchange is None or hybrid is None or kpoints is self.kpoints:
            return
        if self.parameters.downsampling is not None:
            raise InputError(
                f"NKRED: bands at k-points beside the mesh ({kpoints.source}) need exchange with all points of the "
                "mesh. Remove NKRED, EVENONLY and ODDONLY, or leave these k-points out."
            )
        if hybrid.screening:
            return
        if self.exchange.operator.kernel.long_range is not None:  # 1/r that ends before the next cell, at any point
            return
        raise InputError(
            f"LHFCALC: bands at k-points beside the mesh ({kpoints.source}) need an interaction that ends; that of 1/r "
            "diverges between neighbouring points. Set HFSCREEN = 0.2 (HSE06), or exchange_range = \"Wigner-Seitz\"."
        )

    def forces_of(self, state: State) -> Forces:
        """Forces of a state and their error."""
        with self.runtime.trace.span("forces"):
            found = forces(
                self.builder, state.density, state.output, state.coeff_sknG, state.eig_skn, state.filling_skn,
                self.parameters.correct_forces,
            )
            force_av, correction_av = map(self.symmetrise.forces, (found.force_av, found.correction_av))
            return Forces(force_av, correction_av, found.error + self._exchange_error(state))

    def force_error_of(self, state: State) -> float:
        """The error of a state's forces alone, which needs nothing of its orbitals."""
        with self.runtime.trace.span("forces"):
            density_a = correction(self.builder, state.density, state.output)[1]
            return float(density_a.max()) + self._exchange_error(state)

    def _exchange_error(self, state: State) -> float:
        """The part of exact exchange in the error of forces."""
        return 0.0 if state.exchange is None else force_error_of(state.exchange.expected, len(self.structure.symbols))

    def projections_of(
        self, atoms: PawAtoms, coeff_sknG: torch.Tensor, filling_skn: torch.Tensor | None = None
    ) -> Projections | None:
        """Weights of orbitals on the atoms, if they are wanted, on all ranks.

        atoms: on the basis of the orbitals; filling_skn: None at k-points that hold no electrons.
        """
        wanted = self.parameters.projection
        if wanted is None:
            return None
        if filling_skn is None:
            shape = len(coeff_sknG), len(atoms.basis.kpoints.point_kc), coeff_sknG.shape[2]
            filling_skn = torch.zeros(shape, dtype=self.runtime.real)
        symmetry = self.kpoints.symmetry
        with self.runtime.trace.span("projections"):
            return site_projections(atoms, coeff_sknG, filling_skn, wanted.radius, symmetry, wanted.phases)

    def stress_of(self, state: State) -> tuple[np.ndarray, float]:
        """Stress of a state, (3, 3), and the Pulay stress in its pressure, hartree per bohr³."""
        with self.runtime.trace.span("stress"):
            found_vv = stress(
                self.builder, state.density, state.output, state.coeff_sknG, state.eig_skn, state.filling_skn,
                self.parameters.correct_forces,
            )
            slope = cutoff_slope(self.basis, state.coeff_sknG, state.eig_skn, state.filling_skn)
            return self.symmetrise.tensor(found_vv).cpu().numpy(), pulay_pressure(self.basis, slope)
