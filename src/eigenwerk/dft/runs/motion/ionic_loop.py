"""Ionic steps of a run, one after the other, until whoever moves the atoms is done."""

from dataclasses import replace

import numpy as np

from eigenwerk.dft.crystal.connectivity import contact_axes
from eigenwerk.dft.inputs.restart import STATE_FILE
from eigenwerk.dft.runs.motion.surface import STRESS_EV_PER_ANGSTROM3
from eigenwerk.dft.runs.motion.two_cutoffs import SHARE, pulay_of_energies
from eigenwerk.dft.runs.quantities.report import RunResult
from eigenwerk.dft.runs.runner import Runner
from eigenwerk.dft.runs.saving.checkpoint import load_start
from eigenwerk.dft.runs.saving.motion_tree import REMEDY, Resumption, is_begun, read_resumption, require_same_run
from eigenwerk.dft.scf.state import StartingPoint, State
from eigenwerk.errors import InputError
from eigenwerk.motion.mover import Mover
from eigenwerk.motion.relaxation.relaxation import Relaxation
from eigenwerk.motion.surface import SurfacePoint
from eigenwerk.motion.vibrations.record import vibration_record
from eigenwerk.motion.vibrations.vibrations import Vibrations
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.units import STRESS_KILOBAR


def move_atoms(runner: Runner, mover: Mover, start: State | StartingPoint | None = None) -> RunResult:
    """To the end; start: a state to go on from, in place of what INCAR asks for."""
    active = runner.active
    while (asked := mover.ask()) is not None:
        point = runner.solve(asked, start)
        if isinstance(mover, Relaxation) and mover.wants_pulay:
            point = replace(point, pulay=_pulay(runner))
        report = mover.tell(_agreed(point, active.calculation.runtime))
        assert runner.ground is not None
        if isinstance(mover, Relaxation) and mover.pulay is not None:  # what it goes by, in place of the estimate
            runner.ground = replace(runner.ground, pulay=mover.pulay / STRESS_EV_PER_ANGSTROM3)
        runner.tell(report)
        if mover.ask() is not None:
            active.stop_between(runner.ground.state)
    if isinstance(mover, Vibrations):
        assert runner.ground is not None, "a mover asks for one point at least"
        active.saver.vibrations = vibration_record(mover)
        active.note(*filter(None, [_polar_words(runner.ground.state)]))
    return runner.finish()


def go_on(runner: Runner, mover: Mover, start: State | None) -> State | StartingPoint | None:
    """Have atoms go on where the folder of a run has them; where to begin if the first ionic step is not over.

    With a note on what was found.  Raises InputError if it was another run.
    """
    active = runner.active
    path = active.saver.folder.path / STATE_FILE
    found = read_resumption(path) if path.is_file() else None
    if found is not None:
        _restore(runner, mover, found)
        return start
    if path.is_file() and is_begun(path, active.inputs):
        active.note(f"going on with {path}, within the first ionic step")
        return load_start(path, active.calculation)
    active.note(f"no ionic step has been saved in {path.parent}: this run begins at its start")
    return start


def _restore(runner: Runner, mover: Mover, found: Resumption) -> None:
    active = runner.active
    require_same_run(found, runner.kind, active.inputs)
    try:
        mover.restore(found.mover)
        asked = mover.ask()
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(f"{found.path}: atoms cannot go on from there ({error}). {REMEDY}") from error
    if asked is None:
        raise InputError(f"{found.path}: this run is over: {found.status}. Leave --restart out to begin anew.")
    words = f"going on after {len(found.steps)} ionic steps of {found.path}"
    active.note(f"{words}, within the next one" if found.begun else words)
    if not runner.restore(found):
        active.note("no earlier orbitals were saved: the next ionic steps take longer")


def _pulay(runner: Runner) -> float | None:
    """The Pulay pressure of the last point, eV/Å³; None if that is not self-consistent."""
    active, ground = runner.active, runner.ground
    assert ground is not None
    if not ground.state.converged:
        return None
    assert ground.pulay is not None, "a cell that moves has a stress"
    pulay, how = pulay_of_energies(active.calculation, ground), f"from energies at ENCUT ± {100 * SHARE:g} %"
    if pulay is None:
        pulay, how = ground.pulay, "an estimate from the orbitals: calculations with other cutoffs did not converge"
    active.note(
        f"Pulay stress: {pulay * STRESS_KILOBAR:.1f} kB ({how}); the cell follows its stress less that, to where "
        "energies at constant ENCUT are lowest"
    )
    return pulay * STRESS_EV_PER_ANGSTROM3


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
