"""The picture of a run drawn by a process of its own, which gets ready while the run computes.

matplotlib takes half a second to load, its first picture another half; both are over long before there is anything to
draw.  The process waits for one line on its input and answers with one line.  When its parent dies it ends as well.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any

from eigenwerk.errors import InputError
from eigenwerk.figure_layout import ready
from eigenwerk.io.vasp.output.record import StepRecord
from eigenwerk.view.bands_plot import draw_bands
from eigenwerk.view.convergence_plot import convergence_figure, draw_convergence

COMMAND = (sys.executable, "-P", "-m", "eigenwerk.view.plot_process")


class PlotProcess:
    """Starts with the object, and ends with `draw` or `close`."""

    def __init__(self, command: Sequence[str] = COMMAND):
        # a session of its own: Ctrl-C in a terminal is for the run, whose last picture is still wanted
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            start_new_session=True,
        )  # fmt: skip

    def draw(
        self, path: str | Path | None, steps: Sequence[StepRecord], title: str, tolerance: float, *,
        bands_path: str | Path | None = None, bands: Mapping[str, Any] | None = None, bands_title: str = "",
    ) -> None:  # fmt: skip
        """`draw_convergence` and `draw_bands` there, each if it has a path; waits for the files.

        Raises the same errors; ImportError if the process died.
        """
        wanted = {
            "path": path and str(Path(path).absolute()), "steps": [asdict(step) for step in steps], "title": title,
            "tolerance": tolerance, "bands_path": bands_path and str(Path(bands_path).absolute()), "bands": bands,
            "bands_title": bands_title,
        }  # fmt: skip
        try:
            answer, _ = self._process.communicate(json.dumps(wanted) + "\n")
            error = json.loads(answer)
        except (OSError, ValueError) as lost:
            raise ImportError(f"the process that draws ended with code {self._process.wait()}") from lost
        if error is not None:
            raise (InputError if error["kind"] == "InputError" else ImportError)(error["words"])

    def close(self) -> None:
        """Nothing is to be drawn."""
        self._process.kill()
        self._process.communicate()


def main() -> None:
    """Get ready, read what is to be drawn, draw it, answer null or the error."""
    error: Exception | None = None
    try:
        first = convergence_figure((), "", 1.0)
        ready(first)
        first.savefig(BytesIO(), format="png")
    except ImportError as missing:
        error = missing
    line = sys.stdin.readline()
    if not line:
        return
    try:
        if error is None:
            wanted = json.loads(line)
            steps = [StepRecord(**step) for step in wanted["steps"]]
            if wanted["path"] is not None:
                draw_convergence(wanted["path"], steps, wanted["title"], wanted["tolerance"])
            if wanted["bands_path"] is not None:
                draw_bands(wanted["bands_path"], wanted["bands"], wanted["bands_title"])
    except (ImportError, InputError) as met:
        error = met
    print(json.dumps(None if error is None else {"kind": type(error).__name__, "words": str(error)}), flush=True)


if __name__ == "__main__":
    main()
