"""Which bands are wanted at k-points of their own: KPOINTS_OPT, KSPACING_OPT, `--bands`."""

from dataclasses import dataclass, replace

from eigenwerk.dft.crystal.k_path import (
    AUTO,
    beside_vacuum,
    path_kpoints,
    path_text,
    points_per_line,
    standard_path,
)
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.structure import Structure, vacuum
from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.dft.inputs.checks import VACUUM
from eigenwerk.dft.inputs.steps.kpoints import WeightlessPoints, kpoints_of_file, kpoints_of_spacing
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.tags_in_force import Computed, number
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.input.kpoints import KpointsFile
from eigenwerk.io.vasp.input.poscar import Poscar
from eigenwerk.shown import counted
from eigenwerk.units import BOHR_ANGSTROM

PATH_FILE = "KPOINTS_BANDS"
"""Where the path of `--bands` is written down: not KPOINTS_OPT, which would be input of the next run."""


@dataclass(frozen=True, eq=False)
class BandRequest:
    """k-points whose bands are found in the potential of a run, after it has converged.

    weightless: those of weight 0 in KPOINTS; second: a second list (KPOINTS_OPT) or a path; path_text: such a path as a
    file, where it was not one.
    """

    weightless: WeightlessPoints | None = None
    second: KPoints | None = None
    path_text: str = ""

    def __bool__(self) -> bool:
        return bool(self.lists)

    @property
    def lists(self) -> tuple[KPoints, ...]:
        """All that there are."""
        weightless = None if self.weightless is None else self.weightless.kpoints
        return tuple(points for points in (weightless, self.second) if points is not None)


def with_second_list(
    requested: BandRequest, incar: Incar, second_file: KpointsFile | None, path_words: str | None, poscar: Poscar,
    structure: Structure, symmetry: Symmetry, findings: Findings,
) -> tuple[BandRequest, dict[str, Computed]]:  # fmt: skip
    """What is wanted, with a second list."""
    second, text = second_list(incar, second_file, path_words, poscar, structure, symmetry, findings)
    return replace(requested, second=second, path_text=text), {"KSPACING_OPT": Computed(None)} if second is None else {}


def second_list(
    incar: Incar, file: KpointsFile | None, words: str | None, poscar: Poscar, structure: Structure,
    symmetry: Symmetry, findings: Findings,
) -> tuple[KPoints | None, str]:  # fmt: skip
    """The second list of k-points, if one is asked for, and the text of a path that no file holds.

    file: KPOINTS_OPT; words: of `--bands`, which takes its place.
    """
    if words is not None:
        if file is not None:
            findings.note(file.file, f"not used: --bands {words} takes its place")
        with findings.collecting("POSCAR"):
            return _named_path(words, structure, symmetry, poscar.title.strip())
        return None, ""
    if incar.get("LKPOINTS_OPT") is False:
        if file is not None:
            findings.note(file.file, "not used: LKPOINTS_OPT = .FALSE.")
        return None, ""
    if file is not None:
        with findings.collecting(file.file):
            return kpoints_of_file(file, poscar, structure, symmetry), ""
    elif incar.get("LKPOINTS_OPT") or "KSPACING_OPT" in incar.values:
        spacing, centred = number(incar, "KSPACING_OPT"), bool(incar.get("KGAMMA", True))
        with findings.collecting(incar.file, incar.line_of.get("KSPACING_OPT")):
            return kpoints_of_spacing(spacing, centred, structure, symmetry), ""
    return None, ""


def _named_path(words: str, structure: Structure, symmetry: Symmetry, title: str) -> tuple[KPoints, str]:
    lines, what, left = standard_path(structure, words), "path", ""
    if words.strip().lower() == AUTO:
        whole, what = lines, "standard path"
        lines = beside_vacuum(whole, vacuum(structure) > VACUUM / BOHR_ANGSTROM)
        left = ", none across vacuum" if len(lines) < len(whole) else ""
    per_line = points_per_line(lines, structure)
    source = f"{what} of {counted(len(lines), 'line')}{left} (--bands {words})"
    return path_kpoints(lines, per_line, symmetry, source), path_text(lines, per_line, f"{title}: {what}")
