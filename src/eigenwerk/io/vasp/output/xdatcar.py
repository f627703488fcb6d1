"""Write XDATCAR: the structures of all ionic steps."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.vasp.output.record import IonicStep, RunRecord


def write_xdatcar(path: str | Path, record: RunRecord) -> None:
    """Write the structures; the cell again where it has changed.  Raises InputError if the file cannot be written."""
    with replacing(path) as new, open(new, "w", encoding="utf-8") as out:
        out.writelines(_pieces(record))


def _pieces(record: RunRecord) -> Iterator[str]:
    """Title, scale, cell, species, and each structure after a line with its number."""
    before: IonicStep | None = None
    for number, ionic in enumerate(record.ionic_steps, start=1):
        if before is None or not np.array_equal(before.lattice_cv, ionic.lattice_cv):
            yield _head(record, ionic)
        yield f"Direct configuration={number:6d}\n"
        yield " %19.14f %19.14f %19.14f\n" * len(ionic.scaled_ac) % tuple(ionic.scaled_ac.ravel().tolist())
        before = ionic


def _head(record: RunRecord, ionic: IonicStep) -> str:
    """The lines of a POSCAR before the positions; the first one with the mark of the run."""
    text = f"{' '.join(record.title.split()) or 'unknown system'}   {record.stamp or ''}".rstrip() + "\n           1\n"
    text += " %19.14f %19.14f %19.14f\n" * 3 % tuple(ionic.lattice_cv.ravel().tolist())
    text += "".join(f" {species.element:>4}" for species in record.species) + "\n"
    return text + "".join(f" {species.count:>4}" for species in record.species) + "\n"
