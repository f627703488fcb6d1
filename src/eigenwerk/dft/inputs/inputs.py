"""From a folder with INCAR, POSCAR and KPOINTS to a described calculation (no torch here: `check` must be quick).

Everything found wrong is collected, so that all of it can be shown at once.  Parts that could not be made are missing
from `Inputs.parts`, and asking for one raises the errors.  The units of the files end here: structure, k-points and
parameters are in hartree and bohr.  What each tag becomes: docs/guides/check.md.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from eigenwerk.dft.basis.grids import GridSizes
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.dft.inputs.builder import fill
from eigenwerk.dft.inputs.checks import check_constraints
from eigenwerk.dft.inputs.fitting_files import misfit_of_waves
from eigenwerk.dft.inputs.parts import InputParts
from eigenwerk.dft.inputs.restart import CHARGE_FILE, WAVE_FILE, check_charge_file, choose_restart, without_waves
from eigenwerk.dft.inputs.steps.bands import BandRequest
from eigenwerk.dft.inputs.steps.motion import MotionRequest
from eigenwerk.dft.inputs.texts import InputTexts, read_texts
from eigenwerk.dft.plan.job_size import JobSize
from eigenwerk.dft.settings.dataset import DataSet
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.dft.settings.same import another_run, differences, other_settings, system_tree
from eigenwerk.dft.settings.tags_in_force import Computed, Setting, settings_in_force
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.images import image_file, image_folder, read_images
from eigenwerk.io.vasp.input.incar import Incar, judge, parse_incar
from eigenwerk.io.vasp.input.kpoints import KpointsFile, parse_kpoints
from eigenwerk.io.vasp.input.poscar import Poscar, parse_poscar
from eigenwerk.io.vasp.problem import Problem, errors, raise_errors
from eigenwerk.io.vasp.wavecar import read_wavecar

OnePart = TypeVar("OnePart")


class InputPart(Generic[OnePart]):
    """One of `InputParts`, for those who need it: asking for one that could not be made raises the errors."""

    def __init__(self, name: str = ""):
        self.name = name

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name

    def __get__(self, inputs: "Inputs", owner: type) -> OnePart:
        made: OnePart | None = getattr(inputs.parts, self.name)
        if made is None:
            inputs.raise_on_errors()
            raise InputError(f"{inputs.folder}: the input is incomplete.")
        return made


@dataclass(frozen=True, eq=False)
class Inputs:
    """What a folder describes.

    texts: the files as they were when they were read; incar: as read; kpoints_file: None when KSPACING serves; data:
    the data set of each element; settings: every tag in force; problems: everything found, errors, warnings and notes;
    restart: what is taken from an earlier run, "orbitals", "density" or None, and restart_file: eigenwerk.h5, WAVECAR
    or CHGCAR; fixed_density: whether the density, that one or that of superposed atoms, is kept as it is.
    The properties raise InputError when their part could not be made.
    """

    folder: Path
    texts: InputTexts
    incar: Incar
    kpoints_file: KpointsFile | None
    data: Mapping[str, DataSet]
    settings: tuple[Setting, ...]
    problems: tuple[Problem, ...]
    restart: str | None
    restart_file: Path | None
    parts: InputParts
    fixed_density: bool = False

    poscar, structure, symmetry = InputPart[Poscar](), InputPart[Structure](), InputPart[Symmetry]()
    kpoints, parameters, grids = InputPart[KPoints](), InputPart[Parameters](), InputPart[GridSizes]()
    bands, size = InputPart[BandRequest]("requested"), InputPart[JobSize]()

    @property
    def motion(self) -> MotionRequest | None:
        """What moves; None for a ground state."""
        return self.parts.motion

    @property
    def images(self) -> tuple[Poscar, ...]:
        """The images of a path, of which `poscar` is the first end point; none for any other run."""
        return self.parts.images

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that forbid a run."""
        return errors(self.problems)

    def raise_on_errors(self) -> None:
        """Raise one InputError that lists all errors."""
        raise_errors(self.problems)

    def differences(self, found: Mapping[str, Any]) -> list[str]:
        """By what a state (its structure, k-points, data sets and parameters) is not one of a run of this input that is
        over; how densities are mixed and moments start does not count."""
        setups = {symbol: {"md5": data.header.md5} for symbol, data in self.data.items()}
        now = system_tree(self.structure, self.kpoints, self.parameters, setups)
        return another_run(differences(found, now))

    def other_settings(self, before: Mapping[str, Any]) -> list[str]:
        """The same of settings alone, for atoms that have moved."""
        return another_run(other_settings(before, asdict(self.parameters)), moved=True)

    @property
    def datasets(self) -> dict[str, Path]:
        """Files of the PAW data by element."""
        return {symbol: data.path for symbol, data in self.data.items()}

    def with_points(self, kpoints: KPoints) -> "Inputs":
        """The same with k-points that were found otherwise."""
        return replace(self, parts=replace(self.parts, kpoints=kpoints))

    def setting(self, tag: str) -> object:
        """The value of a tag in force, in the unit of the INCAR file; None if it is not in force."""
        return next((setting.value for setting in self.settings if setting.tag == tag), None)


def read_inputs(
    folder: str | Path, output_folder: str | Path | None = None, texts: InputTexts | None = None,
    bands: str | None = None,
) -> Inputs:  # fmt: skip
    """Read a folder; see `Inputs`.

    output_folder: where results of an earlier run may lie; by default the folder itself.  texts: of the folder, where
    they have been read already.  bands: a path by names of points, or "auto" (`crystal.k_path.standard_path`).
    Raises InputError only if it is no folder; call `Inputs.raise_on_errors` before a run.
    """
    folder = Path(folder)
    if os.path.isfile(folder):
        raise InputError(f"{folder}: it is a file. Give its folder ({folder.parent}) with INCAR, POSCAR and KPOINTS.")
    if not os.path.isdir(folder):
        raise InputError(f"{folder}: there is no such folder. Give a folder with INCAR, POSCAR and KPOINTS.")
    findings, texts = Findings(), read_texts(folder) if texts is None else texts
    incar = _incar(folder, texts, findings)
    usable = _without_errors(incar, findings)
    check_constraints(usable, texts, findings)
    poscar, images = _structures(folder, texts, usable, findings)
    kpoints_file, kpoints_broken = _kpoints_file(texts, "KPOINTS", findings)
    second_file, _ = _kpoints_file(texts, "KPOINTS_OPT", findings)
    places = tuple(dict.fromkeys([Path(output_folder or folder), folder]))
    restart, computed = choose_restart(usable, places, findings)
    computed |= _mesh_tags(usable, kpoints_file is not None or kpoints_broken, findings)
    known: dict[str, Any] = {
        "incar": usable, "poscar": poscar, "kpoints_file": kpoints_file, "kpoints_broken": kpoints_broken,
        "findings": findings, "computed": computed, "second_file": second_file, "path_words": bands,
        "fixed_density": restart.fixed, "images": images,
    }  # fmt: skip
    if poscar is not None:
        fill(known)
    parts = InputParts.of(known)
    if restart.file is not None and restart.file.name == WAVE_FILE and parts.kpoints and parts.parameters:
        with findings.collecting(WAVE_FILE):
            if why := misfit_of_waves(read_wavecar(restart.file), parts.kpoints.point_kc):
                restart, computed = without_waves(usable, places, why, findings)
                known["computed"] |= computed
    data: dict[str, DataSet] = known.get("datasets", {})
    if restart.file is not None and restart.file.name == CHARGE_FILE and parts.structure and known.get("cutoff"):
        with findings.collecting(CHARGE_FILE):
            check_charge_file(restart, parts.structure, known["cutoff"], data, findings)
    return Inputs(
        folder=folder, texts=texts, incar=incar, kpoints_file=kpoints_file, data=data,
        settings=settings_in_force(usable, known["computed"]), problems=tuple(findings.problems),
        restart=restart.kind, restart_file=restart.file, parts=parts, fixed_density=restart.fixed,
    )  # fmt: skip


def _incar(folder: Path, texts: InputTexts, findings: Findings) -> Incar:
    """The INCAR file; an empty one, and an error, if there is none."""
    if "INCAR" not in texts:
        remedy = "Write one; the line SYSTEM = name is enough, every tag has a default."
        findings.error("INCAR", f"there is no such file in {folder}", remedy)
        return parse_incar("")
    with findings.collecting("INCAR"):
        incar = parse_incar(texts.of("INCAR"))
        findings.add(*incar.problems, *judge(incar))
        return incar
    return parse_incar("")


def _without_errors(incar: Incar, findings: Findings) -> Incar:
    """The tags that can be used, so that the rest of the input can still be looked at."""
    bad = {problem.tag for problem in errors(findings.problems)}
    return replace(incar, values={tag: value for tag, value in incar.values.items() if tag not in bad})


def image_inputs(inputs: Inputs, number: int, output_folder: Path) -> Inputs:
    """The calculation of one image of a path: its folder, with INCAR and KPOINTS of the folder above.

    output_folder: of the path.  Raises InputError if it cannot be read.
    """
    texts = inputs.texts
    mine = {name: text for name, text in texts.text.items() if "/" not in name and name != "POSCAR"}
    mine["POSCAR"] = texts.of(image_file(number))
    name = image_folder(number)
    return read_inputs(inputs.folder / name, output_folder / name, InputTexts(mine, {}, texts.species, image=True))


def _structures(
    folder: Path, texts: InputTexts, incar: Incar, findings: Findings
) -> tuple[Poscar | None, tuple[Poscar, ...]]:
    """The structure, and all images where it is the first of a path; an image of its own has no others."""
    count = incar.values.get("IMAGES", 0)
    if not isinstance(count, int) or count <= 0 or texts.image:
        return _poscar(folder, texts, findings), ()
    images, problems = read_images(texts.text, texts.problem, count, texts.species)
    findings.add(*problems)
    if "POSCAR" in texts:
        findings.note("POSCAR", "not used: IMAGES takes the structures of the folders 00, 01 ...")
    return (images[0] if images else None), images


def _poscar(folder: Path, texts: InputTexts, findings: Findings) -> Poscar | None:
    if "POSCAR" not in texts:
        remedy = "Write the structure to POSCAR, or copy the CONTCAR of another run."
        findings.error("POSCAR", f"there is no such file in {folder}", remedy)
        return None
    with findings.collecting("POTCAR"):
        texts.raise_problem("POTCAR")
    if texts.text.get("POTCAR") == "":
        findings.note("POTCAR", "empty, so it is read as if it were not there")
    with findings.collecting("POSCAR"):
        poscar = parse_poscar(texts.of("POSCAR"), species_order=texts.species)
        findings.add(*poscar.problems)
        return poscar
    return None


def _kpoints_file(texts: InputTexts, name: str, findings: Findings) -> tuple[KpointsFile | None, bool]:
    """A file of k-points if there is one, and whether it could not be read."""
    if name not in texts:
        return None, False
    with findings.collecting(name):
        found = parse_kpoints(texts.of(name), name)
        if found.remark:
            findings.note(name, found.remark)
        return found, False
    return None, True


def _mesh_tags(incar: Incar, file_exists: bool, findings: Findings) -> dict[str, Computed]:
    """KSPACING and KGAMMA are out of force beside a KPOINTS file."""
    if not file_exists:
        return {}
    if "KSPACING" in incar.values:
        findings.add(incar.problem("KSPACING", "not used: the KPOINTS file counts", severity="note"))
    return {"KSPACING": Computed(None), "KGAMMA": Computed(None)}
