"""`eigenwerk plan`: layout, memory, time and machine for a folder, before it runs.

Reads only; PyTorch is not loaded.  Exit codes: 0 it fits, 2 it does not, or the input has errors.
"""

import os
import re
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from eigenwerk.cli.checking.check_text import show_lines
from eigenwerk.cli.checking.plan_text import document, lines
from eigenwerk.cli.saying import say_json
from eigenwerk.dft.inputs.inputs import Inputs, read_inputs
from eigenwerk.dft.plan.machine import Machine, gpu, processor
from eigenwerk.dft.plan.plan import make_plan, smallest_plan
from eigenwerk.errors import InputError
from eigenwerk.parallel.memory.main_memory import installed_memory

UNITS = {"": 1e9, "GB": 1e9, "GIB": 2**30, "MB": 1e6, "MIB": 2**20, "TB": 1e12}
COUNTS = (1, 2, 4, 8, 16, 32)
"""Numbers of devices that are compared."""

Folder = Annotated[Path, typer.Argument(metavar="[DIR]", help="Folder with INCAR, POSCAR and KPOINTS.")]
Gpus = Annotated[int | None, typer.Option(metavar="N", min=1, help="Plan for this many GPUs.")]
Memory = Annotated[str | None, typer.Option(metavar="80GB", help="Memory of one GPU, or of the processor's machine.")]
Ranks = Annotated[int | None, typer.Option(metavar="N", min=1, help="Plan for this many ranks on this processor.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


def plan(
    folder: Folder = Path("."), gpus: Gpus = None, memory: Memory = None, ranks: Ranks = None, as_json: AsJson = False
) -> None:
    """Show the layout a run would choose, its memory by item, its time per step, and the smallest machine that fits.

    For N GPUs with --gpus (figures of an NVIDIA H200; of an H100 with --memory of at most 100 GB), else for this
    processor.
    """
    if gpus is not None and ranks is not None:
        raise InputError("--gpus and --ranks both say what to plan for. Give one of them; a GPU has one rank.")
    inputs = read_inputs(folder)
    inputs.raise_on_errors()
    machine, count = _machine(gpus, ranks, None if memory is None else bytes_of(memory))
    wanted = make_plan(inputs.size, count, machine, _groups(inputs))
    others = [make_plan(inputs.size, number, machine) for number in COUNTS] if gpus is not None else []
    smallest = smallest_plan(inputs.size, machine) if gpus is not None else None
    found = document(inputs, wanted, others, smallest)
    if as_json:
        say_json(found, readable=True)
    else:
        show_lines(lines(found), Console(highlight=False))
    if not found["fits"]:
        raise typer.Exit(InputError.exit_code)


def bytes_of(words: str) -> float:
    """Bytes of 80GB, 80 GiB, 500MB or 80 (gigabytes); raises InputError for anything else."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", words)
    if match is None or match[2].upper() not in UNITS or float(match[1]) == 0.0:
        raise InputError(f"--memory {words} is no amount of memory. Write for example 80GB.")
    return float(match[1]) * UNITS[match[2].upper()]


def _machine(gpus: int | None, ranks: int | None, memory: float | None) -> tuple[Machine, int]:
    """The device of one rank, and how many ranks."""
    if gpus is not None:
        return gpu(memory), gpus
    count = ranks or 1
    total = memory or installed_memory()
    if total is None:
        raise InputError("This system does not say how much memory it has. Add --memory, for example --memory 16GB.")
    return processor(total / count, max(1, (os.cpu_count() or 1) // count)), count


def _groups(inputs: Inputs) -> int | None:
    """KPAR if the user wrote it."""
    value = next((setting.value for setting in inputs.settings if setting.tag == "KPAR" and setting.given), None)
    return value if isinstance(value, int) else None
