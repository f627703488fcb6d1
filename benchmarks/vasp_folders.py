"""Folders with INCAR, POSCAR and KPOINTS: the command line of the scripts that make many of them, and how to get one.

What they make lies in `build` of the repository, which git ignores.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from eigenwerk.io.vasp.input.poscar import Poscar, write_poscar

BENCHMARKS = Path(__file__).resolve().parent
BUILD = BENCHMARKS.parent / "build"
SCRIPTS = {"jobs": BENCHMARKS / "jobs" / "make_jobs.py", "hard_cases": BENCHMARKS / "hard_cases" / "make_cases.py"}


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
    points = " ".join(map(str, mesh))
    _replace(folder / "INCAR", incar + notes)
    _replace(folder / "KPOINTS", f"{kpoints_title}\n0\nGamma\n{points}\n")
    return folder


def _replace(path: Path, text: str) -> None:
    """Write in one go: ranks of a run may make a folder at the same time."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_text(text, encoding="utf-8")
    os.replace(new, path)


def folder_of(benchmark: str, name: str) -> Path:
    """A folder, made now: `folder_of("jobs", "pdo4")` is build/jobs/pdo4; ValueError if there is no such name.

    The script runs in a process of its own, because scripts of different benchmarks have modules of the same names.
    """
    done = subprocess.run([sys.executable, SCRIPTS[benchmark], "--only", name], capture_output=True, text=True)
    if done.returncode:
        raise ValueError(done.stderr.strip().splitlines()[-1].rpartition("error: ")[2])
    return Path(done.stdout.strip())


def folder_or_job(words: str) -> Path:
    """For command lines: a folder that exists, or the name of a reference job, whose folder is made."""
    if Path(words).is_dir():
        return Path(words)
    try:
        return folder_of("jobs", words)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"no folder, and {error}") from error


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
