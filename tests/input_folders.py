"""Folders with INCAR, POSCAR and KPOINTS made up for tests of single tags, and what reading them says."""

from collections.abc import Callable
from pathlib import Path

from eigenwerk.dft.inputs.inputs import Inputs, read_inputs


def folder_reader(folder: Path, *, begin: str, poscar: str, mesh: str) -> Callable[..., Inputs]:
    """(INCAR lines after `begin`, poscar=, mesh=, begin=) -> Inputs; what a call leaves out is as given here."""

    def read(lines: str, **changes: str) -> Inputs:
        used = {"begin": begin, "poscar": poscar, "mesh": mesh} | changes
        (folder / "INCAR").write_text(used["begin"] + lines)
        (folder / "POSCAR").write_text(used["poscar"])
        (folder / "KPOINTS").write_text(f"mesh\n0\nGamma\n{used['mesh']}\n")
        return read_inputs(folder)

    return read


def words(inputs: Inputs, severity: str) -> str:
    """All problems of one severity, a line each."""
    return "\n".join(str(problem) for problem in inputs.problems if problem.severity == severity)
