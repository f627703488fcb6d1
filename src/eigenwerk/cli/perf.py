"""`eigenwerk perf`: where the time of a run went, read from the record that the run left.

Exit codes: 0 done, 2 no such record, or a damaged one.  PyTorch is not loaded.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenwerk.cli.saying import say, say_json
from eigenwerk.errors import InputError
from eigenwerk.perf.chrome import write_chrome_trace
from eigenwerk.perf.communication import communication as communication_of
from eigenwerk.perf.communication_plot import draw_communication
from eigenwerk.perf.communication_text import communication_lines
from eigenwerk.perf.documents import communication_document, profile_document
from eigenwerk.perf.pictures import require_suffix
from eigenwerk.perf.profile import profile as profile_of
from eigenwerk.perf.profile_plot import draw_profile
from eigenwerk.perf.profile_text import profile_lines
from eigenwerk.perf.run_trace import load_run
from eigenwerk.perf.schemes.comparison import compared
from eigenwerk.perf.schemes.document import schemes_document
from eigenwerk.perf.schemes.plot import draw_schemes
from eigenwerk.perf.schemes.products import product_use
from eigenwerk.perf.schemes.text import schemes_lines

COMMUNICATION_PLOT, PROFILE_PLOT, SCHEMES_PLOT = "communication.png", "profile.png", "schemes.png"

app = typer.Typer(no_args_is_help=True, help="Show where the time of a run went: communication, phases, a timeline.")

Run = Annotated[Path, typer.Argument(metavar="[RUN]", help="Output folder of a run, or its eigenwerk-trace.json.")]
Runs = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Output folders of runs of nuclei, or records.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text; draws nothing.")]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Where the picture goes; default: RUN.")]
NoPlot = Annotated[bool, typer.Option("--no-plot", help="Draw no picture.")]
Chrome = Annotated[
    Path | None, typer.Option("--chrome", metavar="FILE", help="Write a timeline for chrome://tracing or Perfetto.")
]


@app.command()
def communication(run: Run = Path("."), as_json: AsJson = False, plot: Plot = None, no_plot: NoPlot = False) -> None:
    """Show what communication cost: by function, size of message, rank and pair of ranks, with the waiting in it."""
    require_suffix(plot, "--plot")
    loaded = load_run(run)
    found = communication_of(loaded)
    if as_json:
        _print_json(communication_document(found))
        return
    say("\n".join(communication_lines(found)))
    if found.functions and not no_plot:
        _draw(lambda path: draw_communication(path, found), plot, loaded.path.parent / COMMUNICATION_PLOT)


@app.command()
def profile(
    run: Run = Path("."),
    as_json: AsJson = False,
    chrome: Chrome = None,
    plot: Plot = None,
    no_plot: NoPlot = False,
) -> None:
    """Show the phases of a run with their times over all ranks, LOOP and LOOP+, memory; write a timeline."""
    require_suffix(plot, "--plot")
    loaded = load_run(run)
    found = profile_of(loaded)
    events = None if chrome is None else write_chrome_trace(chrome, loaded)
    if as_json:
        _print_json(profile_document(found))
        return
    say("\n".join(profile_lines(found)))
    if not no_plot:
        _draw(lambda path: draw_profile(path, found), plot, loaded.path.parent / PROFILE_PLOT)
    if events is not None:
        say(f"Timeline: {chrome}, {events} events; open it in chrome://tracing or ui.perfetto.dev")


@app.command()
def schemes(runs: Runs, as_json: AsJson = False, plot: Plot = None, no_plot: NoPlot = False) -> None:
    """Show what the products of nuclei cost on ranks: the four steps, what was hidden, FLOPs per byte; several runs of
    one case beside each other, with speed-up over the schemes plain and mpi, and parallel efficiency."""
    require_suffix(plot, "--plot")
    rows = compared([product_use(load_run(run)) for run in runs])
    if as_json:
        _print_json(schemes_document(rows))
        return
    say("\n".join(schemes_lines(rows)))
    if not no_plot:
        _draw(lambda path: draw_schemes(path, rows), plot, rows[0].use.run.path.parent / SCHEMES_PLOT)


def _print_json(document: dict[str, Any]) -> None:
    say_json(document)


def _draw(draw: Callable[[Path], None], wanted: Path | None, usual: Path) -> None:
    """A picture that was asked for must be drawn; the usual one may fail, for instance in somebody else's folder."""
    path = wanted or usual
    try:
        draw(path)
    except (ImportError, InputError) as error:
        words = str(error).replace("another folder with --output", "another file with --plot")
        if wanted is not None:
            raise InputError(words) from error
        say(f"\nNo picture: {words}")
    else:
        say(f"\nPicture: {path}")
