"""The one table of files in formats of other programs, mostly VASP's: a file is its writer's module and a row here.

A writer gets a path and a `RunRecord` and writes what that holds; a file whose data a record lacks is not wanted of it.
A run on its way writes all wanted files again whenever it is saved, but for those that come at its end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from eigenwerk.io.vasp.output.contcar import write_contcar
from eigenwerk.io.vasp.output.doscar import write_doscar
from eigenwerk.io.vasp.output.dynamics_report import is_dynamics, write_report
from eigenwerk.io.vasp.output.eigenval import write_eigenval
from eigenwerk.io.vasp.output.h5md import TRAJECTORY_FILE, has_trajectory, write_trajectory
from eigenwerk.io.vasp.output.ibzkpt import write_ibzkpt
from eigenwerk.io.vasp.output.oszicar import write_oszicar
from eigenwerk.io.vasp.output.outcar.outcar import write_outcar
from eigenwerk.io.vasp.output.record import RunRecord
from eigenwerk.io.vasp.output.vaspout import write_vaspout
from eigenwerk.io.vasp.output.volumetric import write_volumetric
from eigenwerk.io.vasp.output.wavecar import write_wavecar
from eigenwerk.io.vasp.output.weights.procar import write_procar
from eigenwerk.io.vasp.output.xdatcar import write_xdatcar
from eigenwerk.io.vasp.output.xml.vasprun import write_vasprun


@dataclass(frozen=True)
class OutputFile:
    """One file: its name, its writer, which raises InputError if it cannot write, and whether a record wants it.

    at_end: only of a run that is over, because writing it takes long.
    """

    name: str
    write: Callable[[Path, RunRecord], None]
    wanted: Callable[[RunRecord], bool] = lambda record: True
    at_end: bool = False

    def due(self, record: RunRecord) -> bool:
        """Whether to write it now."""
        return self.wanted(record) and (record.resources is not None or not self.at_end)


def _second_projections(record: RunRecord) -> bool:
    return record.second is not None and record.second.projections is not None


def field_file(name: str) -> OutputFile:
    """The file of a field on a grid."""
    return OutputFile(name, partial(write_volumetric, name=name), lambda record: name in record.fields)


def has_mesh(record: RunRecord) -> bool:
    """Whether the k-points were asked for as a mesh, not as a list or path."""
    return record.generation is not None and record.generation.end_kc is None


def output_files(record: RunRecord) -> tuple[OutputFile, ...]:
    """The table, and a row for each file of a density of bands: those have names by bands and k-points."""
    return (*OUTPUT_FILES, *(field_file(name) for name in record.fields if name.startswith("PARCHG")))


OUTPUT_FILES = (
    OutputFile("vasprun.xml", write_vasprun),
    OutputFile("OUTCAR", write_outcar),
    OutputFile("OSZICAR", write_oszicar),
    OutputFile("CONTCAR", write_contcar),
    OutputFile("XDATCAR", write_xdatcar),
    OutputFile("REPORT", write_report, is_dynamics),
    OutputFile(TRAJECTORY_FILE, write_trajectory, has_trajectory),
    OutputFile("EIGENVAL", write_eigenval, at_end=True),
    OutputFile("IBZKPT", write_ibzkpt, has_mesh),
    OutputFile("PROCAR", write_procar, lambda record: record.final.projections is not None, at_end=True),
    OutputFile("PROCAR_OPT", partial(write_procar, second=True), _second_projections, at_end=True),
    OutputFile("DOSCAR", write_doscar),
    OutputFile("vaspout.h5", write_vaspout, at_end=True),
    OutputFile("WAVECAR", write_wavecar, lambda record: record.orbitals is not None, at_end=True),
    *map(field_file, ("CHGCAR", "CHG", "LOCPOT", "AECCAR0", "AECCAR1", "AECCAR2", "ELFCAR")),
)
