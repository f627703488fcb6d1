"""Self-consistency: density -> potential -> bands -> density, until the energy stands still."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from eigenwerk.dft.density.density import Density, atomic_density, electrons_of, moment_per_atom
from eigenwerk.dft.density.symmetrise import Symmetriser
from eigenwerk.dft.filling.occupations import Occupations, occupations
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.scf.bands import Bands, density_of_bands, first_orbitals, solve_bands, with_guards
from eigenwerk.dft.scf.cycle_settings import ScfSettings
from eigenwerk.dft.scf.mixing.mixing import PulayMixer
from eigenwerk.dft.scf.mixing.screening import Screening, local_states
from eigenwerk.dft.scf.precision import PrecisionChoice
from eigenwerk.dft.scf.solver_choice import SolverChoice
from eigenwerk.dft.scf.solvers import SolverJob
from eigenwerk.dft.scf.stages.branches import TURNING, SecondStart, dead_moments, other_states, stands_still
from eigenwerk.dft.scf.stages.exchange_loop import ExchangeLoop
from eigenwerk.dft.scf.stages.ghosts import deepest_level, overfilled, unbelievable
from eigenwerk.dft.scf.state import Progress, ScfStep, Solved, StartingPoint, StartOrbitals, State, System
from eigenwerk.dft.terms.builder import PotentialBuilder
from eigenwerk.dft.terms.energies import band_energy, harris_energies

RESIDUAL_SHARE = 0.003
"""Orbital residuals below this share of the density residual per electron add nothing to the density."""

RESIDUAL_SQUARE = 1.0
"""Largest squared density residual per electron at convergence, in units of the energy tolerance."""

Objection = Callable[[State], str]
"""What a converged state still lacks, in words; empty if nothing."""

OTHER_TRY = 3
"""The try that takes the other preconditioner."""


class ScfLoop:
    """The self-consistency cycle of one subject; `run` goes from a density to a State."""

    def __init__(
        self, system: System, atoms: PawAtoms, builder: PotentialBuilder, symmetrise: Symmetriser,
        settings: ScfSettings, outer: ExchangeLoop | None = None,
    ):  # fmt: skip
        """outer: the self-consistency of exact exchange around this one, if there is any."""
        self.system, self.atoms, self._builder, self.outer = system, atoms, builder, outer
        self.symmetrise, self.settings = symmetrise, settings
        self.weight_k = atoms.basis.weight_k.cpu()  # occupations are found in host memory
        self._deepest = deepest_level(system.datasets)
        self._neutral = sum(system.datasets[symbol].valence for symbol in system.structure.symbols)
        self._compensated: tuple[torch.Tensor, torch.Tensor] | None = None
        self.mixer = self._new_mixer()

    @property
    def builder(self) -> PotentialBuilder:
        """Density -> potential of the next step."""
        return self._builder if self.outer is None else self.outer.builder

    def run(
        self, start: StartingPoint, on_step: Callable[[ScfStep, State], None] | None = None,
        objection: Objection | None = None, repeatable: bool = False,
    ) -> State:  # fmt: skip
        """Iterate from a starting point until converged or out of steps.

        objection: asked of converged states; another step follows as long as it has any.  repeatable: each step begins
        with its state and nothing else, so that a run which goes on from a file is the same to the last bit;
        projections are made of the orbitals again then, in place of those that were turned with them.
        """
        settings, trace = self.settings, self.atoms.runtime.trace
        history: list[ScfStep] = []
        orbitals = StartOrbitals(start.coeff_sknG, start.wanted_skn)
        progress, state = start.progress, None
        choice, precision = self._begun(start)
        objected, second = "", self._second_start(start)
        (second.note, density), of_operator = self._begin_exchange(start), 0
        for step in range(1, settings.max_steps + 1):
            started, last = time.perf_counter(), step == settings.max_steps
            done = progress.steps if progress else 0
            frozen = done < self.settings.frozen_steps
            solved = self._solved(step, density, orbitals, progress, choice, precision)
            orbitals = solved.orbitals
            output = self._density_of(solved)
            doubt = overfilled(density, output, self.atoms)
            following, residual, mixer_events = self._mixed(density, output, solved, frozen, doubt)
            if self._tries > 1:
                choice.take_over()
            events = (
                *filter(None, [objected, second.note]), *solved.events,
                *choice.observe(solved.bands, solved.filling_skn, solved.tolerance), *mixer_events,
            )
            record = self._record(step, solved, output, residual, progress, started, events)
            trace.lap("LOOP", record.seconds)
            unlikely = doubt or self._unbelievable(solved)
            final = not frozen and choice.settled and solved.single is None
            # a step for something else has to leave the energy where it was, and nothing more
            there = self._stands(record) if objected else final and self._converged(record, done)
            if final and not there and self._turns([*history, record]):
                there, record = True, record.telling(TURNING)
            converged = self.atoms.runtime.world.all(there and not unlikely)
            second.note = ""
            if repeatable:
                orbitals = replace(orbitals, proj_sknI=None)
            progress = self._progress(done, residual, solved, choice, precision)
            state = State(
                self.system, density, output, following, solved.bands.coeff_sknG, solved.bands.eig_skn, solved.filled,
                solved.energies, (*history, record), converged, "converged", progress,
                None if self.outer is None else self.outer.memory(),
            )
            lacking = ""
            if converged and self.outer is not None:
                lacking = objection(state) if self.outer.ripe and objection is not None and not last else ""
                state = state if lacking else self._with_exchange(state, solved)
                if not state.converged:
                    of_operator, objected = len(history) + 1, ""
                record, converged, following = state.history[-1], state.converged, state.following
                progress = state.progress
            if converged or last:  # what is said of sloshing occupations on the way is not true
                verdict = second.verdict(state.energies.free, converged)
                others = other_states([*history[of_operator:], record]) if second.aside is None else ()
                too_early = "" if converged or self.outer is None else self.outer.lacking
                record = record.telling(unlikely, verdict, too_early, *solved.filled.warnings, *others)
            history.append(record)
            status = "converged" if converged else f"not converged after {step} steps"
            state = replace(state, history=tuple(history), status=status)
            if on_step is not None:
                on_step(record, state)
            if converged and not last:
                again = self._another_start(second, state)
                if again is not None:
                    density = again
                    continue
                if second.taken is False:
                    break
            if converged and self.outer is None and objection is not None and not last:
                lacking = objection(state)
            if converged and not lacking:
                break
            objected = lacking or objected
            density = following
        assert state is not None
        if self.outer is not None:
            self.outer.exchange.settle(state.coeff_sknG, state.occupations.occ_skn)
        return second.end(state)

    def first_bands(self, start: StartingPoint) -> Solved:
        """What the first step from a density finds."""
        given = StartOrbitals(start.coeff_sknG, start.wanted_skn)
        return self._solved(1, start.density, given, None, *self._begun(start))

    def _solved(
        self, step: int, density: Density, given: StartOrbitals, before: Progress | None, choice: SolverChoice,
        precision: PrecisionChoice,
    ) -> Solved:  # fmt: skip
        """Bands in the potential of a density, their occupations, and the energy."""
        atoms, trace, coeff_sknG = self.atoms, self.atoms.runtime.trace, given.coeff_sknG
        with trace.span("potential"):
            potential = self.builder(density)
        (method, choice_events), tolerance = choice.next(step), self._orbital_tolerance(before)
        with trace.span("bands"):
            if coeff_sknG is None:
                coeff_sknG = first_orbitals(atoms, potential, with_guards(atoms, self.settings.bands))
            single, precision_events = precision.next(
                step, method, potential, coeff_sknG, residual=before.residual if before else None, tolerance=tolerance,
            )
            bands = solve_bands(
                atoms, potential, coeff_sknG, method=method, tolerance=tolerance, wanted_skn=given.wanted_skn,
                single=single, proj_sknI=given.proj_sknI,
            ).lowest(self.settings.bands)
        degeneracy = atoms.basis.spin.degeneracy
        filled = self._occupy(bands.eig_skn, degeneracy)
        filling_skn = self.weight_k[:, None] * filled.occ_skn * degeneracy
        # fetched before the work on the density is queued: nothing waits for that before it is mixed
        energies = harris_energies(
            atoms, density, potential, band_energy(bands.eig_skn, filling_skn), filled.entropy_term,
            filled.zero_width_correction,
        )
        events = (*choice_events, *precision_events, *bands.notes)
        return Solved(bands, filled, filling_skn, energies, method, tolerance, single, events)

    def _density_of(self, solved: Solved) -> Density:
        """That of the orbitals found."""
        bands = solved.bands
        with self.atoms.runtime.trace.span("density"):
            return self.symmetrise(
                density_of_bands(self.atoms, bands.coeff_sknG, solved.filling_skn, solved.single, bands.proj_sknI)
            )

    def _mixed(
        self, density: Density, output: Density, solved: Solved, frozen: bool, doubt: str
    ) -> tuple[Density, float, tuple[str, ...]]:
        """The next input density, the residual in electrons, both the same on all ranks, and what the mixer tells."""
        known = len(self.mixer.events)
        with self.atoms.runtime.trace.span("mixing"):
            screening = self._screening(solved.bands, solved.filled)
            following, residual = self._next(density, output, frozen, screening, doubt)
            # rank 0's for all: rounding errors of other ranks must not lead them to other decisions
            following, residual = following.broadcast(self.atoms.runtime.world, residual)
        self._tries = int(self.atoms.runtime.world.max(self.atoms.runtime.index(self.mixer.tries)))
        return following, residual, tuple(self.mixer.events[known:])

    def _progress(
        self, done: int, residual: float, solved: Solved, choice: SolverChoice, precision: PrecisionChoice
    ) -> Progress:
        """What the next step depends on, after `done` steps and this one."""
        return Progress(
            done + 1, residual, solved.energies.free, solved.energies.band, choice.state(), precision.state(),
            self.mixer.memory(),
        )  # fmt: skip

    def _another_start(self, second: SecondStart, state: State) -> Density | None:
        """Atoms with other moments, where those of the start have died in a converged state."""
        if not second.open:
            return None
        moment_a = second.moments(state, moment_per_atom(state.density, self.atoms))
        if moment_a is None:
            return None
        self.mixer = self._new_mixer()
        return self.symmetrise(atomic_density(self.atoms, self.settings.electrons, moment_a))

    def _new_mixer(self) -> PulayMixer:
        basis, count = self.atoms.basis, self.atoms.basis.density_count
        return PulayMixer(self.settings.mixing, basis.norm2_g[:count], basis.weight_g[:count], float(basis.volume))

    def _second_start(self, start: StartingPoint) -> SecondStart:
        fresh = start.progress is None and start.coeff_sknG is None and self.settings.fixed_moment is None
        asked = fresh and start.density.spin.polarised
        started_a = moment_per_atom(start.density, self.atoms) if asked else None
        if self.outer is not None:  # which asks as soon as the semilocal functional has had its say
            self.outer.started_a, started_a = started_a, None
        return SecondStart(started_a, self.atoms.runtime.world.all)

    def _begin_exchange(self, start: StartingPoint) -> tuple[str, Density]:
        """Exact exchange as it stood, or with the orbitals of a start; words, and the density to begin with."""
        outer, coeff_sknG, occ_skn, density = self.outer, start.coeff_sknG, start.occ_skn, start.density
        if outer is None:
            return "", density
        if start.exchange is not None:
            outer.restore(start.exchange)
        elif coeff_sknG is not None and occ_skn is not None:
            if start.semilocal and density.spin.polarised and self.settings.fixed_moment is None:
                outer.started_a = self.system.structure.magmom_a
                words, held = self._held(density)
                if held is not None:
                    return words, held
            filling_skn = self.weight_k[:, None] * occ_skn * self.atoms.basis.spin.degeneracy
            return f"before this step {outer.renew(coeff_sknG, occ_skn, filling_skn)}", density
        return "", density

    def _held(self, density: Density) -> tuple[str, Density | None]:
        """Where the semilocal functional has kept no moments before there is an operator: words, and the density of
        atoms with moments that are held from here on."""
        outer, system = self.outer, self.system
        assert outer is not None
        if not outer.asks:
            return "", None
        ended_a, symbols = moment_per_atom(density, self.atoms), system.structure.symbols
        assert outer.started_a is not None
        moment_a = dead_moments(symbols, system.datasets, outer.started_a, ended_a)
        if not self.atoms.runtime.world.all(moment_a is not None):
            return outer.hold(None), None
        assert moment_a is not None
        self.mixer = self._new_mixer()
        held = self.symmetrise(atomic_density(self.atoms, self.settings.electrons, moment_a))
        return outer.hold(moment_a), held

    def _with_exchange(self, state: State, solved: Solved) -> State:
        """A state whose density has converged, with the energy of its own exchange if that is within the tolerance of
        what it was found with; else on its way, with a new operator of its orbitals, or before that with moments that
        are held."""
        outer, coeff_sknG, record, words = self.outer, state.coeff_sknG, state.history[-1], ""
        assert outer is not None
        if outer.ripe:
            energies, words = outer.measure(coeff_sknG, solved.filling_skn, state.energies)
            state, record = replace(state, energies=energies), replace(record, energies=energies)
        if not outer.measured:
            words, held = self._held(state.density)
            if held is not None:
                state = replace(state, following=held)
            else:
                self.mixer.renewed()
                words = outer.renew(coeff_sknG, solved.filled.occ_skn, solved.filling_skn)
        history = (*state.history[:-1], record.telling(words))
        progress = replace(state.progress, mixer=self.mixer.memory())
        return replace(state, history=history, converged=outer.measured, progress=progress, exchange=outer.memory())

    def _begun(self, start: StartingPoint) -> tuple[SolverChoice, PrecisionChoice]:
        """The choices of solver and precision, and the mixer, as they stand at a start."""
        if start.frozen_steps is not None:
            self.settings = replace(self.settings, frozen_steps=start.frozen_steps)
        settings, progress = self.settings, start.progress
        job = SolverJob(
            settings.solver, settings.bands, self.atoms.basis.form.real, settings.energy_tolerance, settings.motion_time
        )
        choice = SolverChoice(job, progress.steps if progress and progress.solver else 0)
        precision = PrecisionChoice(
            self.atoms, wished=settings.start_single, continued=start.coeff_sknG is not None,
            electrons=settings.electrons, energy_tolerance=settings.energy_tolerance, max_steps=settings.max_steps,
        )
        if progress is not None:
            choice.restore(progress.solver)
            precision.restore(progress.precision)
            if (memory := progress.mixer()) is not None:
                self.mixer.restore(memory, start.density.parts)
        elif start.learned is not None and (memory := start.learned()) is not None:
            self.mixer.learn(memory, start.density.parts)
        self._tries = self.mixer.tries
        return choice, precision

    def _occupy(self, eig_skn: torch.Tensor, degeneracy: int) -> Occupations:
        settings = self.settings
        filled = occupations(
            eig_skn, self.weight_k, settings.electrons, settings.smearing,
            settings.width, degeneracy, settings.fixed_moment,
        )
        if self.outer is None or settings.smearing.fixed_sn is not None:
            return filled
        return self.outer.evened(filled, eig_skn)

    def _orbital_tolerance(self, progress: Progress | None) -> float:
        share = RESIDUAL_SHARE * (progress.residual if progress else 1.0) / max(self.settings.electrons, 1.0)
        return float(min(max(share, 1e-7), 1e-2))

    def _unbelievable(self, solved: Solved) -> str:
        """Why this step cannot be the end, in words."""
        eig_skn = solved.bands.eig_skn
        highest = eig_skn[solved.filled.occ_skn > 0.5]
        depth = float(highest.amax() - eig_skn.amin()) if len(highest) else 0.0
        charge, atoms = self.settings.electrons - self._neutral, len(self.system.structure.symbols)
        free = solved.energies.free
        if self.outer is not None:
            self.outer.note(free)
            free = self.outer.relative(free)
        return unbelievable(depth, free, charge, atoms, self._deepest)

    def _screening(self, bands: Bands, filled: Occupations) -> Screening | None:
        """From the local density of states, where it is wanted; the third try takes the other preconditioner."""
        wished = self.settings.screening
        if wished is None or wished is (self._tries == OTHER_TRY):
            return None
        states = self.symmetrise(local_states(self.atoms, bands, filled, self.settings.width))
        return Screening.of(self.atoms.basis, states.spin.total(self._charge(states, 1).density_sg))

    def _next(
        self, density: Density, output: Density, frozen: bool, screening: Screening | None, doubt: str
    ) -> tuple[Density, float]:
        """The next input density, mixed with its compensation charges.

        What screens is the whole valence charge ñ + n̂(D): the Kerker factor must see it, or charge would
        slosh in the compensation charges of long cells.
        """
        spin = density.spin
        before, after = (self._charge(part, 1).map(spin.separated) for part in (density, output))
        mixed, residual = self.mixer.mix(before, after, screening, doubt)
        return (density, residual) if frozen else (self._charge(mixed.map(spin.joined), -1), residual)

    def _charge(self, density: Density, sign: int) -> Density:
        """The density with its compensation charges, or (sign -1) without them again."""
        extra_sg = self._compensation(density.occupancy_sx)
        return Density.of(torch.add(density.density_sg, extra_sg, alpha=sign), density.occupancy_sx, density.spin)

    def _compensation(self, occupancy_sx: torch.Tensor) -> torch.Tensor:
        """n̂(D) of the valence electrons; that of the last D asked for, the next input's, is kept for the next step."""
        if self._compensated is None or self._compensated[0] is not occupancy_sx:
            self._compensated = occupancy_sx, self.atoms.valence_compensation(occupancy_sx)
        return self._compensated[1]

    def _record(
        self, step: int, solved: Solved, output: Density, residual: float, before: Progress | None, started: float,
        events: tuple[str, ...],
    ) -> ScfStep:  # fmt: skip
        moment, energies, bands = None, solved.energies, solved.bands
        if output.spin.polarised:
            moment = output.spin.moment(electrons_of(output, self.atoms))
        wanted_skn = solved.orbitals.wanted_skn
        assert wanted_skn is not None
        return ScfStep(
            step=step, energies=energies,
            change=energies.free - before.free if before else energies.free,
            band_change=energies.band - before.band if before else energies.band,
            residual=residual, orbital_residual=float((bands.residual_skn * (wanted_skn > 0)).max()), moment=moment,
            applications=bands.applications, seconds=time.perf_counter() - started, events=events,
            solver=solved.method.solver.short, precision="double" if solved.single is None else "single",
        )

    @property
    def _tolerance(self) -> float:
        return self.settings.energy_tolerance if self.outer is None else self.outer.tolerance

    def _stands(self, record: ScfStep) -> bool:
        return abs(record.change) < self._tolerance

    def _turns(self, steps: Sequence[ScfStep]) -> bool:
        """Whether all that is left is a turn of open shells, of which the energy takes no notice."""
        return self.outer is None and self.settings.mixing.near > 0 and stands_still(steps, self._tolerance)

    def _converged(self, record: ScfStep, done: int) -> bool:
        """done: steps before this one, those of earlier runs included."""
        settings, tolerance = self.settings, self._tolerance
        # the free energy's error goes with the square of the residual: a small change alone may be a standstill
        square = record.residual**2 / (tolerance * settings.electrons) if tolerance > 0 else float("inf")
        enough = done + 1 >= settings.min_steps and done > settings.frozen_steps
        return enough and self._stands(record) and square < RESIDUAL_SQUARE
