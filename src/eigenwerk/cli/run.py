"""`eigenwerk run`: a folder in, a ground state out.

Exit codes: 0 converged, 3 not converged, 2 bad input, 128 + signal number after an interruption (130 for Ctrl-C).
"""

import json
import math
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenwerk.cli.run_text import formula, heading, summary
from eigenwerk.cli.run_view import BAD, DOUBT, GOOD, RunView
from eigenwerk.cli.stopping import StopRequests
from eigenwerk.dft.inputs import Inputs, read_inputs
from eigenwerk.dft.interruption import RunInterrupted
from eigenwerk.dft.report import RunResult
from eigenwerk.errors import ConvergenceError, InputError
from eigenwerk.io.atomic_write import ensure_writable
from eigenwerk.io.vasp.record import StepRecord
from eigenwerk.perf.convergence_plot import draw_convergence
from eigenwerk.units import HARTREE_EV

PLOT_FILE = "convergence.png"

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder with INCAR, POSCAR and KPOINTS.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="DIR", help="Where files go; default: DIR.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document, progress to stderr.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the status and warnings.")]
NoPlot = Annotated[bool, typer.Option("--no-plot", help=f"Do not draw {PLOT_FILE}.")]
SaveEvery = Annotated[
    float, typer.Option("--save-every", metavar="SECONDS", min=0.0, help="Time between saved steps; 0 saves each.")
]


def run(
    folder: Folder = Path("."),
    output: Output = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    no_plot: NoPlot = False,
    save_every: SaveEvery = 30.0,
) -> None:
    """Compute the ground state of a folder: energy, forces, bands, moments.

    Writes vasprun.xml, OSZICAR, CONTCAR, eigenwerk.h5 and convergence.png.

    Exit codes: 0 converged; 3 not converged, results are written and marked; 2 bad input, nothing is written; 130
    interrupted, the last finished step is saved.
    """
    target = folder if output is None else output
    view = RunView(sys.stderr if as_json else sys.stdout, quiet)
    inputs = read_inputs(folder, target)
    inputs.raise_on_errors()
    ensure_writable(target)
    threads = available_threads()
    view.lines(heading(inputs, folder, threads))
    _remark(inputs, view)
    result, number = _solve(inputs, target, view, threads, save_every)
    if result is None:
        view.say("Interrupted before the first step was finished; nothing has been written.", BAD)
        raise typer.Exit(128 + number)
    files = {} if no_plot else _plot(result, inputs, target, view)
    _tell(result, files, target, view)
    if as_json:
        print(json.dumps(jsonable(result.as_dict() | {"files": _names(result, files)}), indent=1))
    raise typer.Exit(_exit_code(result, number))


def _remark(inputs: Inputs, view: RunView) -> None:
    """Warnings and notes about the input."""
    for problem in inputs.problems:
        if problem.severity == "warning":
            view.warn(str(problem))
        else:
            view.note(str(problem))
    if inputs.problems:
        view.lines([""])


def available_threads() -> int:
    """The cores this process may use, or OMP_NUM_THREADS, the usual way to ask for fewer."""
    wish = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return int(wish) if wish.isdigit() and int(wish) > 0 else len(os.sched_getaffinity(0))


def _let_threads_sleep() -> None:
    """Idle threads sleep instead of spinning; to be called before PyTorch loads OpenMP.

    Where other programs use the same cores, spinning makes a run several times slower (measured: 55 s instead of 12 s
    with two threads on two busy cores).  A user's own OMP_WAIT_POLICY stays.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def _solve(
    inputs: Inputs, target: Path, view: RunView, threads: int, save_every: float
) -> tuple[RunResult | None, int]:
    """The result, and the number of the signal that ended the run (0 for none)."""
    view.begin()
    _let_threads_sleep()
    try:
        with StopRequests(view.say) as stop:
            # loads PyTorch, which takes longer than everything before
            from eigenwerk.dft.run import run_inputs

            def on_step(step: StepRecord) -> None:
                view.step(step)
                stop.step_finished()

            try:
                return run_inputs(
                    inputs, target, on_step, on_note=view.note, threads=threads, save_every=save_every
                ), 0
            except KeyboardInterrupt as interrupt:
                result = interrupt.result if isinstance(interrupt, RunInterrupted) else None
                return result, stop.number or 2
    finally:
        view.end()


def _plot(result: RunResult, inputs: Inputs, target: Path, view: RunView) -> dict[str, Path]:
    """The picture, if it can be drawn; a run does not fail for want of one."""
    words = "converged" if result.converged else "NOT CONVERGED"
    title = f"{formula(result.symbols)}: {words}, {len(result.steps)} steps, {result.free_energy:.6f} eV"
    try:
        draw_convergence(
            target / PLOT_FILE, result.steps, title, inputs.parameters.energy_tolerance * HARTREE_EV
        )
    except (ImportError, InputError) as error:
        view.say(f"No {PLOT_FILE}: {error}", DOUBT)
        return {}
    return {PLOT_FILE: target / PLOT_FILE}


def _names(result: RunResult, more: dict[str, Path]) -> dict[str, str]:
    return {name: str(path) for name, path in {**result.files, **more}.items()}


def _tell(result: RunResult, files: dict[str, Path], target: Path, view: RunView) -> None:
    """Summary, warnings, and last of all how it ended."""
    view.lines(["", *summary(result, target, [*result.files, *files]), ""])
    for text in (*result.unwritten, *result.warnings):
        view.warn(text)
    view.say(f"{result.status[:1].upper()}{result.status[1:]}.", GOOD if result.converged else BAD)
    if result.advice:
        view.lines(["What to try:", *(f"  - {idea}" for idea in result.advice)])


def _exit_code(result: RunResult, number: int) -> int:
    if number:
        return 128 + number
    if result.unwritten:
        return InputError.exit_code
    return 0 if result.converged else ConvergenceError.exit_code


def jsonable(value: Any) -> Any:
    """JSON has no infinities: numbers that are not finite become null."""
    if isinstance(value, dict):
        return {key: jsonable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
