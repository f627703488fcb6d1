"""`eigenwerk check`: what a folder describes, and every problem in it, without a calculation.

Reads only.  Exit codes: 0 ready to run, 2 errors.  PyTorch is not loaded, so the answer comes at once.
"""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from eigenwerk import __version__
from eigenwerk.cli.checking.check_document import document
from eigenwerk.cli.checking.check_text import show
from eigenwerk.cli.saying import say_json
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.errors import InputError

Folder = Annotated[Path, typer.Argument(metavar="[DIR]", help="Folder with INCAR, POSCAR and KPOINTS.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


def check(folder: Folder = Path("."), as_json: AsJson = False) -> None:
    """Show what a folder describes and every problem in it; computes and writes nothing.

    Settings with their origin, structure, symmetry, irreducible k-points, electrons, bands, grids, plane waves, data
    sets with checksums, and the memory a run needs.  Exit codes: 0 ready to run, 2 errors in the input.
    """
    try:
        found = document(read_inputs(folder))
    except InputError as error:
        if not as_json:
            raise
        found = _no_folder(folder, str(error))
    if as_json:
        say_json(found, readable=True)
    else:
        show(found, Console(highlight=False))
    if not found["ok"]:
        raise typer.Exit(InputError.exit_code)


def _no_folder(folder: Path, message: str) -> dict[str, Any]:
    """The document of a folder that cannot be read at all."""
    problem = {"severity": "error", "file": str(folder), "line": None, "message": message, "text": message}
    return {"eigenwerk": __version__, "folder": str(folder), "ok": False, "problems": [problem]}
