"""One run on its way: where it starts, what is done after each step, how it ends and what it leaves."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch

from eigenwerk.dft.after.analyses.table import analysed
from eigenwerk.dft.after.analysis import AfterScene
from eigenwerk.dft.after.fields.charge import charge_start
from eigenwerk.dft.after.fields.fields import fields_of
from eigenwerk.dft.after.fixed_potential import bands_at
from eigenwerk.dft.basis.fftw import library
from eigenwerk.dft.calculation import Calculation, GroundState
from eigenwerk.dft.density.density import Density
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.inputs.restart import CHARGE_FILE, WAVE_FILE
from eigenwerk.dft.runs.fixed_density import band_words, fixed_density, fixed_state, level_words, numbers_of_kept
from eigenwerk.dft.runs.quantities.advice import advice_after, field_words, force_words
from eigenwerk.dft.runs.quantities.records import Observables, step_record
from eigenwerk.dft.runs.quantities.report import IonicHistory, RunResult, RunSummary
from eigenwerk.dft.runs.saving.checkpoint import load_start
from eigenwerk.dft.runs.saving.output_folder import earlier_words, set_words
from eigenwerk.dft.runs.saving.saving import Saver, converged_words, interrupted_words
from eigenwerk.dft.runs.saving.wave_start import wave_start
from eigenwerk.dft.runs.stopping import Stopped, StopRules
from eigenwerk.dft.scf.state import ScfStep, StartingPoint, State
from eigenwerk.dft.settings.motion_kind import GOALS
from eigenwerk.errors import ConvergenceError
from eigenwerk.io.vasp.output.record import StepRecord
from eigenwerk.motion.mover import Report
from eigenwerk.units import HARTREE_EV

ORBITALS_FIRST = 2
"""Steps with the density kept when it comes from a file and the orbitals from atoms (unless NELMDL says otherwise):
poor orbitals would only spoil a good density."""

OnStep = Callable[[StepRecord], None]
OnNote = Callable[[str], None]
Protect = Callable[[Callable[[], str]], None]


@dataclass
class Notes:
    """Words about the way of a run, each once; listener: who hears of them when they come."""

    listener: OnNote | None
    words: tuple[str, ...] = ()

    def add(self, *words: str) -> tuple[str, ...]:
        """Keep words and hand on those that are new; all there are."""
        for text in words:
            if text not in self.words:
                self.words = (*self.words, text)
                if self.listener is not None:
                    self.listener(text)
        return self.words


@dataclass
class ActiveRun:
    """One run on its way, and how it ends.  ionic_history: how atoms have moved so far, if they do."""

    inputs: Inputs
    calculation: Calculation
    saver: Saver
    rules: StopRules
    on_step: OnStep | None = None
    on_note: OnNote | None = None
    protect: Protect | None = None
    ionic_history: Callable[[], IonicHistory] | None = None
    began: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self.notes = Notes(self.on_note)

    def note(self, *words: str) -> None:
        """Keep words for the result and the files, and hand on those that are new."""
        self.saver.notes = self.notes.add(*words)

    def start(self) -> StartingPoint | None:
        """Where to begin if INCAR asks to go on from an earlier run; None for superposed atoms."""
        path = self.inputs.restart_file
        if self.inputs.restart is None or path is None:
            return None
        if path.name == CHARGE_FILE:
            start = charge_start(path, self.calculation)
        elif path.name == WAVE_FILE:
            waves = wave_start(path, self.calculation)
            if waves is None:
                self.note(f"the orbitals of {path} are complex, those of this run real: starting from atoms")
                return None
            start = waves
        else:
            start = load_start(path, self.calculation, orbitals=self.inputs.restart == "orbitals")
        if start.coeff_sknG is None and "NELMDL" not in self.inputs.incar.values:
            start = replace(start, frozen_steps=ORBITALS_FIRST)
        what = "density" if start.coeff_sknG is None else "density and orbitals"
        self.note(f"starting from the {what} of {path}", *start.notes, *set_words(path))
        return start

    def step(self, step: ScfStep, state: State) -> None:
        """After each step: keep it, save it now and then, tell the caller; Stopped if the run is to end."""
        if not (state.converged and self.ionic_history is not None and self.saver.latest is not None):
            # an ionic step is over when its forces are known: what goes on before takes the last step anew
            self.saver.latest = state
        if self.protect is not None:
            self.protect(self.saver.rescue)
            self.protect = None
        if not state.converged:
            self.saver.save_if_due(state)
            self.note(*self.saver.unwritten, *self.saver.moved)
        if self.on_step is not None:
            self.on_step(step_record(step))
        if not state.converged and step.step < self.inputs.parameters.max_steps:
            self._stop_if_wanted(state)

    def _stop_if_wanted(self, state: State) -> None:
        """By the word of the rank that writes, for all."""
        runtime, reason = self.calculation.runtime, ""
        if runtime.writes:
            reason, note = self.rules.reason([step.seconds for step in state.history], self.saver.expected(state))
            self.note(*filter(None, [note]))
        if runtime.world.any(bool(reason)):
            raise Stopped(reason)

    def stop_between(self, state: State) -> None:
        """Raise Stopped if there is to be no other ionic step."""
        runtime, reason = self.calculation.runtime, ""
        if runtime.writes:
            reason = self.rules.reason_between([step.seconds for step in state.history], self.saver.expected(state))
        if runtime.world.any(bool(reason)):
            raise Stopped(reason)

    def finish(self, ground: GroundState, report: Report | None = None) -> RunResult:
        """Bands at k-points of their own, if there are any, and the final files; the result.

        report: of what moves the atoms, for the last ionic step.
        """
        state = ground.state
        status = converged_words(state) if state.converged else self.unconverged_words(state)
        ionic_history = None if self.ionic_history is None else self.ionic_history()
        if ionic_history is not None:
            moved = ionic_history.status
            status = moved if state.converged else f"{moved}; the last ionic step: {status}"
        self.note(*filter(None, [force_words(state), field_words(self.calculation, state)]))
        relaxed = ionic_history is not None and ionic_history.kind in GOALS and ionic_history.finished
        found, scene = Observables.of(ground, report), AfterScene(self.calculation, state, self.inputs)
        found = replace(found, values=analysed(scene), fields=fields_of(scene), relaxed=relaxed)
        asked = self.inputs.bands
        if asked and not state.converged:
            self.note("no bands: the density is not self-consistent")
        elif asked:
            # whatever becomes of them; fields are written at the end, once
            self.saver.write(state, replace(found, fields={}), f"{status}, bands are to follow")
            found, ended = self._bands(state.density, found)
            status = "; ".join([status, *ended])
        return self._result(state, found, status, ground)

    def _bands(self, density: Density, found: Observables) -> tuple[Observables, list[str]]:
        """The bands of `BandRequest`, as far as there is time, and how they have ended."""
        self.began = time.perf_counter()
        asked, limit, ended = self.inputs.bands, self.calculation.parameters.max_steps, []
        try:
            if asked.weightless is not None:
                bands = bands_at(self.calculation, density, asked.weightless.kpoints, on_batch=self._on_batch)
                found = replace(found, weightless=bands)
                ended.append(band_words(bands, limit))
            if asked.second is not None:
                bands = bands_at(self.calculation, density, asked.second, on_batch=self._on_batch)
                found = replace(found, second=bands)
                ended.append(band_words(bands, limit))
        except Stopped as stop:
            ended.append(f"BANDS NOT FINISHED: {stop}")
        return found, ended

    def _on_batch(self, done: int, count: int, residual: float) -> None:
        """After each batch of k-points of many: tell, or stop."""
        if done == count:
            return
        if self.on_note is not None:
            self.on_note(f"bands of {done} of {count} k-points, residuals up to {residual * HARTREE_EV:.1e} eV")
        runtime, reason = self.calculation.runtime, ""
        if runtime.writes:
            reason, note = self.rules.reason([time.perf_counter() - self.began], 0.0)
            self.note(*filter(None, [note]))
        if runtime.world.any(bool(reason)):
            raise Stopped(reason)
        self.began = time.perf_counter()

    def keep_density(self) -> RunResult:
        """Bands of a density that is kept (ICHARG = 11, 12), and the final files; the result."""
        calculation, kept = fixed_density(self.inputs.restart_file, self.calculation)
        self.calculation = self.saver.calculation = calculation
        self.note(f"the density of {kept.name} is kept", *kept.notes, level_words(kept, calculation))
        began = self.began = time.perf_counter()
        try:
            main = bands_at(
                calculation, kept.density, calculation.kpoints, on_batch=self._on_batch,
                keep=self.inputs.parts.keeps_orbitals,
            )
        except Stopped as stop:
            raise ConvergenceError(f"{stop}: the run ended before all bands were found; nothing was written") from stop
        state = fixed_state(calculation, kept, main, time.perf_counter() - began)
        self.saver.latest = state
        projections = main.projections and main.projections.filled(state.filling_skn)
        if not calculation.kpoints.samples_zone and kept.forces_av is not None:
            self.note(f"forces and stress are those of the run that made {kept.name}")
        scene = AfterScene(calculation, state, self.inputs)
        numbers = numbers_of_kept(kept, calculation, state) | {"seconds": state.history[-1].seconds}
        found = Observables(
            numbers, analysed(scene), fields_of(scene), kept=kept, main=replace(main, coeff_sknG=None),
            projections=projections,
        )  # fmt: skip
        status = state.status
        if self.inputs.bands:
            found, ended = self._bands(kept.density, found)
            status = "; ".join([status, *ended])
        return self._result(state, found, status, None)

    def stop(self, reason: str) -> RunResult:
        """Write the last finished step, after which the run was to end."""
        state = self.saver.latest
        assert state is not None
        return self._result(state, Observables(), interrupted_words(state, reason), None)

    def break_off(self) -> RunResult | None:
        """Write the last finished step after an interruption; None if there is none."""
        state = self.saver.latest
        return None if state is None else self._result(state, Observables(), interrupted_words(state), None)

    def unconverged_words(self, state: State) -> str:
        last = step_record(state.history[-1])
        return (
            f"NOT CONVERGED in {last.step} steps: in the last one the free energy changed by {last.change:.1e} eV "
            f"(EDIFF = {self.inputs.parameters.energy_tolerance * HARTREE_EV:g}), with {last.density_residual:.1e} "
            "electrons out of place"
        )

    def _result(self, state: State, observables: Observables, status: str, ground: GroundState | None) -> RunResult:
        interrupted = ground is None and observables.main is None
        self.saver.advice = advice_after(state, self.inputs, ground is None, self.ionic_history is not None)
        self.saver.arrived = not interrupted and (self.ionic_history is None or self.ionic_history().finished)
        record, files = self.saver.write(state, observables, status)
        assert record.run_report is not None, "the saver has written it"
        files |= self.saver.write_trace()
        if self.calculation.runtime.writes and self.saver.folder.writes:
            goes_on = self.inputs.restart is not None or self.inputs.fixed_density
            self.note(*filter(None, [earlier_words(self.saver.folder.path, files, goes_on)]))
        self.note(*self.saver.moved)
        trace, moved = self.calculation.runtime.trace, self.ionic_history and self.ionic_history()
        reached = record.last.converged and "BANDS NOT" not in status and (moved is None or moved.finished)
        summary = RunSummary(
            converged=reached, interrupted=interrupted, seconds=trace.seconds, trace=trace.as_dict(),
            threads=torch.get_num_threads(), fft=library(), files=files, unwritten=self.saver.unwritten,
            warnings=(*record.run_report.warnings, *self.saver.moved), notes=self.notes.words,
            advice=self.saver.advice, folder=self.saver.folder.path, fixed_density=self.inputs.fixed_density,
            ionic_history=moved,
        )  # fmt: skip
        return RunResult.of(record, summary, ground)
