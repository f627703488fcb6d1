"""The calculation of `eigenwerk run` on one rank, and what is said before it."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from eigenwerk.cli.checking.plan_text import duration
from eigenwerk.cli.moving.path import PathTable
from eigenwerk.cli.moving.table import IonicTable
from eigenwerk.cli.moving.words import points
from eigenwerk.cli.ranks import RunOptions, team_rows
from eigenwerk.cli.running.text import heading, labelled, threads_row
from eigenwerk.cli.running.view import RunView
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.inputs.restart import NOT_READ
from eigenwerk.dft.plan.machine import H200, processor
from eigenwerk.dft.plan.plan import make_plan
from eigenwerk.dft.plan.useful import threads_of_run
from eigenwerk.dft.runs.paths.report import PathResult
from eigenwerk.dft.runs.quantities.report import RunResult
from eigenwerk.io.vasp.output.record import StepRecord
from eigenwerk.parallel.launch.environment import available_threads
from eigenwerk.parallel.launch.own_process import quick_imports

if TYPE_CHECKING:
    from eigenwerk.parallel.launch.start import Team
    from eigenwerk.parallel.runtime import Runtime

LONG_STEP = 60.0
"""Seconds of a step from which on a run says how long it will be: nothing is printed before the first one is over."""


def introduce(inputs: Inputs, options: RunOptions, view: RunView) -> None:
    """What is about to be computed."""
    view.lines(heading(inputs, options.folder))
    if inputs.images:
        view.path = PathTable(len(inputs.images) - 2, points(inputs))
    elif inputs.motion is not None:
        view.table = IonicTable(inputs.motion, points(inputs), len(inputs.structure.symbols))
    view.begin()


def _remark(inputs: Inputs, view: RunView, goes_on: bool) -> None:
    """Warnings and notes about the input.  goes_on: with the state that is there."""
    problems = [problem for problem in inputs.problems if not (goes_on and NOT_READ in problem.message)]
    for problem in problems:
        if problem.severity == "warning":
            view.warn(str(problem))
        else:
            view.note(str(problem))
    if problems:
        view.lines([""])


def _remark_team(team: "Team", remark: str, view: RunView) -> None:
    """What was chosen otherwise than one might expect, and what does not fit the machine."""
    notes = [*filter(None, [remark]), *team.notes]
    for note in notes:
        view.note(note)
    for one in team.remarks:
        (view.warn if one.severity == "warning" else view.note)(one.text)
    if notes or team.remarks:
        view.lines([""])


def long_step_words(inputs: Inputs, ranks: int, cores: int | None) -> str:
    """What a step takes, where that is long: somebody may have miscounted.  cores: of a rank, None with a GPU."""
    machine = H200 if cores is None else processor(math.inf, cores)
    seconds = make_plan(inputs.size, ranks, machine).cost.seconds
    if seconds < LONG_STEP:
        return ""
    size = inputs.size
    return (
        f"A step of self-consistency takes some {duration(seconds)} here, as `eigenwerk plan` counts: {size.kpoints} "
        f"k-points, {size.bands} bands of {size.plane_waves} plane waves. If that is not meant, look at KPOINTS "
        "(KSPACING), ENCUT and NBANDS."
    )


def compute_here(
    inputs: Inputs, options: RunOptions, team: "Team", view: RunView, run: str, until: float | None
) -> RunResult | PathResult:  # fmt: skip
    """The calculation, on this rank; until: when steps are to be over, by `time.monotonic`."""
    threads, rows = team.placement.threads, team_rows(team)
    if not team.launch.several and team.runtime.device.type == "cpu":
        threads = threads_of_run(inputs.size)
        rows = [("computer", threads_row(threads, available_threads()))]
    view.lines([*labelled(rows), ""])
    _remark(inputs, view, options.restart)
    _remark_team(team, options.remark, view)
    cores = threads if team.runtime.device.type == "cpu" else None
    if words := long_step_words(inputs, team.runtime.world.size, cores):
        view.note(words)
        view.lines([""])
    with team.runtime.trace.span("loading programs"), quick_imports():
        from eigenwerk.dft.runs.warm_up import warm_up

        # `run_inputs` does it too; here it has begun when the next line loads modules for half a second
        warm_up(team.runtime.device, inputs.parameters)
        from eigenwerk.dft.runs.run import run_inputs

    if inputs.images:
        return _compute_path(inputs, options, team, view, run, threads, until)

    def on_step(step: StepRecord) -> None:
        view.step(step)
        team.step_finished()

    return run_inputs(
        inputs, options.target, on_step, on_note=view.note, on_ionic_step=view.ionic_step, threads=threads,
        save_every=options.save_every,
        runtime=team.runtime, protect=team.protect, until=until, run=run,
        resume=options.restart,
    )  # fmt: skip


def _compute_path(
    inputs: Inputs, options: RunOptions, team: "Team", view: RunView, run: str, threads: int, until: float | None
) -> PathResult:  # fmt: skip
    """The images of a path, on this rank with those of its group."""
    from eigenwerk.dft.runs.paths.run import run_path

    def on_step(step: StepRecord, image: int, runtime: "Runtime") -> None:
        view.image_step(step, image)
        replace(team, runtime=runtime).step_finished()  # groups are not at the same step

    return run_path(
        inputs, options.target, on_step=on_step, on_note=view.note, on_band_step=view.band_step, threads=threads,
        save_every=options.save_every, runtime=team.runtime, protect=team.protect, until=until, run=run,
        resume=options.restart,
    )  # fmt: skip
