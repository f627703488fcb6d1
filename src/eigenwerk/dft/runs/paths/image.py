"""One image of a path at work: a calculation at one arrangement after the other, and the files of its folder."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from eigenwerk.dft.calculation import Calculation, GroundState
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.inputs.restart import STATE_FILE
from eigenwerk.dft.runs.active_run import ActiveRun, OnNote, OnStep, Protect
from eigenwerk.dft.runs.computing import calculation_of
from eigenwerk.dft.runs.motion.surface import DensityFunctionalSurface
from eigenwerk.dft.runs.open_shells.lower_states import unsearched_words
from eigenwerk.dft.runs.quantities.records import Observables
from eigenwerk.dft.runs.quantities.report import IonicHistory, RunResult
from eigenwerk.dft.runs.saving.checkpoint import load_start
from eigenwerk.dft.runs.saving.motion_tree import Snapshot, read_resumption
from eigenwerk.dft.runs.saving.output_folder import OutputFolder
from eigenwerk.dft.runs.saving.saving import Saver
from eigenwerk.dft.runs.stopping import StopRules
from eigenwerk.dft.scf.state import ScfStep, StartingPoint, State
from eigenwerk.dft.settings.motion_kind import PATH
from eigenwerk.io.paw.dataset import PawDataset
from eigenwerk.motion.mover import Report
from eigenwerk.motion.surface import Arrangement, SurfacePoint
from eigenwerk.parallel.runtime import Runtime


@dataclass
class Callers:
    """Who is told, and when the run ends: as of `run_inputs`; save_every: seconds between saved steps."""

    rules: StopRules
    on_step: OnStep | None
    on_note: OnNote | None
    protect: Protect | None
    save_every: float


@dataclass
class Image:
    """number: of the folder; status, finished: of the path; resumed: a state to begin with, of a run that was stopped;
    seconds: that each arrangement took."""

    number: int
    active: ActiveRun
    surface: DensityFunctionalSurface
    callers: Callers
    ground: GroundState | None = None
    status: str = "the path is on its way"
    finished: bool = False
    resumed: Path | None = None
    seconds: list[float] = field(default_factory=list)
    report: Report | None = None

    @staticmethod
    def of(
        number: int, inputs: Inputs, datasets: Mapping[str, PawDataset], folder: OutputFolder, runtime: Runtime,
        callers: Callers,
    ) -> "Image":  # fmt: skip
        """At the start of a run, on the ranks of a runtime."""
        motion = inputs.motion
        assert motion is not None
        calculation = calculation_of(inputs, datasets, runtime)
        saver = Saver(inputs, calculation, folder, callers.save_every)
        active = ActiveRun(inputs, calculation, saver, callers.rules, callers.on_step, callers.on_note)
        surface = DensityFunctionalSurface(calculation, motion.prediction, lambda operations: inputs.kpoints)
        image = Image(number, active, surface, callers)
        active.ionic_history = image.ionic_history
        return image

    def resume(self, steps: int) -> None:
        """Go on with what the folder holds of a run that was stopped; steps: of the band, that are over."""
        saver = self.active.saver
        path = saver.folder.path / STATE_FILE
        if not path.is_file():
            return
        found = read_resumption(path)
        if found is not None and found.kind == PATH:
            saver.earlier = found.steps[:steps]
        self.resumed = path

    def evaluate(self, asked: Arrangement) -> SurfacePoint:
        """A point of its surface; collective on its ranks.  Raises Stopped, or what `on_step` raises."""
        active = self.active
        calculation = self.surface.calculation_at(asked)
        active.calculation = active.saver.calculation = calculation
        active.protect = self.callers.protect  # what is to be rescued is the image at work
        began = time.perf_counter()
        begin = self._begin(asked, calculation)
        ground = calculation.run(self._scf_step, begin, self.surface.force_error(asked), repeatable=True)
        if self.ground is None:
            words = unsearched_words(calculation, ground.state, "paths")
            active.note(*([f"image {self.number:02d}: {words}"] if words else []))
        self.ground, self.resumed = ground, None
        self.seconds.append(time.perf_counter() - began)
        return self.surface.add(asked, calculation, ground)

    def _begin(self, asked: Arrangement, calculation: Calculation) -> StartingPoint | None:
        if self.resumed is not None:
            return load_start(self.resumed, calculation)
        if self.active.saver.earlier or self.active.saver.done:
            return self.surface.start(asked, calculation)
        return self.active.start()

    def _scf_step(self, step: ScfStep, state: State) -> None:
        self.active.saver.next_ionic_step()
        self.active.step(step, state)

    def told(self, report: Report, status: str, finished: bool) -> None:
        """The band has taken the point: save it."""
        ground, saver = self.ground, self.active.saver
        assert ground is not None
        self.status, self.finished, self.report = status, finished, report
        if not ground.state.converged:
            self.active.note(f"image {self.number:02d}: {self.active.unconverged_words(ground.state)}")
        saver.snapshot = Snapshot(PATH, {"number": self.number}, finished, status, None, None)
        saver.ionic_step_done(ground.state, Observables.of(ground, report), status)
        self.active.note(*saver.unwritten, *saver.moved)

    def ionic_history(self) -> IonicHistory:
        """How the image has moved so far."""
        return IonicHistory(PATH, self.status, self.finished, self.active.saver.ionic_steps)

    def finish(self) -> RunResult:
        """The final files."""
        assert self.ground is not None
        return self.active.finish(self.ground, self.report)

    def stop(self, reason: str) -> RunResult | None:
        """The files of the last step of self-consistency, if there is one."""
        active = self.active
        if active.saver.latest is None:
            return None
        return active.stop(reason) if reason else active.break_off()
