"""What both commands for series say and write: options, the cost beforehand, documents and pictures."""

import json
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenwerk.cli.checking.plan_text import duration
from eigenwerk.cli.running.ending import jsonable
from eigenwerk.cli.saying import say, say_json
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.plan.machine import H200, Machine, processor
from eigenwerk.dft.plan.plan import make_plan
from eigenwerk.errors import InputError
from eigenwerk.io.atomic_write import ensure_writable, refuse_file, write_text
from eigenwerk.io.folder_lock import lock_folder
from eigenwerk.parallel.launch.choice import DeviceRequest
from eigenwerk.parallel.launch.environment import find_launch, wished_threads
from eigenwerk.parallel.memory.main_memory import installed_memory
from eigenwerk.perf.pictures import require_suffix, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from eigenwerk.parallel.runtime import Runtime

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that ask a series to end; those that are ignored, under nohup, stay so."""

STEPS = 12
"""Of self-consistency, for an estimate of the cost."""

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder with INCAR, POSCAR and KPOINTS.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="DIR", help="Where files go; default: DIR.")]
Device = Annotated[str, typer.Option("--device", metavar="NAME", help="auto, cpu, cuda, or one GPU: cuda:0 ...")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the document, progress to stderr.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be computed and what it costs; stop there.")]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Picture: .png, .svg or .pdf.")]
NoPlot = Annotated[bool, typer.Option("--no-plot", help="Draw no picture.")]


class Voice:
    """Lines at once, beside the document if that is what goes to standard output."""

    def __init__(self, as_json: bool):
        self.as_json = as_json

    def __call__(self, *lines: str) -> None:
        for line in lines:
            say(line, err=self.as_json)

    def warn(self, text: str) -> None:
        """Something to look at."""
        say(f"Warning: {text}.", err=self.as_json, colour=typer.colors.YELLOW)


@contextmanager
def one_rank(device: str) -> Iterator["Runtime"]:
    """The runtime of a series, which one process computes.  Raises InputError where several have been started."""
    launch = find_launch()
    if launch.several:
        raise InputError(
            f"{launch.starter} has started this command as one of {launch.size} ranks, and a series is computed by "
            "one process. Start it once, or write a folder for each calculation and compute those by `eigenwerk run`."
        )
    from eigenwerk.parallel.launch.start import StartRequest, init_ranks

    with init_ranks(launch, lambda: StartRequest(DeviceRequest(device))) as team:
        yield team.runtime


def cost_lines(inputs: Iterable[Inputs], device: str) -> list[str]:
    """How long the calculations take, by the estimate of `eigenwerk plan`."""
    machine = _machine(device)
    seconds = [STEPS * make_plan(one.size, 1, machine).cost.seconds for one in inputs]
    return [
        f"{len(seconds)} calculations, about {duration(sum(seconds))} on one {machine.name} ({STEPS} steps each; an "
        f"estimate), of which the dearest takes {duration(max(seconds))}"
    ]  # fmt: skip


def _machine(device: str) -> Machine:
    if device.startswith("cuda"):
        return H200
    return processor(installed_memory() or 8e9, wished_threads() or len(os.sched_getaffinity(0)))


def write_document(path: Path, document: dict[str, Any]) -> None:
    """As JSON."""
    write_text(path, json.dumps(jsonable(document), indent=1) + "\n")


class SignalReceived(BaseException):
    """A signal that asks the command to end; `exit_code` as a shell gives it.  No calculation takes it for its own."""

    def __init__(self, number: int) -> None:
        super().__init__(f"Stopped by {signal.Signals(number).name}.")
        self.exit_code = 128 + number


def take_folder(command: typer.Context, target: Path, voice: Callable[[str], None]) -> None:
    """Until the command ends, the folder of a series is its own, and SIGTERM ends the series as Ctrl-C does.

    Raises InputError if another run writes there, or if it cannot be written.
    """
    command.with_resource(own_folder(target, voice))


@contextmanager
def own_folder(target: Path, voice: Callable[[str], None]) -> Iterator[None]:
    """The same inside."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise SignalReceived(number)

    ensure_writable(target)
    lock = lock_folder(target)
    before = {number: signal.signal(number, stop) for number in ENDING if signal.getsignal(number) == signal.SIG_DFL}
    try:
        if lock.note:
            voice(f"Note: {lock.note}")
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        lock.release()


@contextmanager
def kept_when_interrupted(path: Path, finished: Callable[[Path], Sized], voice: Voice) -> Iterator[None]:
    """Ctrl-C leaves the document of the points so far, and words about it; finished: those in a document."""
    try:
        yield
    except (KeyboardInterrupt, SignalReceived):
        if count := len(finished(path)):
            kept = "1 finished point is" if count == 1 else f"{count} finished points are"
            voice.warn(f"interrupted: {kept} kept in {path}, and the same command goes on from there")
        raise


def reused(known: int, count: int, path: Path) -> list[str]:
    """Words about points that are taken from an interrupted series."""
    return [f"{known} of {count} are those of {path}, which was interrupted; remove it to compute them again"] * (
        known > 0
    )


def require_options(target: Path, plot: Path | None, device: str) -> None:
    """Raise InputError, before anything is said or written, for options that mean nothing, of a dry run as well."""
    DeviceRequest(device)
    require_suffix(plot, "--plot")
    refuse_file(target)


def finish_series(
    document: dict[str, Any], path: Path, voice: Voice, no_plot: bool, plot: Path | None, figure: Callable[[], "Figure"]
) -> None:
    """The picture, if one is wanted, where the document is, and the document itself where it was asked for."""
    if not no_plot:
        draw(figure, plot, path.with_suffix(".png"), voice)
    voice(f"Document: {path}")
    if voice.as_json:
        say_json(jsonable(document))


def draw(figure: Callable[[], "Figure"], wanted: Path | None, usual: Path, voice: Voice) -> None:
    """A picture that was asked for must be drawn; the usual one may fail."""
    path = wanted or usual
    try:
        save_figure(figure(), path)
    except (ImportError, InputError) as error:
        if wanted is not None:
            raise InputError(f"--plot {wanted}: {error}") from error
        voice(f"No picture: {error}")
    else:
        voice(f"Picture: {path}")
