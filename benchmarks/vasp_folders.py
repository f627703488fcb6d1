"""Folders with INCAR, POSCAR and KPOINTS, and the command line of the scripts that write many of them."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from eigenwerk.io.vasp.poscar import Poscar, write_poscar


class Named(Protocol):
    """Something that becomes a folder of its name."""

    @property
    def name(self) -> str: ...


Entry = TypeVar("Entry", bound=Named)


def write_folder(
    folder: Path, poscar: Poscar, tags: Mapping[str, str], mesh: Sequence[int], kpoints_title: str, notes: str = ""
) -> Path:
    """The three files; mesh is centred on Gamma, notes are the last lines of the INCAR."""
    folder.mkdir(parents=True, exist_ok=True)
    write_poscar(folder / "POSCAR", poscar)
    incar = "".join(f"{tag:<7}= {value}\n" for tag, value in tags.items())
    (folder / "INCAR").write_text(incar + notes, encoding="utf-8")
    points = " ".join(map(str, mesh))
    (folder / "KPOINTS").write_text(f"{kpoints_title}\n0\nGamma\n{points}\n", encoding="utf-8")
    return folder


def write_wanted(about: str | None, entries: Sequence[Entry], write: Callable[[Entry, Path], Path], into: Path) -> None:
    """Command line: write all entries, or those after --only, into a folder or that after --into."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", metavar="NAME", help="these alone")
    parser.add_argument("--into", type=Path, default=into, metavar="DIR", help="where the folders go")
    options = parser.parse_args()
    names = [entry.name for entry in entries]
    unknown = sorted(set(options.only or ()) - set(names))
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(names)}")
    for entry in entries:
        if options.only is None or entry.name in options.only:
            print(write(entry, options.into))
