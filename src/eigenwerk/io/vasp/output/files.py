"""The one table of files in VASP's formats: a file is its writer's module and a row here.

A writer gets a path and a `RunRecord` and writes what that holds; a file whose data a record lacks is not wanted of it.
A run on its way writes all wanted files again whenever it is saved.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from eigenwerk.io.vasp.output.contcar import write_contcar
from eigenwerk.io.vasp.output.oszicar import write_oszicar
from eigenwerk.io.vasp.output.record import RunRecord
from eigenwerk.io.vasp.output.vasprun import write_vasprun
from eigenwerk.io.vasp.output.volumetric import write_volumetric


@dataclass(frozen=True)
class OutputFile:
    """One file: its name, its writer, which raises InputError if it cannot write, and whether a record wants it."""

    name: str
    write: Callable[[Path, RunRecord], None]
    wanted: Callable[[RunRecord], bool] = lambda record: True


def field_file(name: str) -> OutputFile:
    """The file of a field on a grid."""
    return OutputFile(name, partial(write_volumetric, name=name), lambda record: name in record.fields)


OUTPUT_FILES = (
    OutputFile("vasprun.xml", write_vasprun),
    OutputFile("OSZICAR", write_oszicar),
    OutputFile("CONTCAR", write_contcar),
    *map(field_file, ("CHGCAR", "CHG")),
)
