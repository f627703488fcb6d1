"""`eigenwerk run`: a folder in, a ground state out; on one rank, or on as many as were started or asked for.

Exit codes: 0 converged, 3 not converged or out of time (0 by --vasp-exit-codes), 2 bad input, 128 + signal number after
an interruption (130 for Ctrl-C).
"""

import math
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenwerk.cli.crash import crash_words
from eigenwerk.cli.ranks import (
    RunOptions,
    become_rank,
    default_ranks,
    ranks_to_start,
    start_ranks,
    usual_ranks,
)
from eigenwerk.cli.running.computing import compute_here, introduce
from eigenwerk.cli.running.ending import PLOT_FILE, end_if_over, finish
from eigenwerk.cli.running.view import RunView
from eigenwerk.dft.inputs.inputs import Inputs, read_inputs
from eigenwerk.dft.inputs.restart import STATE_FILE
from eigenwerk.dft.inputs.texts import InputTexts, read_texts
from eigenwerk.dft.runs.paths.report import STATE as PATH_STATE
from eigenwerk.dft.runs.paths.report import PathResult
from eigenwerk.dft.runs.quantities.report import RunInterrupted, RunResult
from eigenwerk.errors import InputError
from eigenwerk.io.atomic_write import ensure_writable
from eigenwerk.io.folder_lock import refuse_locked, release_locks
from eigenwerk.io.run_stamp import new_run
from eigenwerk.parallel.launch.environment import Launch
from eigenwerk.parallel.launch.gpus import wake_gpu
from eigenwerk.parallel.launch.launch import given_words
from eigenwerk.parallel.launch.own_process import prepare_process, quick_imports
from eigenwerk.parallel.transports.table import REDUCTION_METHODS, TRANSPORT_NAMES
from eigenwerk.parallel.watch.coordinator import GRACE
from eigenwerk.parallel.watch.watchdog import RESCUE_LIMIT, SIGNALS, Watchdog
from eigenwerk.view.plot_process import PlotProcess

if TYPE_CHECKING:
    from eigenwerk.parallel.launch.start import StartRequest

SAVE_EVERY = 30.0
"""Seconds between saved steps."""

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder with INCAR, POSCAR and KPOINTS.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="DIR", help="Where files go; default: DIR.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document, progress to stderr.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the status and warnings.")]
NoPlot = Annotated[bool, typer.Option("--no-plot", help=f"Do not draw {PLOT_FILE}.")]
SaveEvery = Annotated[
    float, typer.Option("--save-every", metavar="SECONDS", min=0.0, help="Time between saved steps; 0 saves each.")
]


MaxTime = Annotated[
    str | None, typer.Option("--max-time", metavar="TIME", help="Stop and save before: seconds, or [D-]HH:MM:SS.")
]
Grace = Annotated[
    float, typer.Option("--grace", metavar="SECONDS", min=0.0, help="What a step gets to end after SIGTERM or Ctrl-C.")
]
BandsPath = Annotated[
    str | None, typer.Option(
        "--bands", metavar="PATH",
        help='Bands along a path, after convergence: auto, or names of points: "G X L", "L-G-X|K-G".',
    )
]  # fmt: skip
Ranks = Annotated[
    int | None,
    typer.Option("--ranks", "-n", metavar="N", min=1, help="Start N processes here; default: one per GPU if it pays."),
]
Transport = Annotated[
    str, typer.Option("--transport", metavar="NAME", help=f"How ranks communicate: {', '.join(TRANSPORT_NAMES)}.")
]
Reductions = Annotated[
    str, typer.Option(
        "--reductions", metavar="METHOD",
        help=f"How ranks add up: {'; '.join(f'{one.usage}, {one.meaning}' for one in REDUCTION_METHODS)}.",
    )
]  # fmt: skip
VaspExitCodes = Annotated[
    bool, typer.Option("--vasp-exit-codes", help="0 also if not converged, as ASE's Vasp, custodian, atomate2 expect.")
]
Restart = Annotated[
    bool, typer.Option("--restart", help="Go on with a run of this folder that was stopped or killed, ionic steps too.")
]
Device = Annotated[str, typer.Option("--device", metavar="NAME", help="auto, cpu, cuda, or one GPU: cuda:0 ...")]


def run(
    folder: Folder = Path("."),
    output: Output = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    no_plot: NoPlot = False,
    save_every: SaveEvery = SAVE_EVERY,
    ranks: Ranks = None,
    transport: Transport = "auto",
    device: Device = "auto",
    reductions: Reductions = REDUCTION_METHODS[0].name,
    max_time: MaxTime = None,
    grace: Grace = GRACE,
    bands: BandsPath = None,
    vasp_exit_codes: VaspExitCodes = False,
    restart: Restart = False,
) -> None:
    """Compute the ground state of a folder: energy, forces, bands, moments.

    Writes vasprun.xml, OSZICAR, CONTCAR, eigenwerk.h5 and convergence.png; with --bands, KPOINTS_OPT, or a path and
    ICHARG = 11, also bands.json and bands.png.

    On several GPUs or processes: --ranks N, or start the ranks by torchrun, srun or mpirun.

    A file STOPCAR with LABORT = .TRUE. in DIR, written while the run is at work, ends it after the present step.

    Exit codes: 0 converged; 3 not converged, results are written and marked; 2 bad input, nothing is written; 130
    interrupted, the last finished step is saved.

    --restart goes on with a run of the folder that was stopped, killed or out of time, within a step of
    self-consistency or between ionic steps, also on other numbers of ranks; it ends at once where nothing is left.

    --vasp-exit-codes: 0 for every run that wrote its results, converged or not (OUTCAR tells), for programs that drive
    VASP, as in ASE_VASP_COMMAND="eigenwerk run . --vasp-exit-codes".
    """
    began = time.monotonic()
    launch = become_rank()
    options = RunOptions(
        folder, output, as_json, quiet, no_plot, save_every, ranks, transport, device, reductions,
        None if max_time is None else seconds_of(max_time), grace, began, bands, vasp_exit_codes, restart,
    )  # fmt: skip
    compute(options, launch)


def compute(options: RunOptions, launch: Launch) -> None:
    """The command with options that have been read.  Raises Exit with the exit code."""
    request, ranks = options.device_request(), options.ranks
    usual, inputs = 1, None
    if not launch.starter and ranks is None and default_ranks(options.device) > 1:
        inputs = _read(options)  # which errors are shown once, before there are ranks
        usual, remark = usual_ranks(inputs, options)
        options = replace(options, remark=remark)
    count = ranks_to_start(launch, ranks, usual, options.transport, f"run {options.folder}")
    request.check_size(max(count, launch.size))
    if count > 1:
        _run_ranks(options, count, inputs or _read(options))
    else:
        _run_here(options, launch, inputs)


def _run_ranks(options: RunOptions, count: int, inputs: Inputs) -> None:
    """The parent of several ranks."""
    options.groups(inputs, count)
    raise typer.Exit(start_ranks(options, count, inputs.texts))


def _run_here(options: RunOptions, launch: Launch, inputs: Inputs | None) -> None:
    """The calculation; of several ranks only the first speaks, writes, and has an exit code that tells how it went."""
    first = launch.rank == 0
    stream = (sys.stderr if options.as_json else sys.stdout) if first else open(os.devnull, "w")  # noqa: SIM115
    # mpirun gives its ranks terminals that are none
    view = RunView(stream, options.quiet, plain=launch.several and launch.starter != "eigenwerk")
    if launch.several:  # they meet first, so that errors of the input are told once
        if launch.local_rank is not None:
            wake_gpu(options.device, launch.local_rank)
    else:
        inputs = inputs or _read(options)
        introduce(inputs, options, view)
        wake_gpu(options.device)
    with _signals_restored(), _plotter(options, first) as plotter:
        inputs, result, number = _solve(inputs, options, launch, view)
        if first:
            finish(result, number, inputs, options, view, plotter)


@contextmanager
def _signals_restored() -> Iterator[None]:
    """The watchdog leaves signals ignored: what comes after it takes a moment, and a stop would throw away the picture
    and the words about finished results."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _plotter(options: RunOptions, here: bool = True) -> Iterator[PlotProcess | None]:
    """The process that draws, if there is something to draw on this rank."""
    if options.no_plot or not here:
        yield None
        return
    plotter = PlotProcess()
    try:
        yield plotter
    finally:
        plotter.close()


def _read(options: RunOptions) -> Inputs:
    """The folder, or all its errors, before anything is computed."""
    inputs = read_inputs(options.folder, options.target, bands=options.bands)
    inputs.raise_on_errors()
    ensure_writable(options.target)
    refuse_locked(options.target)
    if options.restart:
        end_if_over(options.target / (PATH_STATE if inputs.images else STATE_FILE), inputs, options)
    return inputs


def _solve(
    inputs: Inputs | None, options: RunOptions, launch: Launch, view: RunView
) -> tuple[Inputs, RunResult | PathResult, int]:  # fmt: skip
    """The input, read here unless it is given, the result, and the signal that ended the run (0 for none)."""
    prepare_process()
    found = [] if inputs is None else [inputs]

    def find() -> dict[str, Any]:
        return given_words() or {"run": new_run(), "texts": read_texts(options.folder).as_dict()}

    def prepare() -> "StartRequest":
        if not found:
            texts = InputTexts.of_dict(first.value["texts"])
            found.append(read_inputs(options.folder, options.target, texts, options.bands))
            found[0].raise_on_errors()
        return StartRequest(options.device_request(found[0]), partial(options.groups, found[0]))

    def explain(error: Exception) -> str:
        return crash_words(error, sys.argv[1:])

    def cleanup() -> None:
        view.end()
        release_locks()

    # the watchdog of one rank works while PyTorch is loaded; those of several find each other by PyTorch
    watch: dict[str, Any] = {
        "tell": view.say, "cleanup": cleanup, "grace": options.grace, "until": _moments(options)[1], "last": True,
    }  # fmt: skip
    alone = nullcontext() if launch.several else Watchdog(**watch)
    try:
        with alone as watchdog:
            with quick_imports():  # of PyTorch, which takes longer than everything before
                from eigenwerk.parallel.launch.start import FromFirst, StartRequest, init_ranks

            first = FromFirst(find)
            with init_ranks(launch, prepare, first=first, watchdog=watchdog, explain=explain, **watch) as team:
                if launch.several:
                    introduce(found[0], options, view)
                run = first.value["run"] if launch.several else ""
                return found[0], compute_here(found[0], options, team, view, run, _moments(options)[0]), 0
    except RunInterrupted as interrupt:
        assert interrupt.result is not None, "a stop is heard at the end of a step"
        return found[0], interrupt.result, team.stop or signal.SIGINT
    finally:
        view.end()


def _moments(options: RunOptions) -> tuple[float | None, float | None]:
    """When steps are to be over, and when one that takes longer than expected is cut, with time to save the one before;
    by `time.monotonic`."""
    if options.until is None or options.max_time is None:
        return None, None
    reserve = min(RESCUE_LIMIT, 0.05 * options.max_time)
    return options.until - 2 * reserve, options.until - reserve


def seconds_of(text: str) -> float:
    """A time as seconds, M:S, H:M:S or D-H:M:S.  Raises InputError for anything else, and for no time at all."""
    found = re.fullmatch(r"(?:(?:(?:([0-9]+)-)?([0-9]+):)?([0-9]+):)?([0-9]+(?:\.[0-9]*)?)", text.strip())
    parts = [float(part or 0) for part in found.groups()] if found and len(text) < 40 else [0.0]
    seconds = sum(part * unit for part, unit in zip(parts, (86400, 3600, 60, 1), strict=False))
    if not 0 < seconds < math.inf:
        raise InputError(f"--max-time {text[:40]}: not a time above zero. Give seconds, M:S, H:M:S or D-H:M:S.")
    return seconds
