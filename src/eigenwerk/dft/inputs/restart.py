"""Whether a run continues from an earlier one, or takes its density as it is.

Unlike VASP, a file that lies in the folder is not read unless the INCAR file asks for it: the result of a run then
depends on its input alone, never on what an earlier run left.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.inputs.fitting_files import (
    moved_by,
    require_fitting,
    require_kept,
    require_lmaxmix,
    without_occupancies,
)
from eigenwerk.dft.settings.dataset import DataSet
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.motion_kind import FIXED
from eigenwerk.dft.settings.tags_in_force import DEFAULT, Computed, line_of
from eigenwerk.io.run_stamp import stamp_of
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.volumetric import occupancy_counts, read_head

STATE_FILE, CHARGE_FILE, WAVE_FILE = "eigenwerk.h5", "CHGCAR", "WAVECAR"

NOT_READ = f"{STATE_FILE} is there and is not read"
"""What is said of a state that INCAR does not ask for; not so where a run goes on with it."""


@dataclass(frozen=True)
class Restart:
    """kind: "orbitals" (density and orbitals of the file), "density" (density alone), or None: from atoms; file: of
    either kind, with the name STATE_FILE, WAVE_FILE or CHARGE_FILE.

    fixed: the density is kept as it is (ICHARG = 11, 12), that of the file, or of superposed atoms if there is none.
    """

    kind: str | None = None
    file: Path | None = None
    fixed: bool = False


def choose_restart(incar: Incar, folders: tuple[Path, ...], findings: Findings) -> tuple[Restart, dict[str, Computed]]:
    """ISTART and ICHARG: what is read from eigenwerk.h5, WAVECAR or CHGCAR, sought in the folders in their order."""
    if incar.values.get("ICHARG") in FIXED:
        return _fixed(incar, folders, findings)
    kind = _wanted(incar)
    _note_empty(kind, folders, findings)
    file = density_source(folders) if kind == "density" else _state_file(folders)
    if file is None and kind == "orbitals":
        file = _first(folders, WAVE_FILE)
    if file is None and kind == "orbitals" and incar.values.get("ICHARG") == 1 and density_source(folders):
        message = f"there is no {STATE_FILE} and no {WAVE_FILE}, so the run starts from the density alone"
        findings.add(incar.problem("ISTART", message, severity="warning"))
        kind, file = "density", density_source(folders)
    if file is None and kind is not None:
        tag, first, second = "ISTART", STATE_FILE, WAVE_FILE
        if kind == "density":
            tag, first, second = "ICHARG", CHARGE_FILE, STATE_FILE
        names = f"{first} and no {second}"
        message = f"there is no {names} in {' or '.join(map(str, folders))}, so the run starts from atoms"
        findings.add(incar.problem(tag, message, severity="warning"))
        kind = None
    elif file is not None and kind is None and not {"ISTART", "ICHARG"} & incar.values.keys():
        findings.note(incar.file, NOT_READ, "ISTART = 1 continues from it.")
    if kind == "orbitals" and incar.values.get("ICHARG") == 2:
        message = "the density is taken from the file as well; the converged result does not depend on the start"
        findings.add(incar.problem("ICHARG", message, severity="note"))
    if incar.values.get("ICHARG") == 0 and kind is None:
        message = "without saved orbitals the density starts from atoms"
        findings.add(incar.problem("ICHARG", message, severity="note"))
    return Restart(kind, file if kind else None), _in_force(incar, kind)


def without_waves(
    incar: Incar, folders: tuple[Path, ...], why: str, findings: Findings
) -> tuple[Restart, dict[str, Computed]]:
    """In place of orbitals that are none of this calculation: the density that ICHARG = 1 asks for, else atoms."""
    file = density_source(folders) if incar.values.get("ICHARG") == 1 else None
    begins = "atoms" if file is None else f"the density of {file.name}"
    findings.warn(WAVE_FILE, f"{why}: its orbitals are not used, and the run starts from {begins}")
    kind = None if file is None else "density"
    return Restart(kind, file), _in_force(incar, kind)


def _no_file(folders: tuple[Path, ...]) -> str:
    """Words about what has the name of a density and is no file."""
    odd = [folder / name for folder in folders for name in (STATE_FILE, CHARGE_FILE) if (folder / name).exists()]
    odd = [path for path in odd if not path.is_file()]
    return f" ({odd[0]} is a {'folder' if odd[0].is_dir() else 'pipe or a device'})" if odd else ""


def _note_empty(kind: str | None, folders: tuple[Path, ...], findings: Findings) -> None:
    """A note on files that would be read and are empty, as a run leaves them that was not to write them."""
    name = {"orbitals": WAVE_FILE, "density": CHARGE_FILE}.get(kind or "")
    if name and any(os.path.isfile(folder / name) and not _filled(folder / name) for folder in folders):
        findings.note(name, "empty, so it is read as if it were not there")


def _filled(path: Path) -> bool:
    """Whether there is such a file, and something in it."""
    return os.path.isfile(path) and os.path.getsize(path) > 0


def density_source(folders: tuple[Path, ...]) -> Path | None:
    """The file that ICHARG = 1 and 11 mean: CHGCAR or eigenwerk.h5 of the first folder that has one; None without.

    ICHARG names CHGCAR, so that counts; but beside the eigenwerk.h5 of the same run, which holds the same density with
    all digits and all occupancies, it is that which is read.
    """
    for folder in folders:
        charge, state = folder / CHARGE_FILE, _state_file((folder,))
        if not _filled(charge):
            if state is not None:
                return state
            continue
        stamps = [stamp_of(charge), None if state is None else stamp_of(state)]
        same = stamps[0] is not None and stamps[1] is not None and stamps[0].run == stamps[1].run
        return state if same else charge
    return None


def _state_file(folders: tuple[Path, ...]) -> Path | None:
    return next((folder / STATE_FILE for folder in folders if os.path.isfile(folder / STATE_FILE)), None)


def _first(folders: tuple[Path, ...], name: str) -> Path | None:
    return next((folder / name for folder in folders if _filled(folder / name)), None)


def _fixed(incar: Incar, folders: tuple[Path, ...], findings: Findings) -> tuple[Restart, dict[str, Computed]]:
    """ICHARG = 11 and 12: nothing is read but the density."""
    value = incar.values["ICHARG"]
    if incar.values.get("ISTART") == 1:
        findings.add(incar.problem("ISTART", f"not used with ICHARG = {value}: orbitals start afresh", severity="note"))
    in_force = {"ISTART": Computed(0, DEFAULT), "ICHARG": Computed(value, line_of(incar, "ICHARG"))}
    if value == FIXED[1]:
        return Restart(None, None, True), in_force
    _note_empty("density", folders, findings)
    file = density_source(folders)
    if file is None:
        where = " or ".join(map(str, folders))
        message = f"there is no density of an earlier run: no {STATE_FILE} and no {CHARGE_FILE} in {where}"
        message += _no_file(folders)
        remedy = "Run the ground state first (ICHARG = 2, a mesh in KPOINTS), or copy its eigenwerk.h5 here."
        findings.add(incar.problem("ICHARG", message, remedy))
    return Restart("density", file, True), in_force


def _wanted(incar: Incar) -> str | None:
    if incar.values.get("ISTART", 0) == 1:
        return "orbitals"
    return "density" if incar.values.get("ICHARG") == 1 else None


def _in_force(incar: Incar, kind: str | None) -> dict[str, Computed]:
    """ISTART and ICHARG as they act."""
    acting = {None: {"ISTART": 0, "ICHARG": 2}, "density": {"ISTART": 0, "ICHARG": 1}}
    values = acting.get(kind, {"ISTART": 1, "ICHARG": 0 if incar.values.get("ICHARG") != 1 else 1})
    return {tag: Computed(value, _origin(incar, tag, value)) for tag, value in values.items()}


def _origin(incar: Incar, tag: str, value: int) -> str:
    if tag not in incar.values:
        return DEFAULT
    place = line_of(incar, tag)
    return place if incar.values[tag] == value else f"in place of {incar.values[tag]} ({place})"


def check_charge_file(
    restart: Restart, structure: Structure, cutoff: float, datasets: Mapping[str, DataSet],
    findings: Findings,
) -> None:  # fmt: skip
    """Raise InputError for a file that a run would refuse; a note on one without augmentation occupancies.

    cutoff: of the plane waves, hartree.  The values themselves are not read: `check` is quick.
    """
    assert restart.file is not None
    counts, checksums = occupancy_counts(restart.file), {s: data.header.md5 for s, data in datasets.items()}
    head = read_head(restart.file)
    require_fitting(head, structure, cutoff, checksums if counts else {})
    if counts:
        channels = {symbol: [state.l for state in data.header.states] for symbol, data in datasets.items()}
        require_lmaxmix(CHARGE_FILE, channels, structure.symbols, counts)
    else:
        findings.note(CHARGE_FILE, without_occupancies(CHARGE_FILE, restart.fixed).removeprefix(f"{CHARGE_FILE} "))
    if restart.fixed:
        require_kept(CHARGE_FILE, moved_by(head, structure))
