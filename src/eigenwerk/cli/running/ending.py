"""How `eigenwerk run` ends: pictures, summary, warnings, exit code."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from eigenwerk.cli.moving.path import path_picture, path_summary
from eigenwerk.cli.ranks import RunOptions
from eigenwerk.cli.running.text import summary
from eigenwerk.cli.running.view import BAD, DOUBT, GOOD, RunView
from eigenwerk.cli.saying import say, say_json
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.runs.paths.report import JSON_FORMAT as PATH_FORMAT
from eigenwerk.dft.runs.paths.report import JSON_VERSION as PATH_VERSION
from eigenwerk.dft.runs.paths.report import PathResult
from eigenwerk.dft.runs.quantities.report import JSON_FORMAT, JSON_VERSION, RunResult
from eigenwerk.dft.settings.same import SAME_START, apart
from eigenwerk.errors import ConvergenceError, InputError
from eigenwerk.io.run_stamp import stamp_of
from eigenwerk.io.vasp.elements import formula
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV
from eigenwerk.view.plot_process import PlotProcess

PLOT_FILE, BANDS_PLOT = "convergence.png", "bands.png"


def finish(
    result: RunResult | PathResult, number: int, inputs: Inputs, options: RunOptions, view: RunView,
    plotter: PlotProcess | None,
) -> None:  # fmt: skip
    """Picture, summary, exit code."""
    files: dict[str, Path] = {}
    if plotter is not None and isinstance(result, PathResult):
        files = path_picture(result, lambda words: view.say(words, DOUBT))
    elif plotter is not None and isinstance(result, RunResult):
        files = _plot(result, inputs, result.folder, view, plotter)
    _tell(result, files, result.folder, view)
    if options.as_json:
        say_json(jsonable(result.as_dict() | {"files": _names(result, files)}))
    raise typer.Exit(_exit_code(result, number, options.vasp_exit_codes))


def end_if_over(path: Path, inputs: Inputs, options: RunOptions) -> None:
    """A run that is over needs no going on: that is no mistake of a script that goes on until it is.

    Of one point it is not over if the input asks for something else now: a hybrid after PBE, a smaller EDIFF, other
    k-points or places, ionic steps.  path: the state of the run.  Raises Exit with code 0, after a line, or a document
    that says it.
    """
    from eigenwerk.io.hdf5.hdf5_state import read_with_header
    from eigenwerk.view.folder import BANDS

    parts = ("motion", "parameters", "status", "structure", "kpoints", "setups")
    found = read_with_header(path, only=parts)[1] if path.is_file() else {}
    motion, status = found.get("motion"), found.get("status") or {}
    over = motion.get("finished") if isinstance(motion, dict) else status.get("converged")
    if over is True and not isinstance(motion, dict) and not inputs.images:
        over = inputs.motion is None and not inputs.differences(found)
        lacking = bool(inputs.bands.lists) and not (path.parent / BANDS).is_file()
        over = over and not lacking
    if over is not True:
        return
    words = (motion or {}).get("status") or status.get("words")
    if isinstance(motion, dict) and (changes := _changes(inputs, found, motion)):
        raise InputError(
            f"{path}: the run with these atoms is over ({words}), and what it was asked is not what is asked now: "
            f"{', '.join(changes)}. {options.anew}, with CONTCAR as POSCAR where the atoms are to begin where they are."
        )
    say(
        f"Nothing is left to do: {path} is of a run that is over ({words}). {options.anew}.",
        err=options.as_json,
    )
    if options.as_json:
        stamp = stamp_of(path)
        name, version = (PATH_FORMAT, PATH_VERSION) if inputs.images else (JSON_FORMAT, JSON_VERSION)
        document = {
            "format": name, "version": version, "run": None if stamp is None else {"id": stamp.run, "save": stamp.save},
            "converged": status.get("converged", True), "interrupted": False, "status": words, "nothing_left": True,
            "files": {path.name: str(path)},
        }  # fmt: skip
        say_json(document)
    raise typer.Exit(0)


def _changes(inputs: Inputs, found: Mapping[str, Any], motion: Mapping[str, Any]) -> list[str]:
    """Tags and files by which a run whose atoms moved would now be another one."""
    before, steps, start = found.get("parameters"), motion.get("steps"), inputs.structure
    changes = inputs.other_settings(before) if isinstance(before, dict) else []  # the state of a path has none
    if isinstance(steps, dict) and len(steps["scaled_ac"]):
        first = {"lattice_cv": steps["lattice_cv"][0] / BOHR_ANGSTROM, "scaled_ac": steps["scaled_ac"][0]}
        if max(apart(first, {"lattice_cv": start.lattice_cv, "scaled_ac": start.scaled_ac})) > SAME_START:
            changes.append("POSCAR")
    return changes


def _plot(result: RunResult, inputs: Inputs, target: Path, view: RunView, plotter: PlotProcess) -> dict[str, Path]:
    """The pictures, if they can be drawn; a run does not fail for want of one."""
    words = "converged" if result.reliable else "NOT CONVERGED"
    last = "" if result.ionic_history is None else f"last of {len(result.ionic_history.steps)} ionic steps, "
    title = f"{formula(result.symbols)}: {last}{words}, {len(result.steps)} steps, {result.free_energy:.6f} eV"
    pictures = {} if result.fixed_density else {PLOT_FILE: target / PLOT_FILE}
    bands = None if result.bands is None else result.bands.as_dict()
    if bands is not None and bands["lines"] is not None:
        pictures[BANDS_PLOT] = target / BANDS_PLOT
    if not pictures:
        return {}
    try:
        plotter.draw(
            pictures.get(PLOT_FILE), result.steps, title, inputs.parameters.energy_tolerance * HARTREE_EV,
            bands_path=pictures.get(BANDS_PLOT), bands=bands, bands_title=formula(result.symbols),
        )
    except (ImportError, InputError) as error:
        view.say(f"No {' and no '.join(pictures)}: {error}", DOUBT)
        return {}
    return pictures


def _names(result: RunResult | PathResult, more: dict[str, Path]) -> dict[str, str]:
    return {name: str(path) for name, path in {**result.files, **more}.items()}


def _tell(result: RunResult | PathResult, files: dict[str, Path], target: Path, view: RunView) -> None:
    """Summary, warnings, and last of all how it ended."""
    names = [*result.files, *files]
    found = path_summary(result, names) if isinstance(result, PathResult) else summary(result, target, names)
    view.lines(["", *found, ""])
    for text in (*result.unwritten, *result.warnings):
        view.warn(text)
    view.say(f"{result.status[:1].upper()}{result.status[1:].rstrip('.')}.", GOOD if result.converged else BAD)
    if result.advice:
        view.lines(["What to try:", *(f"  - {idea}" for idea in result.advice)])


def _exit_code(result: RunResult | PathResult, number: int, as_vasp: bool = False) -> int:
    """as_vasp: unconverged results are no failure of the program; their files say what they are."""
    if number:
        return 128 + number
    if result.unwritten:
        return InputError.exit_code
    return 0 if result.converged or as_vasp else ConvergenceError.exit_code


def jsonable(value: Any) -> Any:
    """JSON has no infinities: numbers that are not finite become null."""
    if isinstance(value, dict):
        return {key: jsonable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
