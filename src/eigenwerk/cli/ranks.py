"""`eigenwerk run` on several ranks: who we are, the parent that starts ranks, and what ranks say about themselves."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenwerk.cli.saying import say
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.inputs.restart import STATE_FILE
from eigenwerk.dft.inputs.texts import InputTexts
from eigenwerk.dft.plan.machine import gpu, processor
from eigenwerk.dft.plan.plan import choose_layout
from eigenwerk.dft.plan.useful import SECONDS_TO_MEET, likely_steps, useful_gpus
from eigenwerk.dft.settings.motion_kind import DYNAMICS, RELAXATION
from eigenwerk.errors import InputError
from eigenwerk.io.run_stamp import new_run, stamp_of
from eigenwerk.parallel.launch.choice import DeviceRequest
from eigenwerk.parallel.launch.environment import Launch, find_launch
from eigenwerk.parallel.launch.facts import Placement
from eigenwerk.parallel.launch.gpus import count_gpus, smallest_memory_of_gpus
from eigenwerk.parallel.launch.launch import check_ranks, die_with_parent, rank_command, run_ranks
from eigenwerk.parallel.transports.table import TRANSPORTS, Reductions, find_transport

if TYPE_CHECKING:
    from eigenwerk.parallel.launch.start import Team


@dataclass(frozen=True)
class RunOptions:
    """The command line of `eigenwerk run`, and when it began, by `time.monotonic`.  ranks, max_time, bands: None if not
    given; seconds.  remark: on the number of ranks, where nobody has asked for it; anew: how a run that is over begins
    again."""

    folder: Path
    output: Path | None
    as_json: bool
    quiet: bool
    no_plot: bool
    save_every: float
    ranks: int | None
    transport: str
    device: str
    reductions: str
    max_time: float | None
    grace: float
    began: float
    bands: str | None = None
    vasp_exit_codes: bool = False
    restart: bool = False
    remark: str = ""
    anew: str = "Leave --restart out to begin anew"

    @property
    def until(self) -> float | None:
        """When the run has to be over, by `time.monotonic`."""
        return None if self.max_time is None else self.began + self.max_time

    @property
    def target(self) -> Path:
        """Where files go."""
        return self.folder if self.output is None else self.output

    def device_request(self, inputs: Inputs | None = None) -> DeviceRequest:
        """Device and transport, with what INCAR says about them; InputError for words that do not exist."""
        off = {} if inputs is None else {
            one.name: f"{one.tag} = .FALSE. in INCAR" for one in TRANSPORTS
            if one.tag and not inputs.incar.get(one.tag, True)
        }  # fmt: skip
        return DeviceRequest(self.device, self.transport, Reductions.of_text(self.reductions), off)

    def groups(self, inputs: Inputs, ranks: int, kind: str = "cpu", memory: float | None = None) -> int:
        """The number of k-groups: KPAR, or what `eigenwerk plan` would choose for ranks of this kind and memory."""
        machine = processor(memory or inf) if kind == "cpu" else gpu(memory)
        kpar = inputs.incar.get("KPAR")
        return choose_layout(inputs.size, ranks, machine, kpar if isinstance(kpar, int) else None).groups

    def of_rank(self) -> list[str]:
        """The words after `eigenwerk` for each rank."""
        words = ["run", str(self.folder), "--save-every", str(self.save_every)]
        words += ["--transport", self.transport, "--device", self.device, "--reductions", self.reductions]
        words += [] if self.output is None else ["--output", str(self.output)]
        words += ["--grace", str(self.grace)]
        words += [] if self.bands is None else ["--bands", self.bands]
        words += [] if self.until is None else ["--max-time", f"{max(self.until - time.monotonic(), 1):.0f}"]
        flags = {"--json": self.as_json, "--quiet": self.quiet, "--no-plot": self.no_plot}
        flags |= {"--vasp-exit-codes": self.vasp_exit_codes, "--restart": self.restart}
        return words + [flag for flag, given in flags.items() if given]


def become_rank() -> Launch:
    """Find out which rank this process is, first of all; InputError if the environment contradicts itself.

    A rank ends with its parent, and until its watchdog works a Ctrl-C simply ends it: the parent has the words.
    """
    launch = find_launch()
    if launch.several:
        die_with_parent()
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    return launch


def ranks_to_start(launch: Launch, asked: int | None, usual: int, transport: str, words: str) -> int:
    """How many ranks this process has to start; 1: it does the work itself.  InputError if that was done already.

    asked: --ranks; usual: without it.  words: the command after `eigenwerk`, for messages.
    """
    if launch.starter:
        if asked not in (None, launch.size):
            raise InputError(
                f"--ranks {asked}, but {launch.starter} has started {launch.size} already. Leave --ranks out."
            )
        return 1
    ranks = usual if asked is None else asked
    check_ranks(ranks)
    found = find_transport(transport)
    if found is not None:
        found.check_starter("eigenwerk", ranks, words)
    return ranks


def default_ranks(device: str) -> int:
    """One rank for each GPU; one alone where processors compute, whose threads share the work."""
    return max(1, count_gpus()) if device in ("auto", "cuda") else 1


def usual_ranks(inputs: Inputs, options: RunOptions) -> tuple[int, str]:
    """How many ranks a run gets that nobody has asked for: one on each GPU, or one alone where that is over sooner;
    and words about that."""
    gpus, motion = default_ranks(options.device), inputs.motion
    counted = motion is None or motion.kind in (RELAXATION, DYNAMICS)
    layer = Reductions.of_text(options.reductions).method.layer
    asked = options.transport != "auto" or layer or inputs.incar.get("KPAR", 1) != 1  # for several ranks
    if gpus < 2 or asked or not counted or inputs.images:
        return gpus, ""
    steps = likely_steps(0 if motion is None else motion.steps, motion is not None and motion.kind == RELAXATION)
    choice = useful_gpus(inputs.size, gpus, smallest_memory_of_gpus(), steps)
    if choice.ranks > 1:
        return choice.ranks, ""
    return choice.ranks, (
        f"One of the {gpus} GPUs: all of them would save some {max(choice.saved, 0.0):.1f} s of steps, and take "
        f"{SECONDS_TO_MEET:.0f} s to meet. --ranks {gpus} takes all."
    )


def start_ranks(options: RunOptions, count: int, texts: InputTexts) -> int:
    """Start the ranks and wait for them; the exit code of the run.  texts: the input of all of them."""
    run = new_run()
    words = {"run": run, "texts": texts.as_dict()}
    return run_as_ranks(options.of_rank(), count, lambda: saved_words(options.target, run), words)


def run_as_ranks(
    arguments: Sequence[str], count: int, saved: Callable[[], str], given: Any = None, modules: Sequence[str] = ()
) -> int:
    """Start `eigenwerk` with these arguments as ranks that share the cores, and wait; the exit code of the run.

    saved: what there is to go on from, a sentence, or empty; given: what the first rank is given; modules: what ranks
    without a GPU load and have in common.
    """
    threads = max(1, len(os.sched_getaffinity(0)) // count)
    code = run_ranks(rank_command(arguments), count, threads, _say_in_red, given, saved, modules)
    if sys.stdout.isatty():
        print("\x1b[?25h", end="", flush=True)  # a rank 0 that was killed may have left the terminal without a cursor
    return code


def saved_words(folder: Path, run: str) -> str:
    """What a run has left in its folder, a sentence; empty if nothing."""
    stamp = stamp_of(folder / STATE_FILE)
    if stamp is None or stamp.run != run:
        return ""
    return f"{folder / STATE_FILE} holds the last step that was saved (--restart, or ISTART = 1, goes on from it)."


def _say_in_red(words: str) -> None:
    say(words, err=True, colour="red")


def team_rows(team: "Team") -> list[tuple[str, str]]:
    """Label and text of what the log says about ranks, devices and transport."""
    return [
        *([("ranks", f"{started_words(team)}: {_grid_words(team)}")] if team.launch.several else []),
        *place_rows(team),
    ]


def place_rows(team: "Team") -> list[tuple[str, str]]:
    """Those about devices and transport."""
    return [
        *(("devices", words) for words in _device_words(team.placements)),
        *([("transport", _transport_words(team))] if team.transport else []),
    ]


def started_words(team: "Team") -> str:
    """How many ranks there are, and by whom."""
    return f"{team.launch.size}, started by {team.launch.starter}"


def _grid_words(team: "Team") -> str:
    grid = team.runtime.grid
    groups = f"{grid.groups} group{'s' if grid.groups > 1 else ''} of k-points"
    return f"{groups} x {grid.band_ranks} rank{'s' if grid.band_ranks > 1 else ''} for bands and plane waves"


def _transport_words(team: "Team") -> str:
    """How data travel; what happens to CUDA tensors only where there are some."""
    gpus = any(placement.title for placement in team.placements)
    return "; ".join(part for part in team.transport.split("; ") if gpus or "CUDA" not in part)


def _device_words(placements: Sequence[Placement]) -> Iterator[str]:
    """One line for ranks of one machine with the same kind of device."""
    for (host, title, threads), group in groupby(placements, key=lambda one: (one.host, one.title, one.threads)):
        members = list(group)
        first, last = members[0].rank, members[-1].rank
        ranks = f"rank {first}" if first == last else f"ranks {first} {'and' if last == first + 1 else 'to'} {last}"
        each = " each" if len(members) > 1 else ""
        shown = f"{threads} thread{'s' if threads > 1 else ''}{each}"
        if not title:
            yield f"{ranks} on {host}: processor, {shown}"
        else:
            names = ", ".join(dict.fromkeys(placement.device for placement in members))
            yield f"{ranks} on {host}: {names} ({title}), {shown}"
