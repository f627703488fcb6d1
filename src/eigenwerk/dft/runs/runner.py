"""One folder at work: a calculation by itself, atoms that move, an image of a path.

    while (asked := mover.ask()) is not None:
        point = runner.solve(asked)                 # what self-consistency finds there
        runner.tell(mover.tell(point))              # whoever moves the atoms has taken it: an ionic step is over
    result = runner.finish()
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from eigenwerk.dft.calculation import Calculation, GroundState
from eigenwerk.dft.crystal.stars import under
from eigenwerk.dft.crystal.symmetry import kept
from eigenwerk.dft.runs.active_run import ActiveRun
from eigenwerk.dft.runs.motion.movers import found_by
from eigenwerk.dft.runs.motion.surface import DensityFunctionalSurface
from eigenwerk.dft.runs.open_shells.lower_states import LowerStates, unsearched_words
from eigenwerk.dft.runs.quantities.records import Observables
from eigenwerk.dft.runs.quantities.report import IonicHistory, RunResult
from eigenwerk.dft.runs.saving.checkpoint import load_start
from eigenwerk.dft.runs.saving.motion_tree import Resumption, Snapshot, state_history_of
from eigenwerk.dft.scf.state import ScfStep, StartingPoint, State
from eigenwerk.dft.settings.motion_kind import PATH, UNSEARCHED
from eigenwerk.io.vasp.output.record import IonicStep
from eigenwerk.motion.mover import Report, Standing
from eigenwerk.motion.surface import Arrangement, Operations, SurfacePoint

OnIonicStep = Callable[[int, IonicStep], None]


@dataclass
class Runner:
    """active: its start and its files; mover: who decides where the atoms go, None where nothing moves; name: of an
    image, for notes.  restored: what a file knows of the steps before; begun: the file whose state the next step begins
    with; ground, report: of the last point."""

    active: ActiveRun
    mover: Standing | None = None
    name: str = ""
    on_ionic_step: OnIonicStep | None = None
    restored: Resumption | None = None
    begun: Path | None = None
    ground: GroundState | None = None
    report: Report | None = None
    surface: DensityFunctionalSurface = field(init=False)

    def __post_init__(self) -> None:
        motion = self.active.inputs.motion
        self.kind = "" if motion is None else motion.kind
        self._operations: Operations = None
        self._use(self.active.calculation)
        if self.mover is not None:
            self.active.ionic_history = self._ionic_history

    def solve(self, asked: Arrangement, start: State | StartingPoint | None = None) -> SurfacePoint:
        """What self-consistency finds at an arrangement; collective.

        start: a state to begin with at the first one, in place of what INCAR asks for.  Raises Stopped, or what
        `on_step` raises.
        """
        active, first = self.active, self.ground is None
        if first:
            self._require_symmetry(asked)
        calculation = active.calculation = active.saver.calculation = self.surface.calculation_at(asked)
        begin, error = self._begin(asked, calculation, start), self.surface.force_error(asked)
        # applications of exact exchange are few and dear: none is done twice
        repeatable = self.mover is not None or calculation.exchange is not None
        if first and self.kind not in UNSEARCHED:
            search = LowerStates.of(calculation, active.inputs, self._scf_step, active.note)
            ground = search.run(begin, force_error=error, repeatable=repeatable)
            if search.calculation is not calculation:
                calculation = self._use(search.calculation)
        else:
            ground = calculation.run(self._scf_step, begin, error, repeatable)
            if first and (words := unsearched_words(calculation, ground.state, UNSEARCHED[self.kind])):
                active.note(f"{self.name}: {words}" if self.name else words)
        self.ground, self._operations = ground, asked.operation_x
        if self.mover is None:
            return self.surface.point(asked, ground)
        return self.surface.add(asked, calculation, ground)

    def tell(self, report: Report) -> None:
        """Whoever moves the atoms has taken the last point: keep it, save it, tell the caller."""
        active, saver, ground, mover = self.active, self.active.saver, self.ground, self.mover
        assert ground is not None and mover is not None
        self.report, number = report, len(saver.earlier) + 1
        if not ground.state.converged:
            active.note(f"{self.name or f'ionic step {number}'}: {active.unconverged_words(ground.state)}")
        saver.snapshot = self.state()
        ionic = saver.ionic_step_done(ground.state, Observables.of(ground, report), mover.status)
        active.note(*saver.unwritten, *saver.moved)
        if self.on_ionic_step is not None:
            self.on_ionic_step(number, ionic)

    def state(self) -> Snapshot:
        """All that is needed to go on after the last point."""
        mover = self.mover
        assert mover is not None
        # an image goes on from its last state
        before = None if self.kind == PATH else self.surface.state_history_for(self._operations).copy()
        return Snapshot(self.kind, mover.state(), mover.finished, mover.status, before, self._operations)

    def restore(self, found: Resumption) -> bool:
        """Go on after the steps of a file; False if it has no states of them to predict the next one from."""
        self.active.saver.earlier, self.restored, self._operations = found.steps, found, found.operations
        self.begun = found.path if found.begun else None
        before, base = self.surface.state_history_for(found.operations), self.surface.base(found.operations)
        known = state_history_of(found, before, base.atoms)
        self.active.saver.snapshot = self.state()
        return known

    def finish(self) -> RunResult:
        """The final files."""
        assert self.ground is not None, "one point at least has been asked for"
        return self.active.finish(self.ground, self.report)

    def _use(self, calculation: Calculation) -> Calculation:
        """All points from here on as this one, which may have fewer operations than the start."""
        motion = self.active.inputs.motion
        self.active.calculation = self.active.saver.calculation = calculation
        self.surface = DensityFunctionalSurface(calculation, *([] if motion is None else [motion.prediction]))
        return calculation

    def _require_symmetry(self, asked: Arrangement) -> None:
        """Only operations that the atoms have kept, where a run goes on whose electrons had fewer than its start."""
        if self.restored is None:
            return
        base, structure = self.surface.base(asked.operation_x), self.surface.structure_at(asked)
        symmetry = kept(base.kpoints.symmetry, structure)
        if symmetry is not base.kpoints.symmetry:
            self._use(base.at_points(under(base.kpoints, symmetry)))

    def _begin(
        self, asked: Arrangement, calculation: Calculation, start: State | StartingPoint | None
    ) -> State | StartingPoint | None:  # fmt: skip
        """Where self-consistency begins at an arrangement."""
        active, restored = self.active, self.restored
        if self.begun is not None:
            path, self.begun, self.restored = self.begun, None, None
            return load_start(path, calculation)
        if not active.saver.earlier and not active.saver.done:
            return start or active.start()
        found = self.surface.start(asked, calculation)
        if found is None and restored is not None:  # with other operations than the last point, whose density serves
            found = load_start(restored.path, calculation, orbitals=False)
        return found

    def _scf_step(self, step: ScfStep, state: State) -> None:
        """After each step of self-consistency; the first one makes the ionic step before one of the past."""
        self.active.saver.next_ionic_step()
        self.active.step(step, state)

    def _ionic_history(self) -> IonicHistory:
        mover, motion = self.mover, self.active.inputs.motion
        assert mover is not None and motion is not None
        more, steps = found_by(mover, motion.settings), self.active.saver.ionic_steps
        return IonicHistory(self.kind, mover.status, mover.finished, steps, *more)
