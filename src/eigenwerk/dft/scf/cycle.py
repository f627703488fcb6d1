"""Self-consistency: density -> potential -> bands -> density, until the energy stands still.

A cycle asks for the bands of a potential and is told them: whoever drives it solves for one alone or for many together.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from eigenwerk.dft.density.density import Density, electrons_of
from eigenwerk.dft.filling.occupations import Occupations, occupations
from eigenwerk.dft.scf.bands import BandProblem, Bands, density_of_bands, first_orbitals, with_guards
from eigenwerk.dft.scf.next_density import NextDensity
from eigenwerk.dft.scf.precision import PrecisionChoice
from eigenwerk.dft.scf.solver_choice import SolverChoice
from eigenwerk.dft.scf.solvers import SolverJob
from eigenwerk.dft.scf.stages.stage import KEPT, NEW, CycleScene, Stage
from eigenwerk.dft.scf.state import Progress, ScfStep, Solved, StartingPoint, StartOrbitals, State
from eigenwerk.dft.terms.energies import band_energy, harris_energies
from eigenwerk.dft.terms.potential import Potential

RESIDUAL_SHARE = 0.003
"""Orbital residuals below this share of the density residual per electron add nothing to the density."""

RESIDUAL_SQUARE = 1.0
"""Largest squared density residual per electron at convergence, in units of the energy tolerance."""

StepCallback = Callable[[ScfStep, State], None]
Solve = Callable[[Sequence[BandProblem]], Sequence[Bands]]


def one_by_one(problems: Sequence[BandProblem]) -> list[Bands]:
    """Each by itself."""
    return [problem.solved() for problem in problems]


def together(cycles: Sequence["Cycle"], solve: Solve = one_by_one) -> list[State]:
    """Several cycles side by side, to their ends: their band problems of a step are one list."""
    while asked := [(cycle, problem) for cycle in cycles if (problem := cycle.ask()) is not None]:
        for (cycle, _), bands in zip(asked, solve([problem for _, problem in asked]), strict=True):
            cycle.tell(bands)
    return [cycle.result for cycle in cycles]


class Cycle:
    """Of one system, from a starting point until it has converged or is out of steps.

    Each step begins with the state of the one before, whose `progress` a StartingPoint takes: so a cycle goes on.
    """

    def __init__(
        self, scene: CycleScene, builder: Callable[[Density], Potential], start: StartingPoint,
        stages: Sequence[Stage] = (), on_step: StepCallback | None = None, repeatable: bool = False,
    ):  # fmt: skip
        """builder: the potential of a density; stages: in the order in which they are asked; on_step: told each step.

        repeatable: each step begins with its state and nothing else, so that a run which goes on from a file is the
        same to the last bit; projections are made of the orbitals again then, in place of those that were turned with
        them.
        """
        self.scene, self.builder, self.stages, self.repeatable = scene, builder, stages, repeatable
        self.atoms, self.settings = scene.atoms, scene.settings
        self._on_step, self._start = on_step, start
        self.history: list[ScfStep] = []
        self.state: State | None = None
        self.over = False
        self.mixing = NextDensity(self.atoms, scene.symmetrise, self.settings)
        self._density, self._progress = start.density, start.progress
        self._orbitals = StartOrbitals(start.coeff_sknG, start.wanted_skn)
        self._lacking, self._note, self._since = "", "", 0
        self._restore()

    def ask(self) -> BandProblem | None:
        """The bands that the next step needs; None at the end."""
        if self.over:
            return None
        for stage in self.stages if not self.history else ():
            note, density = stage.begin(self._start)
            self._note = self._note or note
            if density is not self._start.density:
                self._begin_with(density)
        self._began = time.perf_counter()
        return self._problem()

    def tell(self, bands: Bands) -> ScfStep:
        """What has become of the problem asked for."""
        settings, world = self.settings, self.atoms.runtime.world
        density, before, last = self._density, self._progress, len(self.history) + 1 == settings.max_steps
        done = before.steps if before else 0
        solved = self._solved(bands)
        output = self._density_of(solved)
        refused, unlikely = self._doubts(density, output, solved)
        keeps = self._keeps(done)
        following, residual, mixed = self.mixing(density, output, solved, keeps, refused)
        if self.mixing.tries > 1:
            self._choice.take_over()
        told = (*filter(None, [self._lacking, self._note]), *solved.events)
        watched = self._choice.observe(solved.bands, solved.filling_skn, solved.tolerance)
        record = self._record(solved, output, residual, (*told, *watched, *mixed))
        self.atoms.runtime.trace.lap("LOOP", record.seconds)
        final = not keeps and self._choice.settled and solved.single is None
        # a step for something else has to leave the energy where it was, and nothing more
        there = self._stands(record) if self._lacking else final and self._converged(record, done)
        if final and not there:
            words = [stage.enough([*self.history, record], self._tolerance) for stage in self.stages]
            there, record = any(words), record.telling(*words)
        converged = world.all(there and not unlikely)
        self._note = ""
        self._progress = Progress(
            done + 1, residual, solved.energies.free, solved.energies.band, self._choice.state(),
            self._precision.state(), self.mixing.mixer.memory(),
        )  # fmt: skip
        state = State(
            self.scene.system, density, output, following, solved.bands.coeff_sknG, solved.bands.eig_skn, solved.filled,
            solved.energies, (*self.history, record), converged, "converged", self._progress, **self._memory(),
        )
        self._orbitals = replace(solved.orbitals, proj_sknI=None) if self.repeatable else solved.orbitals
        self._end_step(self._settled(state, solved, last) if converged else state, unlikely, last)
        return self.history[-1]

    @property
    def result(self) -> State:
        """The state at the end."""
        assert self.state is not None
        state = self.state
        for stage in self.stages:
            state = stage.end(state)
        return state

    def first_bands(self) -> Solved:
        """What the first step finds, before any stage has its say."""
        return self._solved(self._problem().solved())

    def _restore(self) -> None:
        """The choices of solver and precision, and the mixer, as they stand at the start."""
        settings, start, progress, mixer = self.settings, self._start, self._progress, self.mixing.mixer
        job = SolverJob(
            settings.solver, settings.bands, self.atoms.basis.form.real, settings.energy_tolerance, settings.motion_time
        )
        self._choice = SolverChoice(job, progress.steps if progress and progress.solver else 0)
        self._precision = PrecisionChoice(
            self.atoms, wished=settings.start_single, continued=start.coeff_sknG is not None,
            electrons=settings.electrons, energy_tolerance=settings.energy_tolerance, max_steps=settings.max_steps,
        )
        if progress is not None:
            self._choice.restore(progress.solver)
            self._precision.restore(progress.precision)
            if (memory := progress.mixer()) is not None:
                mixer.restore(memory, start.density.parts)
        elif start.learned is not None and (memory := start.learned()) is not None:
            mixer.learn(memory, start.density.parts)
        self.mixing.tries = mixer.tries

    def _begin_with(self, density: Density) -> None:
        """Go on elsewhere."""
        self._density = density
        self.mixing.forget()

    def _problem(self) -> BandProblem:
        """That of the density and orbitals there are."""
        atoms, trace, given, before = self.atoms, self.atoms.runtime.trace, self._orbitals, self._progress
        step, coeff_sknG = len(self.history) + 1, given.coeff_sknG
        with trace.span("potential"):
            potential = self.builder(self._density)
        method, events = self._choice.next(step)
        share = RESIDUAL_SHARE * (before.residual if before else 1.0) / max(self.settings.electrons, 1.0)
        tolerance = float(min(max(share, 1e-7), 1e-2))
        with trace.span("bands"):
            if coeff_sknG is None:
                coeff_sknG = first_orbitals(atoms, potential, with_guards(atoms, self.settings.bands))
            single, more = self._precision.next(
                step, method, potential, coeff_sknG, residual=before.residual if before else None, tolerance=tolerance,
            )
        self._events = (*events, *more)
        self._asked = BandProblem(
            atoms, potential, coeff_sknG, method, tolerance, given.wanted_skn, single, given.proj_sknI
        )
        return self._asked

    def _solved(self, found: Bands) -> Solved:
        """Bands in the potential of the density, their occupations, and the energy."""
        atoms, asked, bands = self.atoms, self._asked, found.lowest(self.settings.bands)
        filled = self.occupy(bands.eig_skn)
        filling_skn = self.scene.atoms.basis.filling(filled.occ_skn)
        # fetched before the work on the density is queued: nothing waits for that before it is mixed
        energies = harris_energies(
            atoms, self._density, asked.potential, band_energy(bands.eig_skn, filling_skn), filled.entropy_term,
            filled.zero_width_correction,
        )
        events = (*self._events, *bands.notes)
        return Solved(bands, filled, filling_skn, energies, asked.method, asked.tolerance, asked.single, events)

    def occupy(self, eig_skn: torch.Tensor) -> Occupations:
        """Occupations of bands."""
        settings, basis = self.settings, self.atoms.basis
        filled = occupations(
            eig_skn, basis.weight_k.cpu(), settings.electrons, settings.smearing,
            settings.width, basis.spin.degeneracy, settings.fixed_moment,
        )  # fmt: skip
        for stage in self.stages:
            filled = stage.occupied(filled, eig_skn)
        return filled

    def _density_of(self, solved: Solved) -> Density:
        """That of the orbitals found."""
        bands = solved.bands
        with self.atoms.runtime.trace.span("density"):
            return self.scene.symmetrise(density_of_bands(
                self.atoms, bands.coeff_sknG, solved.filling_skn, solved.single, bands.proj_sknI, self._density.value
            ))

    def _doubts(self, density: Density, output: Density, solved: Solved) -> tuple[str, str]:
        """The first word of each kind that a stage has."""
        found = [stage.doubts(density, output, solved) for stage in self.stages]
        refused, unlikely = (next(filter(None, words), "") for words in zip(("", ""), *found, strict=True))
        return refused, unlikely

    def _keeps(self, done: int) -> bool:
        return any(stage.keeps(done) for stage in self.stages)

    def _memory(self) -> dict[str, Any]:
        return {name: value for stage in self.stages for name, value in stage.memory().items()}

    def _settled(self, state: State, solved: Solved, last: bool) -> State:
        """A state whose density has converged, as its stages take it."""
        for stage in self.stages:
            state, mixer = stage.settled(state, solved, last)
            if mixer == NEW:
                self.mixing.forget()
            elif mixer != KEPT:
                self.mixing.mixer.renewed()
            if mixer != KEPT:
                state = replace(state, progress=replace(state.progress, mixer=self.mixing.mixer.memory()))
        if not state.converged:
            self._since, self._lacking = len(state.history), ""
        return state

    def _end_step(self, state: State, unlikely: str, last: bool) -> None:
        """Keep and tell what a step has led to, and whether and how it goes on."""
        record, converged, step = state.history[-1], state.converged, len(state.history)
        if converged or last:  # what is said of sloshing occupations on the way is not true
            steps = [*self.history[self._since :], record]
            words = [word for stage in self.stages for word in stage.remarks(steps, state, converged)]
            record = record.telling(unlikely, *words, *state.occupations.warnings)
        self.history.append(record)
        status = "converged" if converged else f"not converged after {step} steps"
        self.state = state = replace(state, history=tuple(self.history), status=status)
        if self._on_step is not None:
            self._on_step(record, state)
        self._density, self._progress, self.over = state.following, state.progress, last
        if not converged or last:
            return
        verdict = next((found for stage in self.stages if (found := stage.objection(state)) is not None), None)
        self.over = verdict is None or verdict.ends
        if verdict is None or verdict.ends:
            return
        if verdict.density is None:
            self._lacking = verdict.words
        else:
            self._note = verdict.words
            self._begin_with(verdict.density)

    def _record(self, solved: Solved, output: Density, residual: float, events: tuple[str, ...]) -> ScfStep:
        moment, energies, bands, before = None, solved.energies, solved.bands, self._progress
        if output.spin.polarised:
            moment = output.spin.moment(electrons_of(output, self.atoms))
        wanted_skn = solved.orbitals.wanted_skn
        assert wanted_skn is not None
        return ScfStep(
            step=len(self.history) + 1, energies=energies,
            change=energies.free - before.free if before else energies.free,
            band_change=energies.band - before.band if before else energies.band,
            residual=residual, orbital_residual=float((bands.residual_skn * (wanted_skn > 0)).max()), moment=moment,
            applications=bands.applications, seconds=time.perf_counter() - self._began, events=events,
            solver=solved.method.solver.short, precision="double" if solved.single is None else "single",
        )

    @property
    def _tolerance(self) -> float:
        tolerance = self.settings.energy_tolerance
        for stage in self.stages:
            tolerance = stage.tolerance(tolerance)
        return tolerance

    def _stands(self, record: ScfStep) -> bool:
        return abs(record.change) < self._tolerance

    def _converged(self, record: ScfStep, done: int) -> bool:
        """done: steps before this one, those of earlier runs included."""
        settings, tolerance = self.settings, self._tolerance
        # the free energy's error goes with the square of the residual: a small change alone may be a standstill
        square = record.residual**2 / (tolerance * settings.electrons) if tolerance > 0 else float("inf")
        # the change is that between two steps of densities that were mixed
        enough = done + 1 >= settings.min_steps and done > 0 and not self._keeps(done - 1)
        return enough and self._stands(record) and square < RESIDUAL_SQUARE
