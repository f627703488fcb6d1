"""The images of a path, computed by `eigenwerk run`."""

from dataclasses import replace
from typing import TYPE_CHECKING

from eigenwerk.cli.ranks import RunOptions
from eigenwerk.cli.running.view import RunView
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.runs.paths.report import PathResult
from eigenwerk.io.vasp.output.record import StepRecord

if TYPE_CHECKING:
    from eigenwerk.parallel.launch.start import Team
    from eigenwerk.parallel.runtime import Runtime


def compute_path(
    inputs: Inputs, options: RunOptions, team: "Team", view: RunView, run: str, threads: int, until: float | None
) -> PathResult:  # fmt: skip
    """On this rank, with those of its group; until: when steps are to be over, by `time.monotonic`."""
    from eigenwerk.dft.runs.paths.run import run_path

    def on_step(step: StepRecord, image: int, runtime: "Runtime") -> None:
        view.image_step(step, image)
        replace(team, runtime=runtime).step_finished()  # groups are not at the same step

    return run_path(
        inputs, options.target, on_step=on_step, on_note=view.note, on_band_step=view.band_step, threads=threads,
        save_every=options.save_every, runtime=team.runtime, protect=team.protect, until=until, run=run,
        resume=options.restart,
    )  # fmt: skip
