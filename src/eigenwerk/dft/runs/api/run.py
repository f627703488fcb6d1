"""`dft.run`: a ground state from a structure and keywords, without files.

from ase.build import bulk
from eigenwerk import dft

result = dft.run(bulk("Si"), encut=400, kspacing=0.3)
print(result.free_energy_eV, result.forces_eV_per_A)
"""

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from eigenwerk.dft.plan.useful import threads_of_run
from eigenwerk.dft.runs.api.arguments import check_arguments
from eigenwerk.dft.runs.api.incar import inputs_of
from eigenwerk.dft.runs.api.keywords import Settings
from eigenwerk.dft.runs.api.result import Result
from eigenwerk.dft.runs.api.structures import structure_given
from eigenwerk.dft.runs.motion.surface import Continuation
from eigenwerk.dft.runs.run import run_inputs
from eigenwerk.dft.scf.state import State
from eigenwerk.errors import InputError
from eigenwerk.io.atomic_write import ensure_writable, write_text
from eigenwerk.io.vasp.output.record import StepRecord
from eigenwerk.parallel.launch.choice import DeviceRequest
from eigenwerk.parallel.launch.environment import find_launch
from eigenwerk.parallel.launch.start import StartRequest, init_ranks

IN_MEMORY = {"lcharg": False, "lwave": False}
"""Fields and orbitals that only files would hold are not made without a folder."""

FROM_FILE, FROM_RESULT = "set ISTART = 1 to go on from eigenwerk.h5", "start=result goes on from it"
"""Where nothing was written, the result is there to go on from."""


class NotConverged(UserWarning):
    """The result is not self-consistent: its energy and forces mean little."""


class InputWarning(UserWarning):
    """Something about the input is doubtful."""


def run(
    structure: Any,
    *,
    kpts: Any = None,
    gamma: bool = True,
    bands: str | None = None,
    folder: str | Path | None = None,
    start: Result | State | None = None,
    device: str = "auto",
    threads: int | None = None,
    on_step: Callable[[StepRecord], None] | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Compute the ground state of a structure.

    structure: ASE Atoms, a pymatgen Structure, or the path of a POSCAR; starting moments that it brings are used, and
    where atoms move its constraints, velocities and masses; a constraint that cannot be kept is an error.
    settings: the tags of INCAR as keywords in lower case, with the same meanings, units and defaults
    (docs/formats/incar.md); mappings by element for tags with a value for each species: setups={"Fe": "v1"}.
    magmom or nupdown without ispin means ispin=2.  kpts: a mesh (4, 4, 4), centred at Gamma unless gamma=False; or
    points; or the text of a KPOINTS file; or leave it out for kspacing.  bands: a path, "auto" or "G X L".
    folder: where all files of `eigenwerk run` go, and INCAR, POSCAR and KPOINTS; without it nothing is written.
    start: a result for the same atoms to go on from.  device: auto, cpu, cuda or cuda:0; threads: of the processor.
    on_step: called after each step of self-consistency.

    Raises InputError for bad input.  An unconverged result is returned with a warning (`NotConverged`); doubts about
    the input are warnings too (`InputWarning`).
    """
    if isinstance(start, Result) and start.state is None:
        raise InputError(
            "start: this result holds no orbitals: it was read from files, or its run was interrupted. Go on in its "
            "folder by istart=1 and folder=..., or start from a result of dft.run."
        )
    result = solve(
        structure, dict(settings), kpts=kpts, gamma=gamma, bands=bands, folder=folder,
        start=start.state if isinstance(start, Result) else start, device=device, threads=threads, on_step=on_step,
    )  # fmt: skip
    for text in result.warnings:
        warnings.warn(text, InputWarning, stacklevel=2)
    if not result.converged:
        warnings.warn("; ".join([result.status, *result.advice]), NotConverged, stacklevel=2)
    return result


def solve(
    structure: Any,
    settings: Mapping[str, Any],
    *,
    kpts: Any = None,
    gamma: bool = True,
    bands: str | None = None,
    folder: str | Path | None = None,
    start: State | Continuation | None = None,
    device: str = "auto",
    threads: int | None = None,
    on_step: Callable[[StepRecord], None] | None = None,
) -> Result:
    """The same with settings as a mapping, and without Python's warnings."""
    launch = find_launch()
    if launch.several:
        raise InputError(
            f"{launch.starter} has started this script as one of {launch.size} ranks, and from Python a calculation "
            "has one. Start the script once, or write a folder (folder=...) and compute it by `eigenwerk run`."
        )
    check_arguments(bands, folder, start, device, threads, on_step)
    given = structure_given(structure)
    if folder is None:
        settings = {**IN_MEMORY, **settings}
    place = Path(".") if folder is None else Path(folder)
    if folder is not None:
        ensure_writable(place)
    inputs = inputs_of(given, settings, kpts, gamma, bands, place)
    inputs.raise_on_errors()
    if folder is not None:
        for name, text in inputs.texts.text.items():
            write_text(place / name, text)
    with init_ranks(launch, lambda: StartRequest(DeviceRequest(device))) as team:
        found = run_inputs(
            inputs, in_memory=folder is None, on_step=on_step, threads=threads or threads_of_run(inputs.size),
            runtime=team.runtime, start=start,
        )  # fmt: skip
    advice = found.advice
    if folder is None:
        advice = tuple(text.replace(FROM_FILE, FROM_RESULT) for text in advice)
    remarks = tuple(str(problem) for problem in inputs.problems if problem.severity == "note")
    return Result(replace(found, folder=place, advice=advice), remarks)


def _signature() -> inspect.Signature:
    """With every keyword, for people who ask Python and not their editor."""
    own = inspect.signature(run)
    named = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
    kind = inspect.Parameter.KEYWORD_ONLY
    tags = [inspect.Parameter(name, kind, default=None) for name in Settings.__annotations__]
    return own.replace(parameters=[*named, *tags])


run.__signature__ = _signature()  # type: ignore[attr-defined]
