"""One calculation from folder to files.

    from eigenwerk.dft.runs.run import run_folder

    result = run_folder("examples/01_silicon_pbe", output="build/demo")
    print(result.status, result.free_energy, result.gap.gap)     # eV
    print(result.forces_av)                                      # eV/Angstrom
    print(result.files["vasprun.xml"])

The folder holds INCAR, POSCAR and KPOINTS; the results are those of `eigenwerk run`.
"""

import time
from pathlib import Path

from eigenwerk.dft.inputs.inputs import Inputs, read_inputs
from eigenwerk.dft.inputs.restart import STATE_FILE
from eigenwerk.dft.plan.room import with_room
from eigenwerk.dft.runs.active_run import ActiveRun, OnNote, OnStep, Protect
from eigenwerk.dft.runs.computing import calculation_of, computing, read_datasets
from eigenwerk.dft.runs.motion.displacements import first_arrangement
from eigenwerk.dft.runs.motion.ionic_loop import go_on, move_atoms
from eigenwerk.dft.runs.motion.movers import make_mover
from eigenwerk.dft.runs.motion.surface import Continuation
from eigenwerk.dft.runs.quantities.report import RunInterrupted, RunResult
from eigenwerk.dft.runs.runner import OnIonicStep, Runner
from eigenwerk.dft.runs.saving.checkpoint import load_start
from eigenwerk.dft.runs.saving.output_folder import OutputFolder
from eigenwerk.dft.runs.saving.saving import SAVE_EVERY, Saver
from eigenwerk.dft.runs.stopping import Stopped, StopRules
from eigenwerk.dft.scf.state import StartingPoint, State
from eigenwerk.dft.xc.evaluation import uncompiled
from eigenwerk.functionals.table import find_functional
from eigenwerk.io.run_stamp import new_run
from eigenwerk.parallel.runtime import Runtime


def run_folder(
    path: str | Path = ".",
    output: str | Path | None = None,
    on_step: OnStep | None = None,
    *,
    threads: int | None = None,
    save_every: float = SAVE_EVERY,
    max_time: float | None = None,
) -> RunResult:
    """Read a folder, solve, write the files; returns the result, converged or not.

    path: the folder with INCAR, POSCAR and KPOINTS; output: where files go (default: the same folder).  on_step is
    called after every step of self-consistency with its `StepRecord` (eV); if it raises KeyboardInterrupt the run
    stops there.  threads: of the processor (default: as torch is set); save_every: seconds between saved steps;
    max_time: seconds after which the run is to be over, converged or not.

    Raises InputError for bad input or a folder that cannot be written, or in which another run writes, before anything
    is written; RunInterrupted (a KeyboardInterrupt with the result so far) after Ctrl-C, when the last finished step
    has been saved.
    """
    until = None if max_time is None else time.monotonic() + max_time
    return run_inputs(read_inputs(path, output), output, on_step, threads=threads, save_every=save_every, until=until)


def run_inputs(
    inputs: Inputs,
    output: str | Path | None = None,
    on_step: OnStep | None = None,
    *,
    on_note: OnNote | None = None,
    on_ionic_step: OnIonicStep | None = None,
    threads: int | None = None,
    save_every: float = SAVE_EVERY,
    runtime: Runtime | None = None,
    protect: Protect | None = None,
    until: float | None = None,
    run: str = "",
    in_memory: bool = False,
    start: State | Continuation | None = None,
    resume: bool = False,
) -> RunResult:
    """The same for inputs that have been read already.

    on_ionic_step is called after each ionic step of a run with several. on_note is called with words about the start,
    a functional that is not compiled, and states that could not be saved on the way. runtime: device and ranks; every
    rank calls this function and gets the result, the first one writes the files. protect is given `Saver.rescue`,
    which saves the last finished step at any time, called on all ranks together from another thread, as soon as there
    is one. until: when the run has to be over, by `time.monotonic`. run: its identifier (default: a new one).
    in_memory: no file is written, no folder touched. start: a state, or several, of the same atoms and data sets to go
    on from, in place of what INCAR asks for.  resume: go on with what the output folder holds of a run that was
    stopped, also between ionic steps.
    """
    inputs.raise_on_errors()
    runtime = with_room(inputs.size, runtime or Runtime())
    folder = OutputFolder(inputs.folder if output is None else output, run or new_run(), writes=not in_memory)
    try:
        note = folder.take() if runtime.writes else ""
        watched = [folder.path, inputs.folder] if runtime.writes and not in_memory else []
        rules = StopRules(watched, until, inputs.motion is not None)
        with computing(runtime, inputs.parameters, threads):
            before = start if isinstance(start, Continuation) else Continuation(latest=start)
            datasets = read_datasets(inputs, runtime, before.latest)
            calculation = before.on_kept_waves(calculation_of(inputs, datasets, runtime))
            if before.keeps_waves:
                inputs = inputs.with_points(calculation.kpoints)
            saver = Saver(inputs, calculation, folder, save_every)
            work = ActiveRun(inputs, calculation, saver, rules, on_step, on_note, protect)
            work.note(*filter(None, [note, *rules.notes()]))
            functional = find_functional(inputs.parameters.functional, inputs.parameters.hybrid)
            work.note(*uncompiled(functional, inputs.parameters.spins))
            return _to_the_end(work, on_ionic_step, before, resume)
    finally:
        folder.release()


def _to_the_end(
    work: ActiveRun, on_ionic_step: OnIonicStep | None, before: Continuation, resume: bool
) -> RunResult:  # fmt: skip
    """To the end, or to where it is stopped."""
    motion = work.inputs.motion
    try:
        if work.inputs.fixed_density:
            return work.keep_density()
        if motion is not None:
            mover = make_mover(work.inputs, motion)
            runner = Runner(work, mover, on_ionic_step=on_ionic_step)
            return move_atoms(runner, mover, go_on(runner, mover, before.latest) if resume else before.latest)
        runner, begin = Runner(work), before.start(work.calculation)
        runner.solve(first_arrangement(work.inputs), begin or (_saved(work) if resume else None))
        return runner.finish()
    except Stopped as stop:
        return work.stop(str(stop))
    except KeyboardInterrupt as interrupt:
        raise RunInterrupted(work.break_off()) from interrupt


def _saved(work: ActiveRun) -> StartingPoint | None:
    """The state of a ground state in its folder; None, and a note, if there is none yet."""
    path = work.saver.folder.path / STATE_FILE
    if not path.is_file():
        work.note(f"nothing has been saved in {path.parent}: this run begins at its start")
        return None
    start = load_start(path, work.calculation)
    work.note(f"going on with {path}", *start.notes)
    return start
