"""What is given to `dft.run` besides a structure and tags, looked at before anything is computed."""

import os
from pathlib import Path
from typing import Any

from eigenwerk.dft.runs.motion.surface import Continuation
from eigenwerk.dft.scf.state import State
from eigenwerk.errors import InputError


def check_arguments(bands: Any, folder: Any, start: Any, device: Any, threads: Any, on_step: Any) -> None:
    """InputError for the first that is not of its kind; None stands for what is not given."""
    known = (
        ("bands", bands, bands is None or isinstance(bands, str), 'a path as a text: "auto" or "G X L"'),
        ("folder", folder, folder is None or isinstance(folder, str | Path), "the path of a folder, a text or a Path"),
        ("start", start, start is None or isinstance(start, State | Continuation),
        "the result of an earlier calculation"),
        ("device", device, isinstance(device, str), 'a text: "auto", "cpu", "cuda", or one GPU, "cuda:0"'),
        ("on_step", on_step, on_step is None or callable(on_step), "a function, called with each step"),
    )
    for name, value, good, wanted in known:
        if not good:
            raise InputError(f"{name} = {repr(value)[:60]}: it takes {wanted}.")
    _check_threads(threads)


def _check_threads(threads: Any) -> None:
    """Threads beyond the cores make libraries slow, very many end the process."""
    cores = os.cpu_count() or 1
    whole = isinstance(threads, int) and not isinstance(threads, bool)
    if threads is not None and not (whole and 1 <= threads <= cores):
        raise InputError(
            f"threads = {repr(threads)[:60]}: it takes a whole number from 1 to {cores}, the cores of this machine. "
            "Leave it out for as many as the calculation can use."
        )
