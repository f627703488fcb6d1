"""`eigenwerk ncci`: nuclei from first principles; run a case, check it before, show and draw its levels.

Exit codes: 0 done, 2 bad input, 3 states did not converge (results are written and marked), 128 + signal number after
an interruption.
"""

import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenwerk.cli.crash import crash_words
from eigenwerk.cli.ranks import become_rank, place_rows, ranks_to_start, run_as_ranks, started_words
from eigenwerk.cli.saying import say
from eigenwerk.errors import ConvergenceError, InputError
from eigenwerk.io.folder_lock import release_locks
from eigenwerk.ncci.inputs.check_text import check_texts
from eigenwerk.ncci.inputs.input_settings import SETTINGS
from eigenwerk.ncci.inputs.inputs import Case, read_cases
from eigenwerk.ncci.ranks.scheme import AUTO, SCHEME_USAGES, scheme_named
from eigenwerk.ncci.results.levels import Levels
from eigenwerk.ncci.results.levels_text import levels_lines
from eigenwerk.ncci.results.limits.level_plot import draw_convergence, draw_levels
from eigenwerk.parallel.launch.choice import DeviceRequest
from eigenwerk.parallel.launch.environment import Launch
from eigenwerk.parallel.launch.gpus import count_gpus
from eigenwerk.parallel.launch.own_process import quick_imports, wait_briefly
from eigenwerk.parallel.transports.table import REDUCTION_METHODS, REDUCTION_USAGES, TRANSPORT_NAMES, Reductions
from eigenwerk.parallel.watch.watchdog import Watchdog

if TYPE_CHECKING:
    from eigenwerk.ncci.solve.solving import SolverProgress
    from eigenwerk.parallel.launch.start import StartRequest, Team

app = typer.Typer(no_args_is_help=True, help="Light nuclei: no-core and valence-space configuration interaction.")

CaseFile = Annotated[Path, typer.Argument(metavar="CASE", help="A case file, TOML; see `eigenwerk ncci keys`.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="DIR", help="Where files go; default: beside CASE, its name.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the table of levels.")]
Results = Annotated[list[Path], typer.Argument(metavar="RESULT...", help="levels.h5 files, or folders that hold them.")]
GpuMemory = Annotated[float | None, typer.Option("--gpu-gb", metavar="GB", help="Judge by a GPU with so much memory.")]
HostMemory = Annotated[
    float | None, typer.Option("--host-gb", metavar="GB", help="With --gpu-gb: memory of each machine with GPUs.")
]
CountSeconds = Annotated[
    float, typer.Option("--seconds", metavar="S", help="Counting of nonzeros may take so long.", min=0.0)
]
Device = Annotated[
    str | None, typer.Option("--device", metavar="NAME", help="auto, cpu, cuda, or one GPU: cuda:0 ...; over the case.")
]
Ranks = Annotated[
    int | None, typer.Option("--ranks", "-n", metavar="N", min=1, help="Start N processes here; default: one.")
]
CheckRanks = Annotated[int, typer.Option("--ranks", "-n", metavar="N", min=1, help="Processes that share the case.")]
Transport = Annotated[
    str, typer.Option("--transport", metavar="NAME", help=f"How ranks communicate: {', '.join(TRANSPORT_NAMES)}.")
]
SchemeName = Annotated[
    str | None,
    typer.Option("--scheme", metavar="NAME", help=f"How vectors travel: {', '.join(SCHEME_USAGES)}; over the case."),
]
SumMethod = Annotated[
    str, typer.Option("--reductions", metavar="METHOD", help=f"How ranks add up: {', '.join(REDUCTION_USAGES)}.")
]
LOADED = ("eigenwerk.cli.main", "eigenwerk.ncci.series", "eigenwerk.parallel.launch.start")
"""What every rank loads: all that it needs."""

MANY_ORBITALS = 60
"""Of one species, with which counting takes seconds to minutes."""

PICTURES = (".png", ".svg", ".pdf")
"""Endings of pictures."""

Plot = Annotated[Path, typer.Option("--plot", metavar="FILE", help="Where the picture goes.")]


@app.command()
def run(
    case: CaseFile,
    output: Output = None,
    quiet: Quiet = False,
    device: Device = None,
    ranks: Ranks = None,
    transport: Transport = "auto",
    reductions: SumMethod = REDUCTION_METHODS[0].name,
    scheme: SchemeName = None,
) -> None:
    """Compute the levels of a case, or of each pair of hw and Nmax that it lists.

    Writes levels.h5, levels.txt, levels.res and eigenwerk-trace.json. A run that was stopped or killed continues when
    it is started again, also on another number of ranks.

    On several processes or GPUs: --ranks N, or start the ranks by torchrun, srun or mpirun.
    """
    wait_briefly()  # memory that is freed goes back: matrices fill what there is
    launch = become_rank()
    folder = output if output is not None else case.parent / case.stem
    count = ranks_to_start(launch, ranks, 1, transport, f"ncci run {case}")

    if scheme is not None:
        scheme_named(scheme)

    def read() -> list[Case]:
        cases = read_cases(case)
        return cases if scheme is None else [each.by_scheme(scheme) for each in cases]

    def request(cases: list[Case]) -> DeviceRequest:
        sums, size = Reductions.of_text(reductions), max(count, launch.size)
        wished = _by_scheme(cases[0], device, transport, sums, size, f"ncci run {case}")
        wished.check_size(size)
        if count > 1:
            wished.check_starter("eigenwerk", count)
        return wished

    if count > 1:
        wished = request(read())
        words = ["ncci", "run", str(case), "--output", str(folder), "--transport", transport]
        words += ["--reductions", reductions] + ["--quiet"] * quiet + ([] if device is None else ["--device", device])
        words += [] if scheme is None else ["--scheme", scheme]
        modules = LOADED if wished.device == "cpu" or not count_gpus() else ()
        raise typer.Exit(run_as_ranks(words, count, lambda: _kept_words(folder), modules=modules))
    series = _solve(read, folder, request, launch, _Progress(quiet or launch.rank > 0))
    if launch.rank == 0:
        _show(series, folder, quiet)


def _by_scheme(
    case: Case, device: str | None, transport: str, sums: Reductions, ranks: int, words: str
) -> DeviceRequest:
    """Device and transport that the scheme of a case wants; InputError where it cannot be, or options say otherwise."""
    scheme = scheme_named(case.solver.scheme)
    said = _said(case)
    scheme.check_ranks(ranks, said)
    scheme.check_environment(said)
    if scheme.name != AUTO.name and sums.method.layer:
        raise InputError(
            f"{said} says how ranks add up, and so does --reductions {sums.method.name}. Leave one of "
            "the two out."
        )
    insists = "" if scheme.transport == "auto" else said
    wanted = scheme.transport_beside(transport, said)
    return DeviceRequest(device or case.solver.device, wanted, sums, insists=insists, words=words)


def _said(case: Case) -> str:
    """Where the scheme was asked for."""
    if "solver.scheme" in case.given:
        return f'{case.path}: [solver] scheme = "{case.solver.scheme}"'
    return scheme_named(case.solver.scheme).option


def _solve(
    read: Callable[[], list[Case]], folder: Path, request: Callable[[list[Case]], DeviceRequest], launch: Launch,
    view: "_Progress",
) -> list[Levels]:  # fmt: skip
    """The levels, on every rank; of several ranks only the first speaks and writes."""
    cases = [] if launch.several else read()  # several meet first, so that errors of the input are told once
    wished = None if launch.several else request(cases)

    with quick_imports():
        from eigenwerk.ncci.series import run_series
        from eigenwerk.parallel.launch.start import StartRequest, init_ranks

    def prepare() -> "StartRequest":
        if wished is not None:
            return StartRequest(wished)
        cases.extend(read())
        return StartRequest(request(cases))

    watch: dict[str, Any] = {"tell": view.say, "cleanup": release_locks}
    stop: int | None = None
    try:
        with (
            nullcontext() if launch.several else Watchdog(**watch) as watchdog,
            init_ranks(launch, prepare, watchdog=watchdog, explain=_crash, **watch) as team,
        ):
            team.protect(lambda: _stopped_words(folder))
            _introduce(team, view)

            def report(step: "SolverProgress") -> None:
                nonlocal stop
                view.report(step)
                stop = team.stop
                team.step_finished()

            return run_series(cases, folder, runtime=team.runtime, report=report, say=view.say)
    except KeyboardInterrupt as error:
        if launch.rank == 0:
            say(_stopped_words(folder), err=True)
        raise typer.Exit(128 + (stop or signal.SIGINT)) from error


def _introduce(team: "Team", view: "_Progress") -> None:
    """Ranks, devices and transport, where there are several; what one might not expect of them."""
    rows = [("ranks", started_words(team)), *place_rows(team)] if team.launch.several else []
    for label, text in rows:
        view.say(f"{label:<10s} {text}")
    for note in (*team.notes, *(remark.text for remark in team.remarks)):
        view.say(note)


def _crash(error: Exception) -> str:
    return crash_words(error, sys.argv[1:])


def _kept_words(folder: Path) -> str:
    """What a run has left to go on from, a sentence; empty if nothing."""
    kept = any(folder.glob("**/checkpoint/*.h5")) or any(folder.glob("**/levels.h5"))
    return f"The same command continues from {folder}, on any number of ranks." if kept else ""


def _stopped_words(folder: Path) -> str:
    return f"Interrupted. {_kept_words(folder) or f'The same command begins anew in {folder}.'}"


def _show(series: list[Levels], folder: Path, quiet: bool) -> None:
    """The levels, and where they are; ConvergenceError where states did not converge."""
    for levels in series:
        say("\n".join(["", *levels_lines(levels)]))
    _echo_series(series)
    if not quiet:
        say(f"\nFiles: {folder}")
    if not all(levels.converged for levels in series):
        worst = max(float(levels.residual_n.max()) for levels in series)
        raise ConvergenceError(
            f"Some states did not converge; the largest residual is {worst:.1e} MeV. Allow more products "
            "([solver] products), or a larger tolerance."
        )


@app.command()
def check(
    case: CaseFile,
    gpu_gb: GpuMemory = None,
    host_gb: HostMemory = None,
    ranks: CheckRanks = 1,
    seconds: CountSeconds = 120.0,
) -> None:
    """Show how large a case is, exactly, and what it would need by each back end; builds nothing.

    Memory is that of this machine; with --gpu-gb that of a GPU; with --ranks that of each of so many processes, and
    what they have in common if they run on one machine. What ranks on GPUs have in common in the memory of their
    machine is judged with --host-gb. Exit code 2 if a run would be refused.
    """
    from eigenwerk.ncci.inputs.usual_states import with_usual_states
    from eigenwerk.ncci.results.levels_file import start_levels
    from eigenwerk.ncci.sources import source_of

    if host_gb is not None and gpu_gb is None:
        raise InputError("--host-gb is the memory of a machine with GPUs: give --gpu-gb, too, or leave it out.")
    refusals = []
    cases, note = with_usual_states(read_cases(case))
    if note:
        say(f"{note}\n")
    for each in cases:
        try:
            problem = source_of(each).problem(each)
            if len(problem.space.orbitals_p) > MANY_ORBITALS and sys.stderr.isatty():
                say(f"counting the nonzeros of {each.title} ...", err=True)
            for text in check_texts(each, problem, gpu_gb, host_gb, ranks, seconds):
                say(text + "\n")
            scheme_named(each.solver.scheme).check_ranks(ranks, _said(each))
            start_levels(each)
        except InputError as error:
            refusals.append(str(error))
    if refusals:
        raise InputError("\n".join(dict.fromkeys(refusals)))  # what is wrong with the file is so for each of its cases


@app.command()
def levels(results: Results) -> None:
    """Show the levels of finished runs; of a series also the convergence with Nmax."""
    series = _read(results)
    say("\n\n".join("\n".join(levels_lines(each)) for each in series))
    _echo_series(series)


@app.command()
def plot(results: Results, plot: Plot = Path("levels.png"), convergence: bool = False) -> None:
    """Draw a level scheme of one or several runs; with --convergence the energy over Nmax and hbar-omega."""
    if plot.suffix.lower() not in PICTURES:
        raise InputError(f"--plot {plot}: '{plot.suffix}' is no format of pictures. Use {' or '.join(PICTURES)}.")
    series = _read(results)
    if convergence and any(each.about["Nmax"] is None for each in series):
        raise InputError(
            "--convergence shows energies over Nmax, which runs in a valence space or with limits of [basis] do not "
            "have. Leave the option out, or name other results."
        )
    try:
        (draw_convergence if convergence else draw_levels)(plot, series)
    except ImportError as error:
        raise InputError(f"No picture: {error}. Install matplotlib.") from error
    say(f"Picture: {plot}")


@app.command()
def keys() -> None:
    """Show every key of a case file with its default."""
    table = None
    for setting in SETTINGS:
        if setting.table != table:
            say(f"\n[{setting.table}]" if setting.table else "Above all tables:")
            table = setting.table
        default = "" if setting.default is None else f"; default {_shown(setting.default)}"
        say(f"  {setting.key:<19s} {setting.help} ({setting.kind}{default})")


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _read(results: list[Path]) -> list[Levels]:
    """The levels of all results."""
    from eigenwerk.ncci.results.levels_file import read_levels

    return [read_levels(path) for path in _files(results)]


def _files(results: list[Path]) -> list[Path]:
    """The files named, and those in folders and in their folders."""
    found: list[Path] = []
    for path in results:
        inside = sorted(path.glob("**/levels.h5")) if path.is_dir() else [path]
        if not inside:
            raise InputError(f"There is no levels.h5 in {path}. Name a folder that `eigenwerk ncci run` wrote.")
        found += inside
    return found


def _echo_series(series: list[Levels]) -> None:
    """Lowest energies over Nmax with their limit, or why there is none, and excited levels, where there are several."""
    if len(series) < 2 or any(each.about["Nmax"] is None for each in series):
        return
    from eigenwerk.ncci.results.limits.together import series_lines

    say("\n".join(series_lines(series)))


class _Progress:
    """Lines about stages, and one line about the solver that is written over on a terminal."""

    def __init__(self, quiet: bool) -> None:
        self.quiet, self.moving, self.last = quiet, False, -1e9

    def say(self, line: str) -> None:
        """A line of its own."""
        if not self.quiet:
            self._end()
            say(line)

    def report(self, step: "SolverProgress") -> None:
        """Where the solver is; on a terminal after every step, else every ten seconds."""
        terminal = sys.stdout.isatty()
        if self.quiet or (not terminal and step.seconds - self.last < 10):
            return
        self.last = step.seconds
        energies = " ".join(f"{energy:.4f}" for energy in step.energies[:3])
        residual = f"residual {step.residual:.1e}" if isfinite(step.residual) else "residual not known yet"
        line = f"  products {step.products:5d}  E {energies}  {residual}  {step.seconds:.0f} s"
        say(f"{line:<78s}", nl=not terminal, over=terminal)
        self.moving = terminal

    def _end(self) -> None:
        if self.moving:
            say("")
            self.moving = False
