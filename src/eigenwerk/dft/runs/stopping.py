"""When a run ends after the present step, although it has not converged: STOPCAR, or the time that it has."""

import time
from collections.abc import Sequence
from pathlib import Path

from eigenwerk.io.vasp.input.stopcar import STOP_FILE, StopFiles

LATEST, MARGIN = 3, 1.25
"""The next step is expected to take MARGIN times the longest of so many last ones."""


class Stopped(Exception):
    """A run ends after a step, with words about the reason."""


class StopRules:
    """folders: where STOPCAR is looked for; until: when the run has to be over, by `time.monotonic`, or None."""

    def __init__(self, folders: Sequence[Path], until: float | None = None, moving: bool = False):
        """moving: whether there are several ionic steps."""
        self.files, self.until, self.moving = StopFiles(folders), until, moving

    def notes(self) -> list[str]:
        """What is worth saying at the beginning."""
        return [
            f"{path} is from before this run and does not stop it; write it anew to do so" for path in self.files.old
        ]

    def reason(self, seconds: Sequence[float], saving: float) -> tuple[str, str]:
        """(why to stop after this step, what else is to be said); empty words where there is nothing.

        seconds: that each step so far took; saving: that writing the files takes.
        """
        wanted = self.files.switches()
        if "LABORT" in wanted:
            return f"LABORT = .TRUE. in {STOP_FILE}", ""
        note = ""
        if "LSTOP" in wanted and self.moving:
            note = f"LSTOP = .TRUE. in {STOP_FILE}: the run ends after this ionic step"
        elif "LSTOP" in wanted:
            note = f"LSTOP = .TRUE. in {STOP_FILE}: there is no other ionic step, so the run ends when it is converged"
        if self.until is not None:
            left = self.until - time.monotonic()
            needed = MARGIN * max(seconds[-LATEST:]) + saving
            if left < needed:
                return f"--max-time leaves {max(left, 0):.0f} s, and one more step needs about {needed:.0f} s", note
        return "", note

    def reason_between(self, seconds: Sequence[float], saving: float) -> str:
        """Why there is to be no other ionic step; empty if it may come.  As for `reason`, of the last ionic step."""
        if "LSTOP" in self.files.switches():
            return f"LSTOP = .TRUE. in {STOP_FILE}"
        return self.reason(seconds, saving)[0]
