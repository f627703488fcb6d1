"""`eigenwerk relax`: atoms, and the cell of a crystal, brought to rest on plane waves that fit the cell they end in.

Rounds in folders of their own: each is a run as `eigenwerk run` does it, and begins at the structure of the one before.
Exit codes are those of `eigenwerk run`.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from eigenwerk.cli.ranks import RunOptions
from eigenwerk.cli.run import SAVE_EVERY, Device, MaxTime, Quiet, Ranks, Transport, compute, seconds_of
from eigenwerk.cli.saying import say
from eigenwerk.cli.series.words import take_folder
from eigenwerk.dft.crystal.structure import vacuum
from eigenwerk.dft.inputs.inputs import Inputs, read_inputs
from eigenwerk.dft.inputs.steps.motion import MOVING_CELL
from eigenwerk.dft.inputs.texts import InputTexts
from eigenwerk.dft.runs.series.variants import incar_with, refuse_path
from eigenwerk.dft.settings.motion_kind import FIXED
from eigenwerk.errors import ConvergenceError, InputError
from eigenwerk.io.atomic_write import ensure_writable, write_text
from eigenwerk.io.vasp.input.poscar import parse_poscar, read_poscar
from eigenwerk.io.vasp.textfile import read_text
from eigenwerk.parallel.launch.environment import find_launch
from eigenwerk.parallel.transports.table import REDUCTION_METHODS
from eigenwerk.parallel.watch.coordinator import GRACE
from eigenwerk.units import BOHR_ANGSTROM

SENSIBLE: Mapping[str, str] = {"NSW": "150", "IBRION": "2", "EDIFF": "1E-5", "EDIFFG": "-0.01"}
"""Tags of a relaxation where INCAR is silent: forces below 10 meV/Å."""

LEAST_VACUUM = 6.0
"""A layer without atoms of this thickness, Å, is a vacuum, whose cell stays as it is."""

MOST_ROUNDS = 4

SAME_CELL = 0.002
"""Strain of a round below which its plane waves fit the cell it ends in."""

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder with INCAR, POSCAR and KPOINTS.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="DIR", help="For rounds and CONTCAR; default: DIR/relaxed.")
]


def relax(
    command: typer.Context,
    folder: Folder = Path("."),
    output: Output = None,
    ranks: Ranks = None,
    transport: Transport = "auto",
    device: Device = "auto",
    max_time: MaxTime = None,
    quiet: Quiet = False,
) -> None:
    """Bring the atoms of a folder to rest, and the cell of a crystal without stress.

    What INCAR does not say about it is chosen: IBRION = 2, NSW = 150, EDIFFG = -0.01 (eV/Å), EDIFF = 1E-5, and
    ISIF = 3, or 2 where the cell has a vacuum. A run keeps the plane waves of the cell it starts in, as VASP does;
    where the cell has changed, another round begins with those of the new one, until they fit. Cells follow their
    stress less the Pulay stress, found from energies at two cutoffs at the start of each round (PULAY_CORRECTION), and
    end where energies at constant ENCUT are lowest. Each round has a folder, DIR/relaxed/1 and so on; the structure at
    the end is DIR/relaxed/CONTCAR.

    The same command goes on after a kill or the end of its time.

    Exit codes: 0 at rest; 3 not at rest, or not self-consistent; 2 bad input; 130 interrupted.
    """
    launch = find_launch()
    if launch.several:
        raise InputError(f"{launch.starter} has started {launch.size} of it. Start it once, with --ranks.")
    target = folder / "relaxed" if output is None else output
    options = RunOptions(
        target, None, False, quiet, False, SAVE_EVERY, ranks, transport, device, REDUCTION_METHODS[0].name,
        None if max_time is None else seconds_of(max_time), GRACE, time.monotonic(), restart=True,
        anew=f"Remove {target} to begin anew",
    )  # fmt: skip
    options.device_request()  # whose errors come before anything is written
    texts = _round_texts(folder)
    take_folder(command, target, say)
    for number in range(1, MOST_ROUNDS + 1):
        place = target / str(number)
        _prepare(place, texts)
        if not quiet:
            say(f"Round {number}: {place}\n")
        try:
            compute(replace(options, folder=place, began=time.monotonic()), launch)
        except typer.Exit as end:
            if end.exit_code:
                raise
        end_text = read_text(place / "CONTCAR")
        strain = _strain(parse_poscar(texts["POSCAR"]).lattice_cv, read_poscar(place / "CONTCAR").lattice_cv)
        write_text(target / "CONTCAR", end_text)
        if strain < SAME_CELL:
            say(f"\nAt rest after {number} round{'s' if number > 1 else ''}: {target / 'CONTCAR'}")
            return
        if not quiet:
            say(f"\nThe cell has changed by a strain of {strain:.4f}: another round, with its plane waves.\n")
        texts = texts | {"POSCAR": end_text}
    raise ConvergenceError(
        f"{target}: the cell still changes, by a strain of {strain:.4f} in the last of {MOST_ROUNDS} rounds (at rest: "
        f"{SAME_CELL:g}): with so few plane waves each round ends in another cell, and these need not be near the true "
        "one. Raise ENCUT, and start again from POSCAR."
    )


def _round_texts(folder: Path) -> dict[str, str]:
    """The files of the first round: those of the folder, with the tags that INCAR leaves out."""
    inputs = read_inputs(folder)
    given = inputs.incar.values
    if given.get("ICHARG") in FIXED:  # before a density that may be missing
        reason = "it keeps the density fixed, so there are no forces of its own to relax by"
        raise InputError(str(inputs.incar.problem("ICHARG", reason, "Remove the line.")))
    inputs.raise_on_errors()
    refuse_path(inputs, "`eigenwerk relax` does not relax paths")
    if given.get("IBRION") in (-1, 0, 5, 6):
        raise InputError(
            f"INCAR: IBRION = {given['IBRION']} is no relaxation. Set IBRION = 1, 2 or 3, or leave it out; "
            "`eigenwerk run` does the rest."
        )
    tags = dict(SENSIBLE) | {"ISIF": "2" if _has_vacuum(inputs) else "3"}
    if int(str(given.get("ISIF", tags["ISIF"]))) in MOVING_CELL:
        tags["PULAY_CORRECTION"] = ".TRUE."
    missing = {name: value for name, value in tags.items() if name not in given}
    if given.get("NSW") in (0, -1):
        missing["NSW"] = SENSIBLE["NSW"]
    texts = {**inputs.texts.text, "INCAR": incar_with(inputs.incar, missing)}
    # what stands against these tags is said before a folder of theirs is written
    read_inputs(folder, texts=InputTexts(texts, {}, inputs.texts.species)).raise_on_errors()
    return texts


def _has_vacuum(inputs: Inputs) -> bool:
    return bool((vacuum(inputs.structure) * BOHR_ANGSTROM > LEAST_VACUUM).any())


def _prepare(place: Path, texts: Mapping[str, str]) -> None:
    """The input of a round; the same that lies there already, if the round has begun."""
    ensure_writable(place, within=place.parent)
    for name, text in texts.items():
        path = place / name
        if path.is_file() and read_text(path) != text:
            raise InputError(
                f"{path} is of another relaxation than the one asked for. Remove {place.parent}, or give another "
                "folder by --output."
            )
        write_text(path, text)


def _strain(before_cv: np.ndarray, after_cv: np.ndarray) -> float:
    """The largest principal strain from one cell to another."""
    stretch_cc = np.linalg.solve(before_cv, after_cv)
    return float(np.abs(np.linalg.svd(stretch_cc)[1] - 1).max())
