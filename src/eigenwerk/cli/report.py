"""`eigenwerk report`: one HTML page about a run, which opens anywhere.

Exit codes: 0 done, 2 no run of eigenwerk in the folder, or a file that is damaged.  PyTorch is not loaded.
"""

from pathlib import Path
from typing import Annotated

import typer

from eigenwerk.cli.saying import say
from eigenwerk.errors import InputError
from eigenwerk.io.atomic_write import write_text

PAGE = "report.html"

Folder = Annotated[Path, typer.Argument(metavar="[DIR]", help="Output folder of a run.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help=f"Where the page goes; default: DIR/{PAGE}.")
]


def report(folder: Folder = Path("."), output: Output = None) -> None:
    """Write one HTML page about a run: structure, settings and their origin, energies, convergence, bands, times.

    The page holds all its pictures and needs neither network nor server. Nothing is computed.

    Exit codes: 0 done; 2 no run of eigenwerk in the folder, or a file that is damaged.
    """
    target = output or folder / PAGE
    if target.is_dir():
        target = target / PAGE
    elif output is not None and output.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--output {output}: a report is a page. Give a name that ends in .html, or a folder.")
    from eigenwerk.view.folder import RunFolder
    from eigenwerk.view.report.report import report as page_of

    write_text(target, page_of(RunFolder(folder)))
    say(f"Report: {target}")
