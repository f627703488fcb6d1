"""Write DOSCAR: the density of states as a table of fixed columns.

Five lines about the run, one with the range of energies and the Fermi level, then one line for each energy.  With
projections the same for each atom, in the columns of PROCAR.  Layout and meaning: docs/formats/files.md.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.vasp.output.eigenval import header
from eigenwerk.io.vasp.output.oszicar import fortran
from eigenwerk.io.vasp.output.record import RunRecord


def write_doscar(path: str | Path, record: RunRecord) -> None:
    """Write the DOSCAR of a run.  Raises InputError if the file cannot be written."""
    with replacing(path) as new, open(new, "w", encoding="utf-8") as out:
        out.writelines(_pieces(record))


def _pieces(record: RunRecord) -> Iterator[str]:
    dos = record.final.dos
    atoms = len(record.symbols)
    partial = dos.partial_sxaL is not None
    yield f"{atoms:4d}{atoms:4d}{partial:4d}{0:4d}\n" + header(record).split("\n", 1)[1]
    yield _range_line(record)
    columns = [*dos.total_sx, *dos.integrated_sx]  # all densities, then all integrals
    yield from table_lines(dos.energy_x, np.array(columns))
    if dos.partial_sxaL is not None:
        for part_xLs in dos.partial_sxaL.transpose(2, 1, 3, 0):
            yield _range_line(record)
            yield from table_lines(dos.energy_x, part_xLs.reshape(len(dos.energy_x), -1).T)


def _range_line(record: RunRecord) -> str:
    """EMAX, EMIN, NEDOS, Fermi level, and 1; it stands above every block."""
    energy_x = record.final.dos.energy_x
    points = f"{len(energy_x):5d}" if len(energy_x) < 1e5 else f" {len(energy_x)}"
    return f"{energy_x[-1]:16.8f}{energy_x[0]:16.8f}{points}{record.final.fermi_level:16.8f}{1:16.8f}\n"


def table_lines(energy_x: np.ndarray, column_yx: np.ndarray) -> Iterator[str]:
    """One line for each energy: the energy, then the columns."""
    column_yx = np.where(np.abs(column_yx) < 1e-99, 0.0, column_yx)  # an exponent of three digits fills the blank
    for energy, values in zip(energy_x.tolist(), column_yx.T.tolist(), strict=True):
        yield f"{energy:11.3f}" + "".join(f"{fortran(value, 4):>12}" for value in values) + "\n"
