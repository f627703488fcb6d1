"""Ionic steps of a run, one after the other, until whoever moves the atoms is done."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from eigenwerk.dft.calculation import ASYMMETRY, Calculation, GroundState
from eigenwerk.dft.crystal.connectivity import contact_axes
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.stars import under
from eigenwerk.dft.crystal.symmetry import deviation, subgroup
from eigenwerk.dft.inputs.steps.motion import MotionRequest
from eigenwerk.dft.runs.active_run import ActiveRun
from eigenwerk.dft.runs.motion.movers import make_mover
from eigenwerk.dft.runs.motion.surface import STRESS_EV_PER_ANGSTROM3, DensityFunctionalSurface, Operations
from eigenwerk.dft.runs.motion.two_cutoffs import SHARE, pulay_of_energies
from eigenwerk.dft.runs.open_shells.lower_states import LowerStates, unsearched_words
from eigenwerk.dft.runs.quantities.records import Observables
from eigenwerk.dft.runs.quantities.report import IonicHistory, RunResult
from eigenwerk.dft.runs.saving.checkpoint import load_start
from eigenwerk.dft.runs.saving.motion_tree import REMEDY, Resumption, Snapshot, require_same_run, state_history_of
from eigenwerk.dft.scf.state import ScfStep, StartingPoint, State
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.output.record import IonicStep
from eigenwerk.motion.dynamics.dynamics_settings import DynamicsSettings
from eigenwerk.motion.mover import Mover, Report
from eigenwerk.motion.relaxation.relaxation import Relaxation
from eigenwerk.motion.surface import Arrangement, SurfacePoint
from eigenwerk.motion.vibrations.record import vibration_record
from eigenwerk.motion.vibrations.text import as_dict, summary
from eigenwerk.motion.vibrations.vibrations import Vibrations
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.units import STRESS_KILOBAR

OnIonicStep = Callable[[int, IonicStep], None]


@dataclass
class IonicLoop:
    """active: the run that this is part of; mover: who asks for points; surface: what answers."""

    active: ActiveRun
    motion: MotionRequest
    mover: Mover
    surface: DensityFunctionalSurface
    on_ionic_step: OnIonicStep | None = None
    resumed: Resumption | None = None

    @staticmethod
    def of(active: ActiveRun, motion: MotionRequest, on_ionic_step: OnIonicStep | None = None) -> "IonicLoop":
        """At the start of a run."""
        inputs, first = active.inputs, active.calculation

        def kpoints_of(operation_x: tuple[int, ...]) -> KPoints:
            keep_o = np.isin(np.arange(first.kpoints.symmetry.order), operation_x)
            return under(first.kpoints, subgroup(first.kpoints.symmetry, keep_o))

        surface = DensityFunctionalSurface(first, motion.prediction, kpoints_of)
        return IonicLoop(active, motion, make_mover(inputs, motion), surface, on_ionic_step)

    def run(self, start: State | StartingPoint | None = None) -> RunResult:
        """To the end; start: a state to go on from, in place of what INCAR asks for."""
        active = self.active
        active.ionic_history = self._ionic_history
        ground, report = None, None
        while (asked := self.mover.ask()) is not None:
            if ground is None:
                self._require_symmetry(asked)
            calculation = self.surface.calculation_at(asked)
            active.calculation = active.saver.calculation = calculation
            begin, how = self._begin(asked, calculation, start), {"force_error": self.surface.force_error(asked)}
            first = ground is None
            if first and not isinstance(self.mover, Vibrations):
                search = LowerStates.of(calculation, active.inputs, self._scf_step, active.note)
                ground = search.run(begin, repeatable=True, **how)
                calculation = self._on(search.calculation)
            else:
                ground = calculation.run(self._scf_step, begin, repeatable=True, **how)
                if first:
                    active.note(*filter(None, [unsearched_words(calculation, ground.state, "vibrations")]))
            found = self.surface.add(asked, calculation, ground)
            point = _agreed(replace(found, pulay=self._pulay(calculation, ground)), calculation.runtime)
            report = self.mover.tell(point)
            ground = self._with_pulay(ground)
            self._keep(asked.operation_x)
            self._step_done(ground, report)
        assert ground is not None, "a mover asks for one point at least"
        if isinstance(self.mover, Vibrations):
            active.saver.vibrations = vibration_record(self.mover)
            active.note(*filter(None, [_polar_words(ground.state)]))
        return active.finish(ground, report)

    def _on(self, calculation: Calculation) -> Calculation:
        """All points from here on as this one, which may have fewer operations than the start."""
        active = self.active
        if calculation is not active.calculation:
            active.calculation = active.saver.calculation = calculation
            self.surface = DensityFunctionalSurface(calculation, self.motion.prediction, lambda _: calculation.kpoints)
        return calculation

    def _require_symmetry(self, asked: Arrangement) -> None:
        """Only operations that the atoms have kept, where a run goes on whose electrons had fewer than its start."""
        first, structure = self.active.calculation, self.surface.structure_at(asked)
        symmetry = first.kpoints.symmetry
        if self.resumed is None or deviation(symmetry, structure) <= ASYMMETRY:
            return
        each_o = np.eye(symmetry.order, dtype=bool)
        keep_o = np.array([deviation(subgroup(symmetry, one_o), structure) <= ASYMMETRY for one_o in each_o])
        self._on(first.at_points(under(first.kpoints, subgroup(symmetry, keep_o))))

    def _pulay(self, calculation: Calculation, ground: GroundState) -> float | None:
        """The Pulay pressure, eV/Å³, if the mover wants to know it."""
        if not isinstance(self.mover, Relaxation) or not self.mover.wants_pulay or not ground.state.converged:
            return None
        assert ground.pulay is not None, "a cell that moves has a stress"
        pulay, how = pulay_of_energies(calculation, ground), f"from energies at ENCUT ± {100 * SHARE:g} %"
        if pulay is None:
            pulay, how = ground.pulay, "an estimate from the orbitals: calculations with other cutoffs did not converge"
        self.active.note(
            f"Pulay stress: {pulay * STRESS_KILOBAR:.1f} kB ({how}); the cell follows its stress less that, to where "
            "energies at constant ENCUT are lowest"
        )
        return pulay * STRESS_EV_PER_ANGSTROM3

    def _with_pulay(self, ground: GroundState) -> GroundState:
        """With the Pulay pressure that the mover goes by in place of the estimate."""
        pulay = self.mover.pulay if isinstance(self.mover, Relaxation) else None
        return ground if pulay is None else replace(ground, pulay=pulay / STRESS_EV_PER_ANGSTROM3)

    def _begin(
        self, asked: Arrangement, calculation: Calculation, start: State | StartingPoint | None
    ) -> State | StartingPoint | None:  # fmt: skip
        """Where self-consistency begins at an arrangement."""
        active, resumed = self.active, self.resumed
        if resumed is not None and resumed.begun:
            self.resumed = None
            return load_start(resumed.path, calculation)
        if active.saver.earlier or active.saver.done:
            found = self.surface.start(asked, calculation)
            if found is None and resumed is not None:  # with other operations than the last point, whose density serves
                found = load_start(resumed.path, calculation, orbitals=False)
            return found
        return start or active.start()

    def _scf_step(self, step: ScfStep, state: State) -> None:
        """After each step of self-consistency; the first one makes the ionic step before one of the past."""
        self.active.saver.next_ionic_step()
        self.active.step(step, state)

    def _keep(self, operations: Operations) -> None:
        """All that is needed to go on after the point just told."""
        mover, state_history = self.mover, self.surface.state_history_for(operations)
        self.active.saver.snapshot = Snapshot(
            self.motion.kind, mover.state(), mover.finished, mover.status, state_history.copy(), operations
        )

    def resume(self, found: Resumption) -> None:
        """Go on where a run was saved.  Raises InputError if that was another one."""
        active = self.active
        require_same_run(found, self.motion.kind, active.inputs)
        try:
            self.mover.restore(found.mover)
            asked = self.mover.ask()
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise InputError(f"{found.path}: atoms cannot go on from there ({error}). {REMEDY}") from error
        if asked is None:
            raise InputError(f"{found.path}: this run is over: {found.status}. Leave --restart out to begin anew.")
        active.saver.earlier = found.steps
        self.resumed = found
        words = f"going on after {len(found.steps)} ionic steps of {found.path}"
        active.note(f"{words}, within the next one" if found.begun else words)
        state_history = self.surface.state_history_for(found.operations)
        if not state_history_of(found, state_history, self.surface.base(found.operations).atoms):
            active.note("no earlier orbitals were saved: the next ionic steps take longer")
        self._keep(found.operations)

    def _step_done(self, ground: GroundState, report: Report) -> None:
        """Keep what was found, save it, tell, and stop if that is wanted."""
        active, state = self.active, ground.state
        if not state.converged:
            active.note(f"ionic step {len(active.saver.earlier) + 1}: {active.unconverged_words(state)}")
        ionic = active.saver.ionic_step_done(state, Observables.of(ground, report), self.mover.status)
        active.note(*active.saver.unwritten, *active.saver.moved)
        if self.on_ionic_step is not None:
            self.on_ionic_step(len(active.saver.earlier) + 1, ionic)
        if self.mover.ask() is not None:
            active.stop_between(state)

    def _ionic_history(self) -> IonicHistory:
        steps = self.active.saver.ionic_steps
        result = self.mover.result if isinstance(self.mover, Vibrations) else None
        more, text = ({}, "") if result is None else (as_dict(result), summary(result))
        if isinstance(self.motion.settings, DynamicsSettings):
            more = {"time_step_fs": self.motion.settings.time_step}
        return IonicHistory(self.motion.kind, self.mover.status, self.mover.finished, steps, more, text)


def _polar_words(state: State) -> str:
    """What the modes of a polar insulator lack: macroscopic fields; empty for metals, elements, no crystals."""
    occ_skn, structure = state.occupations.occ_skn, state.structure
    insulator = bool(((occ_skn - occ_skn.round()).abs() < 1e-6).all())
    if not insulator or len(structure.species) == 1 or not contact_axes(structure).all():
        return ""
    return (
        "this is an insulator of several elements: as q goes to 0 its longitudinal optical modes lie above those "
        "given, by their macroscopic field (LO-TO splitting), which takes Born charges and a dielectric constant: "
        "not computed here. The modes given are right for transverse polarisation, and where no charge moves"
    )


def _agreed(point: SurfacePoint, runtime: Runtime) -> SurfacePoint:
    """Rank 0's numbers for all: a mover of another rank must not come to other decisions."""
    if runtime.world.size == 1:
        return point
    stress_vv, pulay = point.stress_vv, point.pulay
    numbers = [np.array([point.free_energy, point.force_error, pulay or 0.0]), point.forces_av.ravel()]
    numbers += [] if stress_vv is None else [stress_vv.ravel()]
    flat = runtime.world.broadcast(runtime.tensor(np.concatenate(numbers))).cpu().numpy()
    count = point.forces_av.size
    return replace(
        point, free_energy=float(flat[0]), force_error=float(flat[1]), forces_av=flat[3 : 3 + count].reshape(-1, 3),
        stress_vv=None if stress_vv is None else flat[3 + count :].reshape(3, 3),
        pulay=None if pulay is None else float(flat[2]),
    )  # fmt: skip
