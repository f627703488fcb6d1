"""Where `eigenwerk run` says it: a terminal with a running line below the table, or plain flushed lines."""

import os
import re
import textwrap
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from eigenwerk.cli.moving.path import PathTable
from eigenwerk.cli.moving.table import IonicTable, remarks
from eigenwerk.cli.running.text import step_heading, step_row
from eigenwerk.dft.runs.paths.report import BandStep
from eigenwerk.io.vasp.output.record import IonicStep, StepRecord
from eigenwerk.shown import for_terminal

GOOD, BAD, DOUBT, FAINT = "bold green", "bold red", "yellow", "dim"


class PatientConsole(Console):
    """A console that falls silent when its reader has gone away, where rich would end the program."""

    def on_broken_pipe(self) -> None:
        """Let everything from here on go nowhere."""
        self.quiet = True
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.file.fileno())
            os.close(nowhere)


class RunView:
    """Writes lines to a stream; on a terminal also one that moves while a step is being computed.

    quiet: only status, warnings and errors; plain: plain lines whatever the stream seems to be.  table: of ionic steps,
    where atoms move; it takes the place of that of the steps of self-consistency.  path: the table of a path's steps.
    """

    def __init__(self, stream: TextIO, quiet: bool, plain: bool = False):
        self.quiet = quiet
        self.console = PatientConsole(
            file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True,
            force_terminal=False if plain else None,
        )  # fmt: skip
        self.moving: Progress | None = None
        self.headed = False
        self.warned: set[str] = set()
        self.table: IonicTable | None = None
        self.path: PathTable | None = None
        self.steps: list[StepRecord] = []

    def lines(self, lines: Sequence[str], style: str = "") -> None:
        """Lines that --quiet leaves out."""
        if not self.quiet:
            for line in lines:
                self.say(line, style)

    def say(self, line: str, style: str = "") -> None:
        """One line, written at once; a reader that has gone away must not stop the calculation."""
        try:
            for part in self._fitted(for_terminal(line)):
                self.console.print(part, style=style or None)
            self.console.file.flush()
        except OSError:
            self.console.on_broken_pipe()

    def _fitted(self, line: str) -> list[str]:
        """A line broken between words at the width of the terminal; whole where it goes into a file."""
        if not self.console.is_terminal or len(line) <= self.console.width:
            return [line]
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        return textwrap.wrap(line, self.console.width, subsequent_indent=indent, break_long_words=False)

    def note(self, text: str) -> None:
        """Something worth saying."""
        self.lines([f"Note: {text}"], FAINT)

    def warn(self, text: str) -> None:
        """Something to look at, said once, --quiet or not."""
        if text not in self.warned:
            self.say(f"Warning: {text}", DOUBT)
            self.warned.add(text)

    def begin(self) -> None:
        """The running line appears."""
        if not self.quiet and self.console.is_terminal:
            columns = (SpinnerColumn("line"), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
            self.moving = Progress(*columns, console=self.console, transient=True)
            self.moving.start()
            self.task = self.moving.add_task("preparing")

    def step(self, step: StepRecord) -> None:
        """A row of the table, and what happened on the way."""
        words = f"step {step.step + 1}"
        if self.table is None:
            self._electronic(step)
        else:
            self.steps.append(step)
            words = self.table.on_its_way(step)
        if self.moving is not None:
            self.moving.update(self.task, description=for_terminal(words))

    def _electronic(self, step: StepRecord) -> None:
        if not self.headed:
            self.lines(step_heading(step.moment is not None), FAINT)
            self.headed = True
        self.lines([step_row(step)])
        self.lines([f"      {event}" for event in step.events if self._is_new(event)], DOUBT)

    def image_step(self, step: StepRecord, image: int) -> None:
        """A step of self-consistency of an image of a path, for the line that moves."""
        if self.moving is not None and self.path is not None:
            self.moving.update(self.task, description=for_terminal(self.path.on_its_way(step, image)))

    def band_step(self, step: BandStep) -> None:
        """A row of the table of a path."""
        if self.path is not None:
            self.lines(self.path.lines(step))

    def ionic_step(self, number: int, ionic: IonicStep) -> None:
        """A row of the table of ionic steps; the steps of self-consistency only if they did not converge."""
        table, now = self.table, time.monotonic()
        if table is None:
            return
        if not ionic.converged:
            self.headed = False
            for step in self.steps:
                self._electronic(step)
        if not ionic.converged or not table.headed:
            self.lines(table.heading(), FAINT)
            table.headed = True
        self.lines([table.row(number, ionic, now)])
        self.lines([f"      {words}" for words in remarks(table.motion, ionic)], DOUBT)
        self.steps.clear()

    def _is_new(self, event: str) -> bool:
        """False for what was said before with other numbers, unless it is numbered ("exact exchange 3: ...")."""
        if re.match(r"[a-z ]+ [0-9]+: ", event):
            return True
        words = re.sub(r"[0-9][0-9.e+-]*", "", event)
        new = words not in self.warned
        self.warned.add(words)
        return new

    def end(self) -> None:
        """The running line disappears."""
        if self.moving is not None:
            self.moving.stop()
            self.moving = None
