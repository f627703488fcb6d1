"""The command `eigenwerk`: finds the sub-command, turns errors into messages and exit codes.

Exit codes: 0 done, 1 a fault of eigenwerk itself or a missing package, 2 bad input, 3 not converged, 130 interrupted,
128 + n ended by signal n.
"""

import os
import sys
from contextlib import suppress
from typing import Annotated, NoReturn

import typer

from eigenwerk import __version__
from eigenwerk.cli.build import build
from eigenwerk.cli.checking.check import check
from eigenwerk.cli.checking.plan import plan
from eigenwerk.cli.crash import crash_words
from eigenwerk.cli.ncci import app as ncci
from eigenwerk.cli.perf import app as perf
from eigenwerk.cli.plot import plot
from eigenwerk.cli.potcars import potcars
from eigenwerk.cli.report import report
from eigenwerk.cli.run import run
from eigenwerk.cli.saying import say
from eigenwerk.cli.series.converge import converge
from eigenwerk.cli.series.eos import eos
from eigenwerk.cli.series.relax import relax
from eigenwerk.cli.series.words import SignalReceived
from eigenwerk.cli.streams import OutputError, memory_words, prepare_streams
from eigenwerk.errors import EigenwerkError, InputError

ABOUT = (
    "Two engines. Materials: plane-wave PAW density-functional theory; INCAR, POSCAR, KPOINTS in, energies out (run, "
    "relax, check, plan, eos, converge, build, potcars), pictures and pages of them (plot, report). Light nuclei: "
    "configuration interaction; a case file in, levels out (ncci)."
)

INTERNAL_ERROR = 1
INTERRUPTED = 130

app = typer.Typer(
    name="eigenwerk",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        say(f"eigenwerk {__version__}")
        raise typer.Exit


@app.callback(help=ABOUT)
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """The options of `eigenwerk` itself."""


app.command()(build)
app.command()(check)
app.command()(converge)
app.command()(eos)
app.command()(plan)
app.command()(plot)
app.command()(potcars)
app.command()(relax)
app.command()(report)
app.command()(run)
app.add_typer(perf, name="perf")
app.add_typer(ncci, name="ncci")


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code; no exception leaves but those that end Python.

    arguments: the words after `eigenwerk`; those of the process when None.
    """
    try:
        app(args=arguments, prog_name="eigenwerk")
    except SystemExit as end:  # typer's way to say that a command, a help page or a usage error is done
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        _say("Interrupted.")
        return INTERRUPTED
    except SignalReceived as stop:
        _say(str(stop))
        return stop.exit_code
    except EigenwerkError as error:
        _say(f"{error}{_without_folder()}")
        return error.exit_code
    except OutputError as error:
        _say(f"{error.strerror}. Free some space, or write to another file.")
        return InputError.exit_code
    except Exception as error:
        if words := memory_words(error):
            _say(words)
            return INTERNAL_ERROR
        _say(crash_words(error, sys.argv[1:] if arguments is None else arguments))
        return INTERNAL_ERROR
    return 0


def command() -> NoReturn:
    """The command as programs start it: `main`, and the process ends at once.

    PyTorch and CUDA would take most of a second to take themselves apart, when all files are written and all ranks have
    parted.  Only MPI has to be told.
    """
    prepare_streams()
    code = main()
    try:
        sys.stdout.flush()
    except OutputError as error:
        _say(f"{error.strerror}. Free some space, or write to another file.")
        code = code or InputError.exit_code
    if "torch" not in sys.modules or "mpi4py.MPI" in sys.modules:
        sys.exit(code)
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


def _without_folder() -> str:
    """Words where the current folder has been removed, so that no relative path leads anywhere."""
    try:
        os.getcwd()
    except OSError:
        return "\nThe current folder is not there any more. Change to one that is (cd)."
    return ""


def _say(message: str) -> None:
    """Writes a message to standard error, red on a terminal and plain elsewhere."""
    say(message, err=True, colour=typer.colors.RED)


if __name__ == "__main__":
    command()
