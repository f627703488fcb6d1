"""One ground state from a structure: everything is built here, once, and handed on."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from eigenwerk.dft.after.derived import DerivedQuantities
from eigenwerk.dft.after.projections import Projections
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import require_kept
from eigenwerk.dft.crystal.tetrahedra import TETRAHEDRA
from eigenwerk.dft.density.density import Density, carrying, moment_per_atom, starting_density
from eigenwerk.dft.density.symmetrise import UNSYMMETRIC, Symmetriser, make_symmetriser
from eigenwerk.dft.energy_terms import potential_builder
from eigenwerk.dft.exchange.exact_exchange import ExactExchange
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.scf.cycle import Cycle, StepCallback, together
from eigenwerk.dft.scf.cycle_settings import ScfSettings
from eigenwerk.dft.scf.stages.exchange_stage import cycle_of
from eigenwerk.dft.scf.stages.force_goal import ForceGoal
from eigenwerk.dft.scf.stages.stage import CycleScene
from eigenwerk.dft.scf.start.earlier import Earlier, earlier_of, starting_point
from eigenwerk.dft.scf.state import StartingPoint, State, System
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.dft.terms.builder import PotentialBuilder
from eigenwerk.dft.terms.term import Scene
from eigenwerk.dft.waves_and_atoms import atoms_of, waves_of
from eigenwerk.io.paw.dataset import PawDataset
from eigenwerk.parallel.runtime import Runtime


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        return f"<ground state: {self.state!r}>"


@dataclass(frozen=True, eq=False)
class Made:
    """What one calculation hands on to another, so that it is not made again."""

    atoms: PawAtoms
    symmetrise: Symmetriser | None = None


@dataclass(frozen=True, eq=False)
class Calculation:
    """Structure, k-points, parameters and PAW data, ready to be solved.

    real: real orbitals where k-points or an inversion allow it; False takes complex ones, the slow twin.  made: what
    another calculation has made already.  asked: fields that its densities carry besides those that the energy needs.
    """

    structure: Structure
    kpoints: KPoints
    parameters: Parameters
    datasets: Mapping[str, PawDataset]
    runtime: Runtime = field(default_factory=Runtime)
    real: bool = True
    made: Made | None = None
    asked: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.parameters.ismear in TETRAHEDRA:
            object.__setattr__(self, "kpoints", self.kpoints.with_tetrahedra(self.structure))

    def moved(self, structure: Structure) -> "Calculation":
        """The same calculation for atoms elsewhere, or in another cell, on the same plane waves and k-points.

        The operations of the k-points have to be symmetries of the new structure, too; RuntimeError if they are not:
        forces and densities would be averaged over what is not alike.
        """
        kpoints = self.kpoints
        require_kept(kpoints.symmetry, structure)
        if not np.array_equal(structure.lattice_cv, self.structure.lattice_cv):
            kpoints = replace(kpoints, symmetry=replace(kpoints.symmetry, lattice_cv=structure.lattice_cv))
        with self.runtime.trace.span("data sets"):
            atoms = self.atoms.moved(structure)
        made = Made(atoms, replace(self.symmetrise, atoms=atoms, symmetry=kpoints.symmetry))
        return replace(self, structure=structure, kpoints=kpoints, made=made)

    def at_points(self, kpoints: KPoints) -> "Calculation":
        """The same with other k-points and operations, on the same grids."""
        other = replace(self, kpoints=kpoints, made=None)
        basis = self.basis.at_points(other.kpoints, self.real_at(kpoints))
        return replace(other, made=Made(self.atoms.at_points(basis)))

    def at_cutoff(self, cutoff: float) -> "Calculation":
        """The same with another cutoff, hartree, on grids that it chooses; without a stress."""
        parameters = replace(self.parameters, cutoff=cutoff, wave_grid=None, fine_grid=None, stress=False)
        return replace(self, parameters=parameters, made=None)

    def real_at(self, kpoints: KPoints) -> bool:
        """Whether orbitals may be real: those that are so by inversion only have no projectors in real space."""
        return self.real and (kpoints.allow_real_orbitals or not self.parameters.real_space)

    @cached_property
    def basis(self) -> PlaneWaveBasis:
        """Plane waves and grids."""
        if self.made is not None:
            return self.made.atoms.basis
        return waves_of(self.parameters, self.structure, self.kpoints, self.runtime, self.real_at(self.kpoints))

    @cached_property
    def atoms(self) -> PawAtoms:
        """PAW tables on the basis."""
        return atoms_of(self.parameters, self.basis, self.datasets) if self.made is None else self.made.atoms

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

    @cached_property
    def settings(self) -> ScfSettings:
        """What the self-consistency loop needs of the parameters."""
        species = [self.datasets[symbol].states for symbol in self.structure.species]
        return ScfSettings.of(self.parameters, self.basis, species)

    @property
    def system(self) -> System:
        """What its states are states of."""
        return System(self.basis, self.parameters, self.datasets)

    @cached_property
    def symmetrise(self) -> Symmetriser:
        """Averages over the symmetry of the k-points."""
        given = None if self.made is None else self.made.symmetrise
        return given or make_symmetriser(self.kpoints.symmetry, self.atoms)

    @cached_property
    def derived(self) -> DerivedQuantities:
        """Forces, stress and weights of its states."""
        return DerivedQuantities(self.parameters, self.builder, self.symmetrise)

    def starting_density(self) -> Density:
        """Superposed atoms with the starting moments of the structure."""
        return starting_density(self.atoms, self.parameters.electrons, self.fields)

    @property
    def fields(self) -> frozenset[str]:
        """Those that its densities carry."""
        return self.builder.needs | self.asked

    def start_from(self, earlier: Earlier, orbitals: bool = True) -> StartingPoint:
        """Where to begin so as to go on from an earlier state, with its orbitals if wanted and usable."""
        found = starting_point(earlier, self.system, self.atoms, orbitals)
        if found.progress is None or self.symmetrise.deviation(found.density) <= UNSYMMETRIC:
            return found
        # the memory of a mixer of densities with fewer operations never loses what these lack
        note = "mixing starts afresh: the density had fewer operations than now"
        return replace(found, progress=None, exchange=None, notes=(*found.notes, note))

    def cycle(
        self, start: StartingPoint, goal: ForceGoal | None = None, on_step: StepCallback | None = None,
        repeatable: bool = False,
    ) -> Cycle:  # fmt: skip
        """The self-consistency cycle, at its beginning: see `cycle_of`."""
        scene = CycleScene(self.system, self.atoms, self.symmetrise, self.settings)
        return cycle_of(scene, self.builder, self.exchange, start, goal, on_step, repeatable)

    def run(
        self, on_step: StepCallback | None = None, start: State | StartingPoint | None = None,
        force_error: float | None = None, repeatable: bool = False,
    ) -> GroundState:  # fmt: skip
        """Solve; `start`: a state to go on from, of this or of another structure of the same atoms, in place of
        superposed atoms; force_error: hartree per bohr, until forces are known so well (`ForceGoal`); repeatable: see
        `Cycle`."""
        trace, started, derived = self.runtime.trace, time.perf_counter(), self.derived
        with trace.span("start"):
            if isinstance(start, State):
                start = self.start_from(earlier_of(start))
            start = start or StartingPoint(self.starting_density())
            if start.density.value.keys() != self.fields:  # what a mixer remembers is of other fields then
                density = carrying(start.density, self.atoms, self.fields)
                start = replace(start, density=density, progress=None, learned=None, exchange=None)
            if start.progress is None:  # else nothing may change, not by rounding either
                start = replace(start, density=self.symmetrise(start.density))
        world = self.runtime.world
        # exchange of all pairs once more: for the last state only
        error_of = derived.force_error if self.exchange is not None else None
        goal = ForceGoal(
            derived.forces, lambda error: float(world.max(self.runtime.tensor(error))), force_error, error_of
        )
        wanted = goal if self.parameters.correct_forces else None
        state = together([self.cycle(start, wanted, on_step, repeatable)])[0]
        found = goal.forces(state)
        stress_vv, pulay = derived.stress(state)
        projections = derived.projections(self.atoms, state.coeff_sknG, state.filling_skn)
        moment_a = moment_per_atom(state.density, self.atoms)
        seconds = time.perf_counter() - started
        trace.lap("LOOP+", seconds)
        if state.converged:  # nothing of exact exchange is needed from here on but what orbitals feel
            state = replace(state, exchange=None)
        return GroundState(
            state, found.force_av.cpu().numpy(), moment_a, found.correction_av.cpu().numpy(), found.error, stress_vv,
            pulay, seconds, projections,
        )
