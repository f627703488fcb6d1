"""Write XDATCAR: the structures of all ionic steps."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.kept_text import KeptText
from eigenwerk.io.vasp.output.record import IonicStep, RunRecord

_CELLS, _POSITIONS = KeptText(), KeptText()


def write_xdatcar(path: str | Path, record: RunRecord) -> None:
    """Write the structures; the cell again where it has changed.  Raises InputError if the file cannot be written."""
    with replacing(path) as new, open(new, "w", encoding="utf-8") as out:
        out.writelines(_pieces(record))


def _pieces(record: RunRecord) -> Iterator[str]:
    """Title, scale, cell, species, and each structure after a line with its number."""
    before: IonicStep | None = None
    for number, ionic in enumerate(record.ionic_steps, start=1):
        if before is None or not np.array_equal(before.lattice_cv, ionic.lattice_cv):
            yield _head(record, _CELLS.of(ionic, None, partial(_rows, ionic.lattice_cv)))
        yield f"Direct configuration={number:6d}\n"
        yield _POSITIONS.of(ionic, None, partial(_rows, ionic.scaled_ac))
        before = ionic


def _rows(vectors: np.ndarray) -> Iterator[str]:
    yield " %19.14f %19.14f %19.14f\n" * len(vectors) % tuple(vectors.ravel().tolist())


def _head(record: RunRecord, cell: str) -> str:
    """The lines of a POSCAR before the positions; the first one, by which readers know it again, with the mark."""
    text = f"{' '.join(record.title.split()) or 'unknown system'}   {record.stamp or ''}".rstrip() + "\n           1\n"
    text += cell + "".join(f" {species.element:>4}" for species in record.species) + "\n"
    return text + "".join(f" {species.count:>4}" for species in record.species) + "\n"
