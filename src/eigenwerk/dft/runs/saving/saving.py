"""The files of a run, during it and at its end.

Saving on the way: after a step, if the last save is SAVE_EVERY seconds ago and saving took at most SAVE_SHARE of the
wall time.  All files are written anew each time, each under another name first, and then renamed one right after the
other, so that after a kill -9 the folder holds whole files of the last saved step, marked as unfinished.  Each has the
mark of the run and of the save: those of a run that was killed between two names can be told apart.
"""

import itertools
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from eigenwerk import __version__
from eigenwerk.dft.basis.gathering import WholeOrbitals, whole_orbitals
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.inputs.restart import STATE_FILE
from eigenwerk.dft.inputs.steps.field_files import wants_wavecar
from eigenwerk.dft.runs.quantities.given import basis_record, resources
from eigenwerk.dft.runs.quantities.records import Observables, ionic_step, run_record
from eigenwerk.dft.runs.run_report import doubts_about, run_report
from eigenwerk.dft.runs.saving.checkpoint import write_run_state
from eigenwerk.dft.runs.saving.exchange_tree import OPERATOR_BYTES, exchange_tree
from eigenwerk.dft.runs.saving.motion_tree import Snapshot, motion_tree
from eigenwerk.dft.runs.saving.output_folder import OutputFolder, band_texts
from eigenwerk.dft.scf.state import State
from eigenwerk.errors import EigenwerkError, InputError
from eigenwerk.io.atomic_write import together, uninterrupted, write_text
from eigenwerk.io.run_stamp import RunStamp
from eigenwerk.io.trace_file import TRACE_FILE, write_trace_file
from eigenwerk.io.vasp.output.files import OutputFile, output_files
from eigenwerk.io.vasp.output.record import BasisRecord, IonicStep, OrbitalRecord, RunRecord
from eigenwerk.io.vasp.output.xml.vibrations import VibrationRecord
from eigenwerk.io.vasp.wavecar import wavecar_bytes
from eigenwerk.parallel.process_grid import ProcessGrid
from eigenwerk.parallel.trace_records import gather_trace_records
from eigenwerk.parallel.watch.coordinator import NO_STEP

SAVE_EVERY = 30.0
"""Seconds between saved steps."""

SAVE_SHARE = 0.05
"""Largest share of the wall time that saving on the way may take."""

SAVE_RATE = 1e8
"""Bytes per second expected of the first save; later ones are measured."""

ATTEMPTS, PAUSE = 20, 0.25
"""How often, and after how many seconds, a rescue looks again while ranks have not all entered the same step."""

RESCUED = "Interrupted within a step; the last finished step is saved (--restart, or ISTART = 1, goes on from it)."

@dataclass
class Saver:
    """Writes the files of one run to its folder.  All ranks call it together; the first one writes.

    every: seconds between saved steps; 0 saves each step whatever it takes.  earlier: ionic steps that are done, before
    that of the states given.  latest: what a rescue saves.  unwritten: what could not be written, in words, since the
    last call of `write`; moved: that the folder vanished and files go elsewhere, in words.  done: the ionic step that
    is over, if no other has begun; snapshot: of what moves the atoms, after the last of them.  notes, advice: what the
    files are to tell people besides; arrived: whether atoms that move have come where they should.  vibrations: what
    finite displacements found, or None.
    """

    inputs: Inputs
    calculation: Calculation
    folder: OutputFolder
    every: float = SAVE_EVERY
    start: datetime = field(default_factory=datetime.now)
    earlier: tuple[IonicStep, ...] = ()
    latest: State | None = None
    unwritten: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    done: IonicStep | None = None
    snapshot: Snapshot | None = None
    notes: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    arrived: bool = True
    vibrations: VibrationRecord | None = None

    def __post_init__(self) -> None:
        self._saves = itertools.count(1)
        self._counted: tuple[np.ndarray, BasisRecord] | None = None
        self._began = self._last = time.perf_counter()
        self._spent, self._duration = 0.0, 0.0
        self._before = resources()
        self._writing = threading.Lock()  # a rescue waits for files that are being written, and writes its own after

    def save_if_due(self, state: State) -> None:
        """Save a state on the way, now and then."""
        if not self.folder.writes:
            return
        due = time.perf_counter() - self._last >= self.every
        limit = self.inputs.parameters.max_steps
        words = f"unfinished: step {state.history[-1].step} of at most {limit}"
        self._save_if_cheap(state, Observables(), words, due)

    def _save_if_cheap(self, state: State, observables: Observables, words: str, due: bool) -> None:
        """Save what is due unless saving would take too much of the time, and measure how long it takes."""
        now, runtime = time.perf_counter(), self.calculation.runtime
        cheap = self._spent + self.expected(state) <= SAVE_SHARE * (now - self._began)
        if not runtime.world.any((self.every == 0 or (due and cheap)) and runtime.writes):
            return
        self.write(state, observables, words, False)
        self._last = time.perf_counter()
        self._duration = self._last - now
        self._spent += self._duration

    def ionic_step_done(self, state: State, observables: Observables, status: str) -> IonicStep:
        """Save an ionic step that is over, unless saving would take too much of the time; what was found for it."""
        self.done, self.latest = ionic_step(self.inputs, state, observables, state.converged), state
        if self.folder.writes:
            words = f"unfinished: {len(self.earlier) + 1} ionic steps; {status}"
            self._save_if_cheap(state, observables, words, due=True)
        return self.done

    @property
    def ionic_steps(self) -> tuple[IonicStep, ...]:
        """All that are over."""
        return self.earlier if self.done is None else (*self.earlier, self.done)

    def next_ionic_step(self) -> None:
        """The ionic step that is over belongs to those before the next one."""
        if self.done is not None:
            self.earlier, self.done = (*self.earlier, self.done), None

    def expected(self, state: State) -> float:
        """Seconds that saving takes."""
        own = state.coeff_sknG.nbytes + (0 if state.exchange is None else min(state.exchange.bytes, OPERATOR_BYTES))
        return self._duration or own * self.calculation.runtime.world.size / SAVE_RATE

    def write(
        self, state: State, observables: Observables, status: str, finished: bool = True
    ) -> tuple[RunRecord, dict[str, Path]]:
        """Write all files; those that cannot be written are named in `unwritten`, the others are still written.

        finished: whether the run is over; a state on the way never counts as converged.
        """
        runtime = self.calculation.runtime
        with uninterrupted(), runtime.trace.span("files"):
            return self._write(state, observables, status, finished, runtime.grid, runtime.trace.as_dict())

    def rescue(self) -> str:
        """Save the last finished step while the computation hangs or takes too long; words about it.

        All ranks call it at the same time from a thread beside the computation.  It must not touch what that may be
        using: it has communicators of its own (`Runtime.spare`, on the host), a stream of its own on a GPU, and no
        trace.  States are never changed in place, so the last one is whole.  Raises InputError if a file cannot be
        written, EigenwerkError if ranks hold different steps.
        """
        runtime = self.calculation.runtime
        device = runtime.device
        # work that is stuck in another stream does not hold up copies in this one
        with torch.cuda.stream(torch.cuda.Stream(device)) if device.type == "cuda" else nullcontext():
            state = self._common_state(runtime.spare)
            if state is None:
                return NO_STEP
            self._write(state, Observables(), interrupted_words(state), True, runtime.spare, {})
        if self.unwritten:
            raise InputError("; ".join(self.unwritten))
        return RESCUED

    def _common_state(self, grid: ProcessGrid) -> State | None:
        """The state of the last step that all ranks have finished."""
        for _ in range(ATTEMPTS):
            state = self.latest
            steps_p = grid.world.all_gather(torch.tensor([0 if state is None else state.history[-1].step]))
            if bool((steps_p == steps_p[0]).all()):
                return state
            # at the end of a step ranks hear of it a moment apart
            time.sleep(PAUSE)
        raise EigenwerkError(f"the ranks hold different steps: {steps_p.tolist()}")

    def _write(
        self, state: State, observables: Observables, status: str, finished: bool, grid: ProcessGrid,
        trace: dict[str, Any],
    ) -> tuple[RunRecord, dict[str, Path]]:  # fmt: skip
        record = run_record(
            self.inputs, self.calculation.datasets, state, observables, status, self.start,
            # forces are known of an ionic step that is over
            converged=(finished or observables.knows_forces) and state.converged, earlier=self.earlier,
            stamp=RunStamp(self.folder.run, next(self._saves)),
        )  # fmt: skip
        record = replace(
            record, basis=self._basis(record.kpoint_kc), ranks=grid.world.size, vibrations=self.vibrations,
            resources=resources(self._before) if finished else None,
            run_report=run_report(
                self.inputs, record,
                doubts_about(
                    record.last, self.inputs.parameters, state.occupations.warnings,
                    self.inputs.motion is not None and self.inputs.motion.follows_basis,
                ),
                self.notes, self.advice,
                finished and state.converged and self.arrived and "BANDS NOT" not in status,
            ),
        )
        if not self.folder.writes:
            return record, {}
        orbitals = self._orbitals(state, grid) if self._keeps_orbitals() else None
        motion, exchange = self._motion(grid), self._exchange(state, grid)
        if grid.world.rank != 0:
            return record, {}
        whole = record
        # a rescue has little time, and the state has the same orbitals
        if orbitals is not None and finished and grid is self.calculation.runtime.grid:
            whole = replace(record, orbitals=self._wanted_orbitals(orbitals))
        writers: dict[str, Callable[[Path], None]] = {}
        if not self.inputs.fixed_density:  # whose file is that of the run that made the density
            # the state first: all that is in the others follows from it
            found = observables.ground
            results = {
                "forces_reliable": record.last.converged and observables.knows_forces,
                "force_correction_av": found.get("correction_av"),
                **{name: found.get(name) for name in ("forces_av", "moment_a", "force_error", "stress_vv")},
            }
            writers[STATE_FILE] = partial(
                write_run_state, inputs=self.inputs, record=record, state=state, orbitals=orbitals,
                projections=observables.projections,
                more={"results": results, "trace": trace, "motion": motion, "exchange": exchange},
            )  # fmt: skip
        writers |= {file.name: partial(_write_file, file, whole) for file in output_files(whole) if file.due(whole)}
        texts = band_texts(record, self.inputs.bands.path_text)
        writers |= {name: partial(write_text, text=text) for name, text in texts.items()}
        with self._writing:
            written, self.unwritten = self._put(writers)
            if finished and "WAVECAR" not in written:
                self.folder.leave_empty_wavecar()
            if self.unwritten and (words := self.folder.move_if_vanished()):
                self.moved = (*self.moved, words)
                written, self.unwritten = self._put(writers)
        return record, written

    def _put(self, writers: dict[str, Callable[[Path], None]]) -> tuple[dict[str, Path], tuple[str, ...]]:
        """The files that could be written, and why others could not; one that fails costs no other."""
        written, failures = {}, []
        try:
            with together():
                for name, writer in writers.items():
                    path = self.folder.path / name
                    try:
                        writer(path)
                        written[name] = path
                    except InputError as error:
                        failures.append(str(error))
                    except Exception as error:
                        failures.append(
                            f"{path} could not be written by a fault of eigenwerk ({type(error).__name__}: {error}); "
                            "please report it"
                        )
        except InputError as error:
            failures.append(str(error))
        return {name: path for name, path in written.items() if path.is_file()}, tuple(failures)

    def write_trace(self) -> dict[str, Path]:
        """Write what all ranks recorded so far; a failure is added to `unwritten`."""
        if not self.folder.writes:
            return {}
        runtime, path = self.calculation.runtime, self.folder.path / TRACE_FILE
        with uninterrupted():
            records = gather_trace_records(runtime)
            if not runtime.writes:
                return {}
            try:
                write_trace_file(path, records, self._about())
            except InputError as error:
                self.unwritten = (*self.unwritten, str(error))
                return {}
        return {TRACE_FILE: path}

    def _about(self) -> dict[str, Any]:
        """What is common to the records of all ranks."""
        grid = self.calculation.runtime.grid
        return {
            "grid": {"groups": grid.groups, "band_ranks": grid.band_ranks}, "transport": grid.world.transport,
            "system": self.inputs.poscar.title.strip(), "run": self.folder.run, "program_version": __version__,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        }  # fmt: skip

    def _keeps_orbitals(self) -> bool:
        """Whether orbitals are to be saved."""
        return self.inputs.parts.keeps_orbitals and (bool(self.inputs.incar.get("LWAVE", True)) or self._on_the_way())

    def _on_the_way(self) -> bool:
        """Whether atoms are."""
        return self.inputs.motion is not None and not (self.snapshot is not None and self.snapshot.finished)

    def _orbitals(self, state: State, grid: ProcessGrid) -> WholeOrbitals | None:
        """Those of all ranks, on the rank that writes."""
        coeff_sknG = state.coeff_sknG
        if grid is not self.calculation.runtime.grid:
            coeff_sknG = coeff_sknG.cpu()
        exact = self._on_the_way() or state.exchange is not None
        return whole_orbitals(grid, self.calculation.basis, coeff_sknG, exact)

    def _exchange(self, state: State, grid: ProcessGrid) -> dict[str, Any] | None:
        """Where exact exchange stands, if the run is to go on with it: from all ranks."""
        if state.exchange is None or not self._keeps_orbitals():
            return None
        return exchange_tree(state.exchange, self.calculation.basis, grid)

    def _motion(self, grid: ProcessGrid) -> dict[str, Any] | None:
        """Atoms on their way, if there are any: from all ranks."""
        if self.snapshot is None:
            return None
        return motion_tree(self.snapshot, self.ionic_steps, self.done is None, grid)

    def _basis(self, point_kc: np.ndarray) -> BasisRecord:
        """Counted once for the points of all saves, again where others have joined them."""
        if self._counted is None or not np.array_equal(self._counted[0], point_kc):
            self._counted = point_kc, basis_record(self.calculation, point_kc)
        return self._counted[1]

    def _wanted_orbitals(self, orbitals: WholeOrbitals) -> OrbitalRecord | None:
        """Those for WAVECAR, if it is to be written."""
        spins, points, bands, _ = orbitals.coeff_sknG.shape
        if not wants_wavecar(self.inputs.incar, wavecar_bytes(spins, points, bands, max(orbitals.count_k))):
            return None
        return OrbitalRecord(orbitals.count_k, orbitals.index_kGc, orbitals.coeff_sknG)


def _write_file(file: OutputFile, record: RunRecord, path: Path) -> None:
    file.write(path, record)


def interrupted_words(state: State, reason: str = "") -> str:
    """How a run has ended whose last finished step this is."""
    if state.converged:
        return f"{converged_words(state)}, but interrupted before the forces were computed"
    step = state.history[-1].step
    return f"stopped after step {step}: {reason}" if reason else f"interrupted after step {step}"


def converged_words(state: State) -> str:
    """That a run has ended well."""
    count = len(state.history)
    return f"converged in {count} step{'s' if count != 1 else ''}"
